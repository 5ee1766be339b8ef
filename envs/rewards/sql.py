"""Is a query right? It and the gold query are run on databases of which its author has seen at most the first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlfactory.envs.rewards.rubric import SUCCESS, Part
from rlfactory.envs.service.services import Services
from rlfactory.envs.tools.sql.compare import Comparison
from rlfactory.envs.tools.sql.database import Database
from rlfactory.envs.tools.sql.statement import bare
from rlfactory.envs.tools.sql.workers import SqlVerdict, SqlWorkers

EXECUTES: Final = "sql_executes"
SEEN_RIGHT: Final = "sql_right_where_seen"
RIGHT: Final = "sql_right"
QUERY_SHARE: Final = 0.4
"""Of a verdict's time, for one query: it has to end early enough for its end to be a verdict."""


def _reported(name: str) -> Part:
    return Part(name=name, weight=0.0, score=lambda verdict: verdict.outcome.scores.get(name, 0.0))


SQL_PARTS: Final = (
    SUCCESS,
    *(_reported(name) for name in (EXECUTES, SEEN_RIGHT, RIGHT)),
)
"""For a rubric: 1 for success; how far the query came is reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlCheck:
    """The gold query of a task, and where queries are compared with it."""

    gold: str
    databases: Sequence[Database]
    """The one that the agent may query comes first; the others make a lucky answer fail."""
    comparison: Comparison = field(default_factory=Comparison)
    timeout_s: float = 5.0
    """Of one query on one database."""

    async def verdict(self, answer: str, services: Services, *, timeout_s: float = math.inf) -> SqlVerdict:
        """Return whether an answer is right. One that is too slow to tell within `timeout_s` is not.

        Raises: EnvironmentFault: a database or the gold query is broken. InfrastructureError: no worker.
        """
        query_s = min(self.timeout_s, QUERY_SHARE * timeout_s)
        return await services.of(SqlWorkers).verify(
            self.databases, bare(answer), gold=self.gold, comparison=self.comparison, timeout_s=query_s
        )

    async def scores(self, answer: str, services: Services, *, timeout_s: float = math.inf) -> Mapping[str, float]:
        """Return the scores of `SQL_PARTS`; see `verdict`."""
        verdict = await self.verdict(answer, services, timeout_s=timeout_s)
        return {
            EXECUTES: float(verdict.failure is None),
            SEEN_RIGHT: float(verdict.database > 0),
            RIGHT: float(verdict.same),
        }
