"""Audio Recorder (`com.dimowner.audiorecorder`): recordings in a folder of its own, named when they are stopped."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog, prompt_dialog
from rlfactory.emulators.simulator.apps.kit.files import (
    STORAGE,
    delete_paths,
    folder_items,
    is_good_name,
    sort_items,
    try_change,
)
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, format_size
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.dimowner.audiorecorder"
RECORDS: Final = f"{STORAGE}/Android/data/{PACKAGE}/files/Music/records"
_HEAD: Final = bytes.fromhex("000000186674797069736f6d0000020069736f6d6d7034310000000866726565")
BYTES_PER_S: Final = 16
"""A recording holds silence: little is stored of it, and the longer the more."""


class WelcomeActivity(Activity):
    """The recorder: one button, the time, and the recordings below."""

    name = "com.dimowner.audiorecorder.app.welcome.WelcomeActivity"
    state: Literal["idle", "recording", "paused"] = "idle"
    since_ms: int = 0
    """Uptime at which the present stretch began."""
    recorded_ms: int = 0
    """Before it."""
    open: str = ""
    """Which dialog is open: "save", "rename", "delete"."""
    draft: str = ""
    path: str = ""
    """Of the recording that the dialog is about."""

    def build(self, system: System) -> ui.Widget:
        seconds = self._length_ms(system) // 1000
        time = ui.Text(
            key="txt_progress",
            text=f"{seconds // 60:02d}:{seconds % 60:02d}",
            style="display_medium",
            text_align="center",
        )
        body = ui.Column(
            children=(
                ui.Spacer(height=24),
                time,
                ui.Row(children=self._buttons(system), gap=24, justify="center", width="fill", padding=(0, 24, 0, 24)),
                self._list(system),
            ),
            height="fill",
        )
        return ui.Scaffold(app_bar=ui.AppBar(title="Audio Recorder"), body=body)

    def _buttons(self, system: System) -> tuple[ui.Widget, ...]:
        def button(key: str, icon: str, text: str, do: ui.Callback, color: str = "primary") -> ui.Widget:
            return ui.IconButton(
                key=key,
                icon=icon,
                description=text,
                color=color,
                on_tap=do,
                size=36,
                diameter=72,
                container="surface_container_high",
            )

        record = partial(self._record, system)
        if self.state == "idle":
            return (button("btn_record", "record-circle", "Recording", record, "#D32F2F"),)
        hold = (
            button("btn_record", "pause", "Pause", partial(self._pause, system))
            if self.state == "recording"
            else button("btn_record", "record-circle", "Resume", record, "#D32F2F")
        )
        return (
            button("btn_record_delete", "delete-outline", "Discard", self._discard),
            hold,
            button("btn_record_stop", "stop", "Stop", partial(self._stop, system)),
        )

    def _list(self, system: System) -> ui.Widget:
        rows: list[ui.Widget] = []
        for item in sort_items(folder_items(system, RECORDS), "date"):
            rename = setter(self, open="rename", path=item.path, draft=item.name.removesuffix(".m4a"))
            delete = setter(self, open="delete", path=item.path)
            buttons = (
                bar_button("rename", "pencil-outline", f"Rename {item.name}", rename),
                bar_button("delete", "delete-outline", f"Delete {item.name}", delete),
            )
            rows.append(
                ui.ListItem(
                    key="list_item",
                    title=item.name,
                    subtitle=f"{item.modified_day(system.minute())}, {format_size(item.size)}",
                    leading=ui.Icon(icon="music-note"),
                    trailing=ui.Row(children=buttons),
                )
            )
        if not rows:
            rows = [empty_state("microphone-outline", "No records")]
        return ui.Scroll(key="recycler_view", children=tuple(rows), weight=1, width="fill")

    def dialog(self, system: System) -> ui.Dialog | None:
        close = setter(self, open="")
        name = self.path.rpartition("/")[2]
        if self.open == "delete":
            delete = partial(self._delete, system)
            return confirm_dialog("Delete record?", name, yes="YES", no="NO", on_yes=delete, on_no=close)
        if self.open:
            return prompt_dialog(
                "Save as" if self.open == "save" else "Rename",
                self.draft,
                on_change=writer(self, "draft"),
                on_ok=partial(self._rename, system),
                on_cancel=close,
                key="input_name",
                ok="SAVE",
                enabled=is_good_name(self.draft),
            )
        return None

    # --- events ------------------------------------------------------------------------------------------------------

    def _length_ms(self, system: System) -> int:
        return self.recorded_ms + (system.uptime_ms() - self.since_ms if self.state == "recording" else 0)

    def _record(self, system: System) -> None:
        self.state, self.since_ms = "recording", system.uptime_ms()

    def _pause(self, system: System) -> None:
        self.recorded_ms, self.state = self._length_ms(system), "paused"

    def _discard(self) -> None:
        self.state, self.recorded_ms = "idle", 0

    def _stop(self, system: System) -> None:
        seconds = self._length_ms(system) // 1000
        self._discard()
        if not try_change(system, lambda: system.files.make_dirs(RECORDS)):
            return
        number = 1 + len(folder_items(system, RECORDS))
        self.draft = f"Record-{number}"
        while system.files.exists(f"{RECORDS}/{self.draft}.m4a"):
            number += 1
            self.draft = f"Record-{number}"
        path, data = f"{RECORDS}/{self.draft}.m4a", _HEAD + bytes(BYTES_PER_S * max(1, seconds))
        if try_change(system, lambda: system.files.write(path, data)):
            self.path, self.open = path, "save"

    def _rename(self, system: System) -> None:
        target = f"{RECORDS}/{self.draft.strip()}.m4a"
        if target == self.path or try_change(system, lambda: _move(system, self.path, target)):
            self.open = ""

    def _delete(self, system: System) -> None:
        delete_paths(system, [self.path])
        self.open = ""


def _move(system: System, path: str, target: str) -> None:
    if system.files.exists(target):
        raise FileExistsError(target)
    system.files.rename(path, target)


class _Recorder(App):
    def install(self, system: System) -> None:
        super().install(system)
        system.files.make_dirs(RECORDS)

    def on_launch(self, system: System) -> None:
        system.files.make_dirs(RECORDS)


RECORDER = _Recorder(
    package=PACKAGE,
    label="Audio Recorder",
    icon="microphone",
    color="#C2185B",
    activities=(WelcomeActivity,),
    version_name="0.9.26",
    version_code=926,
    system=False,
    uses_permissions=("RECORD_AUDIO", "POST_NOTIFICATIONS"),
)
