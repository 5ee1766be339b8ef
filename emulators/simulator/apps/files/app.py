"""Files: `com.google.android.documentsui`, the shared storage's folders and what can be done with what is in them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.files.bars import place_bar, selection_bar, sort_button, transfer_bar
from rlfactory.emulators.simulator.apps.files.rows import (
    file_row,
    info_dialog,
    roots_drawer,
    sort_dialog,
    storage_trail,
)
from rlfactory.emulators.simulator.apps.files.view import QuickView
from rlfactory.emulators.simulator.apps.golden import FOLDER_AGE_H, SHARED_FILES, golden_time_ns, write_golden
from rlfactory.emulators.simulator.apps.kit.common import confirm_dialog, empty_state, prompt_dialog, search_bar_title
from rlfactory.emulators.simulator.apps.kit.file_list import (
    STORAGE,
    FileItem,
    SortKey,
    count_items,
    delete_paths,
    folder_items,
    found_items,
    free_path,
    is_good_name,
    rename_path,
    shared_files,
    sort_items,
    transfer_paths,
    try_change,
)
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    Callback,
    Column,
    Dialog,
    Menu,
    Scaffold,
    Scroll,
    Spacer,
    Widget,
)

PACKAGE = "com.google.android.documentsui"
RECENT = "recent:"
DOWNLOADS = f"{STORAGE}/Download"
CATEGORIES = {"image": "Images", "video": "Videos", "audio": "Audio", "document": "Documents"}
MAX_RECENT = 40
Open = Literal["", "menu", "sort", "delete", "rename", "new", "info"]


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A copy or move whose destination is being chosen."""

    paths: tuple[str, ...]
    move: bool

    @property
    def verb(self) -> str:
        return "Move" if self.move else "Copy"


@dataclass(kw_only=True)
class FilesActivity(Activity):
    """A folder, a category of files, or the most recent ones."""

    name: ClassVar[str] = "com.android.documentsui.files.FilesActivity"
    place: str = STORAGE
    """A folder's path; RECENT; or "category:image" and the like."""
    selected: list[str] = field(default_factory=list)
    transfer: Transfer | None = None
    drawer: bool = False
    searching: bool = False
    query: str = ""
    open: Open = ""
    draft: str = ""

    def on_create(self, system: System) -> None:
        if self.intent.data.startswith("file:///storage/"):
            self.place = self.intent.data.removeprefix("file://")

    def on_resume(self, system: System) -> None:
        if self.place.startswith("/") and not system.files.is_dir(self.place):
            self.place = STORAGE
        self.selected = [path for path in self.selected if system.files.exists(path)]

    # --- screen ----------------------------------------------------------------------------------------------------

    def build(self, system: System) -> Widget:
        if self.drawer:
            return roots_drawer(
                system,
                self.place,
                CATEGORIES,
                recent=RECENT,
                downloads=DOWNLOADS,
                on_choose=self._go,
                on_close=self._close,
            )
        items = self._items(system)
        return Scaffold(
            app_bar=self._bar(system), body=self._body(system, items), bottom_bar=self._transfer_bar(system)
        )

    def _sort(self, system: System) -> tuple[SortKey, bool]:
        prefs = Preferences.of(system, PACKAGE)
        keys: tuple[SortKey, ...] = ("name", "date", "size", "type")
        wanted = prefs.get("sort_by", "name")
        return next((key for key in keys if key == wanted), "name"), prefs.get("sort_reverse", False)

    def _items(self, system: System) -> list[FileItem]:
        key, reverse = self._sort(system)
        if self.searching and self.query.strip():
            root = self.place if self.place.startswith("/") else STORAGE
            return sort_items(found_items(system, root, self.query), key, reverse=reverse)
        if self.place == RECENT:
            return sort_items(shared_files(system), "date")[:MAX_RECENT]
        if self.place.startswith("category:"):
            category = self.place.partition(":")[2]
            found = [item for item in shared_files(system) if item.kind.category == category]
            return sort_items(found, key, reverse=reverse)
        items = sort_items(folder_items(system, self.place), key, reverse=reverse)
        return [item for item in items if self.transfer is None or item.path not in self.transfer.paths]

    def title(self, system: System) -> str:
        if self.place == STORAGE:
            return system.model
        if self.place == RECENT:
            return "Recent"
        if self.place.startswith("category:"):
            return CATEGORIES[self.place.partition(":")[2]]
        return "Downloads" if self.place == DOWNLOADS else posixpath.basename(self.place)

    def _bar(self, system: System) -> Widget:
        if self.searching:
            return search_bar_title("Search this phone", self.query, self._type_query, self._stop_search)
        if self.selected:
            return selection_bar(
                len(self.selected),
                on_close=self._clear_selection,
                on_delete=self._opener("delete"),
                on_more=self._opener("menu"),
            )
        return place_bar(
            self.title(system),
            on_roots=self._open_drawer,
            on_search=self._start_search,
            on_more=self._opener("menu"),
        )

    def _body(self, system: System, items: list[FileItem]) -> Widget:
        key, reverse = self._sort(system)
        head: list[Widget] = []
        if self.place.startswith("/") and not self.searching:
            head.append(storage_trail(system, self.place, self._go))
        if self.place != RECENT:
            head.append(sort_button(key, reverse=reverse, on_tap=self._opener("sort")))
        rows: list[Widget] = [
            file_row(
                item,
                system.now(),
                chosen=item.path in self.selected,
                enabled=self.transfer is None or item.is_dir,
                on_tap=self._tapper(system, item),
                on_long_press=self._chooser(item) if self.transfer is None else None,
            )
            for item in items
        ]
        if not items:
            empty = "No matches" if self.searching and self.query.strip() else "No items"
            rows.append(empty_state("folder-open-outline", empty))
        listing = Scroll(key="dir_list", children=(*rows, Spacer(height=32)), weight=1, width="fill")
        return Column(children=(*head, listing), width="fill", height="fill")

    def _transfer_bar(self, system: System) -> Widget | None:
        transfer = self.transfer
        if transfer is None:
            return None
        return transfer_bar(
            transfer.verb,
            len(transfer.paths),
            on_cancel=self._stop_transfer,
            on_pick=(lambda: self._finish_transfer(system, transfer)) if self.place.startswith("/") else None,
        )

    # --- dialogs and menus -----------------------------------------------------------------------------------------

    def dialog(self, system: System) -> Dialog | Menu | None:
        builders: dict[Open, Callable[[System], Dialog | Menu]] = {
            "menu": self._menu,
            "sort": self._sort_dialog,
            "delete": self._delete_dialog,
            "rename": self._name_dialog,
            "new": self._name_dialog,
            "info": lambda system: info_dialog(system, self.selected[0], self._close),
        }
        return builders[self.open](system) if self.open else None

    def _menu(self, system: System) -> Menu:
        one = len(self.selected) == 1
        if self.selected:
            items: tuple[Action, ...] = (
                Action(text="Select all", on_tap=lambda: self._select_all(system)),
                Action(text="Copy to\u2026", on_tap=lambda: self._start_transfer(move=False)),
                Action(text="Move to\u2026", on_tap=lambda: self._start_transfer(move=True)),
                Action(text="Rename", on_tap=self._start_rename, enabled=one),
                Action(text="Get info", on_tap=self._opener("info"), enabled=one),
            )
        else:
            items = (
                Action(text="New folder", on_tap=self._start_new, enabled=self.place.startswith("/")),
                Action(text="Sort by\u2026", on_tap=self._opener("sort")),
                Action(text="Select all", on_tap=lambda: self._select_all(system), enabled=self.transfer is None),
            )
        return Menu(items=items, on_dismiss=self._close, anchor="option_menu_more")

    def _sort_dialog(self, system: System) -> Dialog:
        key, reverse = self._sort(system)

        def choose(key: str, reverse: bool) -> None:
            Preferences.of(system, PACKAGE).put(sort_by=key, sort_reverse=reverse)
            self._close()

        return sort_dialog(key, reverse, choose, self._close)

    def _delete_dialog(self, system: System) -> Dialog:
        what = (
            f"\u201c{posixpath.basename(self.selected[0])}\u201d"
            if len(self.selected) == 1
            else count_items(len(self.selected))
        )
        return confirm_dialog(f"Delete {what}?", "", yes="OK", on_yes=lambda: self._delete(system), on_no=self._close)

    def _name_dialog(self, system: System) -> Dialog:
        new = self.open == "new"
        return prompt_dialog(
            "New folder" if new else "Rename",
            self.draft,
            key="name_edit",
            hint="Folder name" if new else "Name",
            enabled=is_good_name(self.draft.strip()),
            on_change=self._type_draft,
            on_ok=lambda: self._create(system) if new else self._rename(system),
            on_cancel=self._close,
        )

    # --- events ----------------------------------------------------------------------------------------------------

    def on_back(self, system: System) -> bool:
        if self.drawer:
            self._close()
        elif self.searching:
            self._stop_search()
        elif self.selected:
            self._clear_selection()
        elif self.place != STORAGE:
            self._go(posixpath.dirname(self.place) if self.place.startswith("/") else STORAGE)
        elif self.transfer is not None:
            self._stop_transfer()
        else:
            return False
        return True

    def _go(self, place: str) -> None:
        self.place = place
        self.selected = []
        self._stop_search()
        self._close()
        self.scroll_px.clear()

    def _tapper(self, system: System, item: FileItem) -> Callback:
        def tap() -> None:
            if self.selected:
                self._toggle(item.path)
            elif item.is_dir:
                self._go(item.path)
            else:
                system.start(QuickView, Intent(action="android.intent.action.VIEW", data=f"file://{item.path}"))

        return tap

    def _chooser(self, item: FileItem) -> Callback:
        return lambda: self._toggle(item.path)

    def _toggle(self, path: str) -> None:
        if path in self.selected:
            self.selected.remove(path)
        else:
            self.selected.append(path)

    def _select_all(self, system: System) -> None:
        self.selected = [item.path for item in self._items(system)]
        self._close()

    def _clear_selection(self) -> None:
        self.selected = []

    def _open_drawer(self) -> None:
        self.drawer = True

    def _opener(self, name: Open) -> Callback:
        def open_it() -> None:
            self.open = name

        return open_it

    def _close(self) -> None:
        self.open, self.drawer = "", False

    def _start_search(self) -> None:
        self.searching, self.query = True, ""

    def _stop_search(self) -> None:
        self.searching, self.query = False, ""

    def _type_query(self, text: str) -> None:
        self.query = text

    def _type_draft(self, text: str) -> None:
        self.draft = text

    def _start_new(self) -> None:
        self.open, self.draft = "new", ""

    def _start_rename(self) -> None:
        self.open, self.draft = "rename", posixpath.basename(self.selected[0])

    def _start_transfer(self, *, move: bool) -> None:
        self.transfer = Transfer(paths=tuple(self.selected), move=move)
        self._go(STORAGE)

    def _stop_transfer(self) -> None:
        self.transfer = None

    def _finish_transfer(self, system: System, transfer: Transfer) -> None:
        verb, done = "Moved" if transfer.move else "Copied", 0

        def change() -> None:
            nonlocal done
            done = transfer_paths(system, transfer.paths, self.place, move=transfer.move)

        if try_change(system, change):
            what = f"{verb} {count_items(done)}" if done else f"Couldn\u2019t {transfer.verb.lower()} the items here"
            system.toast(what)
        self._stop_transfer()

    def _delete(self, system: System) -> None:
        count = len(self.selected)
        delete_paths(system, self.selected)
        self._clear_selection()
        self._close()
        system.toast(f"Deleted {count_items(count)}")

    def _rename(self, system: System) -> None:
        if try_change(system, lambda: rename_path(system, self.selected[0], self.draft.strip())):
            self._clear_selection()
            self._close()

    def _create(self, system: System) -> None:
        if try_change(system, lambda: system.files.make_dir(free_path(system, self.place, self.draft.strip()))):
            self._close()


class _Files(App):
    def furnish(self, system: System) -> None:
        write_golden(system, STORAGE, SHARED_FILES)
        for name in system.files.list(STORAGE):
            system.files.set_times(f"{STORAGE}/{name}", golden_time_ns(system, FOLDER_AGE_H))


FILES = _Files(
    package=PACKAGE,
    label="Files",
    icon="folder",
    color="#4285F4",
    activities=(FilesActivity, QuickView),
    version_name="13",
    version_code=33,
    filters={
        "android.intent.action.VIEW image/*": QuickView,
        "android.intent.action.VIEW vnd.android.document/root": FilesActivity,
        "android.intent.action.VIEW_DOWNLOADS": FilesActivity,
    },
)
