"""A child process with everything it started, ended together and for certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from rlfactory.processes.child import Child
from rlfactory.processes.errors import ProcessError
from rlfactory.processes.warm import WarmPython

STOP_TIMEOUT_S = 30.0
"""After SIGTERM; then SIGKILL, also to what the child left behind."""
_RAISED = re.compile(r"[\w.]*(Error|Exception)\b")
_LAST_LINES = 20
_MAX_WORDS_CHARS = 600


class ChildFailed(ProcessError):
    """The child ended by itself with an error."""


@asynccontextmanager
async def python_child(
    arguments: Sequence[str], *, log_path: Path, environment: Mapping[str, str], warm: WarmPython | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `python ARGUMENTS` for the block, its output appended to a file; with a warm process, in a fork of that.

    At the block's end the child and all its descendants are gone, whatever happened, and so is all that was forked.
    """
    with log_path.open("ab") as log:
        child = await Child.start(
            *(warm.executable if warm else sys.executable, *arguments),
            name="python",
            stdout=log,
            stderr=log,
            environment={**os.environ, **environment},
        )
    family = _Family(*((child.pid, warm.pid) if warm else (child.pid,)))
    watch = asyncio.create_task(family.keep_up())
    try:
        yield child.process
    finally:
        watch.cancel()
        await asyncio.shield(_end(child, family))


def last_words(log_path: Path) -> str:
    """Return the end of a log on one line: the last error and what follows it, else the last line."""
    text = log_path.read_text(errors="replace") if log_path.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]
    raised = [number for number, line in enumerate(lines) if _RAISED.match(line)]
    return " ".join(lines[raised[-1] if raised else -1 :])[:_MAX_WORDS_CHARS]


class _Family:
    """The descendants of processes, remembered: once their parent is gone, nothing tells that they were its children.

    Ray's processes begin sessions of their own, so a process group would miss them.
    """

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._members: dict[int, psutil.Process] = {}

    async def keep_up(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(1.0)

    def look(self) -> None:
        for pid in self._pids:
            with contextlib.suppress(psutil.NoSuchProcess):
                for member in psutil.Process(pid).children(recursive=True):
                    self._members.setdefault(member.pid, member)

    def alive(self) -> list[psutil.Process]:
        """Return those still there; `is_running` compares start times, so a reused pid is nobody's child."""
        return [member for member in self._members.values() if _lives(member)]


def _lives(member: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(member.is_running() and member.status() != psutil.STATUS_ZOMBIE)
    return False


async def _end(child: Child, family: _Family) -> None:
    family.look()
    await child.stop(patience_s=STOP_TIMEOUT_S, ask=signal.SIGTERM)
    for signal_name, wait_s in (("terminate", 5.0), ("kill", 5.0)):
        left = family.alive()
        if not left:
            return
        for member in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                getattr(member, signal_name)()
        await asyncio.to_thread(psutil.wait_procs, left, wait_s)
