"""Questions for a model of a million parameters: one search, one word to read from what it says.

A made village: everyone has an animal, a town of origin and a colour, one passage each. Questions of the three splits
are about different people, so that nothing learnt by heart answers a held-out one; their names are made of the same
few words.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final, Self

from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Name
from rlfactory.envs.tasks.search_qa.question import SEARCH, Corpus, TypedQuestion, read_documents
from rlfactory.envs.tasks.task import Task, variant
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.envs.tools.search.passages import Passage
from rlfactory.envs.tools.search.tool import SearchTool, SearchToolConfig
from rlfactory.envs.tools.tool import ToolFactory

SEED: Final = "tiny_search village 1"
FIRST_NAMES: Final = ("Ada", "Bela", "Cora", "Dina", "Emil", "Finn", "Gus", "Hana", "Ivo", "Jana", "Karl", "Lena")
LAST_NAMES: Final = ("Alder", "Birch", "Cedar", "Dunn", "Elm", "Frost", "Gale", "Hill", "Irons", "Lake", "Moss", "Reed")
FACTS: Final = {
    "animal": (
        "fox",
        "owl",
        "cat",
        "horse",
        "goat",
        "crow",
        "duck",
        "hare",
        "dog",
        "bear",
        "wolf",
        "seal",
        "swan",
        "mole",
        "toad",
        "lynx",
    ),
    "town": (
        "Oslo",
        "Lima",
        "Cairo",
        "Quito",
        "Perth",
        "Delhi",
        "Turin",
        "Kyoto",
        "Paris",
        "Accra",
        "Sofia",
        "Bergen",
        "Hanoi",
        "Dakar",
        "Porto",
        "Riga",
    ),
    "color": (
        "red",
        "blue",
        "green",
        "black",
        "white",
        "brown",
        "pink",
        "gray",
        "gold",
        "tan",
        "teal",
        "plum",
        "lime",
        "rust",
        "navy",
        "ivory",
    ),
}
"""So many and as many of each that always saying one word does not pay."""
SHARES: Final[dict[Split, range]] = {"train": range(6), "validation": range(6, 8), "test": range(8, 10)}
"""By the last digit of a person's number."""
TEXT: Final = "{name} has a {animal}, comes from {town} and likes {color}."
SHOWN: Final = SearchToolConfig(top_k=2)
"""The person asked about, and somebody with a name like theirs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """One entry of the village."""

    name: str
    animal: str
    town: str
    color: str

    @property
    def passage(self) -> Passage:
        text = TEXT.format(name=self.name, animal=self.animal, town=self.town, color=self.color)
        return Passage(id=self.name, title=self.name, text=text)


@lru_cache(maxsize=1)
def village() -> Sequence[Person]:
    """Return everyone, in an order that has nothing to do with their names; the same on every machine."""
    rng = random.Random(SEED)
    names = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES]
    rng.shuffle(names)
    dealt = {fact: _dealt(rng, words, len(names)) for fact, words in FACTS.items()}
    return tuple(
        Person(name=name, **{fact: words[number] for fact, words in dealt.items()}) for number, name in enumerate(names)
    )


def _dealt(rng: random.Random, words: Sequence[str], count: int) -> Sequence[str]:
    """Return so many words, in each split as many of each as can be."""
    dealt = [""] * count
    for split in SHARES:
        own = [number for number in range(count) if number % 10 in SHARES[split]]
        rng.shuffle(own)
        for turn, number in enumerate(own):
            dealt[number] = words[turn % len(words)]
    return dealt


def people(split: Split) -> Sequence[Person]:
    """Return whom the questions of a split are about: six tenths for training, two each for the others."""
    return [person for number, person in enumerate(village()) if number % 10 in SHARES[split]]


class VillageCorpus(Corpus):
    """Of the village."""

    @staticmethod
    def passages() -> list[Passage]:
        return [person.passage for person in village()]


@dataclass(frozen=True, kw_only=True)
class TinyQuestion(TypedQuestion):
    """What one fact about one person is."""

    suite = "tiny_search"
    max_turns = 3
    fact: ClassVar[str]
    wording: ClassVar[str]

    person: Person

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(person=rng.choice(people(split)))

    @property
    def goal(self) -> str:
        return self.wording.format(self.person.name)

    @property
    def answer(self) -> Name:
        return Name(text=getattr(self.person, self.fact), before=("a", "an", "the", "from"))

    @property
    def support(self) -> Sequence[str]:
        return (self.person.name,)

    def own_tools(self) -> dict[str, ToolFactory]:
        return {SEARCH: lambda context: SearchTool(context.services.of(VillageCorpus).retriever, SHOWN)}

    async def solve(self, ui: UiDriver) -> None:
        said = await ui.call(SEARCH, query=self.person.name)
        text = dict(read_documents(said)).get(self.person.name, "")
        found = [word for word in FACTS[self.fact] if word in text.rstrip(".").replace(",", "").split()]
        if len(found) != 1:
            raise OracleStuck(f"no {self.fact} of {self.person.name} in what the search says: {said}")
        await ui.finish(answer=found[0])


TINY_SEARCH_TASKS: tuple[type[Task], ...] = tuple(
    variant(TinyQuestion, f"tiny_search.{fact}", fact=fact, description=description, wording=wording)
    for fact, description, wording in (
        ("animal", "Which animal somebody has", "Which animal does {} have? One word."),
        ("town", "Which town somebody comes from", "Which town does {} come from? One word."),
        ("color", "Which colour somebody likes", "Which color does {} like? One word."),
    )
)
