"""Who made a container, and whether that process lives: what a dead one left behind is reaped."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_CONTAINER_HOST = re.compile(r"[0-9a-f]{12}")
"""The host name that an engine gives a container: the start of its id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A process, told from a later one with the same number by the time it started."""

    host: str
    """Name of the machine or container it runs in."""
    pid: int
    started_ticks: int
    """Field 22 of /proc/PID/stat: clock ticks after the machine's boot."""

    @classmethod
    def this_process(cls) -> Self:
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return the owner that a process of this machine is."""
        return cls(host=socket.gethostname(), pid=pid, started_ticks=_started_ticks(pid))

    @classmethod
    def parse(cls, label: str) -> Self | None:
        """Return the owner that a label names, None when it names none."""
        match label.rsplit(":", 2):
            case [host, pid, ticks] if host and pid.isdecimal() and ticks.isdecimal():
                return cls(host=host, pid=int(pid), started_ticks=int(ticks))
        return None

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}:{self.started_ticks}"

    def lives(self, container_runs: Callable[[str], bool]) -> bool:
        """Return whether the process runs. What cannot be known (it is on another machine) counts as alive.

        Args: container_runs: tells whether the container with this id (its first 12 digits) runs.
        """
        if self.host == socket.gethostname():
            return self.started_ticks != 0 and _started_ticks(self.pid) == self.started_ticks
        return not _CONTAINER_HOST.fullmatch(self.host) or container_runs(self.host)


def _started_ticks(pid: int) -> int:
    """Return when a process started, 0 when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    fields = stat.rpartition(")")[2].split()
    return 0 if fields[0] == "Z" else int(fields[19])
