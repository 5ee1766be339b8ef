"""sqlite3: SQL and the usual dot commands on databases of the phone."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.simulator.machine.databases import open_database
from rlfactory.emulators.simulator.machine.filesystem import FileTree
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError

table = CommandTable()
_MODES: Final = frozenset({"list", "csv", "line", "column", "json", "tabs", "quote"})
_MAX_ROWS: Final = 1_000_000


@dataclass(slots=True)
class _Style:
    mode: str = "list"
    separator: str = "|"
    headers: bool = False
    null: str = ""


@table.command("sqlite3", reads=1)
def _sqlite3(context: Context) -> int:
    style, path, statements = _arguments(context)
    if path is None:
        raise UsageError("needs a database file")
    text = "\n".join(statements) if statements else context.stdin_text()
    files, full = (FileTree(), "/memory") if path == ":memory:" else (context.files, context.path(path))
    try:
        with open_database(files, full, on_write=context.phone.invalidate) as connection:
            connection.isolation_level = None
            connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            status = _run(context, connection, style, text)
            if connection.in_transaction:
                connection.rollback()
    except OSError:
        return context.complain(f'Error: unable to open database "{path}": unable to open database file')
    return status


def _arguments(context: Context) -> tuple[_Style, str | None, list[str]]:
    style, path, statements = _Style(), None, []
    words = list(context.args)
    while words:
        word = words.pop(0)
        option = word.lstrip("-") if word.startswith("-") else ""
        if option in _MODES:
            _set_mode(style, option)
        elif option in {"header", "headers", "noheader"}:
            style.headers = option != "noheader"
        elif option in {"separator", "nullvalue", "cmd"}:
            if not words:
                raise UsageError(f"missing argument to -{option}")
            value = words.pop(0)
            if option == "separator":
                style.separator = value
            elif option == "nullvalue":
                style.null = value
            else:
                statements.append(value)
        elif option:
            if option not in {"batch", "readonly", "bail", "init", "interactive"}:
                raise UsageError(f"unknown option: {word}")
        elif path is None:
            path = word
        else:
            statements.append(word)
    return style, path, statements


def _set_mode(style: _Style, mode: str) -> None:
    style.mode = mode
    style.separator = {"csv": ",", "tabs": "\t", "column": "  "}.get(mode, "|")


def _statements(text: str) -> list[str]:
    """Split SQL at the semicolons that end statements; a dot command is a line of its own."""
    found: list[str] = []
    pending = ""
    for line in text.split("\n"):
        if not pending.strip() and line.startswith("."):
            found.append(line.strip())
            continue
        for piece in line.replace(";", ";\0").split("\0"):
            pending += piece
            if pending.strip() and sqlite3.complete_statement(pending):
                found.append(pending.strip())
                pending = ""
        pending += "\n" if pending.strip() else ""
    if pending.strip():
        found.append(pending.strip())
    return found


def _run(context: Context, connection: sqlite3.Connection, style: _Style, text: str) -> int:
    for statement in _statements(text):
        context.shell.budget.step()
        try:
            if statement.startswith("."):
                if not _dot(context, connection, style, statement):
                    return 0
            else:
                cursor = connection.execute(statement.encode("utf-8", "replace").decode())
                if cursor.description:
                    names = [column[0] for column in cursor.description]
                    _print(context, style, names, cursor.fetchmany(_MAX_ROWS))
        except (sqlite3.Error, sqlite3.Warning) as error:
            return context.complain(f"Error: {error}")
    return 0


def _dot(context: Context, connection: sqlite3.Connection, style: _Style, line: str) -> bool:
    """Run a dot command; False for .quit. Raises: sqlite3.Error."""
    name, *words = line[1:].split() or [""]
    value = words[0].strip("\"'") if words else ""
    match name:
        case "quit" | "exit":
            return False
        case "headers" | "header":
            style.headers = value == "on"
        case "mode" if value in _MODES:
            _set_mode(style, value)
        case "separator" if words:
            style.separator = value
        case "nullvalue" if words:
            style.null = value
        case "tables" | "schema" | "dump":
            context.lines(_described(connection, name, value))
        case "timeout" | "bail" | "echo" | "changes" | "timer" | "width":
            pass
        case _:
            context.complain(f'Error: unknown command or invalid arguments:  "{name}". Enter ".help" for help')
    return True


def _described(connection: sqlite3.Connection, name: str, table: str) -> Iterable[str]:
    """Return the lines of .tables, .schema or .dump. Raises: sqlite3.Error."""
    if name == "dump":
        return connection.iterdump()
    if name == "schema":
        query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND (?1 = '' OR tbl_name = ?1)"
        return [f"{row[0]};" for row in connection.execute(query, (table,))]
    query = "SELECT name FROM sqlite_schema WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
    names = "  ".join(str(row[0]) for row in connection.execute(query))
    return [names] if names else []


def _cell(value: object, null: str) -> str:
    if value is None:
        return null
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, float) and value in {float("inf"), float("-inf")}:
        return "Inf" if value > 0 else "-Inf"
    return str(value)


def _print(context: Context, style: _Style, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    if style.mode == "json":
        if rows:
            texts = [json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False) for row in rows]
            context.line("[" + ",\n".join(texts) + "]")
        return
    if style.mode == "line":
        width = max(map(len, names))
        blocks = [
            "".join(f"{name:>{width}} = {_cell(value, style.null)}\n" for name, value in zip(names, row, strict=True))
            for row in rows
        ]
        context.out("\n".join(blocks))
        return
    table = [[_cell(value, style.null) for value in row] for row in rows]
    if style.headers:
        table.insert(0, list(names))
    if style.mode == "csv":
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(table)
        context.out(buffer.getvalue())
        return
    context.out("".join(style.separator.join(row) + "\n" for row in table))


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
