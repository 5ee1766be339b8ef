"""grep."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError, split_options
from rlfactory.emulators.simulator.shell.commands.text.regular import BadPatternError, compiled
from rlfactory.emulators.simulator.shell.commands.text.text import lines_of
from rlfactory.emulators.simulator.shell.patterns import Pattern

table = CommandTable()


@dataclass(frozen=True, kw_only=True)
class _Query:
    matches: Callable[[str], list[re.Match[str]]]
    invert: bool
    options: Mapping[str, str]
    named: bool
    """Print the file's name before each line."""


@table.command("grep", "egrep", "fgrep", with_value="mABC", reads=1)
def _grep(context: Context) -> int:
    implied = {"egrep": ["-E"], "fgrep": ["-F"]}.get(context.name, [])
    try:
        patterns, options, operands = _arguments([*implied, *context.args])
        extended = "E" in options
        expressions = [_expression(pattern, options, extended=extended) for pattern in patterns]
    except (UsageError, BadPatternError) as error:
        return context.fail(str(error), 2)
    recursive = "r" in options or "R" in options
    names, status = _inputs(context, operands, recursive=recursive, include=options.get("\0include"))
    query = _Query(
        matches=lambda line: _all_matches(expressions, line, whole="x" in options),
        invert="v" in options,
        options=options,
        named=("H" in options or len(names) > 1 or recursive) and "h" not in options,
    )
    found = False
    for name in names:
        try:
            content = context.read(name)
        except OSError as error:
            if "s" not in options:
                context.report(error)
            status = 2
            continue
        hit = _search_one(context, query, "(standard input)" if name == "-" else name, content)
        found = found or hit
        if found and "q" in options:
            return 0
    return 0 if found and status == 0 else (status or 1)


def _arguments(args: list[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Return patterns, options and file operands; long options are few."""
    plain: list[str] = []
    patterns: list[str] = []
    include = None
    pending = list(args)
    while pending:
        arg = pending.pop(0)
        if arg.startswith("--include="):
            include = arg.partition("=")[2]
        elif arg == "-e" and pending:
            patterns += pending.pop(0).split("\n")
        elif arg.startswith("--color"):
            continue
        else:
            plain.append(arg)
    options, operands = split_options(plain, "EFGHRchilnoqrsvwxaLz", "mABC")
    if include:
        options["\0include"] = include
    if not patterns:
        if not operands:
            raise UsageError("no REGEX")
        patterns = operands.pop(0).split("\n")
    return patterns, options, operands


def _expression(pattern: str, options: Mapping[str, str], *, extended: bool) -> re.Pattern[str]:
    ignore_case = "i" in options
    if "F" in options:
        expression = re.compile(re.escape(pattern), re.IGNORECASE if ignore_case else 0)
    else:
        expression = compiled(pattern, extended=extended, ignore_case=ignore_case)
    if "w" in options:
        return re.compile(rf"(?<!\w)(?:{expression.pattern})(?!\w)", expression.flags)
    return expression


def _all_matches(expressions: list[re.Pattern[str]], line: str, *, whole: bool) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    for expression in expressions:
        if whole:
            match = expression.fullmatch(line)
            found += [match] if match else []
        else:
            found += expression.finditer(line)
    return found


def _inputs(context: Context, operands: list[str], *, recursive: bool, include: str | None) -> tuple[list[str], int]:
    """Return the files to search, and a status of 2 when one of them does not exist."""
    if not recursive:
        return operands or ["-"], 0
    names: list[str] = []
    status = 0
    pattern = Pattern([(include, False)]) if include else None
    for operand in operands or ["."]:
        root = context.path(operand)
        if not context.files.exists(root):
            names.append(operand)
            continue
        for path, entry in context.files.walk_entries(root):
            name = operand.rstrip("/") + path[len(root.rstrip("/")) :] if path != root else operand
            if not entry.is_dir and (pattern is None or pattern.matches(posixpath.basename(path))):
                names.append(name)
    return names, status


def _search_one(context: Context, query: _Query, name: str, content: bytes) -> bool:
    options = query.options
    prefix = f"{name}:" if query.named else ""
    limit = int(options["m"]) if options.get("m", "").isdigit() else None
    count = 0
    lines = lines_of(content)
    selected: list[int] = []
    for number, line in enumerate(lines):
        matches = query.matches(line)
        if bool(matches) == query.invert:
            continue
        count += 1
        if "q" in options:
            return True
        if "o" in options and not {"c", "l", "L"} & options.keys():
            for match in sorted(matches, key=lambda match: match.start()):
                if match.group():
                    context.line(prefix + (f"{number + 1}:" if "n" in options else "") + match.group())
        selected.append(number)
        if limit is not None and count >= limit:
            break
    if "l" in options or "L" in options:
        if bool(count) == ("l" in options):
            context.line(name)
    elif "c" in options:
        context.line(f"{prefix}{count}")
    elif "o" not in options:
        _print_lines(context, query, name, lines, selected)
    return count > 0


def _print_lines(context: Context, query: _Query, name: str, lines: list[str], selected: list[int]) -> None:
    """Print the selected lines with the context that -A, -B and -C ask for."""

    def around(letter: str) -> int:
        value = query.options.get(letter, query.options.get("C", "0"))
        return int(value) if value.isdigit() else 0

    after, before = around("A"), around("B")
    hits, last = set(selected), -1
    for hit in selected:
        for number in range(max(last + 1, hit - before), min(len(lines), hit + after + 1)):
            if last >= 0 and number > last + 1 and (after or before):
                context.line("--")
            mark = ":" if number in hits else "-"
            prefix = f"{name}{mark}" if query.named else ""
            prefix += f"{number + 1}{mark}" if "n" in query.options else ""
            context.line(prefix + lines[number])
            last = number
