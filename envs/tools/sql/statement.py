"""What can be known of a query without running it, by sqlglot where it is installed (the extra `tools`)."""

from __future__ import annotations

import re
from typing import Final

from rlfactory.envs.tools.sql.database import Dialect

FENCE: Final = "```"
LANGUAGE: Final = re.compile(r"(?:sql\w*)?[^\S\n]*", re.IGNORECASE)
"""What may stand behind the opening fence. Linear, as every pattern has to be that reads what a model wrote."""
MAX_PARSED_CHARS: Final = 2_000
"""Longer queries are not parsed for a better message: parsing takes the service's own time."""


def bare(text: str) -> str:
    """Return the query of an answer: without a Markdown fence, the semicolon at its end and white space around it."""
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE):
        language, newline, query = text[len(FENCE) : -len(FENCE)].partition("\n")
        if newline and LANGUAGE.fullmatch(language):
            text = query.strip()
    return text.removesuffix(";").rstrip()


def is_ordered(sql: str, dialect: Dialect) -> bool:
    """Tell whether a query orders its rows, so that their order is part of its meaning.

    Raises:
        ModuleNotFoundError: sqlglot is not installed.
        ValueError: it is no query of this dialect.
    """
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError as error:
        raise ValueError(f"no query of {dialect}: {error}") from None
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    return tree.args.get("order") is not None


def explained(message: str, sql: str, dialect: Dialect) -> str:
    """Return an engine's message with the place of the mistake, if it is one of grammar and the place can be found."""
    if "syntax" not in message.lower() or len(sql) > MAX_PARSED_CHARS:
        return message
    try:
        import sqlglot
    except ModuleNotFoundError:
        return message
    try:
        sqlglot.parse(sql, dialect=dialect)
    except sqlglot.errors.ParseError as error:
        return f"{message}{_place(error.errors)}"
    except (sqlglot.errors.SqlglotError, RecursionError):
        return message
    return message


def _place(errors: list[dict[str, object]]) -> str:
    if not errors:
        return ""
    first = errors[0]
    around = f"{first.get('start_context', '')}>>>{first.get('highlight', '')}<<<{first.get('end_context', '')}"
    return f" (line {first.get('line')}, column {first.get('col')}: {' '.join(around.split())})"
