"""What an app shows before its first screen: pages and requests, each left by a button; done with once and for all."""

from __future__ import annotations

from dataclasses import dataclass

from rlfactory.emulators.simulator.android.app import App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import centered_page, slug
from rlfactory.emulators.simulator.view import widgets as ui

ALL_FILES = Intent(action="android.settings.MANAGE_APP_ALL_FILES_ACCESS_PERMISSION")
"""Settings' page on which an app is let at all files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One page of the first run."""

    title: str
    text: str = ""
    buttons: tuple[str, ...]
    """Each leads on; they differ for who reads them only."""
    icon: str = "hand-wave-outline"
    sends: Intent | None = None
    """Opened when the step is left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstRun:
    """The steps of an app. How many were taken is kept in its preferences."""

    package: str
    color: str
    steps: tuple[Step, ...]

    def page(self, system: System) -> ui.Widget | None:
        """Return the page that has to be shown now, None once all were."""
        taken = self._preferences(system).get("first_run", 0)
        if taken >= len(self.steps):
            return None
        step = self.steps[taken]
        texts = [ui.Text(text=step.title, style="headline_small", text_align="center")]
        if step.text:
            texts.append(ui.Text(text=step.text, color="on_surface_variant", text_align="center"))
        buttons = tuple(
            ui.Button(
                key=slug(text),
                text=text,
                kind="text" if text != step.buttons[-1] else "filled",
                on_tap=lambda: self._leave(system, step, taken),
            )
            for text in step.buttons
        )
        bar = ui.Row(children=buttons, gap=8, justify="end", width="fill", padding=(16, 8, 16, 16))
        return ui.Scaffold(body=centered_page(step.icon, self.color, 112, texts, gap=24, side=32), bottom_bar=bar)

    def finish(self, system: System) -> None:
        """Have it behind."""
        self._preferences(system).put(first_run=len(self.steps))

    def _leave(self, system: System, step: Step, taken: int) -> None:
        self._preferences(system).put(first_run=taken + 1)
        if step.sends is not None:
            data = step.sends.data or f"package:{self.package}"
            system.send(Intent(action=step.sends.action, data=data, extras=step.sends.extras))

    def _preferences(self, system: System) -> Preferences:
        return Preferences.of(system, self.package, "first_run")


@dataclass(frozen=True, kw_only=True)
class IntroducedApp(App):
    """An app with a first run; a new phone has it behind."""

    first_run: FirstRun

    def furnish(self, system: System) -> None:
        self.first_run.finish(system)
