"""Filters of lines and characters: sort, uniq, cut, tr, seq, base64, xargs."""

from __future__ import annotations

import base64
import binascii
import itertools
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import ALWAYS, CommandTable, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.text.printing import unescape
from rlfactory.emulators.simulator.shell.commands.text.text import lines_of

table = CommandTable()

_NUMBER: Final = re.compile(r"\s*([-+]?\d*\.?\d+)")
_MAX_SEQUENCE: Final = 1_000_000
_RANGE: Final = re.compile(r"(\d*)-(\d*)|(\d+)")


def _numeric(text: str) -> float:
    match = _NUMBER.match(text)
    return float(match.group(1)) if match else 0.0


@table.command("sort", flags="nrufbcVgis", with_value="kto", reads=0)
def _sort(context: Context) -> int:
    options = context.options
    lines = [line for _, content in context.inputs() for line in lines_of(content)]
    field = re.fullmatch(r"(\d+)(?:\.\d+)?([a-z]*)(?:,(\d+)(?:\.\d+)?([a-z]*))?", options.get("k", "1"))
    if field is None or int(field.group(1)) < 1:
        raise UsageError(f"bad -k {options['k']}")
    letters = set(options) | set(field.group(2) or "") | set(field.group(4) or "")

    def key_text(line: str) -> str:
        if "k" not in options:
            return line
        parts = line.split(options["t"]) if options.get("t") else line.split()
        end = int(field.group(3)) if field.group(3) else None
        return (options.get("t") or " ").join(parts[int(field.group(1)) - 1 : end])

    def key(line: str) -> tuple[float, str]:
        text = key_text(line).lower() if "f" in letters else key_text(line)
        return (_numeric(text), "") if letters & {"n", "g"} else (0.0, text)

    ordered = sorted(lines, key=lambda line: (key(line), "" if "s" in letters else line), reverse="r" in letters)
    if "u" in options:
        first: dict[tuple[float, str], str] = {}
        for line in ordered:
            first.setdefault(key(line), line)
        ordered = list(first.values())
    if "c" in options:
        return context.status or int(ordered != lines)
    text = "".join(line + "\n" for line in ordered)
    if "o" in options:
        context.files.write(context.path(options["o"]), text.encode("utf-8", "surrogateescape"))
    else:
        context.out(text)
    return context.status


@table.command("uniq", flags="cdui", with_value="fs", reads=0)
def _uniq(context: Context) -> None:
    options = context.options
    lines = lines_of(context.read_first())
    for _, group in itertools.groupby(lines, key=str.lower if "i" in options else None):
        line, *others = group
        count = 1 + len(others)
        if ("d" in options and count < 2) or ("u" in options and count > 1):
            continue
        context.line(f"{count:7d} {line}" if "c" in options else line)


def _ranges(text: str) -> Callable[[int], bool]:
    """Return a test of positions (from 1) for a list like `1,3-5,7-`."""
    bounds: list[tuple[int, int]] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None or part == "-":
            raise UsageError(f"bad list '{text}'")
        low, high, single = match.groups()
        bounds.append((int(single), int(single)) if single else (int(low or "1"), int(high or 10**9)))
    return lambda position: any(low <= position <= high for low, high in bounds)


@table.command("cut", flags="sn", with_value="bcdfO", reads=0)
def _cut(context: Context) -> None:
    options = context.options
    listed = next((options[letter] for letter in "fcb" if letter in options), None)
    if listed is None:
        raise UsageError("need -bcf")
    wanted = _ranges(listed)
    delimiter = options.get("d", "\t")
    for line in (line for _, content in context.inputs() for line in lines_of(content)):
        if "f" not in options:
            context.line("".join(char for at, char in enumerate(line, 1) if wanted(at)))
        elif delimiter in line:
            context.line(delimiter.join(part for at, part in enumerate(line.split(delimiter), 1) if wanted(at)))
        elif "s" not in options:
            context.line(line)


def _character_set(text: str) -> list[str]:
    """Expand ranges, escapes and classes of tr."""
    classes = {
        "[:upper:]": "A-Z",
        "[:lower:]": "a-z",
        "[:digit:]": "0-9",
        "[:alpha:]": "A-Za-z",
        "[:alnum:]": "A-Za-z0-9",
        "[:space:]": r"\t\n\v\f\r ",
        "[:blank:]": r" \t",
        "[:punct:]": "!-/:-@[-`{-~",
    }
    for name, members in classes.items():
        text = text.replace(name, members)
    chars = list(unescape(text, octal_needs_zero=False))
    out: list[str] = []
    position = 0
    while position < len(chars):
        if position + 2 < len(chars) and chars[position + 1] == "-" and chars[position] <= chars[position + 2]:
            out += [chr(code) for code in range(ord(chars[position]), min(ord(chars[position + 2]), 0x10FFF) + 1)]
            position += 3
        else:
            out.append(chars[position])
            position += 1
    return out


@table.command("tr", flags="cCdst", reads=ALWAYS)
def _tr(context: Context) -> None:
    options, operands = context.options, context.operands
    if not operands or (len(operands) < 2 and not {"d", "s"} & options.keys()):
        raise UsageError("needs two sets")
    first = _character_set(operands[0])
    second = _character_set(operands[1]) if len(operands) > 1 else []
    complement = bool({"c", "C"} & options.keys())
    members = set(first)
    text = context.stdin_text()
    if "d" in options:
        text = "".join(char for char in text if (char in members) == complement)
        squeezed = set(second)
    else:
        if second:
            table = {char: second[min(at, len(second) - 1)] for at, char in reversed(list(enumerate(first)))}
            if complement:
                text = "".join(char if char in members else second[-1] for char in text)
            else:
                text = "".join(table.get(char, char) for char in text)
        squeezed = set(second) or members
    if "s" in options:
        kept: list[str] = []
        for char in text:
            hit = (char in squeezed) != (complement and not second)
            if not (kept and kept[-1] == char and hit):
                kept.append(char)
        text = "".join(kept)
    context.out(text)


@table.command("seq")
def _seq(context: Context) -> None:
    args, separator, padded = list(context.args), "\n", False
    while args and args[0][:2] in {"-s", "-w", "-f"}:
        option, value = args[0][:2], args.pop(0)[2:]
        padded = padded or option == "-w"
        if option != "-w" and (value or args):
            value = value or args.pop(0)
            separator = value if option == "-s" else separator
    if not 1 <= len(args) <= 3 or not all(_NUMBER.fullmatch(arg) for arg in args):
        raise UsageError("usage: seq [FIRST [INCREMENT]] LAST")
    numbers = [float(arg) for arg in args]
    start, step, end = (1.0, 1.0, numbers[0]) if len(args) == 1 else (numbers[0], 1.0, numbers[-1])
    step = numbers[1] if len(args) == 3 else step
    if step == 0:
        return
    count = int((end - start) / step + 1e-9) + 1 if (end - start) * step >= 0 else 0
    if count > _MAX_SEQUENCE:
        raise UsageError(f"more than {_MAX_SEQUENCE} numbers")
    digits = max(len(arg.partition(".")[2]) for arg in args)
    texts = [f"{start + at * step:.{digits}f}" for at in range(count)]
    width = max((len(text) for text in texts), default=0) if padded else 0
    if texts:
        context.out(separator.join(text.zfill(width) for text in texts) + "\n")


@table.command("base64", flags="di", with_value="w", reads=0)
def _base64(context: Context) -> None:
    options, content = context.options, context.read_first()
    if "d" in options:
        try:
            context.write(base64.b64decode(b"".join(content.split()), validate=True))
        except binascii.Error:
            raise UsageError("bad input") from None
        return
    width = int(options["w"]) if options.get("w", "76").isdigit() and "w" in options else 76
    text = base64.b64encode(content).decode()
    if width:
        text = "".join(text[at : at + width] + "\n" for at in range(0, len(text), width))
    context.out(text)


@table.command("xargs", reads=ALWAYS)
def _xargs(context: Context) -> int:
    options: dict[str, str] = {}
    args = list(context.args)
    while args and args[0].startswith("-") and len(args[0]) > 1:
        letter, value = args[0][1], args.pop(0)[2:]
        if letter in "nIsPL":
            if not value and not args:
                raise UsageError(f"Missing argument to -{letter}")
            options[letter] = value or args.pop(0)
        elif letter in "0rt":
            options[letter] = ""
        else:
            raise UsageError(f"Unknown option '{letter}'")
    command = args or ["echo"]
    items = _items(context.stdin_text(), options)
    if "I" in options:
        calls = [[word.replace(options["I"], item) for word in command] for item in items]
    else:
        size = int(options.get("n", options.get("L", "0"))) or len(items) or 1
        calls = [command + items[at : at + size] for at in range(0, len(items), size)]
        if not calls and "r" not in options:
            calls = [command]
    status = 0
    for call in calls:
        status = context.run(call) or status
    return 123 if 0 < status < 126 else status


def _items(text: str, options: Mapping[str, str]) -> list[str]:
    if "0" in options:
        return [item for item in text.split("\0") if item]
    if "I" in options or "L" in options:
        return [line.strip() for line in text.split("\n") if line.strip()]
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
