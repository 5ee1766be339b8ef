"""Settings: installed apps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import (
    confirm_dialog,
    format_size,
    main_switch,
    note,
    page,
    row,
    section,
)
from rlfactory.emulators.simulator.apps.settings.facts import FactsPage
from rlfactory.emulators.simulator.view.widgets import (
    Avatar,
    Callback,
    Column,
    Dialog,
    Divider,
    Icon,
    ListItem,
    Menu,
    Row,
    Text,
    Widget,
)


def _icon(app: App, size: float = 40) -> Avatar:
    return Avatar(icon=app.icon, color=app.color, size=size)


def _data_size(system: System, app: App) -> int:
    folder = f"/data/data/{app.package}"
    if not system.files.is_dir(folder):
        return 0
    return sum(len(system.files.stat(path).data or b"") for path in system.files.walk(folder))


def _open_info(system: System, app: App) -> Callback:
    return lambda: system.start(AppInfo, Intent(data=f"package:{app.package}"))


@dataclass(kw_only=True)
class ManageApplications(Activity):
    """All apps that have an icon; the menu's switch shows system packages too."""

    name: ClassVar[str] = ".Settings$ManageApplicationsActivity"

    def build(self, system: System) -> Widget:
        apps = sorted((app for app in system.apps() if not app.hidden), key=lambda app: app.label.casefold())
        rows = [
            ListItem(
                key="app",
                title=app.label,
                subtitle=format_size(_data_size(system, app)),
                leading=_icon(app),
                on_tap=_open_info(system, app),
            )
            for app in apps
        ]
        return page(system, "Apps", (section(f"All apps ({len(apps)})"), *rows))


@dataclass(kw_only=True)
class AppInfo(FactsPage):
    """App info; the intent's data is `package:NAME`."""

    name: ClassVar[str] = ".applications.InstalledAppDetails"
    asking: str = ""
    """"stop" or "clear", while that is being confirmed."""

    @property
    def package(self) -> str:
        return self.intent.data.removeprefix("package:")

    def build(self, system: System) -> Widget:
        app = system.app(self.package)
        if app is None:
            return page(system, "App info", (note("This app is not installed."),), large=False)
        head = Row(
            children=(_icon(app, 56), Text(text=app.label, style="headline_small", weight=1)),
            gap=16,
            padding=(24, 8, 24, 16),
            width="fill",
        )
        buttons = Row(
            children=(
                _button("open", "open-in-new", "Open", lambda: self._launch(system, app)),
                _button("force_stop", "alert-octagon-outline", "Force stop", self._asker("stop")),
                _button("clear_storage", "delete-outline", "Clear storage", self._asker("clear")),
            ),
            gap=4,
            padding=(16, 0, 16, 12),
            width="fill",
        )
        facts = (
            row(
                "app_notifications",
                "Notifications",
                subtitle="Allowed",
                icon="bell-outline",
                on_tap=lambda: system.start(AppNotifications, Intent(data=self.intent.data)),
            ),
            self.fact(
                "Storage & cache", f"{format_size(_data_size(system, app))} used in internal storage", icon="harddisk"
            ),
            self.fact("Version", app.version_name, icon="information-outline"),
            self.fact("Package", app.package, icon="package-variant-closed"),
        )
        return page(system, "App info", (head, buttons, Divider(), *facts), large=False)

    def dialog(self, system: System) -> Dialog | Menu | None:
        if self.asking == "stop":
            message = "If you force stop an app, it may misbehave."
            return confirm_dialog(
                "Force stop?", message, yes="OK", on_yes=lambda: self._force_stop(system), on_no=self._close
            )
        if self.asking == "clear":
            message = "This app\u2019s data, including files and settings, will be permanently deleted."
            return confirm_dialog(
                "Delete app data?", message, yes="Delete", on_yes=lambda: self._clear(system), on_no=self._close
            )
        return super().dialog(system)

    def _asker(self, what: str) -> Callback:
        def ask() -> None:
            self.asking = what

        return ask

    def _close(self) -> None:
        self.asking = ""

    def _launch(self, system: System, app: App) -> None:
        system.open_app(app.package)

    def _force_stop(self, system: System) -> None:
        self._close()
        system.force_stop(self.package)

    def _clear(self, system: System) -> None:
        self._close()
        system.clear_data(self.package)


def _button(key: str, icon: str, text: str, on_tap: Callback) -> Widget:
    return Column(
        key=key,
        children=(
            Icon(icon=icon, color="primary"),
            Text(text=text, style="label_large", color="primary", text_align="center"),
        ),
        gap=6,
        align="center",
        weight=1,
        padding=(4, 12, 4, 12),
        radius=16,
        on_tap=on_tap,
    )


@dataclass(kw_only=True)
class AppNotifications(Activity):
    """Whether one app may post notifications."""

    name: ClassVar[str] = ".Settings$AppNotificationSettingsActivity"

    def build(self, system: System) -> Widget:
        package = self.intent.data.removeprefix("package:")
        app = system.app(package)
        key = f"notifications_enabled:{package}"
        allowed = system.settings.get("secure", key, "1") == "1"
        label = app.label if app else package
        return page(
            system,
            "Notifications",
            (
                main_switch(
                    "app_notifications",
                    f"All {label} notifications",
                    allowed,
                    lambda on: system.settings.put("secure", key, "1" if on else "0"),
                ),
            ),
        )


@dataclass(kw_only=True)
class AllFilesAccess(Activity):
    """Special app access: whether the app of the intent (`package:NAME`) may manage all files."""

    name: ClassVar[str] = ".Settings$AppManageExternalStorageActivity"

    def build(self, system: System) -> Widget:
        package = self.intent.data.removeprefix("package:")
        app = system.app(package)
        key = f"manage_external_storage:{package}"
        allowed = system.settings.flag("secure", key)
        head = (ListItem(title=app.label, subtitle=app.version_name, leading=_icon(app, 48)),) if app else ()
        return page(
            system,
            "All files access",
            (
                *head,
                main_switch(
                    "manage_all_files",
                    "Allow access to manage all files",
                    allowed,
                    lambda on: system.settings.put("secure", key, "1" if on else "0"),
                ),
                note(
                    "Allow this app to read, modify and delete all files on this device or any connected storage "
                    "volumes. If granted, app may access files without your explicit knowledge."
                ),
            ),
        )


APP_PAGES: tuple[type[Activity], ...] = (ManageApplications, AppInfo, AppNotifications, AllFilesAccess)
