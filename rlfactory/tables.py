"""Tables for people: as wide as their terminal, or, into a pipe or a file, a line for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table; where there is no terminal, as wide as its longest row."""
    from rich.console import Console
    from rich.measure import Measurement

    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = Measurement.get(console, console.options.update(max_width=100_000), table).maximum
    console.print(table)
