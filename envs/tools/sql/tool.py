"""The tool `sql`: one read-only query on the task's database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tools.arguments import object_schema, read_text, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.sql.database import Database, Dialect
from rlfactory.envs.tools.sql.rows import BLOB_MARK, FailureKind, QueryFailed, Rows, Value
from rlfactory.envs.tools.sql.statement import bare
from rlfactory.envs.tools.sql.workers import SqlWorkers
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError, ToolFactory

MAX_SHOWN_ROWS: Final = 50
MAX_SHOWN_CHARS: Final = 200
"""Of one value."""
MAX_QUERY_CHARS: Final = 20_000
QUERY_TIMEOUT_S: Final = 5.0
ANSWER_SHARE: Final = 0.9
"""Of what is left for a call: the query has to end early enough for its end to be told."""
NAMES: Final[Mapping[Dialect, str]] = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL"}


class SqlTool(Tool):
    """Runs queries on one database."""

    lives_on = True
    acts_outside = False

    def __init__(self, context: ToolContext, database: Database, *, timeout_s: float = QUERY_TIMEOUT_S) -> None:
        """Args: timeout_s: what one query may take, if the step has as much left."""
        self._database = database
        self._timeout_s = timeout_s
        self._workers = context.services.of(SqlWorkers)
        self.schema = sql_schema(database.dialect)
        self.identity = database.key
        self.policy = ToolPolicy(pure=database.dialect != "postgres")

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("query",))
        query = bare(read_text(arguments, "query", max_chars=MAX_QUERY_CHARS))
        timeout_s = min(self._timeout_s, ANSWER_SHARE * context.timeout_s)
        try:
            rows = await self._workers.run(self._database, query, timeout_s=timeout_s, max_rows=MAX_SHOWN_ROWS)
        except QueryFailed as failure:
            words = await self._workers.explained(failure.message, query, self._database.dialect)
            match failure.kind:
                case FailureKind.TIMEOUT:
                    raise TimeoutError(words) from None
                case FailureKind.TOO_LARGE:
                    raise ToolError(words) from None
                case FailureKind.REFUSED | FailureKind.ERROR:
                    raise Rejected(words) from None
        return shown(rows)

    def fork(self, context: ToolContext) -> SqlTool:
        return SqlTool(context, self._database, timeout_s=self._timeout_s)


def sql_tool(database: Database, *, timeout_s: float = QUERY_TIMEOUT_S) -> ToolFactory:
    """Return the factory of a tool that queries this database, as `Task.own_tools` wants it."""
    return lambda context: SqlTool(context, database, timeout_s=timeout_s)


def sql_schema(dialect: Dialect) -> ToolSchema:
    return object_schema(
        "sql",
        f"Run one read-only {NAMES[dialect]} query on the database and see its first rows.",
        {"query": {"type": "string", "maxLength": MAX_QUERY_CHARS, "description": "One SELECT statement."}},
        required=["query"],
    )


def shown(rows: Rows) -> str:
    """Return a result as text: a line of names, a line for each row, and how many there are."""
    lines = [" | ".join(map(_shown, rows.columns)), *(" | ".join(map(_shown, row)) for row in rows.rows)]
    number = "1 row" if len(rows.rows) == 1 else f"{len(rows.rows)} rows"
    lines.append(f"(the first {number}; there are more)" if rows.truncated else f"({number})")
    return "\n".join(lines)


def _shown(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case float():
            return f"{value:.12g}"
        case _:
            text = str(value).replace(BLOB_MARK, "").replace("\n", "\\n")
            return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 3]}..."
