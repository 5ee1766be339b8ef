"""Notes: Markor (`net.gsantner.markor`), a notebook of plain files in Documents/Markor."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.golden import FOLDER_AGE_H, golden_time_ns, write_golden
from rlfactory.emulators.simulator.apps.golden import NOTES as GOLDEN_NOTES
from rlfactory.emulators.simulator.apps.kit.common import confirm_dialog, empty_state, prompt_dialog, search_bar_title
from rlfactory.emulators.simulator.apps.kit.file_list import (
    FileItem,
    SortKey,
    count_items,
    delete_paths,
    folder_items,
    found_items,
    is_good_name,
    rename_path,
    sort_items,
    transfer_paths,
    try_change,
)
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.notes.editor import DocumentActivity
from rlfactory.emulators.simulator.apps.notes.intro import (
    INTRO_PAGES,
    finish_intro,
    intro_done,
    intro_page,
    setup_dialog,
)
from rlfactory.emulators.simulator.apps.notes.new import NewFile, new_file_dialog
from rlfactory.emulators.simulator.apps.notes.rows import move_bar, note_row, parent_row, selection_bar
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    AppBar,
    Callback,
    Dialog,
    Fab,
    IconButton,
    Menu,
    Scaffold,
    Scroll,
    Spacer,
    Widget,
)

PACKAGE = "net.gsantner.markor"
NOTEBOOK = "/storage/emulated/0/Documents/Markor"
SORTS: tuple[tuple[SortKey, str], ...] = (("name", "Name"), ("date", "Date"), ("size", "File size"))
Open = Literal["", "sort", "more", "delete", "rename", "new"]


@dataclass(kw_only=True)
class MainActivity(Activity):
    """The notebook's files and folders."""

    name: ClassVar[str] = "net.gsantner.markor.activity.MainActivity"
    folder: str = NOTEBOOK
    selected: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)
    """What is being moved while a folder is chosen."""
    searching: bool = False
    query: str = ""
    open: Open = ""
    """The dialog or menu that is open."""
    draft: str = ""
    new: NewFile = field(default_factory=NewFile)
    intro: int = 0
    """Page of the first-run introduction."""

    def on_resume(self, system: System) -> None:
        if not system.files.is_dir(self.folder):
            self.folder = NOTEBOOK
        self.selected = [path for path in self.selected if system.files.exists(path)]

    # --- screen ----------------------------------------------------------------------------------------------------

    def build(self, system: System) -> Widget:
        if not intro_done(system):
            return intro_page(self.intro, on_next=self._next_page, on_done=lambda: finish_intro(system))
        items = self._items(system)
        title = "Markor" if self.folder == NOTEBOOK else posixpath.basename(self.folder)
        return Scaffold(
            app_bar=self._bar(title),
            body=self._list(system, items),
            bottom_bar=move_bar(title, on_cancel=self._stop_moving, on_move=lambda: self._move(system))
            if self.moving
            else None,
            fab=None
            if self.moving or self.selected
            else Fab(
                key="fab_add_new_item",
                icon="plus",
                description="Create a new file or folder",
                on_tap=self._start_new,
            ),
        )

    def _items(self, system: System) -> list[FileItem]:
        prefs = Preferences.of(system, PACKAGE)
        wanted = prefs.get("sort_by", "name")
        key: SortKey = next((key for key, _ in SORTS if key == wanted), "name")
        items = folder_items(system, self.folder)
        if self.searching and self.query.strip():
            items = found_items(system, self.folder, self.query)
        if self.moving:
            items = [item for item in items if item.is_dir and item.path not in self.moving]
        return sort_items(items, key, reverse=prefs.get("sort_reverse", False))

    def _bar(self, title: str) -> Widget:
        if self.searching:
            return search_bar_title("Search", self.query, self._type_query, self._stop_search)
        if self.selected:
            return selection_bar(
                len(self.selected),
                on_close=self._clear_selection,
                on_rename=self._start_rename,
                on_move=self._start_moving,
                on_delete=self._opener("delete"),
                on_more=self._opener("more"),
            )
        if self.moving:
            return AppBar(title="Select folder", on_back=self._stop_moving, navigation_icon="close")
        return AppBar(
            title=title,
            on_back=self._go_up if self.folder != NOTEBOOK else None,
            actions=(
                IconButton(key="action_search", icon="magnify", description="Search", on_tap=self._start_search),
                IconButton(key="action_sort", icon="sort", description="Sort by", on_tap=self._opener("sort")),
                IconButton(
                    key="action_more", icon="dots-vertical", description="More options", on_tap=self._opener("more")
                ),
            ),
        )

    def _list(self, system: System, items: list[FileItem]) -> Widget:
        rows: list[Widget] = []
        if self.folder != NOTEBOOK and not self.searching:
            rows.append(parent_row(self._go_up))
        rows.extend(self._row(system, item) for item in items)
        if not items:
            rows.append(empty_state("note-outline", _empty_text(searching=self.searching, moving=bool(self.moving))))
        return Scroll(key="ui__filesystem_dialog__list", children=(*rows, Spacer(height=96)), height="fill")

    def _row(self, system: System, item: FileItem) -> Widget:
        return note_row(
            item,
            system.now(),
            chosen=item.path in self.selected,
            on_tap=lambda: self._tap(system, item),
            on_long_press=None if self.moving else lambda: self._toggle(item.path),
        )

    # --- dialogs and menus ----------------------------------------------------------------------------------------

    def dialog(self, system: System) -> Dialog | Menu | None:
        if not intro_done(system):
            return None
        pending = setup_dialog(system)
        if pending is not None:
            return pending
        builders: dict[Open, Callable[[System], Dialog | Menu]] = {
            "sort": self._sort_menu,
            "more": self._more_menu,
            "delete": self._delete_dialog,
            "rename": self._rename_dialog,
            "new": self._new_dialog,
        }
        return builders[self.open](system) if self.open else None

    def _delete_dialog(self, system: System) -> Dialog:
        names = "\n".join(posixpath.basename(path) for path in self.selected)
        return confirm_dialog("Confirm delete", names, yes="OK", on_yes=lambda: self._delete(system), on_no=self._close)

    def _rename_dialog(self, system: System) -> Dialog:
        return prompt_dialog(
            "Rename",
            self.draft,
            key="rename_edit",
            enabled=is_good_name(self.draft),
            on_change=self._type_draft,
            on_ok=lambda: self._rename(system),
            on_cancel=self._close,
        )

    def _new_dialog(self, system: System) -> Dialog:
        return new_file_dialog(
            self.new,
            on_file=lambda: self._create_file(system),
            on_folder=lambda: self._create_folder(system),
            on_cancel=self._close,
        )

    def _sort_menu(self, system: System) -> Menu:
        prefs = Preferences.of(system, PACKAGE)
        current, reverse = prefs.get("sort_by", "name"), prefs.get("sort_reverse", False)

        def sort(key: str) -> Callback:
            def choose() -> None:
                prefs.put(sort_by=key)
                self._close()

            return choose

        def turn() -> None:
            prefs.put(sort_reverse=not reverse)
            self._close()

        items = [
            Action(text=label, icon="radiobox-marked" if key == current else "radiobox-blank", on_tap=sort(key))
            for key, label in SORTS
        ]
        box = "checkbox-marked-outline" if reverse else "checkbox-blank-outline"
        return Menu(
            items=(*items, Action(text="Reverse order", icon=box, on_tap=turn)),
            on_dismiss=self._close,
            anchor="action_sort",
        )

    def _more_menu(self, system: System) -> Menu:
        select = Action(text="Select all", icon="select-all", on_tap=lambda: self._select_all(system))
        create = Action(text="New folder", icon="folder-plus-outline", on_tap=self._start_new)
        return Menu(
            items=(select,) if self.selected else (create, select), on_dismiss=self._close, anchor="action_more"
        )

    # --- events ------------------------------------------------------------------------------------------------------

    def on_back(self, system: System) -> bool:
        if self.searching:
            self._stop_search()
        elif self.selected:
            self._clear_selection()
        elif self.folder != NOTEBOOK:
            self._go_up()
        elif self.moving:
            self._stop_moving()
        else:
            return False
        return True

    def _tap(self, system: System, item: FileItem) -> None:
        if self.selected:
            self._toggle(item.path)
        elif item.is_dir:
            self.folder = item.path
            self._stop_search()
            self.scroll_px.clear()
        else:
            system.start(DocumentActivity, Intent(action="android.intent.action.VIEW", data=f"file://{item.path}"))

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

    def _go_up(self) -> None:
        self.folder = posixpath.dirname(self.folder) if self.folder != NOTEBOOK else NOTEBOOK
        self.scroll_px.clear()

    def _start_search(self) -> None:
        self.searching, self.query = True, ""

    def _stop_search(self) -> None:
        self.searching, self.query = False, ""

    def _type_query(self, text: str) -> None:
        self.query = text

    def _type_draft(self, text: str) -> None:
        self.draft = text

    def _opener(self, name: Open) -> Callable[[], None]:
        def open_it() -> None:
            self.open = name

        return open_it

    def _close(self) -> None:
        self.open = ""

    def _next_page(self) -> None:
        self.intro = min(self.intro + 1, len(INTRO_PAGES) - 1)

    def _start_new(self) -> None:
        self.open, self.new = "new", NewFile()

    def _start_rename(self) -> None:
        self.open, self.draft = "rename", posixpath.basename(self.selected[0])

    def _start_moving(self) -> None:
        self.moving, self.selected = self.selected, []

    def _stop_moving(self) -> None:
        self.moving = []

    def _move(self, system: System) -> None:
        def change() -> None:
            done = transfer_paths(system, self.moving, self.folder, move=True)
            system.toast(f"Moved {count_items(done)}" if done else "Nothing to move")

        try_change(system, change)
        self._stop_moving()

    def _delete(self, system: System) -> None:
        delete_paths(system, self.selected)
        self._clear_selection()
        self._close()

    def _rename(self, system: System) -> None:
        if try_change(system, lambda: rename_path(system, self.selected[0], self.draft.strip())):
            self._clear_selection()
            self._close()

    def _create_file(self, system: System) -> None:
        path = posixpath.join(self.folder, self.new.file_name)
        if not is_good_name(self.new.file_name):
            return
        if not system.files.exists(path):

            def change() -> None:
                system.files.make_dirs(self.folder)
                system.files.write(path, b"")

            if not try_change(system, change):
                return
        self._close()
        system.start(DocumentActivity, Intent(action="android.intent.action.EDIT", data=f"file://{path}"))

    def _create_folder(self, system: System) -> None:
        name = self.new.name.strip()
        if not is_good_name(name):
            return
        if try_change(system, lambda: system.files.make_dirs(posixpath.join(self.folder, name))):
            self._close()


def _empty_text(*, searching: bool, moving: bool) -> str:
    if searching:
        return "Nothing found"
    return "No folders here" if moving else "This folder is empty"


class _Markor(App):
    def install(self, system: System) -> None:
        system.files.make_dirs(f"/data/data/{PACKAGE}/shared_prefs")

    def furnish(self, system: System) -> None:
        finish_intro(system, granted=True)
        system.files.make_dirs(NOTEBOOK)
        write_golden(system, NOTEBOOK, GOLDEN_NOTES)
        system.files.set_times(posixpath.dirname(NOTEBOOK), golden_time_ns(system, FOLDER_AGE_H))


MARKOR = _Markor(
    package=PACKAGE,
    label="Markor",
    icon="notebook-edit",
    color="#B71C1C",
    activities=(MainActivity, DocumentActivity),
    version_name="2.11.1",
    version_code=146,
    system=False,
    filters={
        "android.intent.action.VIEW text/plain": DocumentActivity,
        "android.intent.action.VIEW text/markdown": DocumentActivity,
        "android.intent.action.EDIT text/plain": DocumentActivity,
    },
)
