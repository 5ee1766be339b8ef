"""Settings, clock, camera, recorder, contacts, files, clipboard: one small screen each."""

from __future__ import annotations

from functools import partial
from typing import Final

from rlfactory.envs.tasks.android_world.oracles.moves import Oracle, Params, choose, fill, nothing
from rlfactory.envs.tasks.phone.flows import clock, contacts, files, notes
from rlfactory.envs.tasks.phone.flows.common import find_and_tap, set_brightness, toggle_bluetooth, toggle_wifi
from rlfactory.envs.tasks.ui_driver import UiDriver

_PACKAGES: Final = {
    "camera": "com.android.camera2",
    "clock": "com.google.android.deskclock",
    "contacts": "com.google.android.contacts",
    "settings": "com.android.settings",
    "dialer": "com.google.android.dialer",
}


async def wifi(ui: UiDriver, params: Params) -> None:
    await toggle_wifi(ui)


async def bluetooth(ui: UiDriver, params: Params) -> None:
    await toggle_bluetooth(ui)


async def wifi_and_bluetooth(ui: UiDriver, params: Params) -> None:
    await toggle_wifi(ui)
    await toggle_bluetooth(ui)


async def brightness(ui: UiDriver, params: Params, *, end: float) -> None:
    await set_brightness(ui, end=end)


async def open_app(ui: UiDriver, params: Params) -> None:
    await ui.open(_PACKAGES[params["app_name"]])


async def wifi_and_open_app(ui: UiDriver, params: Params) -> None:
    await toggle_wifi(ui)
    await open_app(ui, params)


async def stopwatch_paused(ui: UiDriver, params: Params) -> None:
    await clock.open_tab(ui, "Stopwatch")


async def stopwatch_running(ui: UiDriver, params: Params) -> None:
    await clock.start_stopwatch(ui)


async def timer(ui: UiDriver, params: Params) -> None:
    await clock.open_tab(ui, "Timer")
    digits = "".join(f"{params[part]:02d}" for part in ("hours", "minutes", "seconds")).lstrip("0")
    for digit in digits:
        await ui.tap(resource_id=f"timer_setup_digit_{digit}")


async def photo(ui: UiDriver, params: Params) -> None:
    await ui.open(_PACKAGES["camera"])
    await ui.tap("Shutter")


async def video(ui: UiDriver, params: Params) -> None:
    await ui.open(_PACKAGES["camera"])
    await ui.tap("Switch to Video")
    await ui.tap("Start recording")
    await ui.tap("Stop recording")


async def record(ui: UiDriver, params: Params) -> None:
    await ui.open("Audio Recorder")
    await ui.tap("Recording")
    await ui.tap("Stop")
    if params.get("file_name"):
        await ui.type(params["file_name"], into="input_name", clear=True)
    await ui.tap("SAVE")


async def add_contact(ui: UiDriver, params: Params) -> None:
    first, _, last = params["name"].partition(" ")
    await contacts.open_list(ui)
    await ui.tap("Create contact")
    await fill(ui, first_name=first, last_name=last, phone=params["number"])
    await ui.tap("Save")


async def draft_contact(ui: UiDriver, params: Params) -> None:
    await contacts.open_list(ui)
    await ui.tap("Create contact")
    await fill(ui, first_name=params["first"], last_name=params["last"], phone=params["phone"])
    await choose(ui, "phone_label", params["phone_label"])


async def delete_file(ui: UiDriver, params: Params) -> None:
    await files.open_folder(ui, params["subfolder"])
    await files.delete(ui, params["file_name"])


async def move_file(ui: UiDriver, params: Params) -> None:
    await files.open_folder(ui, params["source_folder"])
    await files.transfer(ui, params["file_name"], "Move to\u2026", params["destination_folder"])


async def copy_text(ui: UiDriver, params: Params) -> None:
    """Write it into a note, and copy the note."""
    await notes.create(ui, "copied.txt", params["clipboard_content"])
    await ui.tap("More options")
    await find_and_tap(ui, "Copy all")


async def drawing(ui: UiDriver, params: Params) -> None:
    stem, _, extension = params["file_name"].rpartition(".")
    await ui.open("Simple Draw Pro")
    await ui.tap("Canvas")
    await ui.tap("Save as")
    await ui.type(stem, into="save_image_filename", clear=True)
    await ui.tap(resource_id=f"save_image_radio_{extension}")
    await ui.tap("OK")


ORACLES: Final[dict[str, Oracle]] = {
    **{f"System{what}{state}Verify": nothing for what in ("Bluetooth", "Wifi") for state in ("TurnOn", "TurnOff")},
    **{f"SystemBrightness{end}Verify": nothing for end in ("Max", "Min")},
    **{f"SystemWifiTurn{state}": wifi for state in ("On", "Off")},
    **{f"SystemBluetoothTurn{state}": bluetooth for state in ("On", "Off")},
    "SystemBrightnessMax": partial(brightness, end=1.0),
    "SystemBrightnessMin": partial(brightness, end=0.0),
    "SystemCopyToClipboard": copy_text,
    "TurnOffWifiAndTurnOnBluetooth": wifi_and_bluetooth,
    "TurnOnWifiAndOpenApp": wifi_and_open_app,
    "OpenAppTaskEval": open_app,
    "ClockStopWatchPausedVerify": stopwatch_paused,
    "ClockStopWatchRunning": stopwatch_running,
    "ClockTimerEntry": timer,
    "CameraTakePhoto": photo,
    "CameraTakeVideo": video,
    "AudioRecorderRecordAudio": record,
    "AudioRecorderRecordAudioWithFileName": record,
    "ContactsAddContact": add_contact,
    "ContactsNewContactDraft": draft_contact,
    "FilesDeleteFile": delete_file,
    "FilesMoveFile": move_file,
    "SimpleDrawProCreateDrawing": drawing,
}
