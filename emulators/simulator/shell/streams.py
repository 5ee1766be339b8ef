"""What commands read from and write to, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rlfactory.emulators.simulator.machine.filesystem import FileTree


class ShellLimitError(Exception):
    """A command line took more than it may; the message names the limit."""


class ShellExit(Exception):
    """`exit`, or `set -e` and a command that failed."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class LoopExit(Exception):
    """`break` and (`again`) `continue`."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again


@dataclass(slots=True)
class Options:
    """`set` flags of a shell."""

    errexit: bool = False
    nounset: bool = False


@dataclass(slots=True)
class Budget:
    """What one command line may still use; shared by all that it runs."""

    steps: int = 200_000
    """Commands and loop turns."""
    output_bytes: int = 64 * 1024 * 1024
    """All that is written anywhere, pipes included."""
    depth: int = 48
    """Nested subshells and compound commands."""

    def step(self, count: int = 1) -> None:
        """Raises: ShellLimitError."""
        self.steps -= count
        if self.steps < 0:
            raise ShellLimitError("stopped: the command line takes more than 200000 steps")

    def write(self, size: int) -> None:
        """Raises: ShellLimitError."""
        self.output_bytes -= size
        if self.output_bytes < 0:
            raise ShellLimitError("stopped: the command line writes more than 64 MiB")


class Sink(Protocol):
    """Where a command's output goes."""

    def write(self, data: bytes) -> None: ...


class BufferSink:
    """Keeps what is written."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._chunks: list[bytes] = []

    def write(self, data: bytes) -> None:
        self._budget.write(len(data))
        self._chunks.append(data)

    def value(self) -> bytes:
        return b"".join(self._chunks)


class NullSink:
    """/dev/null."""

    def write(self, data: bytes) -> None:
        pass


class FileSink:
    """A file of the phone, open for writing; it is created at once, as the shell does."""

    def __init__(self, files: FileTree, path: str, budget: Budget, *, append: bool) -> None:
        """Raises: OSError."""
        self._files = files
        self._path = path
        self._budget = budget
        self._content = bytearray(files.read(path) if append and files.exists(path) else b"")
        if not append or not files.exists(path):
            files.write(path, bytes(self._content), mode=None if files.exists(path) else 0o660)

    def write(self, data: bytes) -> None:
        if data:
            self._budget.write(len(data))
            self._content += data
            self._files.write(self._path, bytes(self._content))


class Source:
    """Input of a command: bytes that are consumed as they are read."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data
        self._position = 0

    def read(self) -> bytes:
        """Return all that is left."""
        rest = self._data[self._position :]
        self._position = len(self._data)
        return rest

    def read_line(self) -> bytes:
        """Return the next line with its newline, b"" at the end."""
        end = self._data.find(b"\n", self._position)
        end = len(self._data) if end < 0 else end + 1
        line = self._data[self._position : end]
        self._position = end
        return line


@dataclass(slots=True)
class Streams:
    """The standard streams of a command."""

    stdin: Source
    stdout: Sink
    stderr: Sink

    def copy(self) -> Streams:
        return Streams(self.stdin, self.stdout, self.stderr)
