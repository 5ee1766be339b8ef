"""A program that is spoken to by lines on its standard input and output: a child process, or a container."""

from __future__ import annotations

from typing import Final, Protocol

MAX_LINE_BYTES: Final = 1 << 20


class Program(Protocol):
    """Implemented by `child.Child` and `docker.container.Container`."""

    @property
    def name(self) -> str: ...

    @property
    def ended(self) -> bool:
        """It has ended by itself."""
        ...

    @property
    def last_words(self) -> str:
        """What it wrote last on standard error, "" where that is not read here."""
        ...

    async def send(self, line: bytes) -> None:
        """Write a line, its end included. Raises: ProgramEnded."""
        ...

    async def receive(self) -> bytes:
        """Return the next line, without its end. Raises: ProgramEnded: there is none, or it is too long."""
        ...

    async def memory_bytes(self) -> int:
        """Return what it takes of this machine's memory; 0 when it is gone. Raises: ProcessError."""
        ...

    async def stop(self) -> None:
        """End it, and whatever runs in it. Idempotent."""
        ...
