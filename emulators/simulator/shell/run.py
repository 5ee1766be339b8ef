"""The entry to the shell: a command line in, bytes and an exit code out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.shell.interpreter import Shell
from rlfactory.emulators.simulator.shell.parser import parse
from rlfactory.emulators.simulator.shell.streams import Budget, BufferSink, ShellLimitError, Source, Streams
from rlfactory.emulators.simulator.shell.syntax import ShellSyntaxError

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

MAX_COMMAND_CHARS: Final = 1_048_576
_STOPPED: Final = 137


@dataclass(frozen=True, slots=True)
class ShellOutput:
    """What a command line printed, and how it ended."""

    stdout: bytes
    stderr: bytes
    exit_code: int


def run(phone: Phone, command: str, stdin: bytes = b"") -> ShellOutput:
    """Run a command line as root, to its end.

    Whatever the text, this returns: bad syntax and unknown commands are output and an exit code, and a line that takes
    more steps, output or nesting than `Budget` allows is stopped with exit code 137 and a message naming the limit.
    """
    budget = Budget()
    stdout, stderr = BufferSink(budget), BufferSink(budget)
    shell = Shell(phone, Streams(Source(stdin), stdout, stderr), budget)
    if len(command) > MAX_COMMAND_CHARS:
        return ShellOutput(b"", f"sh: command line longer than {MAX_COMMAND_CHARS} characters\n".encode(), 1)
    limit_message = b""
    try:
        status = shell.run_to_end(parse(command))
    except ShellSyntaxError as error:
        shell.complain(str(error))
        status = 1
    except ShellLimitError as error:
        # Not through the sink: it may be the output limit that was hit.
        limit_message = f"sh: {error}\n".encode()
        status = _STOPPED
    return ShellOutput(stdout.value(), stderr.value() + limit_message, status)
