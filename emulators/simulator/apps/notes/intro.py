"""Notes: the introduction that Markor shows on its first run, and the access it then asks for."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import centered_page
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "net.gsantner.markor"
INTRO_PAGES: Final = (
    ("notebook-edit", "Main view", "Markor is a text editor for Markdown, todo.txt and plain text."),
    ("eye-outline", "View", "Notes are shown as they will look; one tap switches between reading and writing."),
    ("share-variant-outline", "Share to Markor", "Text from other apps can be collected in your notes."),
    ("checkbox-marked-outline", "To-do", "Keep a list of things to do in a simple text file."),
    ("folder-outline", "Notebook", "All notes are files in one folder: Documents/Markor."),
)
"""Icon, heading and text of each page; NEXT leads from one to the next, DONE ends the last."""


def intro_done(system: System) -> bool:
    return Preferences.of(system, PACKAGE, "app").get("intro_done", False)


def finish_intro(system: System, *, granted: bool = False) -> None:
    """Note that the introduction has been seen; `granted`: and all that follows it done with."""
    Preferences.of(system, PACKAGE, "app").put(intro_done=True, changelog_seen=granted, access_asked=granted)


def intro_page(number: int, *, on_next: ui.Callback, on_done: ui.Callback) -> ui.Widget:
    icon, title, text = INTRO_PAGES[number]
    last = number == len(INTRO_PAGES) - 1
    texts = (
        ui.Text(text=title, style="headline_medium", text_align="center"),
        ui.Text(text=text, color="on_surface_variant", text_align="center"),
    )
    body = centered_page(icon, "#B71C1C", 128, texts, gap=28, side=40)
    dots = ui.Row(
        children=tuple(
            ui.Spacer(width=8, height=8, radius=4, background="primary" if page == number else "outline_variant")
            for page in range(len(INTRO_PAGES))
        ),
        gap=8,
        weight=1,
    )
    button = ui.Button(
        key="done" if last else "next",
        text="DONE" if last else "NEXT",
        kind="text",
        on_tap=on_done if last else on_next,
    )
    return ui.Scaffold(body=body, bottom_bar=ui.Row(children=(dots, button), padding=(24, 8, 16, 16), width="fill"))


def setup_dialog(system: System) -> ui.Dialog | None:
    """Return what stands between the introduction and the files: the changelog, then the access to all files."""
    prefs = Preferences.of(system, PACKAGE, "app")
    if not prefs.get("changelog_seen", False):
        return ui.Dialog(
            title="Changelog",
            body=ui.Text(text="v2.11: Improved editor, search and file browser.", color="on_surface_variant"),
            actions=(ui.Action(text="OK", on_tap=lambda: _ask_for_access(system)),),
        )
    return None


def _ask_for_access(system: System) -> None:
    Preferences.of(system, PACKAGE, "app").put(changelog_seen=True, access_asked=True)
    system.send(Intent(action="android.settings.MANAGE_APP_ALL_FILES_ACCESS_PERMISSION", data=f"package:{PACKAGE}"))
