"""The corpus: passages in a JSONL file, one object a line, in either of two formats.

    {"id": "17", "title": "Lisbon", "text": "Lisbon is the capital ..."}       plain
    {"id": "17", "contents": "\\"Lisbon\\"\\nLisbon is the capital ..."}     Search-R1: "title", new line

`id` may be missing: it is then the number of the line, counted from 0. Compressed files (.gz) are read as they are.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from rlfactory.envs.api.errors import TaskError

MAX_LINE_CHARS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """What a search finds."""

    id: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text as one: what is indexed, and what Search-R1 sends."""
        return f'"{self.title}"\n{self.text}' if self.title else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A passage that was found."""

    passage: Passage
    score: float
    """Higher is better; what it means depends on how was searched."""


class SearchMode(StrEnum):
    """How an index is searched: by words, by meaning, or by both."""

    BM25 = "bm25"
    DENSE = "dense"
    HYBRID = "hybrid"


class BadCorpus(TaskError):
    """A corpus file is not what it should be; the message names file and line."""

    reason = "BAD_CORPUS"


def read_passages(path: Path) -> Iterator[Passage]:
    """Yield the passages of a file in order.

    Raises:
        BadCorpus: a line is no passage.
        OSError: the file cannot be read.
    """
    with _open(path) as lines:
        try:
            for number, line in enumerate(lines):
                if len(line) > MAX_LINE_CHARS:
                    raise BadCorpus(f"{path}:{number + 1}: more than {MAX_LINE_CHARS} characters; cut it into passages")
                if line.strip():
                    yield _passage(line, number, path)
        except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
            raise BadCorpus(f"{path}: {error}") from None


def _open(path: Path) -> TextIOWrapper:
    if path.suffix == ".gz":
        return TextIOWrapper(gzip.open(path), encoding="utf-8")
    return path.open(encoding="utf-8")


def _passage(line: str, number: int, path: Path) -> Passage:
    try:
        value: Any = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadCorpus(f"{path}:{number + 1}: no JSON: {error}") from None
    match value:
        case {"title": str(title), "text": str(text)}:
            pass
        case {"contents": str(contents)}:
            head, found, rest = contents.partition("\n")
            title, text = (head.strip().strip('"'), rest) if found else ("", contents)
        case _:
            raise BadCorpus(f'{path}:{number + 1}: a passage is {{"title": .., "text": ..}} or {{"contents": ..}}')
    identity = value.get("id", number)
    if not isinstance(identity, str | int) or isinstance(identity, bool):
        raise BadCorpus(f"{path}:{number + 1}: id must be a string or a whole number")
    return Passage(id=str(identity), title=title, text=text)
