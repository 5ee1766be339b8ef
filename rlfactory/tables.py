"""Tables for people: as wide as their terminal, or, into a pipe or a file, a line for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table; where there is no terminal, as wide as its longest row, and no blanks at the ends of lines."""
    from rich.console import Console
    from rich.measure import Measurement

    console = console or Console(highlight=False)
    if console.is_terminal:
        console.print(table)
        return
    console.width = Measurement.get(console, console.options.update(max_width=100_000), table).maximum
    with console.capture() as capture:
        console.print(table)
    console.file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())
