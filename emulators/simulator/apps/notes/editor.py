"""Notes: a note in the editor, or as it will look."""

from __future__ import annotations

import posixpath
from functools import partial
from typing import Literal

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import message_dialog
from rlfactory.emulators.simulator.apps.kit.files import read_text, try_change
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, format_size, more_button
from rlfactory.emulators.simulator.apps.notes.markdown import rendered
from rlfactory.emulators.simulator.view import widgets as ui

EDITOR = "document__fragment__edit__highlighting_editor"
_TOOLS = (
    ("heading", "format-header-pound", "Heading", "# "),
    ("bullet", "format-list-bulleted", "Bulleted list", "- "),
    ("checkbox", "format-list-checkbox", "Checkbox list", "- [ ] "),
    ("quote", "format-quote-close", "Quote", "> "),
)
"""Key, icon, description, and what is put at the start of the line."""


class DocumentActivity(Activity):
    """One file (`file://PATH`). Written when it changed and is left, or by the save button."""

    name = "net.gsantner.markor.activity.DocumentActivity"
    text: str = ""
    saved: str = ""
    encoding: str = "utf-8"
    viewing: bool = False
    open: Literal["", "menu", "info"] = ""

    @property
    def path(self) -> str:
        return self.intent.data.removeprefix("file://")

    def on_resume(self, system: System) -> None:
        # Unsaved text wins over what another program wrote meanwhile.
        if self.text == self.saved:
            self.text, self.encoding = read_text(system, self.path)
            self.saved = self.text

    def on_pause(self, system: System) -> None:
        self.save(system)

    def save(self, system: System) -> None:
        """Write the text if it is not what the file has."""
        if self.text == self.saved or not system.files.is_dir(posixpath.dirname(self.path)):
            return
        encoding = self.encoding if self.encoding == "utf-8" or _fits_latin1(self.text) else "utf-8"
        data = self.text.encode(encoding, "replace")
        if try_change(system, lambda: system.files.write(self.path, data)):
            self.saved = self.text

    def build(self, system: System) -> ui.Widget:
        save = ui.IconButton(
            key="action_save",
            icon="content-save-outline",
            description="Save",
            color="outline" if self.text == self.saved else "primary",
            on_tap=lambda: self._save(system),
        )
        icon, mode = ("pencil-outline", "Edit mode") if self.viewing else ("eye-outline", "View mode")
        switch = bar_button("action_preview", icon, mode, setter(self, viewing=not self.viewing))
        bar = ui.AppBar(
            title=posixpath.splitext(posixpath.basename(self.path))[0],
            on_back=system.back,
            actions=(save, switch, more_button("action_more", setter(self, open="menu"))),
        )
        if self.viewing:
            return ui.Scaffold(app_bar=bar, body=rendered(self.text))
        editor = ui.TextField(
            key=EDITOR,
            value=self.text,
            on_change=writer(self, "text"),
            kind="plain",
            multiline=True,
            hint="Write here",
            autofocus=self.intent.action == "android.intent.action.EDIT",
            width="fill",
            weight=1,
            padding=(16, 8, 16, 8),
        )
        return ui.Scaffold(app_bar=bar, body=ui.Column(children=(editor, self._toolbar()), width="fill", height="fill"))

    def _toolbar(self) -> ui.Widget:
        buttons = tuple(
            bar_button(f"tool_{key}", icon, text, partial(self._start_line, prefix))
            for key, icon, text, prefix in _TOOLS
        )
        return ui.Column(
            children=(
                ui.Divider(),
                ui.Row(children=buttons, justify="space_between", padding=(16, 0, 16, 0), width="fill"),
            ),
            background="surface_container_low",
            width="fill",
        )

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        close = setter(self, open="")
        if self.open == "menu":
            copy = ui.Action(text="Copy all", icon="content-copy", on_tap=lambda: self._copy(system))
            info = ui.Action(text="Info", icon="information-outline", on_tap=setter(self, open="info"))
            share = ui.Action(
                text="Share", icon="share-variant-outline", on_tap=lambda: self._share(system), enabled=bool(self.text)
            )
            return ui.Menu(items=(copy, share, info), on_dismiss=close, anchor="action_more")
        if self.open == "info":
            words, lines = len(self.text.split()), self.text.count("\n") + 1
            facts = (
                f"{self.path}\n{format_size(len(self.text.encode()))}\n{words} words, {lines} lines, "
                f"{len(self.text)} characters"
            )
            return message_dialog(posixpath.basename(self.path), facts, close)
        return None

    # --- events ------------------------------------------------------------------------------------------------------

    def _save(self, system: System) -> None:
        self.save(system)
        if self.text == self.saved:
            system.toast("Saved")

    def _copy(self, system: System) -> None:
        system.clipboard = self.text
        system.toast("Copied to clipboard")
        self.open = ""

    def _share(self, system: System) -> None:
        self.open = ""
        self.save(system)
        extras = {"android.intent.extra.TEXT": self.text}
        if not system.send(Intent(action="android.intent.action.SEND", mime_type="text/plain", extras=extras)):
            system.toast("No app can perform this action")

    def _start_line(self, prefix: str) -> None:
        start = self.text.rfind("\n", 0, self.cursor) + 1
        self.text = self.text[:start] + prefix + self.text[start:]
        self.cursor += len(prefix)


def _fits_latin1(text: str) -> bool:
    return all(ord(character) < 256 for character in text)
