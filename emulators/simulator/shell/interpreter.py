"""Runs syntax trees: one `Shell` is one shell process, its forks are subshells."""

from __future__ import annotations

import posixpath
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never

from rlfactory.emulators.simulator.shell import syntax
from rlfactory.emulators.simulator.shell.arithmetic import ArithmeticSyntaxError
from rlfactory.emulators.simulator.shell.builtins import BUILTINS
from rlfactory.emulators.simulator.shell.commands.context import Context
from rlfactory.emulators.simulator.shell.commands.registry import COMMANDS
from rlfactory.emulators.simulator.shell.expansion import ExpansionError, expand_pattern, expand_text, expand_words
from rlfactory.emulators.simulator.shell.parser import parse
from rlfactory.emulators.simulator.shell.redirection import RedirectionError, redirected
from rlfactory.emulators.simulator.shell.streams import (
    Budget,
    BufferSink,
    LoopExit,
    Options,
    ShellExit,
    ShellLimitError,
    Source,
    Streams,
)

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.machine.filesystem import FileTree
    from rlfactory.emulators.simulator.phone import Phone

SHELL: Final = "/system/bin/sh"
SHELL_PID: Final = 4242
NOT_FOUND: Final = 127
_ENVIRONMENT: Final = {
    "ANDROID_DATA": "/data",
    "ANDROID_ROOT": "/system",
    "ANDROID_STORAGE": "/storage",
    "EXTERNAL_STORAGE": "/sdcard",
    "HOME": "/",
    "HOSTNAME": "oriole",
    "LOGNAME": "root",
    "PATH": "/product/bin:/apex/com.android.runtime/bin:/system/bin:/system/xbin:/odm/bin:/vendor/bin",
    "SHELL": SHELL,
    "TERM": "dumb",
    "TMPDIR": "/data/local/tmp",
    "USER": "root",
}


class Shell:
    """Variables, working directory and streams of one shell; commands change the phone at once."""

    commands = COMMANDS

    def __init__(self, phone: Phone, streams: Streams, budget: Budget) -> None:
        self.phone = phone
        self.streams = streams
        self.budget = budget
        self.cwd = "/"
        self.name = SHELL
        self.variables = dict(_ENVIRONMENT)
        self.exported = set(_ENVIRONMENT)
        self.positional: list[str] = []
        self.status = 0
        self.options = Options()
        self._substituted_status: int | None = None
        self._conditions = 0
        self.loops = 0
        self.last_tap: tuple[int, int] | None = None
        """Where this shell's last `input tap` went."""

    @property
    def files(self) -> FileTree:
        return self.phone.state.files

    # --- variables -----------------------------------------------------------------------------------------------

    def parameter(self, name: str) -> str | None:
        """Return the value of `$name`, None if it is not set."""
        if name.isdigit() and name != "0":
            return self.positional[int(name) - 1] if int(name) <= len(self.positional) else None
        if name in _SPECIAL:
            return _SPECIAL[name](self)
        return self.variables.get(name)

    def assign(self, name: str, value: str) -> None:
        self.budget.write(len(value))
        self.variables[name] = value

    # --- running -------------------------------------------------------------------------------------------------

    def run_text(self, text: str) -> int:
        """Run a command line; a syntax error is its output and status 1."""
        try:
            script = parse(text)
        except syntax.ShellSyntaxError as error:
            self.complain(str(error))
            self.status = 1
            return 1
        return self.run(script)

    def run(self, script: syntax.Script) -> int:
        """Run commands in this shell; return the status of the last one."""
        for item in script:
            if item.background:
                self.fork().run_to_end((syntax.AndOr(item.first, item.rest, background=False),))
                self.status = 0
            else:
                self._and_or(item)
        return self.status

    def run_to_end(self, script: syntax.Script) -> int:
        """Run commands as a shell process of their own: `exit` and fatal errors end only this shell."""
        try:
            self.run(script)
        except ShellExit as leaving:
            self.status = leaving.status
        except LoopExit:
            pass
        except (ExpansionError, ArithmeticSyntaxError) as error:
            self.complain(str(error))
            self.status = 1
        return self.status

    def fork(self, streams: Streams | None = None) -> Shell:
        """Return a subshell: a copy that shares the phone and the budget."""
        twin = Shell(self.phone, streams or self.streams.copy(), self.budget)
        twin.cwd, twin.name, twin.status = self.cwd, self.name, self.status
        twin.variables, twin.exported = dict(self.variables), set(self.exported)
        twin.positional = list(self.positional)
        twin.options = replace(self.options)
        twin._conditions = self._conditions
        return twin

    def capture(self, script: syntax.Script) -> bytes:
        """Return the standard output of a command substitution; `$?` beside it stays that of the command before."""
        output = BufferSink(self.budget)
        self._descend()
        try:
            shell = self.fork(Streams(self.streams.stdin, output, self.streams.stderr))
            self._substituted_status = shell.run_to_end(script)
        finally:
            self.budget.depth += 1
        return output.value()

    def complain(self, message: str) -> None:
        self.streams.stderr.write(f"{self.name}: {message}\n".encode("utf-8", "surrogateescape"))

    # --- lists ---------------------------------------------------------------------------------------------------

    def _and_or(self, item: syntax.AndOr) -> None:
        self._pipeline(item.first, condition=bool(item.rest))
        for number, (operator, pipeline) in enumerate(item.rest):
            if (self.status == 0) == (operator == "&&"):
                self._pipeline(pipeline, condition=number < len(item.rest) - 1)

    def _pipeline(self, pipeline: syntax.Pipeline, *, condition: bool) -> None:
        condition = condition or pipeline.negated
        self._conditions += condition
        try:
            if len(pipeline.commands) == 1:
                self._command(pipeline.commands[0])
            else:
                self._piped(pipeline.commands)
        finally:
            self._conditions -= condition
        if pipeline.negated:
            self.status = int(self.status == 0)
        elif self.status and self.options.errexit and not condition and not self._conditions:
            raise ShellExit(self.status)

    def _piped(self, commands: tuple[syntax.Command, ...]) -> None:
        source = self.streams.stdin
        for number, command in enumerate(commands):
            last = number == len(commands) - 1
            pipe = BufferSink(self.budget)
            output = self.streams.stdout if last else pipe
            shell = self.fork(Streams(source, output, self.streams.stderr))
            item = syntax.AndOr(syntax.Pipeline((command,), negated=False), (), background=False)
            self.status = shell.run_to_end((item,))
            source = Source(pipe.value())

    # --- commands ------------------------------------------------------------------------------------------------

    def _command(self, command: syntax.Command) -> None:
        self.budget.step()
        if isinstance(command, syntax.Simple):
            self._simple(command)
            return
        saved = self.streams
        self._descend()
        try:
            self.streams = redirected(self, command.redirects)
            self._compound(command)
        except RedirectionError as error:
            self.complain(str(error))
            self.status = 1
        finally:
            self.streams = saved
            self.budget.depth += 1

    def _compound(self, command: syntax.Compound) -> None:
        match command.body:
            case syntax.If() as body:
                self._if(body)
            case syntax.For() as body:
                self._for(body)
            case syntax.While() as body:
                self._while(body)
            case syntax.Case() as body:
                self._case(body)
            case syntax.Subshell(script):
                self.status = self.fork().run_to_end(script)
            case syntax.Group(script):
                self.run(script)
            case _ as never:
                assert_never(never)

    def _condition(self, script: syntax.Script) -> bool:
        self._conditions += 1
        try:
            return self.run(script) == 0
        finally:
            self._conditions -= 1

    def _if(self, body: syntax.If) -> None:
        for condition, script in body.branches:
            if self._condition(script=condition):
                self.run(script)
                return
        if body.otherwise:
            self.run(body.otherwise)
        else:
            self.status = 0

    def _for(self, body: syntax.For) -> None:
        values = list(self.positional) if body.words is None else expand_words(self, body.words)
        if not values:
            self.status = 0
        for value in values:
            self.assign(body.name, value)
            if not self._turn(body.body):
                break

    def _while(self, body: syntax.While) -> None:
        status = 0
        while self._loop_condition(body) != body.until:
            if not self._turn(body.body):
                status = self.status
                break
            status = self.status
        self.status = status

    def _loop_condition(self, body: syntax.While) -> bool:
        self.budget.step()
        return self._condition(body.condition)

    def _turn(self, script: syntax.Script) -> bool:
        """Run a loop's body once; False when the loop is to end."""
        self.budget.step()
        self.loops += 1
        try:
            self.run(script)
        except LoopExit as leaving:
            self.status = 0
            if leaving.levels > 1 and self.loops > 1:
                raise LoopExit(leaving.levels - 1, again=leaving.again) from None
            return leaving.again
        finally:
            self.loops -= 1
        return True

    def _case(self, body: syntax.Case) -> None:
        subject = expand_text(self, body.subject)
        for patterns, script in body.branches:
            if any(expand_pattern(self, pattern).matches(subject) for pattern in patterns):
                if not script:
                    break
                self.run(script)
                return
        self.status = 0

    def _simple(self, command: syntax.Simple) -> None:
        self._substituted_status = None
        arguments = expand_words(self, command.words)
        saved = self.streams
        try:
            self.streams = redirected(self, command.redirects)
            if arguments:
                self._call(arguments, command)
            else:
                for name, word in command.assignments:
                    self.assign(name, expand_text(self, word))
                self.status = self._substituted_status or 0
        except RedirectionError as error:
            self.complain(str(error))
            self.status = 1
        finally:
            self.streams = saved

    def _call(self, arguments: list[str], command: syntax.Simple) -> None:
        builtin = BUILTINS.get(arguments[0])
        if builtin is not None:
            for name, word in command.assignments:
                self.assign(name, expand_text(self, word))
            self.status = builtin(self, arguments[1:]) or 0
            return
        overlaid = {name: self.variables.get(name) for name, _ in command.assignments}
        for name, word in command.assignments:
            self.assign(name, expand_text(self, word))
        try:
            self.status = self.call(arguments)
        finally:
            for name, value in overlaid.items():
                if value is None:
                    self.variables.pop(name, None)
                else:
                    self.variables[name] = value

    def call(self, arguments: list[str]) -> int:
        """Run a command that is not built into the shell, on this shell's streams; return its status."""
        self.budget.step()
        name = arguments[0]
        command = self.commands.get(posixpath.basename(name) if name.startswith("/system/bin/") else name)
        if command is None:
            return self._call_file(arguments)
        context = Context(self, posixpath.basename(name), arguments[1:])
        try:
            return command.run(context)
        except OSError as error:
            context.report(error)
        except (sqlite3.Error, ValueError, OverflowError) as error:
            context.fail(str(error))
        return 1

    def _call_file(self, arguments: list[str]) -> int:
        name = arguments[0]
        path = self.files.resolve(name, self.cwd)
        if "/" not in name or not self.files.exists(path):
            reason, status = ("inaccessible or not found", NOT_FOUND)
        elif self.files.is_dir(path) or b"\0" in self.files.read(path)[:512]:
            reason, status = ("can't execute: Permission denied", 126)
        else:
            shell = self.fork()
            shell.name, shell.positional = name, arguments[1:]
            return shell.nested_text(self.files.read(path).decode("utf-8", "surrogateescape"))
        self.complain(f"{name}: {reason}")
        return status

    def nested_text(self, text: str) -> int:
        """Run a script text as a process of its own, one level deeper."""
        self._descend()
        try:
            return self.run_to_end(parse(text))
        except syntax.ShellSyntaxError as error:
            self.complain(str(error))
            return 1
        finally:
            self.budget.depth += 1

    def _descend(self) -> None:
        self.budget.depth -= 1
        if self.budget.depth < 0:
            self.budget.depth += 1
            raise ShellLimitError("stopped: the command line nests more than 48 levels deep")


_SPECIAL: Final[Mapping[str, Callable[[Shell], str]]] = {
    "?": lambda shell: str(shell.status),
    "#": lambda shell: str(len(shell.positional)),
    "$": lambda shell: str(SHELL_PID),
    "!": lambda shell: "",
    "-": lambda shell: "e" if shell.options.errexit else "",
    "0": lambda shell: shell.name,
    "PWD": lambda shell: shell.cwd,
}
