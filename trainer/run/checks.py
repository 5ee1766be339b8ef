"""What a dry run and the doctor found, as rows of a table: whether it is as it must be, and what mends it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final, Literal

from rich.console import Console
from rich.table import Table

from rlfactory.tables import print_table

State = Literal["ok", "note", "wrong"]
_COLORS: Final[dict[State, str]] = {"ok": "green", "note": "yellow", "wrong": "red"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    told: str
    """What was found, in a line."""
    state: State = "ok"
    """note: slower or less than might be; wrong: the run would fail."""
    mend: str = ""
    """What to do about it."""


def show(checks: Iterable[Check], *, title: str, as_json: bool) -> bool:
    """Print what was found; return whether nothing is wrong."""
    found = list(checks)
    if as_json:
        print(json.dumps([asdict(each) for each in found], indent=2))
    else:
        table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
        for column in ("what", "", "found"):
            table.add_column(column, overflow="fold", no_wrap=column != "found")
        for each in found:
            mend = f" -> {each.mend}" if each.mend else ""
            table.add_row(each.name, f"[{_COLORS[each.state]}]{each.state}[/]", f"{each.told}{mend}")
        print_table(table, Console(highlight=False))
    return all(each.state != "wrong" for each in found)
