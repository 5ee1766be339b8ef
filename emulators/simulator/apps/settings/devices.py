"""Settings: connected devices and Bluetooth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import confirm_dialog, main_switch, note, page, row, section
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.settings.toggles import Toggle
from rlfactory.emulators.simulator.view.widgets import Callback, Dialog, Icon, IconButton, ListItem, Widget

NEARBY: Mapping[str, str] = {
    "JBL Flip 5": "speaker-bluetooth",
    "Pixel Buds Pro": "earbuds-outline",
    "Car Audio": "car-outline",
    "MX Keys": "keyboard-outline",
}
"""Devices that a search finds, with their icons."""

NFC = Toggle(
    title="NFC",
    namespace="global",
    setting="nfc_on",
    default="1",
    subtitle="Allow data exchange when the phone touches another device",
    icon="nfc",
)


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


def _rename(system: System) -> Callback:
    """Lead to the page where the phone's name is changed."""
    return lambda: system.start("com.android.settings/.Settings$MyDeviceInfoActivity")


def _pair_new(system: System) -> Widget:
    return row(
        "pair_new_device",
        "Pair new device",
        subtitle="" if BluetoothState(system).on else "Bluetooth will turn on to pair",
        icon="plus",
        on_tap=lambda: _start_pairing(system),
    )


def _start_pairing(system: System) -> None:
    if not BluetoothState(system).on:
        system.set_bluetooth(True)
    system.start(PairDevice)


@dataclass(kw_only=True)
class ForgetsDevices(Activity):
    """A page that lists paired devices and asks before it forgets one."""

    forgetting: str = ""

    def paired_rows(self, system: System) -> tuple[Widget, ...]:
        return tuple(
            ListItem(
                key="paired_device",
                title=name,
                subtitle="Saved",
                leading=Icon(icon=NEARBY[name]),
                trailing=IconButton(icon="delete-outline", description=f"Forget {name}", on_tap=self._asker(name)),
            )
            for name in BluetoothState(system).paired()
        )

    def dialog(self, system: System) -> Dialog | None:
        if not self.forgetting:
            return None
        return confirm_dialog(
            f"Forget {self.forgetting}?",
            "Your phone will no longer be paired with this device.",
            yes="Forget device",
            on_yes=lambda: self._forget(system),
            on_no=self._close,
        )

    def _asker(self, name: str) -> Callback:
        def ask() -> None:
            self.forgetting = name

        return ask

    def _close(self) -> None:
        self.forgetting = ""

    def _forget(self, system: System) -> None:
        BluetoothState(system).forget(self.forgetting)
        self.forgetting = ""


@dataclass(kw_only=True)
class ConnectedDevices(ForgetsDevices):
    name: ClassVar[str] = ".Settings$ConnectedDeviceDashboardActivity"

    def build(self, system: System) -> Widget:
        bluetooth = BluetoothState(system)
        saved = (section("Saved devices"), *self.paired_rows(system)) if bluetooth.paired() else ()
        return page(
            system,
            "Connected devices",
            (
                _pair_new(system),
                *saved,
                row(
                    "connection_preferences",
                    "Connection preferences",
                    subtitle="Bluetooth, NFC",
                    icon="cog-outline",
                    on_tap=lambda: system.start(ConnectionPreferences),
                ),
                note(f"Visible as \u201c{device_name(system)}\u201d to other devices")
                if bluetooth.on
                else note("Turn on Bluetooth to connect to other devices"),
            ),
        )


@dataclass(kw_only=True)
class ConnectionPreferences(Activity):
    name: ClassVar[str] = ".Settings$AdvancedConnectedDeviceActivity"

    def build(self, system: System) -> Widget:
        return page(
            system,
            "Connection preferences",
            (
                row(
                    "bluetooth",
                    "Bluetooth",
                    subtitle="On" if BluetoothState(system).on else "Off",
                    icon="bluetooth",
                    on_tap=lambda: system.start(BluetoothSettings),
                ),
                NFC.row(system),
            ),
        )


@dataclass(kw_only=True)
class BluetoothSettings(ForgetsDevices):
    name: ClassVar[str] = ".Settings$BluetoothSettingsActivity"

    def build(self, system: System) -> Widget:
        bluetooth = BluetoothState(system)
        switch = main_switch("bluetooth", "Use Bluetooth", bluetooth.on, system.set_bluetooth)
        if not bluetooth.on:
            about = note(
                "When Bluetooth is turned on, your device can communicate with other nearby Bluetooth devices."
            )
            return page(system, "Bluetooth", (switch, about))
        paired = self.paired_rows(system)
        return page(
            system,
            "Bluetooth",
            (
                switch,
                _pair_new(system),
                *((section("Paired devices"), *paired) if paired else ()),
                section("Device name"),
                row("device_name", device_name(system), icon="cellphone", on_tap=_rename(system)),
            ),
        )


@dataclass(kw_only=True)
class PairDevice(Activity):
    """Devices in range; a tap asks to pair."""

    name: ClassVar[str] = ".Settings$BluetoothDevicePairingDetailActivity"
    chosen: str = ""

    def build(self, system: System) -> Widget:
        paired = BluetoothState(system).paired()
        found = [name for name in NEARBY if name not in paired]
        rows = tuple(
            row("available_device", name, icon=NEARBY[name], on_tap=self._chooser(name)) for name in found
        ) or (note("No devices found."),)
        return page(
            system,
            "Pair new device",
            (
                row("device_name", "Device name", subtitle=device_name(system), on_tap=_rename(system)),
                section("Available devices"),
                *rows,
            ),
        )

    def dialog(self, system: System) -> Dialog | None:
        if not self.chosen:
            return None
        return confirm_dialog(
            f"Pair with {self.chosen}?",
            "Bluetooth pairing code: 483920",
            yes="Pair",
            on_yes=lambda: self._pair(system),
            on_no=self._close,
        )

    def _chooser(self, name: str) -> Callback:
        def choose() -> None:
            self.chosen = name

        return choose

    def _close(self) -> None:
        self.chosen = ""

    def _pair(self, system: System) -> None:
        BluetoothState(system).pair(self.chosen)
        system.toast(f"Paired with {self.chosen}")
        self.chosen = ""


DEVICE_PAGES: tuple[type[Activity], ...] = (ConnectedDevices, ConnectionPreferences, BluetoothSettings, PairDevice)
