"""Notes: the dialog that makes a file or a folder."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import radio_row
from rlfactory.emulators.simulator.apps.kit.files import is_good_name
from rlfactory.emulators.simulator.view import widgets as ui

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


def new_file_dialog(new: NewFile, *, on_file: ui.Callback, on_folder: ui.Callback, on_cancel: ui.Callback) -> ui.Dialog:
    """Return the dialog: name and extension beside each other, the type below; OK makes a file."""
    good = is_good_name(new.name.strip())
    name = ui.TextField(
        key="new_file_dialog__name",
        value=new.name,
        on_change=writer(new, "name"),
        on_submit=on_file if good else None,
        label="Name",
        autofocus=True,
        weight=1,
    )
    extension = ui.TextField(
        key="new_file_dialog__ext", value=new.extension, on_change=writer(new, "extension"), label="Ext", width=88
    )
    types = tuple(
        radio_row(
            f"new_file_dialog__type_{ending.removeprefix('.')}",
            label,
            new.extension == ending,
            setter(new, extension=ending),
            height=44,
        )
        for label, ending in TYPES
    )
    heading = ui.Text(text="Type", style="label_large", padding=(0, 16, 0, 0))
    names = ui.Row(children=(name, extension), gap=8, width="fill")
    return ui.Dialog(
        title="New file or folder",
        body=ui.Column(children=(names, heading, *types), gap=4),
        actions=(
            ui.Action(text="Folder", on_tap=on_folder, enabled=good),
            ui.Action(text="Cancel", on_tap=on_cancel),
            ui.Action(text="OK", on_tap=on_file, enabled=good),
        ),
        on_dismiss=on_cancel,
    )
