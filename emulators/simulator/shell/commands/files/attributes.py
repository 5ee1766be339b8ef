"""Modes, owners, labels and names of files: chmod, chown, chcon, restorecon, basename, dirname, realpath."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import Command, Context, UsageError, split_options
from rlfactory.emulators.simulator.shell.commands.files.naming import user_id

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


def _apply(context: Context, operands: list[str], change: Callable[[str], None], *, recursive: bool) -> int:
    status = 0
    for operand in operands:
        path = context.path(operand)
        try:
            for at in context.files.walk(path) if recursive else [path]:
                change(at)
        except OSError as error:
            context.error(f"'{operand}': {error.strerror}")
            status = 1
    return status


def _chmod(context: Context) -> int:
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

    return _apply(context, operands, change, recursive=recursive)


def _chown(context: Context) -> int:
    options, operands = split_options(context.args, "RHLPfhv")
    if len(operands) < 2:
        raise UsageError("Needs 2 arguments")
    owner, *paths = operands
    if context.name == "chgrp":
        owner = ":" + owner
    user, _, group = owner.replace(".", ":", 1).partition(":")

    def change(path: str) -> None:
        entry = context.files.stat(path)
        uid = user_id(user) if user else entry.uid
        gid = user_id(group) if group else entry.gid
        context.files.set_owner(path, uid, gid)

    return _apply(context, paths, change, recursive="R" in options)


def _chcon(context: Context) -> int:
    """Labels are not kept: every file of a kind has one label here."""
    options, operands = split_options(context.args, "hRv")
    if len(operands) < 2:
        raise UsageError("Needs 2 arguments")
    return _apply(context, operands[1:], lambda path: _check(context, path), recursive="R" in options)


def _restorecon(context: Context) -> int:
    options, operands = split_options(context.args, "DFRnrv")
    return _apply(context, operands, lambda path: _check(context, path), recursive="R" in options)


def _check(context: Context, path: str) -> None:
    context.files.stat(path)


def _basename(context: Context) -> int:
    options, operands = split_options(context.args, "a", "s")
    if not operands:
        raise UsageError("Needs 1 argument")
    several = "a" in options or "s" in options
    suffix = options.get("s", operands[1] if len(operands) > 1 and not several else "")
    for operand in operands if several else operands[:1]:
        name = posixpath.basename(operand.rstrip("/")) or ("/" if operand else "")
        context.line(name.removesuffix(suffix) if name != suffix else name)
    return 0


def _dirname(context: Context) -> int:
    if not context.args:
        raise UsageError("Needs 1 argument")
    for operand in context.args:
        stripped = operand.rstrip("/")
        folder = posixpath.dirname(stripped).rstrip("/") or ("/" if operand.startswith("/") else ".")
        context.line(folder)
    return 0


def _realpath(context: Context) -> int:
    status = 0
    for operand in context.args:
        if operand.startswith("-"):
            continue
        path = context.path(operand)
        if context.files.exists(path):
            context.line(context.files.resolve(path))
        else:
            status = context.fail(f"{operand}: No such file or directory")
    return status


COMMANDS: Final[Mapping[str, Command]] = {
    "basename": _basename,
    "chcon": _chcon,
    "chgrp": _chown,
    "chmod": _chmod,
    "chown": _chown,
    "dirname": _dirname,
    "readlink": _realpath,
    "realpath": _realpath,
    "restorecon": _restorecon,
}
