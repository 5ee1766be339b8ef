"""Thinking blocks: what a model says to itself between `<think>` tags before it acts. Calls inside do not count."""

from __future__ import annotations

from rlfactory.trainer.dialects.dialect import ParseError

OPEN, CLOSE = "<think>", "</think>"


def render(thought: str) -> str:
    """Return the block with the blank line that Qwen3 and DeepSeek leave after it; "" without a thought."""
    return f"{OPEN}\n{thought}\n{CLOSE}\n\n" if thought else ""


def split(text: str, opens: str = OPEN, closes: str = CLOSE) -> tuple[str, str]:
    """Return (the thought, the rest). Without a block the thought is "".

    A chat template may have opened the block already, so the tag at its beginning may be missing.

    Raises: ParseError: the block does not end.
    """
    thought, closed, rest = text.partition(closes)
    if closed:
        return thought.strip().removeprefix(opens).strip(), rest
    if text.lstrip().startswith(opens):
        raise ParseError(f"{opens} is not closed by {closes}; think less, then call a tool")
    return "", text


def join(thought: str, said: str) -> str:
    """Return the two as one thought."""
    return "\n".join(part for part in (thought, said.strip()) if part)
