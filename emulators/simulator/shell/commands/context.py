"""What a command gets: its arguments, its streams, the phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.machine.filesystem import FileTree
    from rlfactory.emulators.simulator.machine.state import PhoneState
    from rlfactory.emulators.simulator.phone import Phone
    from rlfactory.emulators.simulator.shell.interpreter import Shell


class UsageError(ValueError):
    """The arguments make no sense; the message is printed after the command's name."""


class Context:
    """One call of a command."""

    def __init__(self, shell: Shell, name: str, args: list[str]) -> None:
        self.shell = shell
        self.name = name
        self.args = args
        """Without the command's name."""
        self._given: dict[str, str] = {}

    @property
    def phone(self) -> Phone:
        return self.shell.phone

    @property
    def state(self) -> PhoneState:
        return self.shell.phone.state

    @property
    def files(self) -> FileTree:
        return self.shell.phone.state.files

    # --- output --------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        self.shell.streams.stdout.write(data)

    def out(self, text: str) -> None:
        """Print text as it is."""
        self.shell.streams.stdout.write(text.encode("utf-8", "surrogateescape"))

    def line(self, text: str) -> None:
        self.out(text + "\n")

    def error(self, message: str) -> None:
        """Print `<command>: <message>` to standard error."""
        self.shell.streams.stderr.write(f"{self.name}: {message}\n".encode("utf-8", "surrogateescape"))

    def report(self, error: OSError) -> None:
        """Print an error of the file tree, naming the path as it was given."""
        path = str(error.filename or "")
        self.error(f"{self._given.get(path, path)}: {error.strerror}")

    def fail(self, message: str, status: int = 1) -> int:
        """Print an error and return the exit status."""
        self.error(message)
        return status

    # --- input ---------------------------------------------------------------------------------------------------

    def path(self, given: str) -> str:
        """Return a path of the file tree for one given on the command line (which may be relative)."""
        if given.startswith("/"):
            return given
        path = f"{self.shell.cwd.rstrip('/')}/{given}"
        self._given[path] = given
        return path

    def stdin(self) -> bytes:
        """Return what is left of standard input."""
        return self.shell.streams.stdin.read()

    def read(self, given: str) -> bytes:
        """Return the content of a file, of standard input for `-`. Raises: OSError."""
        return self.stdin() if given in {"-", "/dev/stdin"} else self.files.read(self.path(given))

    def run(self, arguments: list[str]) -> int:
        """Run another command on the same streams."""
        return self.shell.call(arguments)


Command = Callable[[Context], int]


def split_options(args: list[str], flags: str, with_value: str = "") -> tuple[dict[str, str], list[str]]:
    """Split short options from operands, wherever they stand, as toybox does; `--` ends the options.

    Returns: option letter -> its value ("" for a flag, repeated per occurrence), and the operands.
    Raises: UsageError: unknown option, missing value.
    """
    options: dict[str, str] = {}
    operands: list[str] = []
    pending = list(args)
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            operands += pending
            break
        if len(argument) < 2 or argument[0] != "-":
            operands.append(argument)
            continue
        letters = argument[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in with_value:
                if not letters and not pending:
                    raise UsageError(f"Missing argument to -{letter}")
                options[letter] = letters or pending.pop(0)
                letters = ""
            elif letter in flags:
                options[letter] = options.get(letter, "") + letter
            else:
                raise UsageError(f"Unknown option '{letter}'")
    return options, operands
