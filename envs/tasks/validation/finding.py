"""What a check of a task says, and the policy of what follows from that."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.tasks.table import read_table


class Level(StrEnum):
    """What a check needs."""

    STATIC = "static"
    """The task drawn; nothing is played."""
    RUNTIME = "runtime"
    """Episodes of its oracle, and of nobody."""
    SEMANTIC = "semantic"
    """Episodes of those who cheat: what must not be rewarded is not."""


class Status(StrEnum):
    PASSED = "passed"
    ALLOWED = "allowed"
    """It does not hold, and the policy says why that may be."""
    WARNED = "warned"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Nothing can be said: what the check plays did not get that far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One check, as the report explains it."""

    name: str
    level: Level
    what: str
    """What holds of a good task."""
    mend: str
    """What to do where it does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What one check says of one template."""

    task: str
    rule: Rule
    status: Status
    evidence: str = ""
    """What was seen; "" where the check holds."""

    def line(self) -> str:
        return f"{self.task} {self.rule.name}: {self.evidence}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationPolicy:
    """What fails, what warns, and what is allowed for a reason; `policy.yaml` beside this is the one that ships."""

    warns: frozenset[str] = frozenset()
    """Checks that do not fail a task."""
    allowed: Mapping[str, Mapping[str, str]]
    """By check, and the pattern of a task's name: why it need not hold there."""

    chance: Mapping[str, float] = field(default_factory=dict)
    """By the pattern of a task's name: how often one wins by chance who does not look, where that is no rare luck."""

    def chance_of(self, task: str) -> float:
        return next((share for name, share in self.chance.items() if fnmatch.fnmatchcase(task, name)), 0.0)

    def reason(self, check: str, task: str) -> str:
        """Return why the check need not hold of the task; "" if it has to."""
        return next((why for name, why in self.allowed.get(check, {}).items() if fnmatch.fnmatchcase(task, name)), "")

    def judge(self, task: str, rule: Rule, evidence: str) -> Finding:
        """Return the finding of a check that has been made; with no evidence it holds."""
        status = Status.WARNED if rule.name in self.warns else Status.FAILED
        if evidence and (why := self.reason(rule.name, task)):
            return Finding(task=task, rule=rule, status=Status.ALLOWED, evidence=f"{evidence}; {why}")
        return Finding(task=task, rule=rule, status=status if evidence else Status.PASSED, evidence=evidence)


_PARTS: Final = ("warns", "allowed", "chance")


def policy_of(path: Path | None, checks: Collection[str]) -> ValidationPolicy:
    """Return the policy of a YAML file, by default the one that ships; `checks` are those there are.

    Raises: TaskError: the file is none. UnknownName: it names a check or a part that there is not.
    """
    place = path or Path(__file__).with_name("policy.yaml")
    try:
        value: Any = read_table(str(place), place.name)
        parts = {"warns": [], "allowed": {}, "chance": {}, **{key: part for key, part in value.items() if part}}
        allowed = {check: {task: str(why) for task, why in tasks.items()} for check, tasks in parts["allowed"].items()}
        chance = {task: float(share) for task, share in parts["chance"].items()}
        if not isinstance(parts["warns"], list):
            raise TypeError(f"warns is no list: {parts['warns']!r}")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise TaskError(
            f"{place} is no policy (warns: [CHECK], allowed: {{CHECK: {{TASK: WHY}}}}, chance: {{TASK: SHARE}}): {why}"
        ) from None
    for known, named in ((_PARTS, parts), (checks, [*parts["warns"], *allowed])):
        for name in named:
            if name not in known:
                raise UnknownName.of(f"{'part' if known is _PARTS else 'check'} of {place},", str(name), known)
    return ValidationPolicy(warns=frozenset(parts["warns"]), allowed=allowed, chance=chance)
