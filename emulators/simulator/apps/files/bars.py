"""Files: its bars above and below the list."""

from __future__ import annotations

from rlfactory.emulators.simulator.apps.kit.file_list import SortKey, count_items
from rlfactory.emulators.simulator.view.widgets import AppBar, Button, Callback, IconButton, Row, Spacer, Text, Widget


def _more(on_tap: Callback) -> Widget:
    return IconButton(key="option_menu_more", icon="dots-vertical", description="More options", on_tap=on_tap)


def place_bar(title: str, *, on_roots: Callback, on_search: Callback, on_more: Callback) -> Widget:
    """Return the bar that names the place shown."""
    return Row(
        children=(
            IconButton(key="show_roots", icon="menu", description="Show roots", on_tap=on_roots),
            Text(key="toolbar_title", text=title, style="title_large", weight=1, max_lines=1),
            IconButton(key="option_menu_search", icon="magnify", description="Search", on_tap=on_search),
            _more(on_more),
        ),
        height=64,
        padding=(4, 0, 4, 0),
        width="fill",
    )


def selection_bar(count: int, *, on_close: Callback, on_delete: Callback, on_more: Callback) -> Widget:
    """Return the bar over selected items."""
    delete = IconButton(key="action_menu_delete", icon="delete-outline", description="Delete", on_tap=on_delete)
    return AppBar(
        title=f"{count} selected", on_back=on_close, navigation_icon="close", actions=(delete, _more(on_more))
    )


def sort_button(key: SortKey, *, reverse: bool, on_tap: Callback) -> Widget:
    """Return the heading that says what the list is sorted by, with an arrow down for the usual direction."""
    label = {"name": "Name", "date": "Modified", "size": "Size", "type": "Type"}[key]
    arrow = "arrow-up" if reverse else "arrow-down"
    button = Button(key="sort_dimen", text=label, icon=arrow, kind="text", description="Sort by", on_tap=on_tap)
    return Row(children=(button, Spacer(weight=1)), padding=(8, 0, 8, 0), width="fill")


def transfer_bar(verb: str, count: int, *, on_cancel: Callback, on_pick: Callback | None) -> Widget:
    """Return the bar below a destination; without `on_pick` nothing can be put here."""
    return Row(
        children=(
            Text(text=f"{verb} {count_items(count)} here", weight=1, max_lines=1),
            Button(key="cancel", text="Cancel", kind="text", on_tap=on_cancel),
            Button(key="pick", text=verb, kind="filled", enabled=on_pick is not None, on_tap=on_pick),
        ),
        gap=8,
        padding=(24, 8, 16, 8),
        background="surface_container",
        width="fill",
    )
