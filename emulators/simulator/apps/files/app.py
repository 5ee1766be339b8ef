"""Files: `com.google.android.documentsui`, the shared storage's folders and what can be done with what is in them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import partial

from rlfactory.emulators.simulator.android.app import App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.files.rows import (
    SORTS,
    file_row,
    info_dialog,
    roots_drawer,
    sort_button,
    storage_trail,
)
from rlfactory.emulators.simulator.apps.files.view import QuickView
from rlfactory.emulators.simulator.apps.golden import FOLDER_AGE_H, SHARED_FILES, golden_time_ns, write_golden
from rlfactory.emulators.simulator.apps.kit.browser import FileBrowser
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import choice_dialog, confirm_dialog
from rlfactory.emulators.simulator.apps.kit.files import (
    STORAGE,
    FileItem,
    delete_paths,
    free_path,
    shared_files,
    sort_items,
    try_change,
)
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, more_button, plural
from rlfactory.emulators.simulator.view import widgets as ui

RECENT = "recent:"
DOWNLOADS = f"{STORAGE}/Download"
CATEGORIES = {"image": "Images", "video": "Videos", "audio": "Audio", "document": "Documents"}
MAX_RECENT = 40


class FilesActivity(FileBrowser):
    """A folder, a category of files ("category:image" and the like), or the most recent ones (RECENT)."""

    name = "com.android.documentsui.files.FilesActivity"
    package = "com.google.android.documentsui"
    top = STORAGE
    place: str = STORAGE
    drawer: bool = False

    def on_create(self, system: System) -> None:
        if self.intent.data.startswith("file:///storage/"):
            self.place = self.intent.data.removeprefix("file://")

    # --- screen ----------------------------------------------------------------------------------------------------

    def build(self, system: System) -> ui.Widget:
        if self.drawer:
            return self._drawer(system)
        items = self.items(system)
        return ui.Scaffold(
            app_bar=self._bar(system), body=self._body(system, items), bottom_bar=self._transfer_bar(system)
        )

    def _drawer(self, system: System) -> ui.Widget:
        icons = ("image-outline", "movie-outline", "music-note-outline", "file-document-outline")
        entries = [
            (RECENT, "Recent", "clock-outline"),
            *((f"category:{key}", label, icon) for (key, label), icon in zip(CATEGORIES.items(), icons, strict=True)),
            (DOWNLOADS, "Downloads", "download-outline"),
            (STORAGE, system.model, "cellphone"),
        ]
        return roots_drawer(entries, self.place, self.go, self.close)

    def items(self, system: System) -> list[FileItem]:
        if self.query.strip():
            return super().items(system)
        if self.in_folder:
            carried = self.transfer.paths if self.transfer is not None else ()
            return [item for item in super().items(system) if item.path not in carried]
        if self.place == RECENT:
            return sort_items(shared_files(system), "date")[:MAX_RECENT]
        key, reverse = self.sorting(system)
        category = self.place.partition(":")[2]
        return sort_items(
            [item for item in shared_files(system) if item.kind.category == category], key, reverse=reverse
        )

    def title(self, system: System) -> str:
        named = {STORAGE: system.model, RECENT: "Recent", DOWNLOADS: "Downloads"}
        if self.place.startswith("category:"):
            return CATEGORIES[self.place.partition(":")[2]]
        return named.get(self.place) or posixpath.basename(self.place)

    def _bar(self, system: System) -> ui.Widget:
        more = more_button("option_menu_more", self.opener("menu"))
        if self.searching:
            return self.search_bar("Search this phone")
        if self.selected:
            delete = bar_button("action_menu_delete", "delete-outline", "Delete", self.opener("delete"))
            return self.selection_bar(f"{len(self.selected)} selected", delete, more)
        return ui.Row(
            children=(
                bar_button("show_roots", "menu", "Show roots", setter(self, drawer=True)),
                ui.Text(key="toolbar_title", text=self.title(system), style="title_large", weight=1, max_lines=1),
                bar_button("option_menu_search", "magnify", "Search", self.start_search),
                more,
            ),
            height=64,
            padding=(4, 0, 4, 0),
            width="fill",
        )

    def _body(self, system: System, items: list[FileItem]) -> ui.Widget:
        key, reverse = self.sorting(system)
        head: list[ui.Widget] = []
        if self.in_folder and not self.searching:
            head.append(storage_trail(system, self.place, self.go))
        if self.place != RECENT:
            head.append(sort_button(key, reverse=reverse, on_tap=self.opener("sort")))
        rows = [self._row(system, item) for item in items]
        if not items:
            empty = "No matches" if self.query.strip() else "No items"
            rows.append(empty_state("folder-open-outline", empty))
        listing = ui.Scroll(key="dir_list", children=(*rows, ui.Spacer(height=32)), weight=1, width="fill")
        return ui.Column(children=(*head, listing), width="fill", height="fill")

    def _row(self, system: System, item: FileItem) -> ui.Widget:
        if self.selected:
            on_tap = partial(self.toggle, item.path)
        elif item.is_dir:
            on_tap = partial(self.go, item.path)
        else:
            look = Intent(action="android.intent.action.VIEW", data=f"file://{item.path}")
            on_tap = partial(system.start, QuickView, look)
        return file_row(
            item,
            system.minute(),
            chosen=item.path in self.selected,
            enabled=self.transfer is None or item.is_dir,
            on_tap=on_tap,
            on_long_press=partial(self.toggle, item.path) if self.transfer is None else None,
        )

    def _transfer_bar(self, system: System) -> ui.Widget | None:
        transfer = self.transfer
        if transfer is None:
            return None
        nothing = f"Couldn\u2019t {transfer.verb.lower()} the items here"
        finish = partial(self.finish_transfer, system, transfer, nothing)
        text = f"{transfer.verb} {plural(len(transfer.paths), 'item')} here"
        return self.transfer_bar(text, transfer.verb, ("cancel", "pick"), finish if self.in_folder else None)

    # --- dialogs and menus -----------------------------------------------------------------------------------------

    def popups(self) -> dict[str, Callable[[System], ui.Dialog | ui.Menu]]:
        return {
            "menu": self._menu,
            "sort": self._sort_dialog,
            "delete": self._delete_dialog,
            "rename": lambda system: self.name_dialog("Rename", "name_edit", "Name", lambda: self.rename(system)),
            "new": lambda system: self.name_dialog(
                "New folder", "name_edit", "Folder name", lambda: self._create(system)
            ),
            "info": lambda system: info_dialog(system, self.selected[0], self.close),
        }

    def _menu(self, system: System) -> ui.Menu:
        one = len(self.selected) == 1
        select_all = partial(self.select_all, system)
        if self.selected:
            items: tuple[ui.Action, ...] = (
                ui.Action(text="Select all", on_tap=select_all),
                ui.Action(text="Copy to\u2026", on_tap=lambda: self.start_transfer(STORAGE, move=False)),
                ui.Action(text="Move to\u2026", on_tap=lambda: self.start_transfer(STORAGE, move=True)),
                ui.Action(text="Rename", on_tap=self.start_rename, enabled=one),
                ui.Action(text="Get info", on_tap=self.opener("info"), enabled=one),
            )
        else:
            items = (
                ui.Action(text="New folder", on_tap=setter(self, open="new", draft=""), enabled=self.in_folder),
                ui.Action(text="Sort by\u2026", on_tap=self.opener("sort")),
                ui.Action(text="Select all", on_tap=select_all, enabled=self.transfer is None),
            )
        return ui.Menu(items=items, on_dismiss=self.close, anchor="option_menu_more")

    def _sort_dialog(self, system: System) -> ui.Dialog:
        key, reverse = self.sorting(system)

        def choose(value: str) -> None:
            Preferences.of(system, self.package).put(
                sort_by=value.removesuffix("_reverse"), sort_reverse=value.endswith("_reverse")
            )
            self.close()

        return choice_dialog(
            "Sort by", SORTS, f"{key}{'_reverse' if reverse else ''}", choose, self.close, prefix="sort"
        )

    def _delete_dialog(self, system: System) -> ui.Dialog:
        what = plural(len(self.selected), "item")
        if len(self.selected) == 1:
            what = f"\u201c{posixpath.basename(self.selected[0])}\u201d"
        return confirm_dialog(f"Delete {what}?", "", yes="OK", on_yes=lambda: self._delete(system), on_no=self.close)

    # --- events ----------------------------------------------------------------------------------------------------

    def on_back(self, system: System) -> bool:
        if self.drawer:
            self.close()
            return True
        return super().on_back(system)

    def close(self) -> None:
        self.open, self.drawer = "", False

    def _delete(self, system: System) -> None:
        delete_paths(system, self.selected)
        system.toast(f"Deleted {plural(len(self.selected), 'item')}")
        self.selected = []
        self.close()

    def _create(self, system: System) -> None:
        if try_change(system, lambda: system.files.make_dir(free_path(system, self.place, self.draft.strip()))):
            self.close()


class _Files(App):
    def furnish(self, system: System) -> None:
        write_golden(system, STORAGE, SHARED_FILES)
        for name in system.files.list(STORAGE):
            system.files.set_times(f"{STORAGE}/{name}", golden_time_ns(system, FOLDER_AGE_H))


FILES = _Files(
    package=FilesActivity.package,
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
