"""Chrome (`com.android.chrome`) as far as opening it goes: its first run, an address bar, and no network behind it."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.rows import empty_state
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.android.chrome"
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#1A73E8",
    steps=(
        Step(title="Welcome to Chrome", buttons=("Accept & continue",), icon="google-chrome"),
        Step(title="Turn on sync?", buttons=("No thanks", "Yes, I\u2019m in"), icon="sync"),
        Step(title="Allow Chrome to send notifications?", buttons=("No thanks", "Continue"), icon="bell-outline"),
    ),
)


class Main(Activity):
    """One page: nothing, or that the address cannot be reached."""

    name = "com.google.android.apps.chrome.Main"
    address: str = ""
    visited: str = ""

    def on_create(self, system: System) -> None:
        self.address = self.visited = self.intent.data

    def build(self, system: System) -> ui.Widget:
        introduction = _FIRST_RUN.page(system)
        if introduction is not None:
            return introduction
        field = ui.TextField(
            key="url_bar",
            value=self.address,
            hint="Search or type web address",
            on_change=writer(self, "address"),
            on_submit=setter(self, visited=self.address),
            kind="plain",
            weight=1,
        )
        bar = ui.Row(children=(ui.Icon(icon="web"), field), gap=12, height=64, padding=(20, 0, 16, 0), width="fill")
        page = empty_state("google-chrome", "Chrome")
        if self.visited:
            page = empty_state("web-off", "This site can\u2019t be reached", self.visited)
        return ui.Scaffold(app_bar=bar, body=page)


CHROME = IntroducedApp(
    package=PACKAGE,
    label="Chrome",
    icon="google-chrome",
    color="#1A73E8",
    activities=(Main,),
    version_name="113.0.5672.136",
    version_code=567_213_633,
    uses_permissions=("POST_NOTIFICATIONS",),
    filters={"android.intent.action.VIEW http:": Main, "android.intent.action.VIEW https:": Main},
    first_run=_FIRST_RUN,
)
