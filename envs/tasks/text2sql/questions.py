"""Questions about a domain, at four levels, each with the query that answers it; `questions.yaml` lists them.

Where rows could be ordered in two ways, or two rows could be meant, the question says which.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlfactory.envs.tasks.table import frozen, read_table
from rlfactory.envs.tasks.text2sql.base import Question
from rlfactory.envs.tasks.text2sql.domains import Domain

YEARS = (2023, 2024)


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A question before its parameters are drawn."""

    draw: Sequence[str | tuple[int, int]]
    text: str
    gold: str
    ordered: bool = False

    def about(self, domain: Domain, rng: random.Random) -> Question:
        """Return the question about a domain, its parameters drawn."""
        drawn: dict[str, object] = {}
        for each in self.draw:
            drawn |= _drawn(each, domain, rng)
        text, gold = (pattern.format(d=domain, **drawn) for pattern in (self.text, self.gold))
        return Question(text=text, gold=gold, ordered=self.ordered)


def _drawn(what: str | tuple[int, int], domain: Domain, rng: random.Random) -> dict[str, Any]:
    match what:
        case "kind":
            return {"kind": rng.choice(domain.kinds)}
        case "two kinds":
            return dict(zip(("first", "second"), rng.sample(domain.kinds, 2), strict=True))
        case "place":
            return {"place": rng.choice(domain.places)}
        case "year":
            return {"year": rng.choice(YEARS)}
        case "threshold":
            low, high = domain.numbers
            return {"threshold": rng.randint(low + (high - low) // 6, low + (high - low) * 2 // 3)}
        case (int() as least, int() as most):
            return {"number": rng.randint(least, most)}
        case _:
            raise ValueError(f"questions.yaml: nothing to draw by {what!r}")


LEVELS: Sequence[Sequence[Template]] = tuple(
    tuple(Template(**row) for row in level) for level in frozen(read_table(__file__, "questions.yaml"))
)
