"""A made world: towns, rivers, people, books, firms and buildings that no model has read of, and a passage on each.

The world is the same on every machine. Its passages are written by
`python -m rlfactory.envs.tasks.search_qa.world corpus.jsonl`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from rlfactory.envs.tasks.table import read_table
from rlfactory.envs.tools.search.passages import Passage

SEED: Final = "search_qa world 1"
TABLE: Final[Mapping[str, Any]] = read_table(__file__, "world.yaml")
COUNTS: Final[Mapping[str, int]] = TABLE["counts"]
SENTENCES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = TABLE["sentences"]
"""For each kind of thing its facts, each in one or more wordings."""
FORMS: Final[Mapping[str, Sequence[str]]] = TABLE["forms"]
"""How things are called; where nothing is said, by one word."""
STARTS, MIDDLES, ENDS = (str(TABLE[part]).split() for part in ("starts", "middles", "ends"))
"""Of syllables."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """One entry of the world."""

    kind: str
    name: str
    facts: dict[str, str] = field(default_factory=dict)
    wording: dict[str, int] = field(default_factory=dict)

    @property
    def passage(self) -> Passage:
        sentences = (
            SENTENCES[self.kind][fact][self.wording[fact]].format(name=self.name, value=value)
            for fact, value in self.facts.items()
        )
        return Passage(id=f"{self.kind}/{self.name}", title=self.name, text=" ".join(sentences))


class World:
    """All things, by kind and by name. Names are unique."""

    def __init__(self, rng: random.Random) -> None:
        names = _names(rng)
        self.things: dict[str, list[Thing]] = {
            kind: [Thing(kind=kind, name=_named(kind, rng, names)) for _ in range(count)]
            for kind, count in COUNTS.items()
        }
        self.by_name = {thing.name: thing for things in self.things.values() for thing in things}
        for things in self.things.values():
            for thing in things:
                self._tell(thing, rng)

    def _tell(self, thing: Thing, rng: random.Random) -> None:
        for fact, wordings in SENTENCES[thing.kind].items():
            thing.facts[fact] = self._value(thing, fact, rng)
            thing.wording[fact] = rng.randrange(len(wordings))

    def _value(self, thing: Thing, fact: str, rng: random.Random) -> str:
        if fact in TABLE["refers_to"]:
            others = [each for each in self.things[TABLE["refers_to"][fact]] if each is not thing]
            return rng.choice(others).name
        if fact in TABLE["ranges"]:
            return str(rng.randint(*TABLE["ranges"][fact]))
        return _syllables(rng, 2).lower()

    def passages(self) -> list[Passage]:
        """Return one passage for each thing."""
        return [thing.passage for things in self.things.values() for thing in things]

    def follow(self, start: Thing, facts: Sequence[str]) -> list[str]:
        """Return what each fact in turn leads to; the last is the answer."""
        values: list[str] = []
        thing: Thing | None = start
        for fact in facts:
            assert thing is not None, f"{values[-1]} is no thing"
            values.append(thing.facts[fact])
            thing = self.by_name.get(values[-1])
        return values


@lru_cache(maxsize=1)
def made_world() -> World:
    """Return the world, made on first use."""
    return World(random.Random(SEED))


def _names(rng: random.Random) -> Iterator[str]:
    """Yield words that were not yielded before."""
    seen: set[str] = set()
    while True:
        word = _syllables(rng, rng.randint(2, 3))
        if word not in seen:
            seen.add(word)
            yield word


def _syllables(rng: random.Random, count: int) -> str:
    word = "".join(rng.choice(STARTS) + rng.choice(MIDDLES) for _ in range(count)) + rng.choice(ENDS)
    return word.capitalize()


def _named(kind: str, rng: random.Random, names: Iterator[str]) -> str:
    if kind == "person":
        return f"{next(names)} {next(names)}"
    return rng.choice(FORMS.get(kind, ("{}",))).format(next(names))


def main(arguments: Sequence[str] | None = None) -> int:
    [path] = sys.argv[1:] if arguments is None else arguments
    lines = (
        json.dumps({"id": passage.id, "title": passage.title, "text": passage.text})
        for passage in made_world().passages()
    )
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
