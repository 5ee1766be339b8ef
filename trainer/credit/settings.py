"""The recipe's section `rlfactory.credit`, read once and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from rlfactory.trainer.credit.turns import Credit, Estimator
from rlfactory.trainer.credit.weights import Per

TURNS: Final = "turns"
"""Our estimator's name in verl: `algorithm.adv_estimator`."""
FIGURES: Final = ("discount", "step_weight", "trace", "potential")
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreditSettings:
    """How the turns of an episode share what it earned, and what weighs alike."""

    credit: Credit
    per: Per

    @classmethod
    def from_config(cls, section: Mapping[str, Any], *, adv_estimator: str = TURNS) -> CreditSettings | None:
        """Read the section. None: the estimator is verl's own, as `algorithm.adv_estimator` names it.

        Raises: ValueError: a value does not fit, or the two names contradict each other; says which, and what would do.
        """
        chosen = section["estimator"]
        if (chosen is None) == (adv_estimator == TURNS):
            raise ValueError(
                f"rlfactory.credit.estimator={chosen} does not go with algorithm.adv_estimator={adv_estimator}: "
                "credit=NAME chooses both"
            )
        if chosen is None:
            return None
        credit = Credit(
            estimator=_one_of(Estimator, chosen, "estimator"), **{name: float(section[name]) for name in FIGURES}
        )
        return cls(credit=credit, per=_one_of(Per, section["per"], "per"))


def _one_of(kind: type[Choice], name: str, key: str) -> Choice:
    if name not in list(kind):
        raise ValueError(f"rlfactory.credit.{key}={name} is none of: {', '.join(kind)}")
    return kind(name)
