"""Files: looking into a file."""

from __future__ import annotations

import posixpath

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.files import FileItem, file_item, read_text
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, format_size
from rlfactory.emulators.simulator.view import widgets as ui

MAX_SHOWN_CHARS = 20_000


class QuickView(Activity):
    """A file (`file://PATH`): its text, or what it is."""

    name = "com.android.documentsui.QuickViewActivity"

    def build(self, system: System) -> ui.Widget:
        path = self.intent.data.removeprefix("file://")
        actions: tuple[ui.Widget, ...] = ()
        if not system.files.is_file(path):
            body = empty_state("file-remove-outline", "File not found")
        else:
            item = file_item(system, path)
            if item.kind.is_text:
                body = _text(system, path)
                actions = (bar_button("edit", "pencil-outline", "Edit", lambda: _edit(system, path)),)
            elif item.kind.category == "image":
                body = _picture(item)
            else:
                body = empty_state(item.kind.icon, item.kind.label, format_size(item.size))
        bar = ui.AppBar(title=posixpath.basename(path), on_back=system.back, actions=actions)
        return ui.Scaffold(app_bar=bar, body=body)


def _text(system: System, path: str) -> ui.Widget:
    text, _ = read_text(system, path)
    shown = text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "\u2026"
    line = ui.Text(key="text", text=shown, style="body_medium", monospace=path.endswith(".csv"))
    return ui.Scroll(key="text_view", children=(line,), padding=(20, 8, 20, 24), height="fill")


def _edit(system: System, path: str) -> None:
    intent = Intent(action="android.intent.action.EDIT", data=f"file://{path}", mime_type="text/plain")
    if not system.send(intent):
        system.toast("No app can edit this file")


def _picture(item: FileItem) -> ui.Widget:
    """Return a stand-in for an image: a frame with a landscape's icon."""
    frame = ui.Centered(
        children=(
            ui.Icon(icon="image-outline", size=96, color="#9AA0A6"),
            ui.Text(text=item.name, color="#E8EAED", text_align="center"),
            ui.Text(text=format_size(item.size), style="body_medium", color="#9AA0A6", text_align="center"),
        ),
        description=f"Image {item.name}",
        gap=8,
        width="fill",
        height=320,
        background="#3C4043",
    )
    return ui.Column(children=(frame,), justify="center", width="fill", height="fill", background="#202124")
