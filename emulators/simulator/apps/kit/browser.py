"""Browsing folders: what a file manager and a notebook of files have in common, whatever it looks like."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import prompt_dialog
from rlfactory.emulators.simulator.apps.kit.files import (
    FileItem,
    SortKey,
    folder_items,
    found_items,
    is_good_name,
    rename_path,
    sort_items,
    transfer_paths,
    try_change,
)
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import plural, search_bar_title
from rlfactory.emulators.simulator.view import widgets as ui


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A copy or move whose destination is being chosen."""

    paths: tuple[str, ...]
    move: bool

    @property
    def verb(self) -> str:
        return "Move" if self.move else "Copy"


class FileBrowser(Activity):
    """The items of one folder, a search below it, a selection and what is done with it."""

    package: ClassVar[str]
    """Whose preferences hold the sorting."""
    top: ClassVar[str]
    """The folder in which BACK leaves the app."""
    place: str
    """The folder that is shown."""
    selected: list[str] = field(default_factory=list)
    transfer: Transfer | None = None
    searching: bool = False
    query: str = ""
    open: str = ""
    """The dialog or menu that is open: a key of `popups`."""
    draft: str = ""
    """The name in the open dialog."""

    def on_resume(self, system: System) -> None:
        if self.in_folder and not system.files.is_dir(self.place):
            self.place = self.top
        self.selected = [path for path in self.selected if system.files.exists(path)]

    @property
    def in_folder(self) -> bool:
        """Whether `place` is a folder; an app may have places of other kinds."""
        return self.place.startswith("/")

    # --- what is shown ---------------------------------------------------------------------------------------------

    def sorting(self, system: System) -> tuple[SortKey, bool]:
        """Return what the items are sorted by, and whether the other way round."""
        prefs = Preferences.of(system, self.package)
        keys: tuple[SortKey, ...] = get_args(SortKey)
        wanted = prefs.get("sort_by", "name")
        return next((key for key in keys if key == wanted), "name"), prefs.get("sort_reverse", False)

    def items(self, system: System) -> list[FileItem]:
        """Return the sorted items of the folder, or what the search finds below it."""
        found = folder_items(system, self.place)
        if self.query.strip():
            found = found_items(system, self.place if self.in_folder else self.top, self.query)
        key, reverse = self.sorting(system)
        return sort_items(found, key, reverse=reverse)

    def search_bar(self, hint: str) -> ui.Widget:
        return search_bar_title(hint, self.query, writer(self, "query"), self.stop_search)

    def selection_bar(self, title: str, *actions: ui.IconButton) -> ui.Widget:
        """Return the bar over selected items."""
        return ui.AppBar(title=title, on_back=setter(self, selected=[]), navigation_icon="close", actions=actions)

    def transfer_bar(self, text: str, verb: str, keys: tuple[str, str], on_pick: ui.Callback | None) -> ui.Widget:
        """Return the bar below a destination; `keys` are those of its buttons, without `on_pick` it takes nothing."""
        cancel, pick = keys
        return ui.Row(
            children=(
                ui.Text(text=text, weight=1, max_lines=1),
                ui.Button(key=cancel, text="Cancel", kind="text", on_tap=self.stop_transfer),
                ui.Button(key=pick, text=verb, kind="filled", enabled=on_pick is not None, on_tap=on_pick),
            ),
            gap=8,
            padding=(24, 8, 16, 8),
            background="surface_container",
            width="fill",
        )

    def popups(self) -> dict[str, Callable[[System], ui.Dialog | ui.Menu]]:
        """Return what makes each dialog and menu, by its name in `open`."""
        raise NotImplementedError

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        return self.popups()[self.open](system) if self.open else None

    def name_dialog(self, title: str, key: str, hint: str, on_ok: ui.Callback) -> ui.Dialog:
        """Return a dialog that asks for a name, which `draft` holds."""
        return prompt_dialog(
            title,
            self.draft,
            key=key,
            hint=hint,
            enabled=is_good_name(self.draft.strip()),
            on_change=writer(self, "draft"),
            on_ok=on_ok,
            on_cancel=self.close,
        )

    # --- going about -----------------------------------------------------------------------------------------------

    def on_back(self, system: System) -> bool:
        if self.searching:
            self.stop_search()
        elif self.selected:
            self.selected = []
        elif self.place != self.top:
            self.go_up()
        elif self.transfer is not None:
            self.stop_transfer()
        else:
            return False
        return True

    def go(self, place: str) -> None:
        """Show another place, with nothing selected, searched or open."""
        self.place, self.selected = place, []
        self.stop_search()
        self.close()
        self.scroll_px.clear()

    def go_up(self) -> None:
        self.go(posixpath.dirname(self.place) if self.in_folder else self.top)

    def opener(self, name: str) -> ui.Callback:
        return setter(self, open=name)

    def close(self) -> None:
        self.open = ""

    def start_search(self) -> None:
        self.searching, self.query = True, ""

    def stop_search(self) -> None:
        self.searching, self.query = False, ""

    def toggle(self, path: str) -> None:
        if path in self.selected:
            self.selected.remove(path)
        else:
            self.selected.append(path)

    def select_all(self, system: System) -> None:
        self.selected = [item.path for item in self.items(system)]
        self.close()

    # --- changing files --------------------------------------------------------------------------------------------

    def start_rename(self) -> None:
        self.open, self.draft = "rename", posixpath.basename(self.selected[0])

    def rename(self, system: System) -> None:
        if try_change(system, lambda: rename_path(system, self.selected[0], self.draft.strip())):
            self.selected = []
            self.close()

    def start_transfer(self, place: str, *, move: bool) -> None:
        """Have the destination chosen for what is selected, beginning at `place`."""
        self.transfer = Transfer(paths=tuple(self.selected), move=move)
        self.go(place)

    def stop_transfer(self) -> None:
        self.transfer = None

    def finish_transfer(self, system: System, transfer: Transfer, nothing: str) -> None:
        """Copy or move to the folder shown; `nothing` is told when none of the items could be."""

        def change() -> None:
            done = transfer_paths(system, transfer.paths, self.place, move=transfer.move)
            verb = "Moved" if transfer.move else "Copied"
            system.toast(f"{verb} {plural(done, 'item')}" if done else nothing)

        try_change(system, change)
        self.stop_transfer()
