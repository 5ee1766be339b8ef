"""What the tasks of this suite share: a question, its golds, Search-R1's reward, and reading what a search said."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.rewards.answers import Answer
from rlfactory.envs.rewards.rubric import Part, Rubric, Verdict
from rlfactory.envs.rewards.text import SearchR1Reward, answer_part, exact_match, f1, format_part
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tools.search.passages import Passage
from rlfactory.envs.tools.search.retriever import LocalRetriever

SEARCH: Final = "search"
_DOCUMENT: Final = re.compile(r"^Doc \d+\(Title: (.*?)\) (.*)$", re.MULTILINE)


class Corpus(ABC):
    """Passages that were made, indexed; one for all sessions of a service."""

    def __init__(self) -> None:
        """Raises: TaskError: the extra `tools` is not installed."""
        try:
            from rlfactory.envs.tools.search.index import SearchIndex
        except ImportError as error:
            raise TaskError(f"search needs the extra `tools`: pip install 'rlfactory[tools]' ({error})") from None
        self.retriever = LocalRetriever(SearchIndex.in_memory(self.passages()))

    @staticmethod
    @abstractmethod
    def passages() -> list[Passage]:
        """Return what is searched."""

    async def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Nothing is held but memory."""


class QuestionTask(Task):
    """A question that passages answer. Rewarded as by Search-R1, but that a wrong answer earns nothing, whatever its
    form; its limits are those of the paper, plus a margin."""

    suite = "search_qa"
    needs_device = False
    tools: ClassVar[tuple[str, ...]] = (SEARCH, "finish")
    max_turns = 6

    @property
    @abstractmethod
    def golds(self) -> Sequence[str]:
        """Answers that are right, in words; for the parts of the reward that compare words."""

    @abstractmethod
    def is_right(self, answer: str) -> bool:
        """Tell whether an answer is right."""

    @property
    def support(self) -> Sequence[str]:
        """Titles of the passages that lead to the answer; () where nobody has told."""
        return ()

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="answered right", holds=self.is_right(outcome.answer)),)

    def rubric(self) -> Rubric:
        return Rubric(
            parts=(
                SearchR1Reward(self.is_right).part,
                answer_part("exact_match", 0.0, lambda answer: exact_match(answer, self.golds)),
                answer_part("f1", 0.0, lambda answer: f1(answer, self.golds)),
                format_part(0.0),
                *((Part(name="support", weight=0.0, score=self._found),) if self.support else ()),
            )
        )

    def _found(self, verdict: Verdict) -> float:
        """Return the share of the supporting passages that searches have shown."""
        seen = {title for each in verdict.outcome.calls for title, _ in read_documents(each.result.text)}
        return sum(title in seen for title in self.support) / len(self.support)


class TypedQuestion(QuestionTask):
    """A question with one answer of a known type."""

    @property
    @abstractmethod
    def answer(self) -> Answer:
        """What is right."""

    @property
    def golds(self) -> Sequence[str]:
        return (str(self.answer),)

    def is_right(self, answer: str) -> bool:
        return self.answer.accepts(answer)


def read_documents(text: str) -> list[tuple[str, str]]:
    """Return (title, text) of each passage in what a search said."""
    return _DOCUMENT.findall(text)
