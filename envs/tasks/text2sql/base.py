"""What all tasks of the suite share: a question, a database to query, and others that only the verdict sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from rlfactory.envs.rewards.rubric import Rubric
from rlfactory.envs.rewards.sql import EXECUTES, RIGHT, SEEN_RIGHT, SQL_PARTS, SqlCheck
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver
from rlfactory.envs.tools.sql.compare import Comparison
from rlfactory.envs.tools.sql.database import Database, SqliteBytes
from rlfactory.envs.tools.sql.tool import NAMES, sql_tool
from rlfactory.envs.tools.tool import ToolFactory

INSTRUCTIONS: Final = (
    "The tool `sql` runs queries on one such database. When you are sure, call `finish` with one "
    "{dialect} query as the "
    "answer: the query itself, not its result. It is run on other databases with the same tables, too."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question about a database, and a query that answers it."""

    text: str
    gold: str
    ordered: bool = False
    """The question asks for an order of the rows."""

    @property
    def comparison(self) -> Comparison:
        return Comparison(rows="ordered" if self.ordered else "multiset", columns="permutation")


class Text2SqlTask(Task):
    """One question. A subclass says which, and on which databases."""

    suite: ClassVar[str] = "text2sql"
    tools: ClassVar[tuple[str, ...]] = ("sql", "finish")
    max_turns: ClassVar[int] = 6
    needs_device: ClassVar[bool] = False

    question: Question

    @property
    def schema(self) -> str:
        """The tables, as the agent is shown them."""
        raise NotImplementedError

    @property
    def databases(self) -> Sequence[Database]:
        """The one that the agent queries, then those of the verdict alone."""
        raise NotImplementedError

    def more_databases(self, count: int) -> Sequence[SqliteBytes]:
        """Return others with the same tables, to try whether the verdict's suffice; () where none can be made."""
        return ()

    @property
    def goal(self) -> str:
        instructions = INSTRUCTIONS.format(dialect=NAMES[self.databases[0].dialect])
        return f"{self.question.text}\n\n{self.schema}\n\n{instructions}"

    @cached_property
    def check(self) -> SqlCheck:
        return SqlCheck(gold=self.question.gold, databases=self.databases, comparison=self.question.comparison)

    def own_tools(self) -> Mapping[str, ToolFactory]:
        return {"sql": sql_tool(self.databases[0])}

    async def verify(self, outcome: Outcome, *, services: Services, timeout_s: float) -> Mapping[str, float]:
        if not outcome.finished or not outcome.answer.strip():
            return {}
        return await self.check.scores(outcome.answer, services, timeout_s=timeout_s)

    def rubric(self) -> Rubric:
        return Rubric(parts=SQL_PARTS)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return tuple(Check(name=name, holds=outcome.scores.get(name) == 1.0) for name in (EXECUTES, SEEN_RIGHT, RIGHT))

    async def solve(self, ui: UiDriver) -> None:
        await ui.call("sql", query=self.question.gold)
        await ui.finish(answer=self.question.gold)
