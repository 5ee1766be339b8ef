"""The policy behind an endpoint, against a server that behaves and misbehaves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.episode.openai_policy import Endpoint, Refused, RetryRule, chat_message
from rlfactory.trainer.episode.policies import PolicyConfig, make_policy
from rlfactory.trainer.episode.rollout import EngineFailed

STUB = Path(__file__).parent / "openai_stub.py"
QUESTION = [{"role": "user", "content": "what now?"}]

Opened = Callable[[str], AbstractAsyncContextManager[Endpoint]]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with subprocess.Popen([sys.executable, str(STUB)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.kill()


@pytest.fixture
def opened(endpoint: str) -> Opened:
    @asynccontextmanager
    async def open_policy(model: str) -> AsyncIterator[Endpoint]:
        config = PolicyConfig(request_timeout_s=1.5)
        rule = RetryRule(attempts=3, backoff_s=0.01)
        async with Endpoint(url=endpoint, model=model, config=config, rule=rule) as opened:
            yield opened

    return open_policy


@pytest.mark.parametrize("model", ["good", "text-parts", "flaky", "limited"])
async def test_answers_arrive_in_spite_of_passing_trouble(opened: Opened, model: str) -> None:
    async with opened(model) as endpoint:
        assert '"system_button"' in await endpoint.complete(QUESTION)


async def test_a_silent_model_wrote_nothing(opened: Opened) -> None:
    async with opened("silent") as endpoint:
        assert await endpoint.complete(QUESTION) == ""


@pytest.mark.parametrize("model", ["not-json", "no-choices", "huge", "hang-up", "stall"])
async def test_no_answer_is_ever_invented(opened: Opened, model: str) -> None:
    async with opened(model) as endpoint:
        with pytest.raises(EngineFailed, match=r"no answer from .* in 3 attempts"):
            await endpoint.complete(QUESTION)


async def test_a_refusal_is_told_at_once(opened: Opened) -> None:
    async with opened("refuse") as endpoint:
        with pytest.raises(Refused, match="HTTP 401: no such key"):
            await endpoint.complete(QUESTION)


async def test_nobody_at_the_address() -> None:
    config = PolicyConfig(request_timeout_s=0.5)
    async with Endpoint(url="http://127.0.0.1:1/v1", model="m", config=config, rule=RetryRule(attempts=1)) as nobody:
        with pytest.raises(EngineFailed, match="ConnectError"):
            await nobody.complete(QUESTION)


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


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(UnknownName, match="no dialect 'qwen3_v'; close: qwen3_vl"):
        make_policy("openai:http://h/v1,m", PolicyConfig(dialect="qwen3_v"))
