"""Settings: what the phone is and keeps (about phone, storage, system, languages)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import format_size, page, prompt_dialog, row, section
from rlfactory.emulators.simulator.apps.kit.filetypes import kind_of
from rlfactory.emulators.simulator.apps.settings.devices import device_name
from rlfactory.emulators.simulator.apps.settings.facts import FactsPage
from rlfactory.emulators.simulator.apps.settings.time import DateTimeSettings, zone_summary
from rlfactory.emulators.simulator.apps.settings.toggle_pages import DeveloperSettings, GestureSettings
from rlfactory.emulators.simulator.apps.settings.toggles import Toggle
from rlfactory.emulators.simulator.view.widgets import Callback, Column, Dialog, Menu, Text, Widget

BUILD_NUMBER = "TQ3A.230901.001"
TAPS_TO_DEVELOPER = 7
STORAGE = "/storage/emulated/0"
STORAGE_TOTAL_BYTES = 128_000_000_000
SYSTEM_BYTES = 16_200_000_000
APPS_BYTES = 4_830_000_000


@dataclass(kw_only=True)
class AboutPhone(FactsPage):
    name: ClassVar[str] = ".Settings$MyDeviceInfoActivity"
    editing: bool = False
    draft: str = ""
    build_taps: int = 0

    def build(self, system: System) -> Widget:
        facts = _facts(system)
        return page(
            system,
            "About phone",
            (
                section("Basic info"),
                row("device_name", "Device name", subtitle=device_name(system), on_tap=lambda: self._edit(system)),
                self.fact("Phone number", "+1 555-521-5554"),
                section("Device details"),
                self.fact("Model", system.model, more=f"{system.model}\nSerial number: 8f1c9d2b7a3e"),
                row(
                    "android_version",
                    "Android version",
                    subtitle=system.android_version,
                    on_tap=lambda: system.start(AndroidVersion),
                ),
                section("Device identifiers"),
                *(self.fact(title, value) for title, value in facts),
                row("build_number", "Build number", subtitle=BUILD_NUMBER, on_tap=lambda: self._tap_build(system)),
            ),
        )

    def dialog(self, system: System) -> Dialog | Menu | None:
        if not self.editing:
            return super().dialog(system)
        return prompt_dialog(
            "Device name",
            self.draft,
            key="device_name_edit",
            enabled=bool(self.draft.strip()),
            on_change=self._type,
            on_ok=lambda: self._rename(system),
            on_cancel=self._close,
        )

    def _edit(self, system: System) -> None:
        self.editing, self.draft = True, device_name(system)

    def _type(self, text: str) -> None:
        self.draft = text

    def _close(self) -> None:
        self.editing = False

    def _rename(self, system: System) -> None:
        system.settings.put("global", "device_name", self.draft.strip())
        self._close()

    def _tap_build(self, system: System) -> None:
        if system.settings.flag("global", "development_settings_enabled"):
            system.toast("No need, you are already a developer.")
            return
        self.build_taps += 1
        left = TAPS_TO_DEVELOPER - self.build_taps
        if left == 0:
            self.build_taps = 0
            system.settings.put("global", "development_settings_enabled", "1")
            system.toast("You are now a developer!")
        elif left <= 4:
            system.toast(f"You are now {left} step{'s' if left > 1 else ''} away from being a developer.")


def _facts(system: System) -> tuple[tuple[str, str], ...]:
    wifi, bluetooth = (system.settings.flag("global", key) for key in ("wifi_on", "bluetooth_on"))
    return (
        ("IMEI", "867400022047199"),
        ("IP address", "10.0.2.16" if wifi else "Unavailable"),
        ("Wi-Fi MAC address", "02:15:b2:00:01:00"),
        ("Bluetooth address", "3c:5a:b4:01:02:03" if bluetooth else "Unavailable"),
        ("Up time", _clock(system.uptime_ms() // 1000)),
    )


def _clock(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


@dataclass(kw_only=True)
class AndroidVersion(FactsPage):
    name: ClassVar[str] = ".Settings$FirmwareVersionActivity"

    def build(self, system: System) -> Widget:
        facts = (
            ("Android version", system.android_version),
            ("Android security update", "September 1, 2023"),
            ("Google Play system update", "August 1, 2023"),
            ("Baseband version", "g5123b-112054-230512-B-10121234"),
            ("Kernel version", "5.10.157-android13-4"),
            ("Build number", BUILD_NUMBER),
        )
        return page(system, "Android version", [self.fact(title, value) for title, value in facts])


# --- storage ---------------------------------------------------------------------------------------------------------


def used_bytes(system: System) -> dict[str, int]:
    """Return bytes by category, from the files on shared storage."""
    sizes = {"image": 0, "video": 0, "audio": 0, "document": 0}
    if system.files.is_dir(STORAGE):
        for path in system.files.walk(STORAGE):
            entry = system.files.stat(path)
            if entry.data is not None:
                kind = kind_of(path).category
                sizes[kind if kind in sizes else "document"] += len(entry.data)
    return sizes


def storage_summary(system: System) -> str:
    used = SYSTEM_BYTES + APPS_BYTES + sum(used_bytes(system).values())
    percent = round(100 * used / STORAGE_TOTAL_BYTES)
    return f"{percent}% used - {format_size(STORAGE_TOTAL_BYTES - used)} free"


@dataclass(kw_only=True)
class StorageSettings(FactsPage):
    name: ClassVar[str] = ".Settings$StorageDashboardActivity"

    def build(self, system: System) -> Widget:
        sizes = used_bytes(system)
        used = SYSTEM_BYTES + APPS_BYTES + sum(sizes.values())
        files = "com.google.android.documentsui/com.android.documentsui.files.FilesActivity"
        labels = (
            ("image", "Images", "image-outline"),
            ("video", "Videos", "movie-outline"),
            ("audio", "Audio", "music-note-outline"),
            ("document", "Documents & other", "folder-outline"),
        )
        rows = [
            row(f"storage_{key}", label, subtitle=format_size(sizes[key]), icon=icon, on_tap=_open(system, files))
            for key, label, icon in labels
        ]
        return page(
            system,
            "Storage",
            (
                _usage(used),
                row(
                    "free_up_space",
                    "Free up space",
                    subtitle="Go to Files to manage and free up space",
                    icon="broom",
                    on_tap=_open(system, files),
                ),
                row(
                    "storage_apps",
                    "Apps",
                    subtitle=format_size(APPS_BYTES),
                    icon="apps",
                    on_tap=_open(system, "com.android.settings/.Settings$ManageApplicationsActivity"),
                ),
                *rows,
                self.fact(
                    "System",
                    format_size(SYSTEM_BYTES),
                    icon="android",
                    more=f"System includes files used to run Android version {system.android_version}",
                ),
            ),
        )


def _usage(used: int) -> Widget:
    """Return how full the storage is, in words and as a bar."""
    return Column(
        children=(
            Text(text=format_size(used), style="headline_large"),
            Text(text=f"used of {STORAGE_TOTAL_BYTES // 10**9} GB", color="on_surface_variant"),
            Column(
                children=(Column(width=312 * used / STORAGE_TOTAL_BYTES, height=8, background="primary", radius=4),),
                align="start",
                width=312,
                height=8,
                background="surface_container_highest",
                radius=4,
            ),
        ),
        gap=8,
        padding=(24, 8, 24, 16),
        align="start",
    )


def _open(system: System, component: str) -> Callback:
    return lambda: system.start(component)


# --- system ----------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class SystemSettings(Activity):
    name: ClassVar[str] = ".Settings$SystemDashboardActivity"

    def build(self, system: System) -> Widget:
        developer = (
            (
                row(
                    "developer_options",
                    "Developer options",
                    icon="code-braces",
                    on_tap=lambda: system.start(DeveloperSettings),
                ),
            )
            if system.settings.flag("global", "development_settings_enabled")
            else ()
        )
        return page(
            system,
            "System",
            (
                row(
                    "languages",
                    "Languages & input",
                    subtitle="English (United States), Gboard",
                    icon="web",
                    on_tap=lambda: system.start(LanguageSettings),
                ),
                row("gestures", "Gestures", icon="gesture-tap", on_tap=lambda: system.start(GestureSettings)),
                row(
                    "date_time",
                    "Date & time",
                    subtitle=zone_summary(system.now()),
                    icon="clock-outline",
                    on_tap=lambda: system.start(DateTimeSettings),
                ),
                row(
                    "system_update",
                    "System update",
                    subtitle=f"Android {system.android_version} is up to date",
                    icon="cellphone-arrow-down",
                    on_tap=lambda: system.toast("Your system is up to date"),
                ),
                *developer,
            ),
        )


SPELL_CHECKER = Toggle(title="Spell checker", namespace="secure", setting="spell_checker_enabled", default="1")


@dataclass(kw_only=True)
class LanguageSettings(FactsPage):
    name: ClassVar[str] = ".Settings$LanguageAndInputSettingsActivity"

    def build(self, system: System) -> Widget:
        return page(
            system,
            "Languages & input",
            (
                section("Languages"),
                self.fact("System language", "English (United States)", icon="translate"),
                section("Keyboards"),
                self.fact("On-screen keyboard", "Gboard, English (US)", icon="keyboard-outline"),
                SPELL_CHECKER.row(system),
            ),
        )


ABOUT_PAGES: tuple[type[Activity], ...] = (
    AboutPhone,
    AndroidVersion,
    StorageSettings,
    SystemSettings,
    LanguageSettings,
    DateTimeSettings,
)
