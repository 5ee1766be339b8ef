"""The policy behind an endpoint, against a server that behaves and misbehaves."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.openai_policy import chat_message
from rlfactory.trainer.episode.policies import PolicyConfig
from rlfactory.trainer.episode.served_policy import ServedCheckpoint
from rlfactory.trainer.run import evaluation
from rlfactory.trainer.run.evaluation import make_policy
from tests.family import family


def test_a_screenshot_goes_before_the_text_as_a_data_uri() -> None:
    image = ImageRef(data=b"jpeg", format=ImageFormat.JPEG, width_px=2, height_px=4, digest="d")
    assert chat_message(Message(role="user", text="tap it", image=image)) == {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,anBlZw=="}},
            {"type": "text", "text": "tap it"},
        ],
    }


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("orakel", UnknownName, "no policy 'orakel'; close: oracle"),
        ("oracle:x", TaskError, "takes nothing after a colon"),
        ("openai:localhost", TaskError, "openai:URL,MODEL"),
        ("openai:http://h/v1", TaskError, "openai:URL,MODEL"),
        ("checkpoint:no/such", TaskError, "no checkpoint folder 'no/such'"),
        ("checkpoint:", TaskError, "no checkpoint folder ''"),
    ],
)
def test_a_policy_that_cannot_be_had_is_named(spec: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make_policy(spec, PolicyConfig())


@pytest.mark.parametrize("installed", [False, True])
def test_a_checkpoint_too_large_for_our_engine_is_served_where_vllm_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setattr(evaluation, "version", lambda name: "0.24.0" if installed and name == "vllm" else "")
    sides = {"hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8}
    sides |= {"head_dim": 128, "intermediate_size": 9728, "vocab_size": 151936, "tie_word_embeddings": True}
    (tmp_path / "config.json").write_text(json.dumps(sides))
    if installed:
        assert isinstance(make_policy(f"checkpoint:{tmp_path}", PolicyConfig()), ServedCheckpoint)
        return
    with pytest.raises(TaskError, match=r"4\.0 billion parameters, .* vllm serve .* --policy openai:http"):
        make_policy(f"checkpoint:{tmp_path}", PolicyConfig())


SERVER = """
import http.server, json, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.say(b"")
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.say(json.dumps({"choices": [{"message": {"content": sys.argv[1]}, "finish_reason": "stop"}]}).encode())
    def say(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer((sys.argv[3], int(sys.argv[5])), Answer).serve_forever()
"""


async def test_a_served_checkpoint_answers_from_open_to_close_and_leaves_no_server(tmp_path: Path) -> None:
    policy = ServedCheckpoint(folder=tmp_path, config=PolicyConfig(), server=("-c", SERVER))
    await policy.open()
    conversation = policy.begin("e")
    assert (await conversation.reply([Message(role="user", text="hello")])).text == str(tmp_path)
    served = family(str(tmp_path))
    assert served
    await policy.close()
    assert psutil.wait_procs(served, timeout=30)[1] == []


async def test_a_server_that_ends_says_why(tmp_path: Path) -> None:
    failing = "raise ValueError('no GPU here')"
    policy = ServedCheckpoint(folder=tmp_path, config=PolicyConfig(), server=("-c", failing))
    with pytest.raises(TaskError, match=r"the server of checkpoint:.* ended: ValueError: no GPU here"):
        await policy.open()


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(UnknownName, match="no dialect 'qwen3_v'; close: qwen3_vl"):
        make_policy("openai:http://h/v1,m", PolicyConfig(dialect="qwen3_v"))
