"""Notes: a note in the editor, or as it will look."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import format_size
from rlfactory.emulators.simulator.apps.kit.file_list import read_text, try_change
from rlfactory.emulators.simulator.apps.notes.markdown import rendered
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    AppBar,
    Callback,
    Column,
    Dialog,
    Divider,
    IconButton,
    Menu,
    Row,
    Scaffold,
    Text,
    TextField,
    Widget,
)

EDITOR = "document__fragment__edit__highlighting_editor"
_TOOLS = (
    ("heading", "format-header-pound", "Heading", "# "),
    ("bullet", "format-list-bulleted", "Bulleted list", "- "),
    ("checkbox", "format-list-checkbox", "Checkbox list", "- [ ] "),
    ("quote", "format-quote-close", "Quote", "> "),
)
"""Key, icon, description, and what is put at the start of the line."""


@dataclass(kw_only=True)
class DocumentActivity(Activity):
    """One file (`file://PATH`). Written when it changed and is left, or by the save button."""

    name: ClassVar[str] = "net.gsantner.markor.activity.DocumentActivity"
    text: str = ""
    saved: str = ""
    encoding: str = "utf-8"
    viewing: bool = False
    menu_open: bool = False
    info_open: bool = False

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

    def build(self, system: System) -> Widget:
        view = IconButton(
            key="action_preview",
            icon="pencil-outline" if self.viewing else "eye-outline",
            description="Edit mode" if self.viewing else "View mode",
            on_tap=self._switch_mode,
        )
        bar = AppBar(
            title=posixpath.splitext(posixpath.basename(self.path))[0],
            on_back=system.back,
            actions=(
                IconButton(
                    key="action_save",
                    icon="content-save-outline",
                    description="Save",
                    color="outline" if self.text == self.saved else "primary",
                    on_tap=lambda: self._save(system),
                ),
                view,
                IconButton(key="action_more", icon="dots-vertical", description="More options", on_tap=self._open_menu),
            ),
        )
        if self.viewing:
            return Scaffold(app_bar=bar, body=rendered(self.text))
        editor = TextField(
            key=EDITOR,
            value=self.text,
            on_change=self._write,
            kind="plain",
            multiline=True,
            hint="Write here",
            autofocus=self.intent.action == "android.intent.action.EDIT",
            width="fill",
            weight=1,
            padding=(16, 8, 16, 8),
        )
        body = Column(children=(editor, self._toolbar()), width="fill", height="fill")
        return Scaffold(app_bar=bar, body=body)

    def _toolbar(self) -> Widget:
        buttons = tuple(
            IconButton(key=f"tool_{key}", icon=icon, description=text, on_tap=self._tool(prefix))
            for key, icon, text, prefix in _TOOLS
        )
        return Column(
            children=(Divider(), Row(children=buttons, justify="space_between", padding=(16, 0, 16, 0), width="fill")),
            background="surface_container_low",
            width="fill",
        )

    def dialog(self, system: System) -> Dialog | Menu | None:
        if self.menu_open:
            return Menu(
                items=(
                    Action(text="Copy all", icon="content-copy", on_tap=lambda: self._copy(system)),
                    Action(text="Info", icon="information-outline", on_tap=self._show_info),
                ),
                on_dismiss=self._close,
                anchor="action_more",
            )
        if self.info_open:
            words, lines = len(self.text.split()), self.text.count("\n") + 1
            facts = (
                f"{self.path}\n{format_size(len(self.text.encode()))}\n{words} words, {lines} lines, "
                f"{len(self.text)} characters"
            )
            return Dialog(
                title=posixpath.basename(self.path),
                body=Text(text=facts, style="body_medium", color="on_surface_variant"),
                actions=(Action(text="OK", on_tap=self._close),),
                on_dismiss=self._close,
            )
        return None

    # --- events ------------------------------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        self.text = text

    def _save(self, system: System) -> None:
        self.save(system)
        if self.text == self.saved:
            system.toast("Saved")

    def _switch_mode(self) -> None:
        self.viewing = not self.viewing

    def _open_menu(self) -> None:
        self.menu_open = True

    def _show_info(self) -> None:
        self.menu_open, self.info_open = False, True

    def _close(self) -> None:
        self.menu_open = self.info_open = False

    def _copy(self, system: System) -> None:
        system.clipboard = self.text
        system.toast("Copied to clipboard")
        self._close()

    def _tool(self, prefix: str) -> Callback:
        def apply() -> None:
            start = self.text.rfind("\n", 0, self.cursor) + 1
            self.text = self.text[:start] + prefix + self.text[start:]
            self.cursor += len(prefix)

        return apply


def _fits_latin1(text: str) -> bool:
    return all(ord(character) < 256 for character in text)
