"""What a command gets (its arguments, its streams, the phone), and the tables in which commands are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

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
        self.options: dict[str, str] = {}
        """Of a command that declares its options: see `split_options`."""
        self.operands: list[str] = []
        self.status = 0
        """The exit status, unless the command returns one."""
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

    def lines(self, texts: Iterable[str]) -> None:
        self.out("".join(text + "\n" for text in texts))

    def complain(self, text: str, status: int = 1) -> int:
        """Print a line to standard error as it stands; return the exit status, which it becomes."""
        self.shell.streams.stderr.write(f"{text}\n".encode("utf-8", "surrogateescape"))
        self.status = status
        return status

    def fail(self, message: str, status: int = 1) -> int:
        """Print `<command>: <message>` to standard error; return the exit status, which it becomes."""
        return self.complain(f"{self.name}: {message}", status)

    def report(self, error: OSError) -> None:
        """Print an error of the file tree, naming the path as it was given; the exit status is 1."""
        path = str(error.filename or "")
        self.fail(f"{self._given.get(path, path)}: {error.strerror}")

    @contextmanager
    def attempt(self, operand: str = "") -> Iterator[None]:
        """Run a block for one operand: an error of the file tree is reported, and the next operand's turn comes."""
        try:
            yield
        except OSError as error:
            if operand:
                self.fail(f"'{operand}': {error.strerror}")
            else:
                self.report(error)

    # --- input ---------------------------------------------------------------------------------------------------

    def path(self, given: str) -> str:
        """Return a path of the file tree for one given on the command line (which may be relative)."""
        if given.startswith("/"):
            return given
        path = f"{self.shell.cwd.rstrip('/')}/{given}"
        self._given[path] = given
        return path

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield each operand and its path."""
        return ((operand, self.path(operand)) for operand in self.operands)

    def stdin(self) -> bytes:
        """Return what is left of standard input."""
        return self.shell.streams.stdin.read()

    def stdin_text(self) -> str:
        return self.stdin().decode("utf-8", "surrogateescape")

    def read(self, given: str) -> bytes:
        """Return the content of a file, of standard input for `-`. Raises: OSError."""
        return self.stdin() if given in {"-", "/dev/stdin"} else self.files.read(self.path(given))

    def read_first(self) -> bytes:
        """Return the content of the first operand, of standard input without any. Raises: OSError."""
        return self.read(self.operands[0] if self.operands else "-")

    def inputs(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each operand (standard input without any); what cannot be read is reported."""
        for operand in self.operands or ["-"]:
            try:
                content = self.read(operand)
            except OSError as error:
                self.report(error)
                continue
            yield operand, content

    def run(self, arguments: list[str]) -> int:
        """Run another command on the same streams."""
        return self.shell.call(arguments)


NEVER: Final = -1
ALWAYS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command as it is declared."""

    function: Callable[[Context], int | None]
    """Returns the exit status; None: it is `Context.status`."""
    flags: str | None
    """Letters of the options it knows; None: it reads its arguments itself."""
    with_value: str
    """Letters of options that take a value."""
    least: int
    """So many operands it needs."""
    reads: int | Callable[[list[str]], bool]
    """It reads standard input when it has at most this many operands, or when this says so of its arguments."""
    wraps: bool
    """It runs the command that its operands are."""

    def run(self, context: Context) -> int:
        """Carry out one call; return the exit status. Raises: OSError, ValueError: printed by the shell."""
        if self.flags is not None:
            context.options, context.operands = split_options(context.args, self.flags, self.with_value)
            if len(context.operands) < self.least:
                raise UsageError(f"Needs {self.least} argument{'s' if self.least > 1 else ''}")
        status = self.function(context)
        return context.status if status is None else status

    def reads_stdin(self, args: list[str]) -> bool:
        """Tell whether a call with these arguments reads standard input."""
        if not isinstance(self.reads, int):
            return self.reads(args)
        return self.reads >= 0 and ("-" in args or self._operand_count(args) <= self.reads)

    def _operand_count(self, args: list[str]) -> int:
        """Count operands of arguments that may make no sense."""
        count, value_follows = 0, False
        for argument in args:
            if value_follows:
                value_follows = False
            elif argument.startswith("-"):
                value_follows = argument[1:2] != "-" and argument[-1] in self.with_value
            else:
                count += 1
        return count


class CommandTable:
    """The commands that one module declares, each with `@table.command(...)`."""

    def __init__(self) -> None:
        self.commands: dict[str, Command] = {}

    def command(
        self,
        *names: str,
        flags: str | None = None,
        with_value: str = "",
        least: int = 0,
        reads: int | Callable[[list[str]], bool] = NEVER,
        wraps: bool = False,
    ) -> Callable[[Callable[[Context], int | None]], Callable[[Context], int | None]]:
        """Declare the function below as the command of these names; see `Command` for the rest."""

        def declared(function: Callable[[Context], int | None]) -> Callable[[Context], int | None]:
            command = Command(
                function=function, flags=flags, with_value=with_value, least=least, reads=reads, wraps=wraps
            )
            self.commands.update(dict.fromkeys(names, command))
            return function

        return declared


Verb = Callable[[Context, list[str]], int | None]
"""Carries out one verb of a command on the words after it; returns as `Command.function` does."""


Function = TypeVar("Function")


class Functions(dict[str, Function]):
    """Functions by the names they are called by."""

    def verb(self, *names: str) -> Callable[[Function], Function]:
        """Enter the function below under these names."""

        def entered(function: Function) -> Function:
            self.update(dict.fromkeys(names, function))
            return function

        return entered


class Verbs(Functions[Verb]):
    """What a command's first word can be: a verb of `am` or `pm`, a service of `cmd` or `dumpsys`."""

    def run(self, context: Context, words: list[str], help_text: str) -> int | None:
        """Carry out the verb that the words begin with; without any, print the help."""
        if words and words[0] in self:
            return self[words[0]](context, words[1:])
        if words and words[0]:
            return context.complain(f"Unknown command: {words[0]}", 255)
        context.line(help_text)
        return 255


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


def without_user(words: list[str]) -> list[str]:
    """Return the words without `--user N`: there is one user."""
    while "--user" in words:
        at = words.index("--user")
        words = words[:at] + words[at + 2 :]
    return words
