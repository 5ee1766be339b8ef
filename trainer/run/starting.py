"""What a run waits for while verl starts, told as verl's log says that one part is up and the next one begins."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

STAGES: Final[tuple[tuple[str, str], ...]] = (
    ("Started a local Ray instance", "Ray runs; waiting for verl's trainer, a process of Ray's that reads the recipe"),
    ("worker group kwargs", "data read; waiting for the learner's processes"),
    ("create worker group", "learner's processes run; waiting for the model's weights in them"),
    ("actor and ref model engine initialized", "model loaded; waiting for the rollout engine: {engine}"),
    ("all initialize finished, ready to fit", "rollout engine runs; waiting for {first}"),
)
"""A line of verl's log that ends a part of its start, and what is then waited for."""
_REMIND_S: Final = 30.0


class Starting:
    """Follows verl's log from now on until the first step."""

    def __init__(self, log_path: Path, *, engine: str, first: str) -> None:
        """Args:
        engine: what samples.
        first: what verl does before it tells of a first step.
        """
        self._path = log_path
        self._words = {"engine": engine, "first": first}
        self._read = log_path.stat().st_size if log_path.exists() else 0
        self._left = list(STAGES)
        self._waits_for = "Ray"
        self._told_s = time.monotonic()

    def news(self) -> list[str]:
        """Return what has come up since the last call; after half a minute without any, what is still waited for."""
        messages = []
        for line in self._new_text().splitlines():
            passed = next((index for index, (mark, _) in enumerate(self._left) if mark in line), None)
            if passed is not None:
                messages.append(self._left[passed][1].format(**self._words))
                del self._left[: passed + 1]
        now = time.monotonic()
        if messages:
            self._waits_for = messages[-1].partition("waiting for ")[2]
        elif now - self._told_s >= _REMIND_S:
            messages = [f"still waiting for {self._waits_for}; its log: {self._path}"]
        if messages:
            self._told_s = now
        return messages

    def _new_text(self) -> str:
        """Return the whole lines that were added."""
        if not self._path.exists():
            return ""
        with self._path.open("rb") as stream:
            stream.seek(self._read)
            whole, newline, _ = stream.read().rpartition(b"\n")
        self._read += len(whole) + len(newline)
        return whole.decode(errors="replace")
