"""Notes: the dialog that makes a file or a folder."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.simulator.apps.kit.file_list import is_good_name
from rlfactory.emulators.simulator.view.widgets import (
    Action,
    Callback,
    Column,
    Dialog,
    Radio,
    Row,
    Text,
    TextField,
    Widget,
)

TYPES: Final = (("Markdown", ".md"), ("Plain Text", ".txt"))


@dataclass(kw_only=True)
class NewFile:
    """What the dialog's fields hold."""

    name: str = ""
    extension: str = ".md"

    @property
    def file_name(self) -> str:
        """The name with its extension, unless it was typed with one."""
        name = self.name.strip()
        typed = posixpath.splitext(name)[1].lower()
        return name if typed in {extension for _, extension in TYPES} else name + self.extension.strip()

    def set_name(self, text: str) -> None:
        self.name = text

    def set_extension(self, text: str) -> None:
        self.extension = text


def new_file_dialog(new: NewFile, *, on_file: Callback, on_folder: Callback, on_cancel: Callback) -> Dialog:
    """Return the dialog: name and extension beside each other, the type below; OK makes a file."""
    good = is_good_name(new.name.strip())
    names = Row(
        children=(
            TextField(
                key="new_file_dialog__name",
                value=new.name,
                on_change=new.set_name,
                on_submit=on_file if good else None,
                label="Name",
                autofocus=True,
                weight=1,
            ),
            TextField(
                key="new_file_dialog__ext",
                value=new.extension,
                on_change=new.set_extension,
                label="Ext",
                width=88,
            ),
        ),
        gap=8,
        width="fill",
    )
    types = tuple(_type_row(new, label, extension) for label, extension in TYPES)
    return Dialog(
        title="New file or folder",
        body=Column(children=(names, Text(text="Type", style="label_large", padding=(0, 16, 0, 0)), *types), gap=4),
        actions=(
            Action(text="Folder", on_tap=on_folder, enabled=good),
            Action(text="Cancel", on_tap=on_cancel),
            Action(text="OK", on_tap=on_file, enabled=good),
        ),
        on_dismiss=on_cancel,
    )


def _type_row(new: NewFile, label: str, extension: str) -> Widget:
    return Row(
        key=f"new_file_dialog__type_{extension.removeprefix('.')}",
        children=(Radio(checked=new.extension == extension), Text(text=label, weight=1)),
        gap=12,
        height=44,
        width="fill",
        on_tap=lambda: new.set_extension(extension),
    )
