"""Child processes that end with this one.

A program of ours reads its standard input to the end, or calls `when_parent_ends`; any other is started by `tied`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final, Self

from rlfactory.processes.errors import ProcessError, ProgramEnded
from rlfactory.processes.program import MAX_LINE_BYTES

STOP_TIMEOUT_S: Final = 5.0
"""For a child whose input has ended; then it is killed with all that it started in its session."""
_TIED: Final = """
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{ read -r _ <&3; kill -9 "$program"; } &
watcher=$!
exec 3<&-
wait "$program"
kill -9 "$watcher"
"""


def tied(*command: str) -> tuple[str, ...]:
    """Return the command that runs a program which does not read its input, and ends it when that ends."""
    return ("sh", "-c", _TIED, Path(command[0]).name, *command)


def when_parent_ends(callback: Callable[[], object]) -> None:
    """Call back, in a thread of its own, when nobody holds the other end of standard input any more.

    What is sent on it is left unread, for others to read.
    """

    def watch() -> None:
        hangup = select.poll()
        hangup.register(sys.stdin.fileno(), 0)  # an end is told even to those who ask for nothing
        hangup.poll()
        with contextlib.suppress(RuntimeError):  # an event loop that it would have told has ended already
            callback()

    threading.Thread(target=watch, name="parent", daemon=True).start()


class Child:
    """A child process. Make one with `start`; see `program.Program`."""

    def __init__(self, process: Process, name: str) -> None:
        assert process.stdin is not None
        self.process = process
        self.stdin = process.stdin
        self.name = f"{name}-{process.pid}"

    @classmethod
    async def start(
        cls,
        *command: str,
        name: str,
        stdout: int | IO[bytes] = PIPE,
        stderr: int | IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Self:
        """Start a program in a session of its own: Ctrl-C reaches us alone, and we end our children in good order.

        Args: stderr, environment, folder: None: ours.
        Raises: ProcessError: there is no such program.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=stdout,
                stderr=stderr,
                env=environment,
                cwd=folder,
                limit=MAX_LINE_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            raise ProcessError(f"{command[0]} cannot be started: {error.strerror}") from error
        return cls(process, name)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ended(self) -> bool:
        return self.process.returncode is not None

    @property
    def last_words(self) -> str:
        return ""

    @property
    def stdout(self) -> asyncio.StreamReader:
        """For those who read other things than lines."""
        assert self.process.stdout is not None
        return self.process.stdout

    def give_way(self, niceness: int) -> None:
        """Leave the processors to others first from now on, by so much (`nice`); best effort."""
        with contextlib.suppress(OSError):
            niceness += os.getpriority(os.PRIO_PROCESS, self.pid)
            os.setpriority(os.PRIO_PROCESS, self.pid, niceness)
            # Where sched(7) groups sessions, these share time evenly, whatever is in them; and it has one of its own.
            Path(f"/proc/{self.pid}/autogroup").write_text(str(min(niceness, 19)))

    async def send(self, line: bytes) -> None:
        try:
            self.stdin.write(line)
            await self.stdin.drain()
        except OSError as error:
            raise ProgramEnded(f"its process closed its input ({error})") from None

    async def receive(self) -> bytes:
        try:
            return (await self.stdout.readuntil(b"\n")).rstrip(b"\n")
        except asyncio.LimitOverrunError:
            raise ProgramEnded("its process wrote too long a line") from None
        except (asyncio.IncompleteReadError, OSError):
            raise ProgramEnded("its process ended") from None

    async def memory_bytes(self) -> int:
        return _resident_bytes(self.pid)

    async def stop(self, *, patience_s: float = STOP_TIMEOUT_S, ask: signal.Signals | None = None) -> None:
        """End its input (and send it a signal, if it needs one), then kill it and reap it. Idempotent."""
        self.stdin.close()
        await asyncio.shield(self._end(patience_s, ask))

    async def _end(self, patience_s: float, ask: signal.Signals | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            if ask is not None:
                self.process.send_signal(ask)
            try:
                async with asyncio.timeout(patience_s):
                    await self.process.wait()
            except TimeoutError:
                os.killpg(self.pid, signal.SIGKILL)
        await self.process.wait()


def _resident_bytes(pid: int) -> int:
    """Return the resident memory of a process (proc_pid_statm(5)); 0 when it is gone."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
