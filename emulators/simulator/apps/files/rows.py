"""Files: its rows, its drawer of places, its path line and its dialogs."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from datetime import datetime

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import format_size
from rlfactory.emulators.simulator.apps.kit.file_list import STORAGE, FileItem, SortKey, file_item
from rlfactory.emulators.simulator.apps.kit.filetypes import format_day, modified_at
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    AppBar,
    Avatar,
    Callback,
    Column,
    Dialog,
    Divider,
    Icon,
    ListItem,
    Radio,
    Row,
    Scaffold,
    Scroll,
    Text,
    Widget,
)


def file_row(
    item: FileItem,
    now: datetime,
    *,
    chosen: bool,
    enabled: bool,
    on_tap: Callback,
    on_long_press: Callback | None,
) -> Widget:
    """Return a list row: icon by type, name, date, size and type."""
    day = format_day(modified_at(item.modified_ns, now), now)
    facts = day if item.is_dir else f"{day}, {format_size(item.size)}, {item.kind.label}"
    if chosen:
        leading: Widget = Avatar(icon="check", color="primary", size=40)
    elif item.is_dir:
        leading = Avatar(icon="folder", color="#5F6368", size=40)
    else:
        leading = Avatar(icon=item.kind.icon, color=item.kind.color, size=40)
    return Row(
        key="item_root",
        children=(
            leading,
            Column(
                children=(
                    Text(key="title", text=item.name, max_lines=1, color="on_surface" if enabled else "outline"),
                    Text(text=facts, style="body_medium", color="on_surface_variant", max_lines=1),
                ),
                weight=1,
            ),
        ),
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


def storage_trail(system: System, folder: str, on_go: Callable[[str], None]) -> Widget:
    """Return the path of folders from the storage's root, each a link."""
    parts = [] if folder == STORAGE else folder.removeprefix(STORAGE + "/").split("/")
    steps = [(system.model, STORAGE)]
    for part in parts:
        steps.append((part, posixpath.join(steps[-1][1], part)))
    children: list[Widget] = []
    for number, (label, path) in enumerate(steps[-3:]):
        if number:
            children.append(Icon(icon="chevron-right", size=18))
        last = path == folder
        children.append(
            Text(
                key="breadcrumb_text",
                text=label,
                style="label_large",
                color="primary" if last else "on_surface_variant",
                max_lines=1,
                padding=(4, 8, 4, 8),
                on_tap=None if last else _go(on_go, path),
            )
        )
    return Row(key="horizontal_breadcrumb", children=tuple(children), padding=(16, 0, 16, 0), gap=2, width="fill")


def _go(on_go: Callable[[str], None], place: str) -> Callback:
    return lambda: on_go(place)


def roots_drawer(
    system: System,
    place: str,
    categories: Mapping[str, str],
    *,
    recent: str,
    downloads: str,
    on_choose: Callable[[str], None],
    on_close: Callback,
) -> Widget:
    """Return the list of places, as the drawer shows it."""
    icons = {
        "image": "image-outline",
        "video": "movie-outline",
        "audio": "music-note-outline",
        "document": "file-document-outline",
    }
    entries = [
        (recent, "Recent", "clock-outline"),
        *((f"category:{key}", label, icons[key]) for key, label in categories.items()),
        (downloads, "Downloads", "download-outline"),
        (STORAGE, system.model, "cellphone"),
    ]
    rows: list[Widget] = []
    for target, label, icon in entries:
        chosen = target == place
        if target == STORAGE:
            rows.append(Divider())
        rows.append(
            ListItem(
                key="root",
                title=label,
                leading=Icon(icon=icon, color="primary" if chosen else "on_surface_variant"),
                selected=chosen,
                background="secondary_container" if chosen else None,
                radius=28,
                on_tap=_go(on_choose, target),
            )
        )
    return Scaffold(
        app_bar=AppBar(title="Files", on_back=on_close, navigation_icon="close"),
        body=Scroll(key="roots_list", children=tuple(rows), padding=(12, 8, 12, 8), height="fill"),
    )


SORTS: tuple[tuple[SortKey, bool, str], ...] = (
    ("name", False, "File name (A to Z)"),
    ("name", True, "File name (Z to A)"),
    ("type", False, "Type (A to Z)"),
    ("size", False, "Size (largest first)"),
    ("size", True, "Size (smallest first)"),
    ("date", False, "Modified (newest first)"),
    ("date", True, "Modified (oldest first)"),
)


def sort_dialog(key: SortKey, reverse: bool, on_choose: Callable[[str, bool], None], on_cancel: Callback) -> Dialog:
    def chooser(wanted: SortKey, turned: bool) -> Callback:
        return lambda: on_choose(wanted, turned)

    rows = tuple(
        Row(
            key=f"sort_{wanted}{'_reverse' if turned else ''}",
            children=(Radio(checked=(wanted, turned) == (key, reverse)), Text(text=label, weight=1)),
            gap=12,
            height=48,
            width="fill",
            on_tap=chooser(wanted, turned),
        )
        for wanted, turned, label in SORTS
    )
    return Dialog(
        title="Sort by",
        body=Column(children=rows),
        actions=(Action(text="Cancel", on_tap=on_cancel),),
        on_dismiss=on_cancel,
    )


def info_dialog(system: System, path: str, on_close: Callback) -> Dialog:
    item = file_item(system, path)
    when = modified_at(item.modified_ns, system.now())
    facts = [
        ("Type", item.kind.label),
        *((("Size", format_size(item.size)),) if not item.is_dir else ()),
        ("Modified", f"{when:%b} {when.day}, {when.year}, {when:%H:%M}"),
        ("Location", posixpath.dirname(item.path)),
    ]
    rows = tuple(
        Column(
            children=(
                Text(text=label, style="label_large", color="on_surface_variant"),
                Text(text=value, style="body_medium"),
            )
        )
        for label, value in facts
    )
    return Dialog(
        title=item.name,
        body=Column(children=rows, gap=12),
        actions=(Action(text="OK", on_tap=on_close),),
        on_dismiss=on_close,
    )
