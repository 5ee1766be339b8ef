"""Tables of phones for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table


def phones_table(rows: Sequence[dict[str, object]]) -> Table:
    """Return a table of `rlfactory.emulators.sources.standing.StandingPhone`s; memory may be unknown (None)."""
    table = plain_table(f"{len(rows)} phone{'' if len(rows) == 1 else 's'}")
    table.add_column("serial", style="cyan", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("memory", no_wrap=True, justify="right")
    table.add_column("image")
    table.add_column("container", no_wrap=True)
    services = any(row["scope"] != "standing" for row in rows)
    if services:
        table.add_column("for")
    for row in rows:
        cells = [
            str(row["serial"]) or "[dim]its service's[/]",
            _coloured(str(row["state"])),
            duration(float(str(row["age_s"]))),
            "" if row["memory_mb"] is None else f"{float(str(row['memory_mb'])):.0f} MB",
            str(row["image"]),
            str(row["container"]).removeprefix("rlfactory-"),
        ]
        table.add_row(*cells, *([str(row["scope"])] if services else []))
    return table


def attached_table(rows: Sequence[dict[str, object]]) -> Table:
    """Return a table of phones that adb lists."""
    table = plain_table("Attached phones", "serial", "state", "model", "SDK", "screen")
    for row in rows:
        screen = f"{row['width_px']}x{row['height_px']}"
        table.add_row(str(row["serial"]), str(row["state"]), str(row["model"]), str(row["sdk"]), screen)
    return table


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units: 42s, 3m 05s, 2h 10m, 4d 3h."""
    whole = int(max(0.0, seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if days:
        return f"{days}d {hours % 24}h"
    if hours:
        return f"{hours}h {minutes % 60:02d}m"
    return f"{minutes}m {whole % 60:02d}s" if minutes else f"{whole}s"


def plain_table(title: str, *headings: str) -> Table:
    return Table(*headings, title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)


def _coloured(state: str) -> str:
    colour = {"running": "green", "starting": "yellow"}.get(state, "red")
    return f"[{colour}]{state}[/]"
