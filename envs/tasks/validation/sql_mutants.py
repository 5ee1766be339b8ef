"""Wrong queries that look like the right one: one thing changed at a time, by sqlglot (the extra `tools`).

A mutant that gives other rows than the gold query on any database of the same schema is wrong, and the databases of a
verdict have to tell.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, Final

import sqlglot
from sqlglot import exp

from rlfactory.envs.tasks.text2sql.base import Text2SqlTask
from rlfactory.envs.tools.sql.compare import Comparison, difference
from rlfactory.envs.tools.sql.database import SqliteBytes
from rlfactory.envs.tools.sql.rows import Rows

Change = Callable[[Any], object]
"""What is done to a node, in a copy of the query."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What came of the mutants of one query."""

    wrong: int
    """So many give other rows on some database."""
    accepted: tuple[str, ...]
    """Of these, those that give the right rows on all databases of the verdict."""


def told_apart(task: Text2SqlTask, *, others: int) -> Told:
    """Try the mutants of a task's query on the databases of its verdict, and on so many others with the same tables.

    Databases that are no `SqliteBytes` are left out.
    """
    gold, comparison = task.question.gold, task.question.comparison
    judged_on = [each for each in task.databases if isinstance(each, SqliteBytes)]
    with ExitStack() as stack:

        def opened(database: SqliteBytes) -> tuple[sqlite3.Connection, Rows | None]:
            connection = stack.enter_context(closing(sqlite3.connect(":memory:")))
            connection.deserialize(database.data)
            return connection, _rows(connection, gold)

        judging, more = list(map(opened, judged_on)), list(map(opened, task.more_databases(others)))
        wrong, accepted = 0, []
        for mutant in mutants(gold):
            if _differs(mutant, judging, comparison):
                wrong += 1
            elif _differs(mutant, more, comparison):
                wrong += 1
                accepted.append(mutant)
    return Told(wrong=wrong, accepted=tuple(accepted))


def _differs(sql: str, where: Iterable[tuple[sqlite3.Connection, Rows | None]], comparison: Comparison) -> bool:
    for connection, wanted in where:
        got = _rows(connection, sql)
        if got is None or wanted is None or difference(got, wanted, comparison):
            return True
    return False


def _rows(connection: sqlite3.Connection, sql: str) -> Rows | None:
    """Return what a query gives, None if it fails."""
    try:
        cursor = connection.execute(sql)
        return Rows(columns=tuple(each[0] for each in cursor.description), rows=tuple(cursor.fetchall()))
    except sqlite3.Error:
        return None


# --- what is changed --------------------------------------------------------------------------------------------------


def mutants(gold: str) -> Sequence[str]:
    """Return queries for SQLite that differ from the gold one in one thing, each once; some mean the same."""
    tree: Any = sqlglot.parse_one(gold, dialect="sqlite")
    columns = dict.fromkeys(column.sql(dialect="sqlite") for column in tree.find_all(exp.Column))
    found: dict[str, None] = {}
    for index, node in enumerate(tree.walk()):
        for change in _changes(node, columns):
            copy = tree.copy()
            change(list(copy.walk())[index])
            found[copy.sql(dialect="sqlite")] = None
    found.pop(tree.sql(dialect="sqlite"), None)
    return tuple(found)


def _changes(node: Any, columns: Iterable[str]) -> Iterator[Change]:
    """Yield all that is tried on one node."""
    for kind in _COMPARED.get(type(node), ()):
        yield _compared_by(kind)
    for kind in _SWAPPED.get(type(node), ()):
        yield _swapped_for(kind)
    for kind, others in _OTHERS.items():
        if isinstance(node, kind):
            yield from others(node)
    if isinstance(node, exp.Column):
        yield from (_put(sqlglot.parse_one(name, dialect="sqlite")) for name in columns)


_COMPARED: Final[dict[Any, Sequence[Any]]] = {
    exp.GT: (exp.GTE, exp.LT, exp.EQ),
    exp.GTE: (exp.GT, exp.LTE, exp.EQ),
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.GTE, exp.EQ),
    exp.EQ: (exp.NEQ, exp.GTE),
    exp.Is: (exp.EQ,),
    exp.And: (exp.Or,),
    exp.Or: (exp.And,),
}
_SWAPPED: Final[dict[Any, Sequence[Any]]] = {
    exp.Sum: (exp.Avg, exp.Max, exp.Count),
    exp.Avg: (exp.Sum, exp.Max, exp.Min),
    exp.Max: (exp.Min, exp.Avg),
    exp.Min: (exp.Max,),
    exp.RowNumber: (exp.Rank,),
    exp.Rank: (exp.RowNumber,),
}


def _compared_by(kind: Any) -> Change:
    return lambda it: it.replace(kind(this=it.this.copy(), expression=it.expression.copy()))


def _swapped_for(kind: Any) -> Change:
    return lambda it: it.replace(kind(this=it.this.copy()) if it.args.get("this") else kind())


def _put(new: Any) -> Change:
    return lambda it: it.replace(new.copy())


def _set(part: str, value: Any) -> Change:
    return lambda it: it.set(part, value)


def _drop(number: int, part: str = "") -> Change:
    return lambda it: (it.args[part] if part else it).expressions[number].pop()


def _other_literal(node: exp.Literal) -> Iterator[Change]:
    text = node.name
    if node.is_string:
        others = [text.replace(*years) for years in (("2023", "2024"), ("2024", "2023")) if years[0] in text]
        others += [text.replace("-01-01", "-01-02"), text.replace("-12-31", "-12-30"), f"{text}x", text.upper()]
        yield from (_put(exp.Literal.string(other)) for other in others)
        return
    value = float(text)
    for near in (value - 1, value + 1, value):
        yield _put(exp.Literal.number(int(near) if near == int(near) else near))


def _other_junction(node: exp.Connector) -> Iterator[Change]:
    yield _put(node.this)
    yield _put(node.expression)


def _other_range(node: exp.Between) -> Iterator[Change]:
    yield lambda it: it.replace(exp.GTE(this=it.this.copy(), expression=it.args["low"].copy()))
    yield lambda it: it.replace(exp.LTE(this=it.this.copy(), expression=it.args["high"].copy()))


def _other_count(node: exp.Count) -> Iterator[Change]:
    if isinstance(node.this, exp.Distinct):
        yield _set("this", node.this.expressions[0].copy())
    elif isinstance(node.this, exp.Column):
        yield _set("this", exp.Star())
        yield _set("this", exp.Distinct(expressions=[node.this.copy()]))


def _other_select(node: exp.Select) -> Iterator[Change]:
    for part in ("where", "having", "group", "order", "limit", "distinct"):
        if node.args.get(part) is not None:
            yield _set(part, None)
    if node.args.get("distinct") is None:
        yield _set("distinct", exp.Distinct())
    for part in ("group", "order"):
        listed = node.args[part].expressions if node.args.get(part) else ()
        if len(listed) > 1:
            yield from (_drop(number, part) for number in range(len(listed)))


_OTHERS: Final[dict[Any, Callable[[Any], Iterable[Change]]]] = {
    exp.Literal: _other_literal,
    exp.Connector: _other_junction,
    exp.Between: _other_range,
    exp.Count: _other_count,
    exp.Select: _other_select,
    exp.In: lambda node: [_drop(number) for number in range(len(node.expressions))],
    exp.Not: lambda node: [_put(node.this)],
    exp.Join: lambda node: [_set("side", None if node.side else "LEFT")],
    exp.Ordered: lambda node: [_set("desc", not node.args.get("desc"))],
    exp.Window: lambda node: [_set("partition_by", None)] if node.args.get("partition_by") else [],
}
