"""Questions about the made world, of one to three hops. Splits ask about different things; some templates only test."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Answer, Choice, Name, Year
from rlfactory.envs.tasks.search_qa.question import SEARCH, Corpus, TypedQuestion, read_documents
from rlfactory.envs.tasks.search_qa.world import SENTENCES, TABLE, Thing, made_world
from rlfactory.envs.tasks.table import frozen
from rlfactory.envs.tasks.task import variant
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.envs.tools.search.passages import Passage
from rlfactory.envs.tools.search.tool import SearchTool
from rlfactory.envs.tools.tool import ToolFactory

_SHARES: Final[Mapping[Split, range]] = {"train": range(0, 6), "validation": range(6, 8), "test": range(8, 10)}
"""Of each ten things of a kind, those that questions of a split begin with."""

ANSWERS: Final[Mapping[str, Any]] = TABLE["answers"]


class MadeCorpus(Corpus):
    """Of the made world."""

    @staticmethod
    def passages() -> list[Passage]:
        return made_world().passages()


class MadeQuestion(TypedQuestion):
    """A question about the made world."""

    kind: ClassVar[str]
    """Of the thing the question begins with."""
    question: ClassVar[str]
    about: ClassVar[str]
    """What is answered with: a key of `ANSWERS`, or "year"."""

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {SEARCH: lambda context: SearchTool(context.services.of(MadeCorpus).retriever)}

    @classmethod
    def things(cls, split: Split) -> list[Thing]:
        """Return what questions of a split begin with."""
        every = made_world().things[cls.kind]
        return [thing for number, thing in enumerate(every) if number % 10 in _SHARES[split]]


@dataclass(frozen=True)
class Chain(MadeQuestion):
    """Follows one fact after the other."""

    facts: ClassVar[tuple[str, ...]]
    start: Thing

    @property
    def path(self) -> list[str]:
        """What each fact leads to; the last is the answer."""
        return made_world().follow(self.start, self.facts)

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Chain:
        return cls(rng.choice(cls.things(split)))

    @property
    def goal(self) -> str:
        return f"{self.question.format(self.start.name)} {self.answer.form}"

    @property
    def answer(self) -> Answer:
        found = self.path[-1]
        return Year(value=int(found)) if self.about == "year" else named(found, self.about)

    @property
    def support(self) -> Sequence[str]:
        return (self.start.name, *self.path[:-1])

    async def solve(self, ui: UiDriver) -> None:
        name = self.start.name
        for fact in self.facts:
            name = await look_up(ui, name, fact)
        await ui.finish(answer=name)


@dataclass(frozen=True)
class Earlier(MadeQuestion):
    """Compares two things by a number."""

    about: ClassVar[str] = "name"
    fact: ClassVar[str]
    both: tuple[Thing, Thing]

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Earlier:
        while True:
            first, second = rng.sample(cls.things(split), 2)
            if first.facts[cls.fact] != second.facts[cls.fact]:
                return cls((first, second))

    @property
    def goal(self) -> str:
        return f"{self.question.format(*(thing.name for thing in self.both))} {self.answer.form}"

    @property
    def answer(self) -> Choice:
        first, second = sorted(self.both, key=lambda thing: int(thing.facts[self.fact]))
        return Choice(text=first.name, others=(second.name,), also=(short(first.name),), before=("the",))

    @property
    def support(self) -> Sequence[str]:
        return tuple(thing.name for thing in self.both)

    async def solve(self, ui: UiDriver) -> None:
        values = {thing.name: int(await look_up(ui, thing.name, self.fact)) for thing in self.both}
        await ui.finish(answer=min(values, key=lambda name: values[name]))


def named(text: str, about: str) -> Name:
    """Return the answer that names a thing, with what may be left out, put in another way or said around it."""
    words: Mapping[str, Sequence[str]] = ANSWERS[about]
    also = [form.format(*text.split(" ")) for form in words.get("also", ())]
    return Name(text=text, also=tuple(also), before=tuple(words["before"]), after=tuple(words.get("after", ())),
                what=about)  # fmt: skip


def short(name: str) -> str:
    """Return the word that tells a firm or building from all others, as "Drost" of "Drost Mills"."""
    return name.partition(" ")[0]


async def look_up(ui: UiDriver, name: str, fact: str) -> str:
    """Search for a thing and read one of its facts, as anyone can who reads the passage.

    Raises: OracleStuck: the search does not show the thing, or its passage does not tell the fact.
    """
    said = await ui.call(SEARCH, query=name)
    for title, text in read_documents(said):
        if title == name:
            for pattern in _reading(name, fact):
                if found := pattern.search(text):
                    return found[1]
    raise OracleStuck(f"no {fact} of {name} in what the search says: {said}")


def _reading(name: str, fact: str) -> list[re.Pattern[str]]:
    """Return patterns of all wordings of a fact."""
    wordings = [
        each for facts in SENTENCES.values() for known, texts in facts.items() if known == fact for each in texts
    ]
    return [
        re.compile(
            r"(?:^|(?<=\. ))" + re.escape(each).replace(r"\{name\}", re.escape(name)).replace(r"\{value\}", r"([^.]+?)")
        )
        for each in wordings
    ]


MADE_QUESTIONS: Final[tuple[type[MadeQuestion], ...]] = tuple(
    variant(Chain if "facts" in row else Earlier, name, **row) for name, row in frozen(TABLE["questions"]).items()
)
