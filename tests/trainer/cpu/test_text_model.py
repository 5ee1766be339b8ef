"""A tiny model that reads only text: its tokenizer copies words, and its engine reports what the learner computes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from PIL import Image
from transformers import AutoModelForCausalLM

from rlfactory.trainer.cpu.engine import EngineConfig, Request, Sampling, TorchEngine, ban_tokens, banned_token_ids
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import build_tokenizer
from rlfactory.trainer.episode.context import Message, RowBudget
from rlfactory.trainer.episode.conversation import Sampled, TokenConversation
from rlfactory.trainer.verl.chat import VerlChatTokens
from rlfactory.trainer.verl.warm_start import corpus_of

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

SYSTEM = "You are a helpful assistant."
GOAL = "Which animal does Ada Elm have?"
SEARCH = '<tool_call>\n{"name": "search", "arguments": {"query": "Ada Elm"}}\n</tool_call>'
ANSWER = "<tool_response>\nDoc 1(Title: Ada Elm) Ada Elm has a fox, comes from Oslo.\n</tool_response>"
FINISH = '<tool_call>\n{"name": "finish", "arguments": {"answer": "fox"}}\n</tool_call>'
ROW = {
    "messages": [
        {"role": role, "content": content}
        for role, content in (
            ("system", SYSTEM),
            ("user", GOAL),
            ("assistant", SEARCH),
            ("user", ANSWER),
            ("assistant", FINISH),
        )
    ]
}


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer(corpus_of([ROW]), vocabulary=400)
    save_tiny_model(folder, TinyModelConfig(hidden=32, layers=2, vision_layers=0), tokenizer, max_pixels=None)
    return folder


@pytest.fixture(scope="module")
def engine(model_folder: Path) -> TorchEngine:
    return TorchEngine.load(model_folder, EngineConfig(max_row_tokens=400))


def test_a_word_to_copy_is_the_same_token_wherever_it_stands(engine: TorchEngine) -> None:
    def pieces(text: str) -> list[str]:
        return [engine.tokenizer.decode([token]) for token in engine.tokenizer.encode(text, add_special_tokens=False)]

    assert pieces(FINISH) == ['<tool_call>\n{"name": "finish", "arguments": {"answer": "', "fox", '"}}\n</tool_call>']
    assert {"Ada", "Elm", "fox"} <= set(pieces(ANSWER))
    assert {"Ada", "Elm"} <= set(pieces(GOAL))
    assert "fox" not in pieces("foxes")
    for text in (GOAL, ANSWER, SEARCH, FINISH, "foxes, Adam and ünï"):
        assert "".join(pieces(text)) == text or "ü" in text
        assert engine.tokenizer.decode(engine.tokenizer.encode(text, add_special_tokens=False)) == text


def test_a_rows_log_probs_are_the_learners(engine: TorchEngine, model_folder: Path) -> None:
    chat = VerlChatTokens(engine.processor, model_type="qwen3")

    async def generate(*, request_id: str, prompt_ids: Any, images: Any, max_tokens: int) -> Sampled:
        [answer] = engine.generate(
            [Request(prompt_ids=prompt_ids, images=(), sampling=Sampling(max_tokens=max_tokens))]
        )
        return Sampled(token_ids=answer.token_ids, log_probs=answer.log_probs, complete=answer.stop == "end")

    budget = RowBudget(prompt_tokens=100, response_tokens=200, turn_tokens=8, told_tokens=20)
    talk = TokenConversation(generate=generate, chat=chat, budget=budget, request_id="r")

    async def episode() -> None:
        await talk.reply([Message(role="system", text=SYSTEM), Message(role="user", text=GOAL)])
        await talk.reply([Message(role="user", text=ANSWER)])
        await talk.reply([Message(role="user", text=ANSWER)])

    asyncio.run(episode())
    model: Any = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32).eval()
    ban_tokens(model, banned_token_ids(model.config, len(engine.tokenizer)))
    ids = torch.tensor([talk.trajectory.token_ids])
    with torch.no_grad():
        theirs = model(input_ids=ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    assert len(talk.trajectory.sampled_spans) == 3
    for place, (mask, ours) in enumerate(zip(talk.trajectory.mask, talk.trajectory.log_probs, strict=True)):
        if mask:
            assert ours == pytest.approx(float(theirs[place - 1]), abs=2e-4)


def test_a_batch_of_unequal_prompts_answers_as_each_alone(engine: TorchEngine) -> None:
    texts = (GOAL, ANSWER, GOAL + ANSWER + GOAL)
    prompts = [engine.tokenizer.encode(text, add_special_tokens=False) for text in texts]
    asked = [Request(prompt_ids=ids, images=(), sampling=Sampling(temperature=0, max_tokens=8)) for ids in prompts]
    together = engine.generate(asked)
    assert [answer.token_ids for answer in together] == [engine.generate([one])[0].token_ids for one in asked]


def test_an_image_is_refused(engine: TorchEngine) -> None:
    request = Request(prompt_ids=[1], images=(Image.new("RGB", (8, 8)),), sampling=Sampling())
    with pytest.raises(ValueError, match="reads only text"):
        engine.generate([request])


def test_what_is_told_is_shortened_in_its_middle(engine: TorchEngine) -> None:
    chat = VerlChatTokens(engine.processor, model_type="qwen3")
    long = "<tool_response>\n" + "Ada Elm has a fox. " * 40 + "\n</tool_response>"
    short = chat.shortened(long, 64)
    assert short.startswith("<tool_response>\nAda Elm has") and short.endswith("\n</tool_response>")
    assert " [...] " in short
    assert len(engine.tokenizer.encode(short, add_special_tokens=False)) < 64 + 10
    assert chat.shortened(ANSWER, 100) == ANSWER
