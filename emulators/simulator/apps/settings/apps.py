"""Settings: installed apps. All pages but the list are about the app of their intent, `package:NAME`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.rows import format_size, icon_tile, main_switch, note, row, section
from rlfactory.emulators.simulator.apps.settings.page import Fact, Item, Page
from rlfactory.emulators.simulator.view import widgets as ui

APP_SETTINGS = {"notifications_enabled": "1", "manage_external_storage": "0"}
"""What each app has a value of its own of, and which it is at first."""


def _icon(app: App, size: float = 40) -> ui.Avatar:
    return ui.Avatar(icon=app.icon, color=app.color, size=size)


def _data_size(system: System, app: App) -> int:
    folder = f"/data/data/{app.package}"
    if not system.files.is_dir(folder):
        return 0
    return sum(len(system.files.stat(path).data or b"") for path in system.files.walk(folder))


class ManageApplications(Page):
    """All apps that have an icon."""

    name = ".Settings$ManageApplicationsActivity"
    title = "Apps"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        apps = sorted((app for app in system.apps() if not app.hidden), key=lambda app: app.label.casefold())
        yield section(f"All apps ({len(apps)})")
        for app in apps:
            yield ui.ListItem(
                key="app",
                title=app.label,
                subtitle=format_size(_data_size(system, app)),
                leading=_icon(app),
                on_tap=partial(system.start, AppInfo, Intent(data=f"package:{app.package}")),
            )


class AppPage(Page):
    """Base of the pages about one app."""

    @property
    def package(self) -> str:
        return self.intent.data.removeprefix("package:")

    def switch(self, system: System, key: str, title: str, name: str) -> ui.Widget:
        """Return a switch over the whole page for one of `APP_SETTINGS`."""
        setting = f"{name}:{self.package}"
        on = system.settings.get("secure", setting, APP_SETTINGS[name]) == "1"
        return main_switch(key, title, on, lambda on: system.settings.put("secure", setting, "1" if on else "0"))


class AppInfo(AppPage):
    name = ".applications.InstalledAppDetails"
    title = "App info"
    large = False

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        app = system.app(self.package)
        if app is None:
            yield note("This app is not installed.")
            return
        title = (_icon(app, 56), ui.Text(text=app.label, style="headline_small", weight=1))
        yield ui.Row(children=title, gap=16, padding=(24, 8, 24, 16), width="fill")
        buttons = (
            _button("open", "open-in-new", "Open", lambda: system.open_app(app.package)),
            _button("force_stop", "alert-octagon-outline", "Force stop", setter(self, open="stop")),
            _button("clear_storage", "delete-outline", "Clear storage", setter(self, open="clear")),
        )
        yield ui.Row(children=buttons, gap=4, padding=(16, 0, 16, 12), width="fill")
        yield ui.Divider()
        to_notifications = partial(system.start, AppNotifications, Intent(data=self.intent.data))
        yield row(
            "app_notifications", "Notifications", subtitle="Allowed", icon="bell-outline", on_tap=to_notifications
        )
        used = f"{format_size(_data_size(system, app))} used in internal storage"
        yield Fact("Storage & cache", used, icon="harddisk")
        yield Fact("Version", app.version_name, icon="information-outline")
        yield Fact("Package", app.package, icon="package-variant-closed")

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        match self.open:
            case "stop":
                texts = ("Force stop?", "If you force stop an app, it may misbehave.")
                return self._question(texts, "OK", lambda: system.force_stop(self.package))
            case "clear":
                deleted = "This app\u2019s data, including files and settings, will be permanently deleted."
                return self._question(("Delete app data?", deleted), "Delete", lambda: system.clear_data(self.package))
            case _:
                return super().dialog(system)

    def _question(self, texts: tuple[str, str], yes: str, do: ui.Callback) -> ui.Dialog:
        def confirmed() -> None:
            self.open = ""
            do()

        return confirm_dialog(*texts, yes=yes, on_yes=confirmed, on_no=setter(self, open=""))


def _button(key: str, icon: str, text: str, on_tap: ui.Callback) -> ui.Widget:
    return icon_tile(key, icon, text, on_tap, gap=6, padding=(4, 12, 4, 12))


class AppNotifications(AppPage):
    """Whether one app may post notifications."""

    name = ".Settings$AppNotificationSettingsActivity"
    title = "Notifications"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        app = system.app(self.package)
        title = f"All {app.label if app else self.package} notifications"
        yield self.switch(system, "app_notifications", title, "notifications_enabled")


class AllFilesAccess(AppPage):
    """Special app access: whether an app may manage all files."""

    name = ".Settings$AppManageExternalStorageActivity"
    title = "All files access"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        app = system.app(self.package)
        if app is not None:
            yield ui.ListItem(title=app.label, subtitle=app.version_name, leading=_icon(app, 48))
        yield self.switch(system, "manage_all_files", "Allow access to manage all files", "manage_external_storage")
        yield note(
            "Allow this app to read, modify and delete all files on this device or any connected storage "
            "volumes. If granted, app may access files without your explicit knowledge."
        )


PAGES: tuple[type[Activity], ...] = (ManageApplications, AppInfo, AppNotifications, AllFilesAccess)
