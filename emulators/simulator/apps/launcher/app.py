"""The home screen: wallpaper, a clock, a dock, and all apps behind a swipe up."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.view import widgets as ui

DOCK = (
    "com.android.settings",
    "com.google.android.contacts",
    "com.google.android.deskclock",
    "net.gsantner.markor",
    "com.google.android.documentsui",
)
"""Packages at the bottom of the home screen, as far as they are installed."""
COLUMNS = 5
DRAWER_COLUMNS = 4


class AppIcon(ui.Column):
    """An app's icon with its label, as accessibility names it."""

    text: str = ""


class HomeScreen(Activity):
    """The workspace, or the list of all apps over it."""

    name = ".NexusLauncherActivity"
    drawer: bool = False
    query: str = ""

    def show_home(self) -> None:
        """Close the list of all apps; the HOME key calls this."""
        self.drawer, self.query, self.focus = False, "", ""
        self.scroll_px.pop("apps_list_view", None)

    def build(self, system: System) -> ui.Widget:
        return self._drawer(system) if self.drawer else self._workspace(system)

    def on_back(self, system: System) -> bool:
        was_open = self.drawer
        self.show_home()
        return was_open

    def _workspace(self, system: System) -> ui.Widget:
        now = system.minute()
        date = f"{now:%a, %b} {now.day}"
        installed = launchable(system)
        docked = [app for package in DOCK for app in installed if app.package == package]
        rest = [app for app in installed if app not in docked][: 3 * COLUMNS]
        order = system.settings.get("secure", "launcher_order", "")
        for places in (docked, rest) if order else ():  # as somebody has dragged them
            random.Random(order).shuffle(places)
        smartspace = ui.Column(
            children=(
                ui.Text(key="clock", text=f"{now:%H:%M}", style="clock_huge", color="#FFFFFF"),
                ui.Text(key="date", text=date, style="title_large", color="#FFFFFF"),
            ),
            padding=(28, 28, 28, 0),
        )
        grid, hotseat = (
            ui.Grid(
                key=key,
                columns=COLUMNS,
                gap=4,
                children=tuple(app_icon(app, system, color="#FFFFFF") for app in apps),
                padding=(14, 0, 14, bottom),
            )
            for key, apps, bottom in (("workspace", rest, 12), ("hotseat", docked[:COLUMNS], 14))
        )
        body = ui.Column(
            children=(smartspace, ui.Spacer(weight=1), grid, hotseat, self._search_box()),
            height="fill",
            on_swipe=self._swiped,
        )
        return ui.Scaffold(background="wallpaper", body=body)

    def _search_box(self) -> ui.Widget:
        parts = (
            ui.Icon(icon="magnify", color="#3C4043"),
            ui.Text(text="Search apps", color="#5F6368", weight=1),
            ui.Icon(icon="microphone", color="#0B57D0"),
        )
        bar = _search_row(
            *parts,
            key="search_container_hotseat",
            description="Search",
            on_tap=setter(self, drawer=True),
            background="#EBFFFFFF",
        )
        return ui.Column(children=(bar,), padding=(22, 0, 22, 14))

    def _drawer(self, system: System) -> ui.Widget:
        wanted = self.query.strip().casefold()
        found = [app for app in launchable(system) if wanted in app.label.casefold()]
        found.sort(key=lambda app: app.label.casefold())

        def submit() -> None:
            if found:
                system.open_app(found[0].package)

        field = ui.TextField(
            key="search_box_input",
            value=self.query,
            on_change=writer(self, "query"),
            on_submit=submit,
            hint="Search apps",
            kind="plain",
            weight=1,
        )
        search = _search_row(ui.Icon(icon="magnify"), field, background="surface_container_high")
        apps: ui.Widget = ui.Text(
            text=f'No apps found matching "{self.query}"', text_align="center", color="on_surface_variant"
        )
        if found:
            icons = tuple(app_icon(app, system, color="on_surface") for app in found)
            apps = ui.Grid(columns=DRAWER_COLUMNS, gap=10, children=icons)
        body = ui.Column(
            key="apps_view",
            children=(search, ui.Scroll(key="apps_list_view", children=(apps,), weight=1, height="fill")),
            gap=20,
            padding=(20, 16, 20, 0),
            height="fill",
            on_swipe=self._swiped,
        )
        return ui.Scaffold(background="surface_container_low", body=body)

    def _swiped(self, direction: ui.Direction) -> None:
        if direction == "up":
            self.drawer = True
        elif direction == "down":
            self.show_home()


def _search_row(*children: ui.Widget, **look: Any) -> ui.Row:
    return ui.Row(children=children, gap=14, height=52, padding=(18, 0, 18, 0), radius=26, **look)


def launchable(system: System) -> list[App]:
    """Return the installed apps that have an icon."""
    return [app for app in system.apps() if not app.hidden]


def app_icon(app: App, system: System, *, color: str) -> ui.Widget:
    """Return an app's icon over its label; a tap opens it."""
    return AppIcon(
        text=app.label,
        description=app.label,
        on_tap=partial(system.open_app, app.package),
        align="center",
        gap=6,
        padding=(0, 8, 0, 8),
        children=(
            ui.Avatar(icon=app.icon, color=app.color, size=56),
            ui.Text(text=app.label, style="label_medium", color=color, max_lines=1, text_align="center"),
        ),
    )


LAUNCHER = App(
    package="com.google.android.apps.nexuslauncher",
    label="Pixel Launcher",
    icon="home",
    color="#5F6368",
    activities=(HomeScreen,),
    hidden=True,
)
