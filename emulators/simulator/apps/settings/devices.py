"""Settings: connected devices and Bluetooth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import main_switch, note, row
from rlfactory.emulators.simulator.apps.settings.page import Act, Heading, Item, Link, Note, Page, Toggle
from rlfactory.emulators.simulator.view import widgets as ui

NEARBY: Mapping[str, str] = {
    "JBL Flip 5": "speaker-bluetooth",
    "Pixel Buds Pro": "earbuds-outline",
    "Car Audio": "car-outline",
    "MX Keys": "keyboard-outline",
}
"""Devices that a search finds, with their icons."""


class BluetoothState:
    """The paired devices; kept in a file, as the Bluetooth service keeps them."""

    def __init__(self, system: System) -> None:
        self._prefs = Preferences(system, "/data/misc/bluedroid/bt_config.xml")
        self.on = system.settings.flag("global", "bluetooth_on")

    def paired(self) -> tuple[str, ...]:
        return tuple(name for name in NEARBY if self._prefs.get(name, False))

    def pair(self, name: str) -> None:
        self._prefs.put(**{name: True})

    def forget(self, name: str) -> None:
        self._prefs.put(**{name: None})


def device_name(system: System) -> str:
    return system.settings.get("global", "device_name") or system.model


def _pairing_hint(system: System) -> str:
    return "" if BluetoothState(system).on else "Bluetooth will turn on to pair"


def _start_pairing(page: Page, system: System) -> None:
    if not BluetoothState(system).on:
        system.set_bluetooth(True)
    system.start(PairDevice)


ABOUT_PHONE = "com.android.settings/.Settings$MyDeviceInfoActivity"
"""The page where the phone's name is changed."""
PAIR_NEW = Act("Pair new device", _start_pairing, subtitle=_pairing_hint, icon="plus")


class ForgetsDevices(Page):
    """A page that lists paired devices and asks before it forgets one."""

    forgetting: str = ""

    def paired(self, system: System, title: str) -> Iterable[Item | ui.Widget]:
        """Return the paired devices under a heading; nothing where there are none."""
        names = BluetoothState(system).paired()
        if names:
            yield Heading(title)
        for name in names:
            bin_ = ui.IconButton(
                icon="delete-outline", description=f"Forget {name}", on_tap=setter(self, forgetting=name)
            )
            yield ui.ListItem(
                key="paired_device", title=name, subtitle="Saved", leading=ui.Icon(icon=NEARBY[name]), trailing=bin_
            )

    def dialog(self, system: System) -> ui.Dialog | None:
        if not self.forgetting:
            return None
        return confirm_dialog(
            f"Forget {self.forgetting}?",
            "Your phone will no longer be paired with this device.",
            yes="Forget device",
            on_yes=lambda: self._forget(system),
            on_no=setter(self, forgetting=""),
        )

    def _forget(self, system: System) -> None:
        BluetoothState(system).forget(self.forgetting)
        self.forgetting = ""


class ConnectedDevices(ForgetsDevices):
    name = ".Settings$ConnectedDeviceDashboardActivity"
    title = "Connected devices"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        yield PAIR_NEW
        yield from self.paired(system, "Saved devices")
        yield Link("Connection preferences", ConnectionPreferences, subtitle="Bluetooth, NFC", icon="cog-outline")
        visible = f"Visible as \u201c{device_name(system)}\u201d to other devices"
        yield note(visible if BluetoothState(system).on else "Turn on Bluetooth to connect to other devices")


class BluetoothSettings(ForgetsDevices):
    name = ".Settings$BluetoothSettingsActivity"
    title = "Bluetooth"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        on = BluetoothState(system).on
        yield main_switch("bluetooth", "Use Bluetooth", on, system.set_bluetooth)
        if on:
            yield PAIR_NEW
            yield from self.paired(system, "Paired devices")
            yield Heading("Device name")
            yield Link(device_name(system), ABOUT_PHONE, icon="cellphone", key="device_name")
        else:
            yield Note("When Bluetooth is turned on, your device can communicate with other nearby Bluetooth devices.")


class ConnectionPreferences(Page):
    name = ".Settings$AdvancedConnectedDeviceActivity"
    title = "Connection preferences"
    items = (
        Link(
            "Bluetooth",
            BluetoothSettings,
            subtitle=lambda system: "On" if BluetoothState(system).on else "Off",
            icon="bluetooth",
        ),
        Toggle(
            "NFC",
            "global/nfc_on",
            default="1",
            subtitle="Allow data exchange when the phone touches another device",
            icon="nfc",
        ),
    )


class PairDevice(Page):
    """Devices in range; a tap asks to pair."""

    name = ".Settings$BluetoothDevicePairingDetailActivity"
    title = "Pair new device"
    chosen: str = ""

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        yield Link("Device name", ABOUT_PHONE, subtitle=device_name)
        yield Heading("Available devices")
        paired = BluetoothState(system).paired()
        found = [name for name in NEARBY if name not in paired]
        for name in found:
            yield row("available_device", name, icon=NEARBY[name], on_tap=setter(self, chosen=name))
        if not found:
            yield Note("No devices found.")

    def dialog(self, system: System) -> ui.Dialog | None:
        if not self.chosen:
            return None
        return confirm_dialog(
            f"Pair with {self.chosen}?",
            "Bluetooth pairing code: 483920",
            yes="Pair",
            on_yes=lambda: self._pair(system),
            on_no=setter(self, chosen=""),
        )

    def _pair(self, system: System) -> None:
        BluetoothState(system).pair(self.chosen)
        system.toast(f"Paired with {self.chosen}")
        self.chosen = ""


PAGES: tuple[type[Activity], ...] = (ConnectedDevices, ConnectionPreferences, BluetoothSettings, PairDevice)
