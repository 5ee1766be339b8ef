"""The verdict on a phone task: sub-goals that hold, and everything that changed beyond what the task allows."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.device.state import DeviceState, diff
from rlfactory.envs.tasks.task import Outcome, Task

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


class Judge:
    """Judges one episode of a task. Pure: it reads what it is given."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._allowed = _any_of(task.allowed())

    def verdict(self, outcome: Outcome) -> Verdict:
        """Return the verdict on the state as it is now."""
        checks = self._task.checks(outcome)
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
        """Return what changed without being allowed to, one line each."""
        if initial is now:
            return ()
        lines = [
            f"{change.key}: {_shown(change.before)} -> {_shown(change.after)}"
            for change in diff(initial, now)
            if not self._allowed.match(change.key)
        ]
        if len(lines) > MAX_SIDE_EFFECTS:
            lines[MAX_SIDE_EFFECTS:] = [f"and {len(lines) - MAX_SIDE_EFFECTS} more"]
        return tuple(lines)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return one expression that matches what any of the fnmatch patterns matches; of none, what matches nothing."""
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns) or r"(?!)")


def _shown(value: str | None) -> str:
    if value is None:
        return "(none)"
    return value if len(value) <= MAX_VALUE_CHARS else f"{value[: MAX_VALUE_CHARS - 3]}..."
