"""Simple Gallery Pro (`com.simplemobiletools.gallery.pro`): the pictures of the storage by their folders."""

from __future__ import annotations

import posixpath
from functools import partial
from typing import Final

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog, message_dialog
from rlfactory.emulators.simulator.apps.kit.files import STORAGE, FileItem, delete_paths, transfer_paths
from rlfactory.emulators.simulator.apps.kit.first_run import ALL_FILES, FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.media import media_files
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, more_button, plural, row
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.simplemobiletools.gallery.pro"
TARGETS: Final = ("Download", "Pictures", "DCIM", "Documents", "Movies", "Music")
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#F57C00",
    steps=(
        Step(
            title="Simple Gallery needs full access to show your files",
            buttons=("Cancel", "All files"),
            icon="folder-image",
            sends=ALL_FILES,
        ),
    ),
)


def pictures(system: System, folder: str = "") -> list[FileItem]:
    """Return the pictures right in a folder, or all."""
    found = media_files(system, "image")
    return [item for item in found if not folder or posixpath.dirname(item.path) == folder]


class MainActivity(Activity):
    """The folders that have pictures."""

    name = "com.simplemobiletools.gallery.pro.activities.MainActivity"

    def build(self, system: System) -> ui.Widget:
        introduction = _FIRST_RUN.page(system)
        if introduction is not None:
            return introduction
        folders: dict[str, list[FileItem]] = {}
        for item in pictures(system):
            folders.setdefault(posixpath.dirname(item.path), []).append(item)
        tiles = tuple(
            _tile(
                system,
                items[0],
                f"{posixpath.basename(folder)} ({len(items)})",
                partial(system.start, MediaActivity, Intent(data=f"file://{folder}")),
            )
            for folder, items in sorted(folders.items(), key=lambda each: posixpath.basename(each[0]).casefold())
        )
        return ui.Scaffold(app_bar=ui.AppBar(title="Gallery"), body=_grid("directories_grid", tiles))


def _tile(system: System, item: FileItem, caption: str, on_tap: ui.Callback) -> ui.Widget:
    """Return a picture small, over what it is called."""
    return ui.Column(
        key="tile",
        description=caption,
        children=(
            ui.Photo(
                data=system.files.read(item.path), cover=True, width="fill", height=128, background="surface_container"
            ),
            ui.Text(text=caption, style="body_medium", max_lines=1, text_align="center"),
        ),
        gap=4,
        on_tap=on_tap,
    )


def _grid(key: str, tiles: tuple[ui.Widget, ...]) -> ui.Widget:
    if not tiles:
        return empty_state("image-off-outline", "No media could be found")
    grid = ui.Grid(children=tiles, columns=3, gap=8, width="fill", padding=(8, 8, 8, 8))
    return ui.Scroll(key=key, children=(grid,), height="fill")


class MediaActivity(Activity):
    """The pictures of one folder (`file://FOLDER`)."""

    name = "com.simplemobiletools.gallery.pro.activities.MediaActivity"

    def build(self, system: System) -> ui.Widget:
        folder = self.intent.data.removeprefix("file://")
        tiles = tuple(
            _tile(system, item, item.name, partial(system.start, ViewPagerActivity, Intent(data=f"file://{item.path}")))
            for item in pictures(system, folder)
        )
        bar = ui.AppBar(title=posixpath.basename(folder), on_back=system.back)
        return ui.Scaffold(app_bar=bar, body=_grid("media_grid", tiles))


class ViewPagerActivity(Activity):
    """One picture (`file://PATH`): swiped to its neighbours, enlarged by a tap, copied, moved, deleted."""

    name = "com.simplemobiletools.gallery.pro.activities.ViewPagerActivity"
    path: str = ""
    enlarged: bool = False
    open: str = ""
    """Which dialog is open: "menu", "copy", "move", "delete", "properties"."""

    def on_create(self, system: System) -> None:
        self.path = self.intent.data.removeprefix("file://")

    def build(self, system: System) -> ui.Widget:
        name = posixpath.basename(self.path)
        actions = (
            bar_button("delete", "delete-outline", "Delete", setter(self, open="delete")),
            more_button("more", setter(self, open="menu")),
        )
        bar = ui.AppBar(title=name, on_back=system.back, actions=actions)
        if not system.files.is_file(self.path):
            return ui.Scaffold(app_bar=bar, body=empty_state("image-off-outline", "File not found"))
        photo = ui.Photo(
            key="photo",
            description=name,
            data=system.files.read(self.path),
            width="fill",
            height=1600 if self.enlarged else "fill",
            on_tap=setter(self, enlarged=not self.enlarged),
            on_swipe=partial(self._turn, system),
        )
        body: ui.Widget = ui.Scroll(key="zoomed", children=(photo,), height="fill") if self.enlarged else photo
        return ui.Scaffold(app_bar=bar, body=body)

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        close = setter(self, open="")
        match self.open:
            case "menu":
                entries = (("Copy to", "copy"), ("Move to", "move"), ("Properties", "properties"))
                items = tuple(ui.Action(text=text, on_tap=setter(self, open=what)) for text, what in entries)
                return ui.Menu(items=items, on_dismiss=close, anchor="more")
            case "copy" | "move" as what:
                rows = tuple(
                    row("folder", folder, icon="folder-outline", on_tap=partial(self._transfer, system, folder, what))
                    for folder in TARGETS
                )
                title = "Copy to" if what == "copy" else "Move to"
                return message_dialog(title, ui.Column(children=rows), close, button="Cancel")
            case "delete":
                question = f"Delete {posixpath.basename(self.path)}?"
                return confirm_dialog(
                    question, "", yes="Yes", no="No", on_yes=partial(self._delete, system), on_no=close
                )
            case "properties":
                size = plural(len(system.files.read(self.path)), "byte")
                return message_dialog("Properties", f"{self.path}\n{size}", close)
            case _:
                return None

    def _transfer(self, system: System, folder: str, what: str) -> None:
        done = transfer_paths(system, [self.path], f"{STORAGE}/{folder}", move=what == "move")
        past = "copied" if what == "copy" else "moved"
        system.toast(f"File {past} successfully" if done else "That did not work")
        self.open = ""
        if done and what == "move":
            self.path = f"{STORAGE}/{folder}/{posixpath.basename(self.path)}"

    def _delete(self, system: System) -> None:
        delete_paths(system, [self.path])
        self.open = ""
        system.back()

    def _turn(self, system: System, direction: ui.Direction) -> None:
        paths = [item.path for item in pictures(system, posixpath.dirname(self.path))]
        step = {"left": 1, "right": -1}.get(direction, 0)
        if self.path in paths and 0 <= paths.index(self.path) + step < len(paths):
            self.path, self.enlarged = paths[paths.index(self.path) + step], False


GALLERY = IntroducedApp(
    package=PACKAGE,
    label="Simple Gallery Pro",
    icon="image-multiple",
    color="#F57C00",
    activities=(MainActivity, MediaActivity, ViewPagerActivity),
    version_name="6.27.0",
    version_code=396,
    system=False,
    uses_permissions=(
        *("WRITE_EXTERNAL_STORAGE", "ACCESS_MEDIA_LOCATION", "READ_MEDIA_IMAGES", "READ_MEDIA_VIDEO"),
        "POST_NOTIFICATIONS",
    ),
    filters={"android.intent.action.VIEW content://media": MainActivity},
    first_run=_FIRST_RUN,
)
