"""md5sum and its kin."""

from __future__ import annotations

import hashlib
import zlib

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context

table = CommandTable()


@table.command("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha512sum", flags="bc", reads=0)
def _sum(context: Context) -> None:
    for operand in context.operands or ["-"]:
        with context.attempt():
            digest = _digest(context, operand, context.name.removesuffix("sum"))
            context.line(digest if "b" in context.options else f"{digest}  {operand}")


def _digest(context: Context, operand: str, algorithm: str) -> str:
    if algorithm == "md5" and operand != "-":
        # Cached on the file's immutable content: the state probe asks for every file after each step.
        return context.files.md5(context.path(operand))
    return hashlib.new(algorithm, context.read(operand), usedforsecurity=False).hexdigest()


@table.command("crc32", flags="", reads=0)
def _crc32(context: Context) -> None:
    for _, content in context.inputs():
        context.line(f"{zlib.crc32(content):08x}")
