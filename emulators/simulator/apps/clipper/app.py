"""Clipper (`ca.zgrs.clipper`): the clipboard on a screen, and behind two broadcasts."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.content import BroadcastResult
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.rows import empty_state
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "ca.zgrs.clipper"
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#455A64",
    steps=(
        Step(
            title="This app was built for an older version of Android",
            text="It may not work properly.",
            buttons=("Continue",),
            icon="android",
        ),
        Step(title="Clipper", text="Reads and writes the clipboard.", buttons=("OK",), icon="clipboard-text-outline"),
    ),
)


class Main(Activity):
    """The clipboard's text."""

    name = ".Main"

    def build(self, system: System) -> ui.Widget:
        introduction = _FIRST_RUN.page(system)
        if introduction is not None:
            return introduction
        text = ui.Text(key="clipboard", text=system.clipboard, padding=(24, 16, 24, 16))
        body = text if system.clipboard else empty_state("clipboard-outline", "The clipboard is empty")
        return ui.Scaffold(
            app_bar=ui.AppBar(title="Clipper"), body=ui.Scroll(key="content", children=(body,), height="fill")
        )


def _get(system: System, intent: Intent) -> BroadcastResult:
    return BroadcastResult(code=-1, data=system.clipboard) if system.clipboard else BroadcastResult(code=0, data="")


def _set(system: System, intent: Intent) -> BroadcastResult:
    text = intent.extras.get("text")
    if text is None:
        return BroadcastResult(code=0, data='No text is provided. Use -e text "text to be pasted"')
    system.clipboard = str(text)
    return BroadcastResult(code=-1, data="Text is copied into clipboard.")


CLIPPER = IntroducedApp(
    package=PACKAGE,
    label="Clipper",
    icon="clipboard-text",
    color="#455A64",
    activities=(Main,),
    version_name="1.2.1",
    system=False,
    receivers={"clipper.get": _get, "clipper.set": _set},
    first_run=_FIRST_RUN,
)
