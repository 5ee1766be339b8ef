"""Modes, owners, labels and names of files: chmod, chown, chcon, restorecon, basename, dirname, realpath."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.files.naming import user_id

table = CommandTable()

_SYMBOLIC: Final = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)")
_SHIFTS: Final = {"u": 6, "g": 3, "o": 0}


def parsed_mode(text: str, before: int, *, is_dir: bool) -> int:
    """Return the mode that `text` (octal or symbolic) makes of `before`. Raises: UsageError."""
    if re.fullmatch(r"[0-7]{1,5}", text):
        return int(text, 8) & 0o7777
    mode = before
    for clause in text.split(","):
        match = _SYMBOLIC.fullmatch(clause)
        if match is None:
            raise UsageError(f"bad mode '{text}'")
        who, operator, letters = match.groups()
        bits = sum({"r": 4, "w": 2, "x": 1}.get(letter, 0) for letter in set(letters))
        if "X" in letters and (is_dir or before & 0o111):
            bits |= 1
        for group in "ugo" if not who or "a" in who else who:
            shift = _SHIFTS[group]
            if operator == "=":
                mode = mode & ~(7 << shift) | bits << shift
            elif operator == "+":
                mode |= bits << shift
            else:
                mode &= ~(bits << shift)
    return mode


def _apply(context: Context, operands: list[str], change: Callable[[str], object], *, recursive: bool) -> None:
    for operand in operands:
        path = context.path(operand)
        with context.attempt(operand):
            for at in context.files.walk(path) if recursive else [path]:
                change(at)


@table.command("chmod")
def _chmod(context: Context) -> None:
    # A symbolic mode such as -w looks like an option; take the first word that is a mode.
    recursive = any(re.fullmatch(r"-[Rvf]+", arg) and "R" in arg for arg in context.args)
    words = [arg for arg in context.args if not re.fullmatch(r"-[Rvf]+", arg)]
    if len(words) < 2:
        raise UsageError("Needs 2 arguments")
    mode, *operands = words
    parsed_mode(mode, 0, is_dir=False)

    def change(path: str) -> None:
        entry = context.files.stat(path)
        context.files.set_mode(path, parsed_mode(mode, entry.mode, is_dir=entry.is_dir))

    _apply(context, operands, change, recursive=recursive)


@table.command("chown", "chgrp", flags="RHLPfhv", least=2)
def _chown(context: Context) -> None:
    owner, *paths = context.operands
    if context.name == "chgrp":
        owner = ":" + owner
    user, _, group = owner.replace(".", ":", 1).partition(":")

    def change(path: str) -> None:
        entry = context.files.stat(path)
        uid = user_id(user) if user else entry.uid
        gid = user_id(group) if group else entry.gid
        context.files.set_owner(path, uid, gid)

    _apply(context, paths, change, recursive="R" in context.options)


@table.command("chcon", flags="hRv", least=2)
def _chcon(context: Context) -> None:
    """Labels are not kept: every file of a kind has one label here."""
    _apply(context, context.operands[1:], context.files.stat, recursive="R" in context.options)


@table.command("restorecon", flags="DFRnrv")
def _restorecon(context: Context) -> None:
    _apply(context, context.operands, context.files.stat, recursive="R" in context.options)


@table.command("basename", flags="a", with_value="s", least=1)
def _basename(context: Context) -> None:
    options, operands = context.options, context.operands
    several = "a" in options or "s" in options
    suffix = options.get("s", operands[1] if len(operands) > 1 and not several else "")
    for operand in operands if several else operands[:1]:
        name = posixpath.basename(operand.rstrip("/")) or ("/" if operand else "")
        context.line(name.removesuffix(suffix) if name != suffix else name)


@table.command("dirname", flags="", least=1)
def _dirname(context: Context) -> None:
    for operand in context.operands:
        stripped = operand.rstrip("/")
        folder = posixpath.dirname(stripped).rstrip("/") or ("/" if operand.startswith("/") else ".")
        context.line(folder)


@table.command("realpath", "readlink")
def _realpath(context: Context) -> None:
    for operand in context.args:
        if operand.startswith("-"):
            continue
        path = context.path(operand)
        if context.files.exists(path):
            context.line(context.files.resolve(path))
        else:
            context.fail(f"{operand}: No such file or directory")
