"""A model's chat template in tokens, by verl's continuous-token builders: exact for every family verl knows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final

from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.verl.images import Screenshot, measuring

CUT: Final = " [...] "
"""Stands for the middle of what was too long."""


class VerlChatTokens:
    """`conversation.ChatTokens` over a processor, or over the tokenizer of a model that reads only text."""

    def __init__(self, processor: Any, *, model_type: str, builder: Any = None) -> None:
        """`model_type`: of the model's config.json; `builder`: verl's, when the caller has one."""
        sees = hasattr(processor, "image_processor")
        self._tokenizer = processor.tokenizer if sees else processor
        self._builder = builder or create_continuous_token_builder(
            self._tokenizer,
            hf_model_type=model_type,
            chat_template_kwargs={},
            mm_processor_kwargs={},
            processor=measuring(processor) if sees else None,
        )
        pad = getattr(processor, "image_token", None) or "<|image_pad|>"
        self._image_runs = re.compile(f"(?:{re.escape(pad)})+")
        self._image_pad = pad

    async def begin(self, messages: Sequence[Message]) -> list[int]:
        images = [Screenshot(message.image) for message in messages if message.image is not None]
        told = [_blocks(message) for message in messages]
        ids = await asyncio.to_thread(self._builder.build_initial_tokens, told, tools=None, images=images or None)
        return list(ids)

    async def follow(self, history: Sequence[Message], added: Sequence[Message], row: Sequence[int]) -> list[int]:
        before = [_blocks(message) for message in history]
        after = [*before, *(_blocks(message) for message in added)]
        merged = await asyncio.to_thread(self._builder.merge_context_tokens, before, after, list(row))
        if merged.removed_prefix_token_count:
            raise TaskError("this model's template rewrites the end of a turn, so a row cannot only grow")
        return list(merged.token_ids[len(row) :])

    def shortened(self, text: str, max_tokens: int) -> str:
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        if len(ids) <= max_tokens:
            return text
        # The end, too: it closes what the beginning opened.
        tail = max_tokens // 8
        head = self._tokenizer.decode(ids[: max_tokens - tail])
        return f"{head}{CUT}{self._tokenizer.decode(ids[len(ids) - tail :])}"

    def decode(self, token_ids: Sequence[int], *, special: bool) -> str:
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=not special)
        return self._image_runs.sub(self._image_pad, text) if special else text


def _blocks(message: Message) -> dict[str, Any]:
    if message.image is None:
        return {"role": message.role, "content": message.text}
    content: list[dict[str, Any]] = [{"type": "image", "image": Screenshot(message.image)}]
    if message.text:
        content.append({"type": "text", "text": message.text})
    return {"role": message.role, "content": content}
