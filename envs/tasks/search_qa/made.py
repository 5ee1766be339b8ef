"""Questions about the made world, of one to three hops. Splits ask about different things; some templates only test."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.search_qa.question import SEARCH, QuestionTask, read_documents
from rlfactory.envs.tasks.search_qa.world import SENTENCES, Thing, made_world
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.envs.tools.search.retriever import LocalRetriever
from rlfactory.envs.tools.search.tool import SearchTool
from rlfactory.envs.tools.tool import ToolFactory

TEST_ONLY: Final[tuple[Split, ...]] = ("test",)
_SHARES: Final[Mapping[Split, range]] = {"train": range(0, 6), "validation": range(6, 8), "test": range(8, 10)}
"""Of each ten things of a kind, those that questions of a split begin with."""


class MadeCorpus:
    """The world's passages, indexed; one for all sessions of a service."""

    def __init__(self) -> None:
        """Raises: TaskError: the extra `tools` is not installed."""
        try:
            from rlfactory.envs.tools.search.index import SearchIndex
        except ImportError as error:
            raise TaskError(f"search needs the extra `tools`: pip install 'rlfactory[tools]' ({error})") from None
        self.retriever = LocalRetriever(SearchIndex.in_memory(made_world().passages()))

    async def close(self) -> None:
        """Nothing is held but memory."""


class MadeQuestion(QuestionTask):
    """A question about the made world."""

    kind: ClassVar[str]
    """Of the thing the question begins with."""
    question: ClassVar[str]

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
        return self.question.format(self.start.name)

    @property
    def golds(self) -> Sequence[str]:
        return (self.path[-1],)

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
        return self.question.format(*(thing.name for thing in self.both))

    @property
    def golds(self) -> Sequence[str]:
        return (min(self.both, key=lambda thing: int(thing.facts[self.fact])).name,)

    @property
    def support(self) -> Sequence[str]:
        return tuple(thing.name for thing in self.both)

    async def solve(self, ui: UiDriver) -> None:
        values = {thing.name: int(await look_up(ui, thing.name, self.fact)) for thing in self.both}
        await ui.finish(answer=min(values, key=lambda name: values[name]))


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


class Birthplace(Chain):
    name = "search_qa.birthplace"
    description = "The town where a person was born (1 hop)"
    kind, facts = "person", ("born_in",)
    question = "In which town was {} born?"


class FirmFounded(Chain):
    name = "search_qa.firm_founded"
    description = "The year in which a firm was founded (1 hop)"
    kind, facts = "firm", ("founded",)
    question = "In which year was {} founded?"


class AuthorBirthplace(Chain):
    name = "search_qa.author_birthplace"
    description = "Where the author of a book was born (2 hops)"
    kind, facts = "book", ("author", "born_in")
    question = "In which town was the author of {} born?"


class FounderUniversity(Chain):
    name = "search_qa.founder_university"
    description = "Where the founder of a firm studied (2 hops)"
    kind, facts = "firm", ("founder", "studied_at")
    question = "At which university did the founder of {} study?"


class OfficeRiver(Chain):
    name = "search_qa.office_river"
    description = "The river at a firm's head office (2 hops)"
    kind, facts = "firm", ("office", "river")
    question = "Which river runs through the town in which {} has its head office?"


class ArchitectTeacher(Chain):
    name = "search_qa.architect_teacher"
    description = "Who taught a building's architect (2 hops)"
    kind, facts = "building", ("architect", "teacher")
    question = "Who was the most important teacher of the architect of {}?"


class SettingCurrency(Chain):
    name = "search_qa.setting_currency"
    description = "What people pay with where a book is set (3 hops)"
    kind, facts = "book", ("set_in", "country", "currency")
    question = "What is the currency of the country in which {} is set?"


class OfficeSea(Chain):
    name = "search_qa.office_sea"
    description = "The sea below a firm's head office (3 hops)"
    splits = TEST_ONLY
    kind, facts = "firm", ("office", "river", "sea")
    question = "Into which sea flows the river of the town in which {} has its head office?"


class TeacherBirthplace(Chain):
    name = "search_qa.teacher_birthplace"
    description = "Where the teacher of a building's architect was born (3 hops)"
    splits = TEST_ONLY
    kind, facts = "building", ("architect", "teacher", "born_in")
    question = "In which town was the teacher of the architect of {} born?"


class EarlierFirm(Earlier):
    name = "search_qa.earlier_firm"
    description = "Which of two firms is older (comparison)"
    kind, fact = "firm", "founded"
    question = "Which was founded earlier, {} or {}?"


class LowerBuilding(Earlier):
    name = "search_qa.lower_building"
    description = "Which of two buildings is lower (comparison)"
    kind, fact = "building", "height"
    question = "Which is less high, {} or {}?"


MADE_QUESTIONS: Final[tuple[type[MadeQuestion], ...]] = (
    *(Birthplace, FirmFounded, AuthorBirthplace, FounderUniversity, OfficeRiver, ArchitectTeacher),
    *(SettingCurrency, OfficeSea, TeacherBirthplace, EarlierFirm, LowerBuilding),
)
