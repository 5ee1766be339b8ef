"""Notes: the rows and bars of the file list."""

from __future__ import annotations

from datetime import datetime

from rlfactory.emulators.simulator.apps.kit.common import format_size
from rlfactory.emulators.simulator.apps.kit.file_list import FileItem
from rlfactory.emulators.simulator.apps.kit.filetypes import format_day, modified_at
from rlfactory.emulators.simulator.view.widgets import (
    AppBar,
    Button,
    Callback,
    Icon,
    IconButton,
    ListItem,
    Row,
    Text,
    Widget,
)


def note_row(
    item: FileItem, now: datetime, *, chosen: bool, on_tap: Callback, on_long_press: Callback | None
) -> Widget:
    """Return a file or folder: name, day of the last change, size."""
    day = format_day(modified_at(item.modified_ns, now), now)
    icon = "check-circle" if chosen else "folder" if item.is_dir else "file-document-outline"
    return ListItem(
        key="opoc_filesystem_item",
        title=item.name,
        subtitle=f"{day}  \u00b7  " + ("Folder" if item.is_dir else format_size(item.size)),
        leading=Icon(icon=icon, color="primary" if chosen or item.is_dir else "on_surface_variant"),
        selected=chosen,
        background="secondary_container" if chosen else None,
        on_tap=on_tap,
        on_long_press=on_long_press,
    )


def parent_row(on_tap: Callback) -> Widget:
    return ListItem(
        key="parent_folder", title="..", subtitle="Parent folder", leading=Icon(icon="arrow-up-left"), on_tap=on_tap
    )


def selection_bar(
    count: int,
    *,
    on_close: Callback,
    on_rename: Callback,
    on_move: Callback,
    on_delete: Callback,
    on_more: Callback,
) -> Widget:
    """Return the bar over selected items; only one can be renamed."""

    def action(key: str, icon: str, text: str, on_tap: Callback) -> Widget:
        return IconButton(key=key, icon=icon, description=text, on_tap=on_tap)

    rename = (action("action_rename_selected_item", "pencil-outline", "Rename", on_rename),) if count == 1 else ()
    return AppBar(
        title=str(count),
        on_back=on_close,
        navigation_icon="close",
        actions=(
            *rename,
            action("action_move_selected_items", "folder-move-outline", "Move", on_move),
            action("action_delete_selected_items", "delete-outline", "Delete", on_delete),
            action("action_more", "dots-vertical", "More options", on_more),
        ),
    )


def move_bar(place: str, *, on_cancel: Callback, on_move: Callback) -> Widget:
    """Return the bar below the folders that something may be moved to."""
    return Row(
        children=(
            Text(text=f"Move to {place}", weight=1, max_lines=1),
            Button(key="move_cancel", text="Cancel", kind="text", on_tap=on_cancel),
            Button(key="move_here", text="Here", kind="filled", on_tap=on_move),
        ),
        gap=8,
        padding=(24, 8, 16, 8),
        background="surface_container",
        width="fill",
    )
