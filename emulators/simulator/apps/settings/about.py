"""Settings: what the phone is and keeps (about phone, storage, system, languages)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import prompt_dialog
from rlfactory.emulators.simulator.apps.kit.files import kind_of
from rlfactory.emulators.simulator.apps.kit.rows import format_size, plural
from rlfactory.emulators.simulator.apps.settings.devices import device_name
from rlfactory.emulators.simulator.apps.settings.page import Act, Fact, Heading, Item, Link, Page, Toggle
from rlfactory.emulators.simulator.apps.settings.switches import SWITCHES
from rlfactory.emulators.simulator.apps.settings.time import DateTimeSettings, zone_summary
from rlfactory.emulators.simulator.view import widgets as ui

BUILD_NUMBER = "TQ3A.230901.001"
TAPS_TO_DEVELOPER = 7
STORAGE = "/storage/emulated/0"
STORAGE_TOTAL_BYTES = 128_000_000_000
SYSTEM_BYTES = 16_200_000_000
APPS_BYTES = 4_830_000_000


def _android_version(system: System) -> str:
    return system.android_version


def _if_on(setting: str, value: str) -> Callable[[System], str]:
    return lambda system: value if system.settings.flag("global", setting) else "Unavailable"


def _up_time(system: System) -> str:
    minutes, seconds = divmod(system.uptime_ms() // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"


class AndroidVersion(Page):
    name = ".Settings$FirmwareVersionActivity"
    title = "Android version"
    items = (
        Fact("Android version", _android_version),
        Fact("Android security update", "September 1, 2023"),
        Fact("Google Play system update", "August 1, 2023"),
        Fact("Baseband version", "g5123b-112054-230512-B-10121234"),
        Fact("Kernel version", "5.10.157-android13-4"),
        Fact("Build number", BUILD_NUMBER),
    )


class AboutPhone(Page):
    name = ".Settings$MyDeviceInfoActivity"
    title = "About phone"
    draft: str = ""
    build_taps: int = 0

    def _start_naming(self, system: System) -> None:
        self.draft = device_name(system)

    def _name_dialog(self, system: System) -> ui.Dialog:
        def rename() -> None:
            system.settings.put("global", "device_name", self.draft.strip())
            self.open = ""

        return prompt_dialog(
            "Device name",
            self.draft,
            key="device_name_edit",
            enabled=bool(self.draft.strip()),
            on_change=writer(self, "draft"),
            on_ok=rename,
            on_cancel=setter(self, open=""),
        )

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
            system.toast(f"You are now {plural(left, 'step')} away from being a developer.")

    items = (
        Heading("Basic info"),
        Act("Device name", _start_naming, opens=_name_dialog, subtitle=device_name),
        Fact("Phone number", "+1 555-521-5554"),
        Heading("Device details"),
        Fact("Model", lambda system: system.model, more=lambda system: f"{system.model}\nSerial number: 8f1c9d2b7a3e"),
        Link("Android version", AndroidVersion, subtitle=_android_version),
        Heading("Device identifiers"),
        Fact("IMEI", "867400022047199"),
        Fact("IP address", _if_on("wifi_on", "10.0.2.16")),
        Fact("Wi-Fi MAC address", "02:15:b2:00:01:00"),
        Fact("Bluetooth address", _if_on("bluetooth_on", "3c:5a:b4:01:02:03")),
        Fact("Up time", _up_time),
        Act("Build number", _tap_build, subtitle=BUILD_NUMBER),
    )


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


_FILES = "com.google.android.documentsui/com.android.documentsui.files.FilesActivity"
_APPS = "com.android.settings/.Settings$ManageApplicationsActivity"


class StorageSettings(Page):
    name = ".Settings$StorageDashboardActivity"
    title = "Storage"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        sizes = used_bytes(system)
        yield _usage(SYSTEM_BYTES + APPS_BYTES + sum(sizes.values()))
        yield Link("Free up space", _FILES, subtitle="Go to Files to manage and free up space", icon="broom")
        yield Link("Apps", _APPS, subtitle=format_size(APPS_BYTES), icon="apps", key="storage_apps")
        for key, label, icon in (
            ("image", "Images", "image-outline"),
            ("video", "Videos", "movie-outline"),
            ("audio", "Audio", "music-note-outline"),
            ("document", "Documents & other", "folder-outline"),
        ):
            yield Link(label, _FILES, subtitle=format_size(sizes[key]), icon=icon, key=f"storage_{key}")
        about = f"System includes files used to run Android version {system.android_version}"
        yield Fact("System", format_size(SYSTEM_BYTES), icon="android", more=about)


def _usage(used: int) -> ui.Widget:
    """Return how full the storage is, in words and as a bar."""
    return ui.Column(
        children=(
            ui.Text(text=format_size(used), style="headline_large"),
            ui.Text(text=f"used of {STORAGE_TOTAL_BYTES // 10**9} GB", color="on_surface_variant"),
            ui.Column(
                children=(ui.Column(width=312 * used / STORAGE_TOTAL_BYTES, height=8, background="primary", radius=4),),
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


# --- system ----------------------------------------------------------------------------------------------------------


class LanguageSettings(Page):
    name = ".Settings$LanguageAndInputSettingsActivity"
    title = "Languages & input"
    items = (
        Heading("Languages"),
        Fact("System language", "English (United States)", icon="translate"),
        Heading("Keyboards"),
        Fact("On-screen keyboard", "Gboard, English (US)", icon="keyboard-outline"),
        Toggle("Spell checker", "secure/spell_checker_enabled", default="1"),
    )


class SystemSettings(Page):
    name = ".Settings$SystemDashboardActivity"
    title = "System"
    items = (
        Link(
            "Languages & input",
            LanguageSettings,
            subtitle="English (United States), Gboard",
            icon="web",
            key="languages",
        ),
        Link("Gestures", SWITCHES["Gestures"], icon="gesture-tap"),
        Link(
            "Date & time",
            DateTimeSettings,
            subtitle=lambda system: zone_summary(system.now()),
            icon="clock-outline",
            key="date_time",
        ),
        Act(
            "System update",
            lambda page, system: system.toast("Your system is up to date"),
            subtitle=lambda system: f"Android {system.android_version} is up to date",
            icon="cellphone-arrow-down",
        ),
    )

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        yield from self.items
        if system.settings.flag("global", "development_settings_enabled"):
            yield Link("Developer options", SWITCHES["Developer options"], icon="code-braces")


PAGES: tuple[type[Activity], ...] = (
    AboutPhone,
    AndroidVersion,
    StorageSettings,
    SystemSettings,
    LanguageSettings,
    DateTimeSettings,
)
