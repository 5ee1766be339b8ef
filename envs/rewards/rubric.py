"""From checks and side effects to a reward: the verdict on an episode, and the named, weighted parts made of it.

All parts are reported; their weighted sum is what the learner sees.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.device.state import Change, DeviceState, clock_set, diff, untouched
from rlfactory.envs.api.types import Reward
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.user_code import line_of

MAX_SIDE_EFFECTS: Final = 50
"""Listed in a verdict; more are counted in one last line."""
MAX_VALUE_CHARS: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What can be said of an episode at one moment."""

    success: bool
    """Every sub-goal holds, nothing else changed, and the agent said that it succeeded."""
    progress: float
    """Share of the sub-goals that hold, 0..1."""
    holds: tuple[tuple[str, bool], ...]
    """Each sub-goal by name."""
    side_effects: tuple[str, ...]
    """One line each."""
    outcome: Outcome
    """What it was formed from: answer, calls, scores."""


ALWAYS_ALLOWED: Final = ("foreground",)
"""Looking around is no side effect."""


class Judge:
    """Judges one episode of a task. Pure: it reads what it is given."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._allowed = _any_of((*ALWAYS_ALLOWED, *task.allowed()))

    def verdict(self, outcome: Outcome) -> Verdict:
        """Return the verdict on the state as it is now."""
        checks = self._task.checks(outcome)
        if not (isinstance(checks, Sequence) and all(isinstance(each, Check) for each in checks)):
            begun = line_of(self._task.checks)
            raise TypeError(f"{begun}: checks returns {checks!r}; a tuple is wanted: return (Check(..),)")
        side_effects = self.side_effects(outcome.initial, outcome.state)
        holding = sum(check.holds for check in checks)
        done = outcome.finished and outcome.claimed_success
        return Verdict(
            success=done and holding == len(checks) and not side_effects,
            progress=holding / len(checks) if checks else float(done),
            holds=tuple((check.name, check.holds) for check in checks),
            side_effects=side_effects,
            outcome=outcome,
        )

    def side_effects(self, initial: DeviceState, now: DeviceState) -> tuple[str, ...]:
        """Return what changed without being allowed to, and not by itself, one line each."""
        if initial is now:
            return ()
        by_itself = untouched(initial, now)
        lines = [
            _line(change)
            for change in (*diff(initial, now), *clock_set(initial, now))
            if not self._allowed.match(change.key) and by_itself.get(change.key, "") != change.after
        ]
        if len(lines) > MAX_SIDE_EFFECTS:
            lines[MAX_SIDE_EFFECTS:] = [f"and {len(lines) - MAX_SIDE_EFFECTS} more"]
        return tuple(lines)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return one expression that matches what any of the fnmatch patterns matches; of none, what matches nothing."""
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns) or r"(?!)")


def _line(change: Change) -> str:
    """Return what changed from what to what; of a record that was and is, the fields that differ."""
    before, after = change.before, change.after
    old, new = _record(before), _record(after)
    if old and new:
        before, after = (
            ", ".join(f"{name} {_plain(each[name])}" for name in sorted(each) if old.get(name) != new.get(name))
            for each in (old, new)
        )
    return f"{change.key}: {_shown(before)} -> {_shown(after)}"


def _record(value: str | None) -> dict[str, object]:
    """Return the fields of a record; of what is none, such as a text of a user's that begins like one, no fields."""
    try:
        found = json.loads(value) if value and value.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: str | None) -> str:
    if value is None:
        return "(none)"
    return value if len(value) <= MAX_VALUE_CHARS else f"{value[: MAX_VALUE_CHARS - 3]}..."


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One component of a reward."""

    name: str
    weight: float
    """0 for a part that is only reported."""
    score: Callable[[Verdict], float]
    """0..1."""


SUCCESS = Part(name="success", weight=1.0, score=lambda verdict: float(verdict.success))
PROGRESS = Part(name="progress", weight=0.0, score=lambda verdict: verdict.progress)
NO_SIDE_EFFECTS = Part(name="no_side_effects", weight=0.0, score=lambda verdict: float(not verdict.side_effects))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """How a verdict becomes a reward. By default 1 for success, else 0."""

    parts: Sequence[Part] = field(default=(SUCCESS, PROGRESS, NO_SIDE_EFFECTS))

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"two parts of a rubric have the same name: {', '.join(names)}")

    def reward(self, verdict: Verdict) -> Reward:
        """Return the reward with all its parts."""
        scores = {part.name: part.score(verdict) for part in self.parts}
        return Reward(
            total=sum(part.weight * scores[part.name] for part in self.parts),
            parts=scores,
            progress=verdict.progress,
            success=verdict.success,
            side_effects=verdict.side_effects,
        )
