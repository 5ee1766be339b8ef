"""Episodes of several rows: whatever is left of the past, a row is what the engine was asked and what it said."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from rlfactory.envs.api.types import ImageFormat, ImageRef, ToolCall
from rlfactory.trainer.dialects import DIALECTS, Dialect
from rlfactory.trainer.episode.context import Message, Past, RowBudget, Window
from rlfactory.trainer.episode.conversation import EpisodeConversation, RowFull, Sampled
from rlfactory.trainer.episode.rollout import note_of
from rlfactory.trainer.verl.chat import VerlChatTokens

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

FINISH = ToolCall(id="0", name="finish", arguments={"answer": "x"})


class Asked(NamedTuple):
    """What an engine was asked and what it said."""

    prompt_ids: list[int]
    images: list[str]
    sampled: list[int]


def shot(number: int) -> ImageRef:
    sides = [(56, 56), (84, 56)][number % 2]
    buffer = io.BytesIO()
    Image.new("RGB", sides, (number * 37 % 256, 0, 0)).save(buffer, "PNG")
    return ImageRef(
        data=buffer.getvalue(), format=ImageFormat.PNG, width_px=sides[0], height_px=sides[1], digest=f"shot{number}"
    )


async def converse(
    processor: Any, dialect: Dialect, says: Sequence[str], window: Window | None, budget: RowBudget
) -> tuple[EpisodeConversation, list[Asked]]:
    """Let an engine say these turns, to a new screenshot each, until there is no more room."""
    asked: list[Asked] = []

    async def generate(*, request_id: str, prompt_ids: Any, images: Any, max_tokens: int) -> Sampled:
        ids = processor.tokenizer.encode(says[len(asked)], add_special_tokens=False)[: max_tokens - 1]
        ids.append(processor.tokenizer.eos_token_id)
        asked.append(Asked(list(prompt_ids), [image.digest for image in images], ids))
        return Sampled(token_ids=ids, log_probs=[-0.5] * len(ids), complete=True)

    chat = VerlChatTokens(processor, model_type="qwen3_vl")
    talk = EpisodeConversation(
        generate=generate, chat=chat, budget=budget, request_id="r", window=window, note=note_of(dialect)
    )
    told = [Message(role="system", text="Act."), Message(role="user", text=dialect.first_message("Go."), image=shot(0))]
    for turn in range(len(says)):
        try:
            await talk.reply(told)
        except RowFull:
            break
        told = [Message(role="user", text=dialect.next_message([]) or f"turn {turn}", image=shot(turn + 1))]
    return talk, asked


def image_tokens(processor: Any, images: Sequence[ImageRef]) -> int:
    """Return the placeholders that these images have, by the processor's own count."""
    if not images:
        return 0
    made = processor.image_processor(images=[Image.open(io.BytesIO(each.data)) for each in images], return_tensors="pt")
    return int(made["image_grid_thw"].prod(dim=-1).sum()) // int(processor.image_processor.merge_size) ** 2


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dialect=st.sampled_from(list(DIALECTS.values())),
    thoughts=st.lists(st.text("ab ö{<", max_size=12), min_size=1, max_size=7),
    window=st.builds(Window, row_turns=st.integers(1, 4), images=st.integers(1, 4), past=st.sampled_from(Past)),
    tight=st.booleans(),
    family=st.sampled_from(["qwen3_vl", "qwen2_5_vl"]),
)
def test_rows_hold_what_the_engine_saw_and_said(
    qwen3_vl: Any, qwen2_5_vl: Any, dialect: Dialect, thoughts: list[str], window: Window, tight: bool, family: str
) -> None:
    processor = {"qwen3_vl": qwen3_vl, "qwen2_5_vl": qwen2_5_vl}[family]
    goal_tokens = len(processor.tokenizer.encode(dialect.first_message("Go.")))  # of some, hundreds
    prompt_tokens = goal_tokens + 250 if tight else 2000
    budget = RowBudget(prompt_tokens=prompt_tokens, response_tokens=330 if tight else 4000, turn_tokens=160)
    says = [dialect.render([FINISH], thought=thought) for thought in thoughts]
    talk, asked = asyncio.run(converse(processor, dialect, says, window, budget))
    assert len(asked) == len(says), "rows begin anew where one is full"
    for row, first in zip(talk.rows, talk.first_turns, strict=True):
        trajectory = row.trajectory
        for number, (start, end) in enumerate(trajectory.sampled_spans):
            seen = asked[first + number]
            assert trajectory.token_ids[:start] == seen.prompt_ids
            assert trajectory.token_ids[start:end] == seen.sampled
            assert [image.digest for image in row.images][: len(seen.images)] == seen.images
        assert len(trajectory.sampled_spans) <= window.row_turns
        assert len(trajectory.prompt_ids) <= budget.prompt_tokens
        assert len(trajectory.response_ids) <= budget.response_tokens
        assert trajectory.token_ids.count(processor.image_token_id) == image_tokens(processor, row.images)
        assert len(asked[first].images) <= window.images
        assert asked[first].images[-1] == f"shot{first}", "what is decided about is always seen"
    assert sum(len(row.trajectory.sampled_spans) for row in talk.rows) == len(asked)


async def test_what_is_left_of_the_past(qwen3_vl: Any) -> None:
    budget = RowBudget(prompt_tokens=2000, response_tokens=2000, turn_tokens=160)
    dialect = DIALECTS["qwen3_vl"]
    says = [dialect.render([FINISH], thought=f"I saw {number}") for number in range(3)]
    texts = {}
    for past in Past:
        window = Window(row_turns=1, images=2, past=past)
        talk, asked = await converse(qwen3_vl, dialect, says, window, budget)
        assert [each.images for each in asked] == [["shot0"], ["shot0", "shot1"], ["shot1", "shot2"]]
        assert talk.first_turns == [0, 1, 2]
        texts[past] = qwen3_vl.tokenizer.decode(asked[2].prompt_ids)
    assert [text.count("I saw") for text in texts.values()] == [2, 2, 1]
    assert [text.count("<tool_call>") for text in texts.values()] == [2, 1, 1]
    assert "[an earlier screenshot]" in texts[Past.TEXT]
    assert "[turn 1] I saw 0" in texts[Past.NOTES]
    assert all(text.count("Go.") == 1 for text in texts.values())
    [one] = (await converse(qwen3_vl, dialect, says, None, budget))[0].rows
    assert len(one.trajectory.sampled_spans) == len(one.images) == 3
