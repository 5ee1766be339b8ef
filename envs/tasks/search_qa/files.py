"""Questions from a JSONL file, over any index: Natural Questions as Search-R1 has it, HotpotQA, or plain.

    {"id": "3", "question": "who got the first nobel prize in physics", "golden_answers": ["Wilhelm Röntgen"]}
    {"_id": "5a8b", "question": "..", "answer": "yes", "supporting_facts": [["Title", 0], ["Other title", 2]]}
    {"question": "..", "answer": ["..", ".."], "split": "test"}

Without a `split` a tenth of the questions each are for validation and test, by the hash of the question.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import Split
from rlfactory.envs.rewards.answers import Number, plain, read_number
from rlfactory.envs.rewards.model_judge import JudgeQuestion, ModelJudge
from rlfactory.envs.rewards.rubric import Rubric
from rlfactory.envs.rewards.text import exact_match, verified_part
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.search_qa.question import SEARCH, QuestionTask
from rlfactory.envs.tasks.task import Check, Outcome, variant
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.search.retriever import Retriever
from rlfactory.envs.tools.search.tool import SearchTool, SearchToolConfig
from rlfactory.envs.tools.tool import ToolFactory

JUDGED: Final = "judged"
FORM: Final = "Answer with the name, number or few words that are asked for, and nothing else."
RIGHT_FROM: Final = 0.5
"""A judge's score from which an answer is right."""
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One line of the file."""

    text: str
    golds: tuple[str, ...]
    support: tuple[str, ...]
    split: Split


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file. Raises: TaskError: a line is none; it names file and line."""
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            questions.append(_question(json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{path}:{number}: {error}") from None
    if not questions:
        raise TaskError(f"{path} holds no questions")
    return questions


def _question(value: Any) -> Question:
    """Raises: ValueError: the line is no question."""
    match value:
        case {"question": str(text)}:
            pass
        case _:
            raise ValueError('a question is {"question": .., "answer": ..} or {"question": .., "golden_answers": [..]}')
    answers = value.get("golden_answers", value.get("answer"))
    golds = [answers] if isinstance(answers, str) else answers
    if not isinstance(golds, list) or not golds or not all(isinstance(each, str) and each.strip() for each in golds):
        raise ValueError("the answers must be a text, or a list of texts")
    text = text.strip()
    split = value.get("split", _drawn_split(text))
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is none of {', '.join(SPLITS)}")
    facts = value.get("supporting_facts") or []
    titles = dict.fromkeys(str(fact[0]) for fact in facts if isinstance(fact, list) and fact)
    return Question(text=text, golds=tuple(golds), support=tuple(titles), split=split)


def _drawn_split(text: str) -> Split:
    number = hashlib.sha256(text.encode()).digest()[0] % 10
    return "validation" if number == 8 else "test" if number == 9 else "train"


@dataclass(frozen=True)
class FileQuestion(QuestionTask):
    """A question of a file; `question_task` makes the class for one file."""

    pool: ClassVar[Mapping[Split, Sequence[Question]]]
    retriever: ClassVar[Retriever]
    search: ClassVar[SearchToolConfig]
    judged: ClassVar[bool]
    """A judge model decides on answers that are not the gold's words."""
    question: Question

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> FileQuestion:
        return cls(rng.choice(cls.pool[split]))

    @property
    def goal(self) -> str:
        return f"{self.question.text}\n\n{FORM}"

    @property
    def golds(self) -> Sequence[str]:
        return self.question.golds

    def is_right(self, answer: str) -> bool:
        return any(_same(answer, gold) for gold in self.golds)

    @property
    def support(self) -> Sequence[str]:
        return self.question.support

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {SEARCH: lambda context: SearchTool(self.retriever, self.search)}

    async def verify(self, outcome: Outcome, *, services: Services, timeout_s: float) -> Mapping[str, float]:
        """Ask the judge, where there is one, about an answer in other words. Raises: JudgeError: no verdict."""
        if not self.judged or not outcome.finished or not outcome.answer.strip():
            return {}
        if self.is_right(outcome.answer):
            return {JUDGED: 1.0}
        asked = JudgeQuestion(question=self.question.text, reference=" or ".join(self.golds), answer=outcome.answer)
        return {JUDGED: (await services.of(ModelJudge).grade(asked, timeout_s=timeout_s)).score}

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        if not self.judged:
            return QuestionTask.checks(self, outcome)
        return (Check(name="judged right", holds=outcome.scores.get(JUDGED, 0.0) >= RIGHT_FROM),)

    def rubric(self) -> Rubric:
        usual = QuestionTask.rubric(self)
        if not self.judged:
            return usual
        return Rubric(parts=(verified_part(JUDGED, 1.0), *(replace(part, weight=0.0) for part in usual.parts)))

    async def solve(self, ui: UiDriver) -> None:
        """Search for the question once, then say the gold answer: nobody has told how to find it."""
        await ui.call(SEARCH, query=self.question.text[:500])
        await ui.finish(answer=self.question.golds[0])


def _same(answer: str, gold: str) -> bool:
    """Compare as SQuAD does; where the gold is a number, by value: there "-3" is not "3"."""
    number = read_number(plain(gold))
    if number is None:
        return bool(exact_match(answer, [gold]))
    return Number(value=number, before=("in", "in the year")).accepts(answer)


def question_task(
    path: Path, retriever: Retriever, *, name: str = "", search: SearchToolConfig | None = None, judged: bool = False
) -> type[FileQuestion]:
    """Return the task of a file's questions, called `search_qa.<name>`, by default by the name of the file.

    Raises: TaskError: the file is not one of questions. OSError: it cannot be read.
    """
    questions = read_questions(path)
    pool = {split: [each for each in questions if each.split == split] for split in SPLITS}
    return variant(
        *(FileQuestion, f"search_qa.{name or path.stem.lower().replace(' ', '_')}"),
        description=f"{len(questions)} questions of {path.name}",
        splits=tuple(split for split in SPLITS if pool[split]),
        pool=pool,
        retriever=retriever,
        search=search or SearchToolConfig(),
        judged=judged,
    )
