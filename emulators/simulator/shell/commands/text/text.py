"""Commands that pass text on: cat, head, tail, wc, tee, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import Command, Context, UsageError, split_options


def each_input(context: Context, operands: list[str], handle: Callable[[str, bytes], None]) -> int:
    """Call `handle` with name and content of each file (standard input if there is none); report missing files."""
    status = 0
    for operand in operands or ["-"]:
        try:
            content = context.read(operand)
        except OSError as error:
            context.report(error)
            status = 1
            continue
        handle(operand, content)
    return status


def lines_of(data: bytes) -> list[str]:
    """Split into lines without their newlines; a last line without one counts."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _cat(context: Context) -> int:
    options, operands = split_options(context.args, "uetvn")
    count = 0

    def show(_: str, content: bytes) -> None:
        nonlocal count
        if "n" not in options:
            context.write(content)
            return
        for line in lines_of(content):
            count += 1
            context.line(f"{count:6d}\t{line}")

    return each_input(context, operands, show)


def _tac(context: Context) -> int:
    return each_input(context, context.args, lambda _, data: context.out(_joined(lines_of(data)[::-1])))


def _rev(context: Context) -> int:
    return each_input(
        context, context.args, lambda _, data: context.out(_joined([line[::-1] for line in lines_of(data)]))
    )


def _nl(context: Context) -> int:
    _, operands = split_options(context.args, "", "bnwsv")
    number = 0

    def show(_: str, content: bytes) -> None:
        nonlocal number
        for line in lines_of(content):
            number += bool(line)
            context.line(f"{number:6d}\t{line}" if line else "")

    return each_input(context, operands, show)


def _joined(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _count_option(context: Context) -> tuple[dict[str, str], list[str]]:
    """Read options of head and tail, `-3` for `-n 3` included."""
    args = ["-n" + arg[1:] if arg[:1] == "-" and arg[1:].isdigit() else arg for arg in context.args]
    options, operands = split_options(args, "qvf", "nc")
    for value in (options.get("n", "0"), options.get("c", "0")):
        if not value.lstrip("+-").isdigit():
            raise UsageError(f"{value}: not a number")
    return options, operands


def _head(context: Context) -> int:
    options, operands = _count_option(context)

    def cut(content: bytes) -> bytes:
        if "c" in options:
            return content[: int(options["c"])]
        parts = content.splitlines(keepends=True) if b"\r" not in content else _keep_lines(content)
        return b"".join(parts[: int(options.get("n", "10"))])

    return _with_headers(context, operands, options, cut)


def _tail(context: Context) -> int:
    options, operands = _count_option(context)

    def cut(content: bytes) -> bytes:
        given = options.get("c", options.get("n", "10"))
        number = int(given.lstrip("+-"))
        if "c" in options:
            return content[number - 1 :] if given.startswith("+") else content[max(0, len(content) - number) :]
        parts = _keep_lines(content)
        return b"".join(parts[max(0, number - 1) :] if given.startswith("+") else parts[max(0, len(parts) - number) :])

    return _with_headers(context, operands, options, cut)


def _keep_lines(content: bytes) -> list[bytes]:
    """Split after each newline byte only (bytes.splitlines knows more line ends)."""
    parts = [part + b"\n" for part in content.split(b"\n")]
    last = parts.pop()[:-1]
    return [*parts, last] if last else parts


def _with_headers(context: Context, operands: list[str], options: dict[str, str], cut: Callable[[bytes], bytes]) -> int:
    headed = ("v" in options or len(operands) > 1) and "q" not in options
    shown = 0

    def show(name: str, content: bytes) -> None:
        nonlocal shown
        if headed:
            context.out(f"{chr(10) if shown else ''}==> {name} <==\n")
        shown += 1
        context.write(cut(content))

    return each_input(context, operands, show)


def _wc(context: Context) -> int:
    options, operands = split_options(context.args, "lwcm")
    wanted = [letter for letter in "lwmc" if letter in options] or ["l", "w", "c"]
    totals = dict.fromkeys(wanted, 0)

    def row(counts: Mapping[str, int], name: str) -> None:
        if len(wanted) == 1 and len(operands) < 2:
            text = str(counts[wanted[0]])
        else:
            text = " ".join(f"{counts[letter]:7d}" for letter in wanted)
        context.line(f"{text} {name}".rstrip() if name != "-" else text)

    def count(name: str, content: bytes) -> None:
        counts = {
            "l": content.count(b"\n"),
            "w": len(content.split()),
            "c": len(content),
            "m": len(content.decode("utf-8", "replace")),
        }
        for letter in wanted:
            totals[letter] += counts[letter]
        row(counts, name)

    status = each_input(context, operands, count)
    if len(operands) > 1:
        row(totals, "total")
    return status


def _tee(context: Context) -> int:
    options, operands = split_options(context.args, "ai")
    content, status = context.stdin(), 0
    context.write(content)
    for operand in operands:
        path = context.path(operand)
        try:
            before = context.files.read(path) if "a" in options and context.files.exists(path) else b""
            context.files.write(path, before + content)
        except OSError as error:
            context.report(error)
            status = 1
    return status


COMMANDS: Final[Mapping[str, Command]] = {
    "cat": _cat,
    "head": _head,
    "nl": _nl,
    "rev": _rev,
    "tac": _tac,
    "tail": _tail,
    "tee": _tee,
    "wc": _wc,
}
