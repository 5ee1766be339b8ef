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
from typing import Final

from rlfactory.envs.tools.search.passages import Passage

SEED: Final = "search_qa world 1"
COUNTS: Final = {
    "sea": 6,
    "country": 14,
    "river": 30,
    "town": 90,
    "university": 24,
    "person": 260,
    "book": 120,
    "firm": 90,
    "building": 80,
}
SENTENCES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "sea": {"saltier": ("{name} is a sea that fishermen call mild.", "{name} is a cold sea with many wrecks.")},
    "country": {
        "capital": ("The capital of {name} is {value}.", "{value} is the capital of {name}."),
        "currency": ("People there pay with the {value}.", "Its currency is the {value}."),
    },
    "river": {
        "sea": ("The {name} flows into the {value}.", "After many bends the {name} reaches the {value}."),
        "length": ("It is {value} kilometres long.",),
    },
    "town": {
        "country": ("{name} is a town in {value}.", "{name} lies in the country of {value}."),
        "river": ("The river {value} runs through it.", "It was built on both banks of the river {value}."),
        "founded": ("It was founded in {value}.", "Its charter dates from {value}."),
    },
    "university": {
        "town": ("{name} is a university in {value}.", "{name} has its lecture halls in {value}."),
        "founded": ("It opened its doors in {value}.",),
    },
    "person": {
        "born_in": ("{name} was born in {value}.", "{name} came from {value}."),
        "born": ("The year of birth was {value}.",),
        "studied_at": ("After school came studies at {value}.", "{value} awarded the degree."),
        "teacher": ("The teacher who mattered most was {value}.", "{value} was the teacher of those years."),
    },
    "book": {
        "author": ("{name} is a novel by {value}.", "{value} wrote the novel {name}."),
        "published": ("It came out in {value}.",),
        "set_in": ("It is set in {value}.", "Most of it takes place in {value}."),
    },
    "firm": {
        "founder": ("{name} was founded by {value}.", "{value} founded {name}."),
        "founded": ("That was in {value}.",),
        "office": ("Its head office is in {value}.", "It is run from {value}."),
    },
    "building": {
        "architect": ("{name} was designed by {value}.", "The architect of {name} was {value}."),
        "stands_in": ("It stands in {value}.", "Visitors find it in {value}."),
        "height": ("It is {value} metres high.",),
    },
}
"""For each kind of thing its facts, each in one or more wordings."""
REFERS_TO: Final = {
    "capital": "town",
    "sea": "sea",
    "country": "country",
    "river": "river",
    "town": "town",
    "born_in": "town",
    "studied_at": "university",
    "teacher": "person",
    "author": "person",
    "set_in": "town",
    "founder": "person",
    "office": "town",
    "architect": "person",
    "stands_in": "town",
}
"""What kind of thing a fact names; the others are years, measures and words."""
YEARS: Final = {"founded": (1400, 1990), "born": (1700, 1960), "published": (1800, 2015)}
MEASURES: Final = {"length": (40, 2200), "height": (12, 340)}
FORMS: Final[Mapping[str, Sequence[str]]] = {
    "sea": ("{} Sea",),
    "university": ("{} University",),
    "book": ("The Song of {}", "Winter in {}", "Letters to {}", "The Last {}", "Beyond {}"),
    "firm": ("{} Instruments", "{} Mills", "{} Shipping", "{} Pumps", "{} Glassworks"),
    "building": ("{} Tower", "{} Hall", "{} Bridge", "{} Library"),
}
"""How things are called; where nothing is said, by one word."""
STARTS: Final = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "h",
    "k",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "z",
)
MIDDLES: Final = ("a", "e", "i", "o", "u", "ei", "oa")
ENDS: Final = "lnrst"


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
        if fact in REFERS_TO:
            others = [each for each in self.things[REFERS_TO[fact]] if each is not thing]
            return rng.choice(others).name
        if fact in YEARS or fact in MEASURES:
            return str(rng.randint(*(YEARS.get(fact) or MEASURES[fact])))
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
