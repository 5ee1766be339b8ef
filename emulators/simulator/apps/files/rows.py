"""Files: its rows, its path line, its drawer of places and what it tells about a file."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.dialogs import message_dialog
from rlfactory.emulators.simulator.apps.kit.files import STORAGE, FileItem, SortKey, file_item
from rlfactory.emulators.simulator.apps.kit.rows import format_size
from rlfactory.emulators.simulator.view import widgets as ui

SORTS = (
    ("name", "File name (A to Z)"),
    ("name_reverse", "File name (Z to A)"),
    ("type", "Type (A to Z)"),
    ("size", "Size (largest first)"),
    ("size_reverse", "Size (smallest first)"),
    ("date", "Modified (newest first)"),
    ("date_reverse", "Modified (oldest first)"),
)


def file_row(
    item: FileItem,
    now: datetime,
    *,
    chosen: bool,
    enabled: bool,
    on_tap: ui.Callback,
    on_long_press: ui.Callback | None,
) -> ui.Widget:
    """Return a list row: icon by type, name, date, size and type."""
    day = item.modified_day(now)
    facts = day if item.is_dir else f"{day}, {format_size(item.size)}, {item.kind.label}"
    icon, color = ("check", "primary") if chosen else (item.kind.icon, item.kind.color)
    texts = (
        ui.Text(key="title", text=item.name, max_lines=1, color="on_surface" if enabled else "outline"),
        ui.Text(text=facts, style="body_medium", color="on_surface_variant", max_lines=1),
    )
    return ui.Row(
        key="item_root",
        children=(ui.Avatar(icon=icon, color=color, size=40), ui.Column(children=texts, weight=1)),
        gap=16,
        padding=(16, 8, 16, 8),
        min_height=72,
        width="fill",
        selected=chosen,
        enabled=enabled,
        background="secondary_container" if chosen else None,
        on_tap=on_tap if enabled else None,
        on_long_press=on_long_press if enabled else None,
    )


def sort_button(key: SortKey, *, reverse: bool, on_tap: ui.Callback) -> ui.Widget:
    """Return the heading that says what the list is sorted by, with an arrow down for the usual direction."""
    label = {"name": "Name", "date": "Modified", "size": "Size", "type": "Type"}[key]
    arrow = "arrow-up" if reverse else "arrow-down"
    button = ui.Button(key="sort_dimen", text=label, icon=arrow, kind="text", description="Sort by", on_tap=on_tap)
    return ui.Row(children=(button, ui.Spacer(weight=1)), padding=(8, 0, 8, 0), width="fill")


def storage_trail(system: System, folder: str, on_go: Callable[[str], None]) -> ui.Widget:
    """Return the path of folders from the storage's root, each a link."""
    steps = [(system.model, STORAGE)]
    for part in [] if folder == STORAGE else folder.removeprefix(STORAGE + "/").split("/"):
        steps.append((part, posixpath.join(steps[-1][1], part)))
    children: list[ui.Widget] = []
    for label, path in steps[-3:]:
        if children:
            children.append(ui.Icon(icon="chevron-right", size=18))
        last = path == folder
        children.append(
            ui.Text(
                key="breadcrumb_text",
                text=label,
                style="label_large",
                color="primary" if last else "on_surface_variant",
                max_lines=1,
                padding=(4, 8, 4, 8),
                on_tap=None if last else partial(on_go, path),
            )
        )
    return ui.Row(key="horizontal_breadcrumb", children=tuple(children), padding=(16, 0, 16, 0), gap=2, width="fill")


def roots_drawer(
    entries: Iterable[tuple[str, str, str]], shown: str, on_choose: Callable[[str], None], on_close: ui.Callback
) -> ui.Widget:
    """Return the list of places (target, label, icon), as the drawer shows it."""
    rows: list[ui.Widget] = []
    for target, label, icon in entries:
        chosen = target == shown
        if target == STORAGE:
            rows.append(ui.Divider())
        rows.append(
            ui.ListItem(
                key="root",
                title=label,
                leading=ui.Icon(icon=icon, color="primary" if chosen else "on_surface_variant"),
                selected=chosen,
                background="secondary_container" if chosen else None,
                radius=28,
                on_tap=partial(on_choose, target),
            )
        )
    return ui.Scaffold(
        app_bar=ui.AppBar(title="Files", on_back=on_close, navigation_icon="close"),
        body=ui.Scroll(key="roots_list", children=tuple(rows), padding=(12, 8, 12, 8), height="fill"),
    )


def info_dialog(system: System, path: str, on_close: ui.Callback) -> ui.Dialog:
    item = file_item(system, path)
    when = item.modified_at(system.minute())
    facts = {
        "Type": item.kind.label,
        "Size": "" if item.is_dir else format_size(item.size),
        "Modified": f"{when:%b} {when.day}, {when.year}, {when:%H:%M}",
        "Location": posixpath.dirname(item.path),
    }
    rows = tuple(
        ui.Column(
            children=(
                ui.Text(text=label, style="label_large", color="on_surface_variant"),
                ui.Text(text=value, style="body_medium"),
            )
        )
        for label, value in facts.items()
        if value
    )
    return message_dialog(item.name, ui.Column(children=rows, gap=12), on_close)
