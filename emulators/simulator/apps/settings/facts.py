"""Pages of Settings with facts that a tap shows in full."""

from __future__ import annotations

from dataclasses import dataclass

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import row, slug
from rlfactory.emulators.simulator.view.widgets import Action, Dialog, Menu, Text, Widget


@dataclass(kw_only=True)
class FactsPage(Activity):
    """Base of pages that list facts (title, value); a tap on one opens it in a dialog."""

    shown: tuple[str, str] | None = None
    """Title and text of the open fact."""

    def fact(self, title: str, value: str, *, icon: str = "", more: str = "") -> Widget:
        """Return a row; `more` is what the dialog says in place of the value."""

        def show() -> None:
            self.shown = (title, more or value)

        return row(slug(title), title, subtitle=value, icon=icon, on_tap=show)

    def dialog(self, system: System) -> Dialog | Menu | None:
        if self.shown is None:
            return None
        title, text = self.shown
        return Dialog(
            title=title,
            body=Text(text=text, style="body_medium", color="on_surface_variant"),
            actions=(Action(text="OK", on_tap=self._hide),),
            on_dismiss=self._hide,
        )

    def _hide(self) -> None:
        self.shown = None
