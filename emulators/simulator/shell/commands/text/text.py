"""Commands that pass text on: cat, head, tail, wc, tee, ..."""

from __future__ import annotations

import itertools
from collections import Counter

from rlfactory.emulators.simulator.shell.commands.context import (
    ALWAYS,
    CommandTable,
    Context,
    UsageError,
    split_options,
)

table = CommandTable()


def lines_of(data: bytes) -> list[str]:
    """Split into lines without their newlines; a last line without one counts."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@table.command("cat", flags="uetvn", reads=0)
def _cat(context: Context) -> None:
    numbers = itertools.count(1)
    for _, content in context.inputs():
        if "n" in context.options:
            context.lines(f"{next(numbers):6d}\t{line}" for line in lines_of(content))
        else:
            context.write(content)


@table.command("tac", flags="", reads=0)
def _tac(context: Context) -> None:
    for _, content in context.inputs():
        context.lines(lines_of(content)[::-1])


@table.command("rev", flags="", reads=0)
def _rev(context: Context) -> None:
    for _, content in context.inputs():
        context.lines(line[::-1] for line in lines_of(content))


@table.command("nl", flags="", with_value="bnwsv", reads=0)
def _nl(context: Context) -> None:
    numbers = itertools.count(1)
    for _, content in context.inputs():
        context.lines(f"{next(numbers):6d}\t{line}" if line else "" for line in lines_of(content))


@table.command("head", "tail", with_value="nc", reads=0)
def _head_or_tail(context: Context) -> None:
    """Print the first or the last lines (or bytes), `-3` for `-n 3` included."""
    args = ["-n" + arg[1:] if arg[:1] == "-" and arg[1:].isdigit() else arg for arg in context.args]
    context.options, context.operands = options, operands = split_options(args, "qvf", "nc")
    for value in (options.get("n", "0"), options.get("c", "0")):
        if not value.lstrip("+-").isdigit():
            raise UsageError(f"{value}: not a number")
    given = options.get("c", options.get("n", "10"))
    headed = ("v" in options or len(operands) > 1) and "q" not in options
    for number, (name, content) in enumerate(context.inputs()):
        if headed:
            context.out(f"{chr(10) if number else ''}==> {name} <==\n")
        lines = [content] if "c" in options else _keep_lines(content)
        length = len(content) if "c" in options else len(lines)
        wanted = _wanted(given, length, last=context.name == "tail")
        context.write(content[wanted] if "c" in options else b"".join(lines[wanted]))


def _wanted(given: str, length: int, *, last: bool) -> slice:
    """Return which of `length` parts head or (`last`) tail prints: `+3` means from the third on, to tail."""
    number = int(given.lstrip("+-"))
    if last:
        return slice(max(0, number - 1) if given.startswith("+") else max(0, length - number), None)
    return slice(int(given))


def _keep_lines(content: bytes) -> list[bytes]:
    """Split after each newline byte only (bytes.splitlines knows more line ends)."""
    parts = [part + b"\n" for part in content.split(b"\n")]
    last = parts.pop()[:-1]
    return [*parts, last] if last else parts


@table.command("wc", flags="lwcm", reads=0)
def _wc(context: Context) -> None:
    wanted = [letter for letter in "lwmc" if letter in context.options] or ["l", "w", "c"]
    totals = Counter[str]()

    def row(counts: Counter[str], name: str) -> None:
        if len(wanted) == 1 and len(context.operands) < 2:
            text = str(counts[wanted[0]])
        else:
            text = " ".join(f"{counts[letter]:7d}" for letter in wanted)
        context.line(f"{text} {name}".rstrip() if name != "-" else text)

    for name, content in context.inputs():
        characters = len(content.decode("utf-8", "replace"))
        counts = Counter(l=content.count(b"\n"), w=len(content.split()), c=len(content), m=characters)
        totals += counts
        row(counts, name)
    if len(context.operands) > 1:
        row(totals, "total")


@table.command("tee", flags="ai", reads=ALWAYS)
def _tee(context: Context) -> None:
    content = context.stdin()
    context.write(content)
    for _, path in context.paths():
        with context.attempt():
            before = context.files.read(path) if "a" in context.options and context.files.exists(path) else b""
            context.files.write(path, before + content)
