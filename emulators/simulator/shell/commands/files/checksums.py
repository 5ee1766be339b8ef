"""md5sum and its kin."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import Command, Context, split_options


def _summing(algorithm: str) -> Command:
    def command(context: Context) -> int:
        options, operands = split_options(context.args, "bc", "")
        status = 0
        for operand in operands or ["-"]:
            try:
                digest = _digest(context, operand, algorithm)
            except OSError as error:
                context.report(error)
                status = 1
                continue
            context.line(digest if "b" in options else f"{digest}  {operand}")
        return status

    return command


def _digest(context: Context, operand: str, algorithm: str) -> str:
    if algorithm == "md5" and operand != "-":
        # Cached on the file's immutable content: the state probe asks for every file after each step.
        return context.files.md5(context.path(operand))
    return hashlib.new(algorithm, context.read(operand), usedforsecurity=False).hexdigest()


def _crc32(context: Context) -> int:
    for operand in context.args or ["-"]:
        context.line(f"{zlib.crc32(context.read(operand)):08x}")
    return 0


def _names() -> dict[str, Callable[[Context], int]]:
    return {f"{algorithm}sum": _summing(algorithm) for algorithm in ("md5", "sha1", "sha224", "sha256", "sha512")}


COMMANDS: Final[Mapping[str, Command]] = {**_names(), "crc32": _crc32}
