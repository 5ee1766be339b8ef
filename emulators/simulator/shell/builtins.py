"""Commands that change the shell itself."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.shell.commands.context import Functions
from rlfactory.emulators.simulator.shell.streams import LoopExit, ShellExit

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.shell.interpreter import Shell

Builtin = Callable[["Shell", list[str]], int | None]
"""Returns the exit status; None: 0."""
BUILTINS: Final = Functions[Builtin]()


def _text(shell: Shell, text: str) -> None:
    shell.streams.stdout.write(text.encode("utf-8", "surrogateescape"))


def _number(text: str, default: int) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else default


@BUILTINS.verb(":", "alias", "trap", "ulimit", "umask", "wait")
def _nothing(shell: Shell, arguments: list[str]) -> None:
    pass


@BUILTINS.verb("exit", "return")
def _exit(shell: Shell, arguments: list[str]) -> None:
    raise ShellExit(_number(arguments[0], 1) & 255 if arguments else shell.status)


def _leave_loop(shell: Shell, arguments: list[str], *, again: bool) -> None:
    if shell.loops:
        raise LoopExit(max(1, _number(arguments[0], 1)) if arguments else 1, again=again)


BUILTINS["break"], BUILTINS["continue"] = partial(_leave_loop, again=False), partial(_leave_loop, again=True)


@BUILTINS.verb("cd")
def _cd(shell: Shell, arguments: list[str]) -> int:
    target = arguments[-1] if arguments else shell.variables.get("HOME", "/")
    if target == "-":
        target = shell.variables.get("OLDPWD", "/")
        _text(shell, target + "\n")
    path = posixpath.normpath(posixpath.join(shell.cwd, target)).replace("//", "/")
    if not shell.files.is_dir(path):
        reason = "Not a directory" if shell.files.exists(path) else "No such file or directory"
        shell.complain(f"cd: {target}: {reason}")
        return 2
    shell.variables["OLDPWD"] = shell.cwd
    shell.cwd = path
    return 0


@BUILTINS.verb("pwd")
def _pwd(shell: Shell, arguments: list[str]) -> None:
    _text(shell, shell.cwd + "\n")


@BUILTINS.verb("export")
def _export(shell: Shell, arguments: list[str]) -> None:
    names = [argument for argument in arguments if not argument.startswith("-")]
    for argument in names:
        name, equals, value = argument.partition("=")
        if equals:
            shell.assign(name, value)
        shell.exported.add(name)
    if not names:
        for name in sorted(shell.exported & shell.variables.keys()):
            _text(shell, f"export {name}={quote(shell.variables[name])}\n")


@BUILTINS.verb("local", "readonly", "typeset")
def _local(shell: Shell, arguments: list[str]) -> None:
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and not name.startswith("-"):
            shell.assign(name, value)


@BUILTINS.verb("unset")
def _unset(shell: Shell, arguments: list[str]) -> None:
    for name in arguments:
        shell.variables.pop(name, None)
        shell.exported.discard(name)


@BUILTINS.verb("set")
def _set(shell: Shell, arguments: list[str]) -> None:
    if not arguments:
        for name in sorted(shell.variables):
            _text(shell, f"{name}={quote(shell.variables[name])}\n")
        return
    for number, argument in enumerate(arguments):
        if argument == "--":
            shell.positional = arguments[number + 1 :]
            return
        if argument[:1] not in {"-", "+"}:
            shell.positional = arguments[number:]
            return
        on = argument[0] == "-"
        if "e" in argument[1:]:
            shell.options.errexit = on
        if "u" in argument[1:]:
            shell.options.nounset = on


@BUILTINS.verb("shift")
def _shift(shell: Shell, arguments: list[str]) -> int:
    count = _number(arguments[0], 1) if arguments else 1
    if count > len(shell.positional):
        shell.complain("shift: nothing to shift")
        return 1
    del shell.positional[:count]
    return 0


@BUILTINS.verb("read")
def _read(shell: Shell, arguments: list[str]) -> int:
    raw = "-r" in arguments
    names = [argument for argument in arguments if not argument.startswith("-")] or ["REPLY"]
    line = shell.streams.stdin.read_line()
    ended = line.endswith(b"\n")
    text = line.decode("utf-8", "surrogateescape").removesuffix("\n")
    while not raw and text.endswith("\\") and ended:
        more = shell.streams.stdin.read_line()
        ended = more.endswith(b"\n")
        text = text[:-1] + more.decode("utf-8", "surrogateescape").removesuffix("\n")
    if not raw:
        text = text.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
    for name, value in zip(names, _split_for_read(text, len(names), shell.variables.get("IFS")), strict=True):
        shell.assign(name, value)
    return 0 if ended else 1


def _split_for_read(text: str, count: int, separators: str | None) -> list[str]:
    if separators == "":
        values = [text]
    elif separators is None or not separators.strip():
        values = text.strip().split(None, count - 1)
    else:
        for char in separators[1:]:
            text = text.replace(char, separators[0])
        values = text.split(separators[0], count - 1)
    return values + [""] * (count - len(values))


@BUILTINS.verb("eval")
def _eval(shell: Shell, arguments: list[str]) -> int:
    shell.budget.step()
    return shell.run_text(" ".join(arguments)) if arguments else 0


@BUILTINS.verb(".", "source")
def _source(shell: Shell, arguments: list[str]) -> int:
    path = shell.files.resolve(arguments[0], shell.cwd) if arguments else ""
    if not arguments or not shell.files.is_file(path):
        shell.complain(f".: {arguments[0] if arguments else 'missing argument'}: No such file or directory")
        return 1
    return shell.run_text(shell.files.read(path).decode("utf-8", "surrogateescape"))


@BUILTINS.verb("exec")
def _exec(shell: Shell, arguments: list[str]) -> None:
    if not arguments:
        return
    raise ShellExit(shell.call(arguments))


@BUILTINS.verb("command")
def _command(shell: Shell, arguments: list[str]) -> int | None:
    if arguments[:1] in (["-v"], ["-V"]):
        found = [name for name in arguments[1:] if name in BUILTINS or name in shell.commands]
        for name in found:
            _text(shell, f"{name}\n" if name in BUILTINS else f"/system/bin/{name}\n")
        return 0 if len(found) == len(arguments) - 1 else 1
    if not arguments:
        return 0
    builtin = BUILTINS.get(arguments[0])
    return builtin(shell, arguments[1:]) if builtin else shell.call(arguments)


@BUILTINS.verb("type")
def _type(shell: Shell, arguments: list[str]) -> int:
    status = 0
    for name in arguments:
        if name in BUILTINS:
            _text(shell, f"{name} is a shell builtin\n")
        elif name in shell.commands:
            _text(shell, f"{name} is /system/bin/{name}\n")
        else:
            _text(shell, f"{name} not found\n")
            status = 1
    return status
