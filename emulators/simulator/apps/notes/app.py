"""Notes: Markor (`net.gsantner.markor`), a notebook of plain files in Documents/Markor."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import field
from datetime import datetime
from functools import partial

from rlfactory.emulators.simulator.android.app import App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.golden import FOLDER_AGE_H, golden_time_ns, write_golden
from rlfactory.emulators.simulator.apps.golden import NOTES as GOLDEN_NOTES
from rlfactory.emulators.simulator.apps.kit.browser import FileBrowser, Transfer
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.files import FileItem, delete_paths, is_good_name, try_change
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, format_size, more_button
from rlfactory.emulators.simulator.apps.notes.editor import DocumentActivity
from rlfactory.emulators.simulator.apps.notes.intro import PACKAGE, finish_intro, intro_done, intro_page, setup_dialog
from rlfactory.emulators.simulator.apps.notes.new import NewFile, new_file_dialog
from rlfactory.emulators.simulator.view import widgets as ui

NOTEBOOK = "/storage/emulated/0/Documents/Markor"
SORTS = (("name", "Name"), ("date", "Date"), ("size", "File size"))


class MainActivity(FileBrowser):
    """The notebook's files and folders."""

    name = "net.gsantner.markor.activity.MainActivity"
    package = PACKAGE
    top = NOTEBOOK
    place: str = NOTEBOOK
    new: NewFile = field(default_factory=NewFile)
    intro: int = 0
    """Page of the first-run introduction."""

    # --- screen ----------------------------------------------------------------------------------------------------

    def build(self, system: System) -> ui.Widget:
        if not intro_done(system):
            return intro_page(
                self.intro, on_next=setter(self, intro=self.intro + 1), on_done=lambda: finish_intro(system)
            )
        title = "Markor" if self.place == NOTEBOOK else posixpath.basename(self.place)
        add = "Create a new file or folder"
        fab = ui.Fab(key="fab_add_new_item", icon="plus", description=add, on_tap=self._start_new)
        return ui.Scaffold(
            app_bar=self._bar(title),
            body=self._list(system),
            bottom_bar=self._move_bar(system, title, self.transfer) if self.transfer else None,
            fab=None if self.transfer or self.selected else fab,
        )

    def items(self, system: System) -> list[FileItem]:
        found = super().items(system)
        if self.transfer is None:
            return found
        return [item for item in found if item.is_dir and item.path not in self.transfer.paths]

    def _bar(self, title: str) -> ui.Widget:
        more = more_button("action_more", self.opener("more"))
        if self.searching:
            return self.search_bar("Search")
        if self.selected:
            rename = bar_button("action_rename_selected_item", "pencil-outline", "Rename", self.start_rename)
            start = lambda: self.start_transfer(self.place, move=True)  # noqa: E731
            move = bar_button("action_move_selected_items", "folder-move-outline", "Move", start)
            delete = bar_button("action_delete_selected_items", "delete-outline", "Delete", self.opener("delete"))
            single = (rename,) if len(self.selected) == 1 else ()
            return self.selection_bar(str(len(self.selected)), *single, move, delete, more)
        if self.transfer:
            return ui.AppBar(title="Select folder", on_back=self.stop_transfer, navigation_icon="close")
        search = bar_button("action_search", "magnify", "Search", self.start_search)
        sort = bar_button("action_sort", "sort", "Sort by", self.opener("sort"))
        on_back = self.go_up if self.place != NOTEBOOK else None
        return ui.AppBar(title=title, on_back=on_back, actions=(search, sort, more))

    def _list(self, system: System) -> ui.Widget:
        items, now = self.items(system), system.minute()
        rows: list[ui.Widget] = []
        if self.place != NOTEBOOK and not self.searching:
            icon = ui.Icon(icon="arrow-up-left")
            rows.append(
                ui.ListItem(key="parent_folder", title="..", subtitle="Parent folder", leading=icon, on_tap=self.go_up)
            )
        rows += [self._row(system, item, now) for item in items]
        if not items:
            empty = "No folders here" if self.transfer else "This folder is empty"
            rows.append(empty_state("note-outline", "Nothing found" if self.searching else empty))
        return ui.Scroll(key="ui__filesystem_dialog__list", children=(*rows, ui.Spacer(height=96)), height="fill")

    def _row(self, system: System, item: FileItem, now: datetime) -> ui.Widget:
        """Return a file or folder: name, day of the last change, size."""
        chosen = item.path in self.selected
        icon = "check-circle" if chosen else "folder" if item.is_dir else "file-document-outline"
        toggle = partial(self.toggle, item.path)
        view = Intent(action="android.intent.action.VIEW", data=f"file://{item.path}")
        enter = partial(self.go, item.path) if item.is_dir else partial(system.start, DocumentActivity, view)
        return ui.ListItem(
            key="opoc_filesystem_item",
            title=item.name,
            subtitle=f"{item.modified_day(now)}  \u00b7  {'Folder' if item.is_dir else format_size(item.size)}",
            leading=ui.Icon(icon=icon, color="primary" if chosen or item.is_dir else "on_surface_variant"),
            selected=chosen,
            background="secondary_container" if chosen else None,
            on_tap=toggle if self.selected else enter,
            on_long_press=None if self.transfer else toggle,
        )

    def _move_bar(self, system: System, title: str, transfer: Transfer) -> ui.Widget:
        move = partial(self.finish_transfer, system, transfer, "Nothing to move")
        return self.transfer_bar(f"Move to {title}", "Here", ("move_cancel", "move_here"), move)

    # --- dialogs and menus ----------------------------------------------------------------------------------------

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        if not intro_done(system):
            return None
        return setup_dialog(system) or super().dialog(system)

    def popups(self) -> dict[str, Callable[[System], ui.Dialog | ui.Menu]]:
        return {
            "sort": self._sort_menu,
            "more": self._more_menu,
            "delete": self._delete_dialog,
            "rename": lambda system: self.name_dialog("Rename", "rename_edit", "", lambda: self.rename(system)),
            "new": lambda system: new_file_dialog(
                self.new,
                on_file=lambda: self._create_file(system),
                on_folder=lambda: self._create_folder(system),
                on_cancel=self.close,
            ),
        }

    def _delete_dialog(self, system: System) -> ui.Dialog:
        names = "\n".join(posixpath.basename(path) for path in self.selected)
        return confirm_dialog("Confirm delete", names, yes="OK", on_yes=lambda: self._delete(system), on_no=self.close)

    def _sort_menu(self, system: System) -> ui.Menu:
        prefs = Preferences.of(system, PACKAGE)
        current, reverse = prefs.get("sort_by", "name"), prefs.get("sort_reverse", False)

        def sort(**values: str | bool) -> ui.Callback:
            def choose() -> None:
                prefs.put(**values)
                self.close()

            return choose

        items = [
            ui.Action(
                text=label, icon="radiobox-marked" if key == current else "radiobox-blank", on_tap=sort(sort_by=key)
            )
            for key, label in SORTS
        ]
        box = "checkbox-marked-outline" if reverse else "checkbox-blank-outline"
        turn = ui.Action(text="Reverse order", icon=box, on_tap=sort(sort_reverse=not reverse))
        return ui.Menu(items=(*items, turn), on_dismiss=self.close, anchor="action_sort")

    def _more_menu(self, system: System) -> ui.Menu:
        select = ui.Action(text="Select all", icon="select-all", on_tap=lambda: self.select_all(system))
        create = ui.Action(text="New folder", icon="folder-plus-outline", on_tap=self._start_new)
        items = (select,) if self.selected else (create, select)
        return ui.Menu(items=items, on_dismiss=self.close, anchor="action_more")

    # --- events ------------------------------------------------------------------------------------------------------

    def _start_new(self) -> None:
        self.open, self.new = "new", NewFile()

    def _delete(self, system: System) -> None:
        delete_paths(system, self.selected)
        self.selected = []
        self.close()

    def _create_file(self, system: System) -> None:
        path = posixpath.join(self.place, self.new.file_name)
        if not is_good_name(self.new.file_name):
            return

        def create() -> None:
            system.files.make_dirs(self.place)
            system.files.write(path, b"")

        if system.files.exists(path) or try_change(system, create):
            self.close()
            system.start(DocumentActivity, Intent(action="android.intent.action.EDIT", data=f"file://{path}"))

    def _create_folder(self, system: System) -> None:
        name = self.new.name.strip()
        if is_good_name(name) and try_change(system, lambda: system.files.make_dirs(posixpath.join(self.place, name))):
            self.close()


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
