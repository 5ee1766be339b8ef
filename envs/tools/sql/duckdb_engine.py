"""DuckDB, able to read one file and nothing else."""

from __future__ import annotations

import datetime
import uuid

import duckdb

from rlfactory.envs.tools.sql.limits import SqlLimits
from rlfactory.envs.tools.sql.rows import FailureKind, QueryFailed, Rows, batches, collect

__all__ = ["DuckDbEngine", "datetime", "uuid"]  # the engine imports these two late, when it can open nothing any more


class DuckDbEngine:
    """One database. Its configuration is locked; a query that does not end in time ends with its process."""

    def __init__(self, path: str, limits: SqlLimits) -> None:
        """Raises: duckdb.Error: it cannot be opened, or is no database."""
        self._limits = limits
        self._connection = duckdb.connect(
            path,
            read_only=True,
            config={
                "enable_external_access": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "python_enable_replacements": "false",
                "memory_limit": f"{limits.max_memory_bytes // 10**6}MB",
                "temp_directory": "",
                "threads": "1",
                "lock_configuration": "true",
            },
        )
        self._connection.execute("SELECT DATE '2000-01-01', TIMESTAMP '2000-01-01', 1.5::DECIMAL(9, 2)").fetchall()

    def run(self, sql: str, *, timeout_s: float, max_rows: int) -> Rows:
        """Return the rows of one query. Raises: QueryFailed: it is refused, wrong or too large."""
        cursor = self._connection.cursor()
        try:
            statements = cursor.extract_statements(sql)
            if len(statements) != 1:
                raise QueryFailed(FailureKind.REFUSED, f"there are {len(statements)} statements; give one query")
            kind = statements[0].type
            if kind is not duckdb.StatementType.SELECT:
                raise QueryFailed(FailureKind.REFUSED, f"{kind.name} is not allowed: queries may only read")
            cursor.execute(statements[0])
            columns = [str(column[0]) for column in cursor.description or ()]
            return collect(
                columns, batches(cursor.fetchmany), max_rows=max_rows, max_bytes=self._limits.max_result_bytes
            )
        except (duckdb.PermissionException, duckdb.InvalidInputException) as error:
            raise QueryFailed(FailureKind.REFUSED, str(error)) from None
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise QueryFailed(FailureKind.TOO_LARGE, f"the query needs more memory than it may: {error}") from None
        except (duckdb.Error, ValueError, OverflowError) as error:
            raise QueryFailed(FailureKind.ERROR, str(error)) from None
        finally:
            cursor.close()

    def close(self) -> None:
        self._connection.close()
