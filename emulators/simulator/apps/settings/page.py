"""A page of Settings as data: a title and items, each of which draws its row and, where it opens one, its dialog.

    class Privacy(Page):
        name = ".Settings$PrivacyDashboardActivity"
        title = "Privacy"
        items = (Heading("Controls"), Toggle("Show passwords", "system/show_password", default="1"))

Where some of its rows come and go, a page says in `rows` what it shows; `items` then still holds all its toggles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import choice_dialog, message_dialog
from rlfactory.emulators.simulator.apps.kit.rows import note, page, row, section, slug, switch_row
from rlfactory.emulators.simulator.view import widgets as ui

Words = str | Callable[[System], str]
"""A text, or what makes it from the phone's state."""


def words(text: Words, system: System) -> str:
    return text if isinstance(text, str) else text(system)


@dataclass(frozen=True)
class Item:
    """A row of a page; by itself it does nothing."""

    title: str
    _: KW_ONLY
    subtitle: Words = ""
    icon: str = ""
    key: str = ""
    """The resource-id; "" makes it of the title."""
    enabled: Callable[[System], bool] = lambda system: True

    @property
    def id(self) -> str:
        return self.key or slug(self.title)

    def summary(self, system: System) -> str:
        """Return what stands under the title."""
        return words(self.subtitle, system)

    def widget(self, shown: Page, system: System) -> ui.Widget:
        return self._row(system, None)

    def _row(self, system: System, on_tap: ui.Callback | None) -> ui.Widget:
        subtitle, enabled = self.summary(system), self.enabled(system)
        return row(self.id, self.title, subtitle=subtitle, icon=self.icon, on_tap=on_tap, enabled=enabled)

    def dialog(self, shown: Page, system: System) -> ui.Dialog | None:
        """Return what lies over the page while `Page.open` is the title."""
        return None


@dataclass(frozen=True)
class Heading(Item):
    def widget(self, shown: Page, system: System) -> ui.Widget:
        return section(self.title)


@dataclass(frozen=True)
class Note(Item):
    def widget(self, shown: Page, system: System) -> ui.Widget:
        return note(self.title)


@dataclass(frozen=True)
class Setting(Item):
    """An item that stands for a value in the settings tables."""

    setting: str
    """`namespace/name`."""
    _: KW_ONLY
    default: str = "0"

    def value(self, system: System) -> str:
        namespace, name = self.setting.split("/")
        return system.settings.get(namespace, name, self.default)

    def write(self, system: System, value: str) -> None:
        namespace, name = self.setting.split("/")
        system.settings.put(namespace, name, value)


@dataclass(frozen=True)
class Toggle(Setting):
    """A switch."""

    _: KW_ONLY
    on: str = "1"
    off: str = "0"

    def checked(self, system: System) -> bool:
        return self.value(system) == self.on

    def put(self, system: System, on: bool) -> None:
        self.write(system, self.on if on else self.off)

    def widget(self, shown: Page, system: System) -> ui.Widget:
        change, subtitle = partial(self.put, system), self.summary(system)
        return switch_row(self.id, self.title, self.checked(system), change, subtitle=subtitle, icon=self.icon)


@dataclass(frozen=True)
class Choice(Setting):
    """One of several values, chosen in a dialog; without a subtitle the row shows the chosen one."""

    options: Sequence[tuple[str, str]]
    """Value and label."""
    _: KW_ONLY
    question: str = ""
    """The dialog's title where it is not the row's."""

    def summary(self, system: System) -> str:
        value = self.value(system)
        return super().summary(system) or dict(self.options).get(value, value)

    def widget(self, shown: Page, system: System) -> ui.Widget:
        return self._row(system, setter(shown, open=self.title))

    def dialog(self, shown: Page, system: System) -> ui.Dialog:
        def choose(value: str) -> None:
            self.write(system, value)
            shown.open = ""

        close = setter(shown, open="")
        return choice_dialog(self.question or self.title, self.options, self.value(system), choose, close)


@dataclass(frozen=True)
class Level(Setting):
    """A slider in the row, from 0 to `top`."""

    _: KW_ONLY
    top: int

    def widget(self, shown: Page, system: System) -> ui.Widget:
        text = self.value(system)
        level = min(int(text), self.top) if text.isdecimal() else 0
        slider = ui.Slider(
            key=f"{self.setting.partition('/')[2]}_slider",
            description=self.title,
            value=level / self.top,
            on_change=lambda value: self.write(system, str(round(value * self.top))),
            width="fill",
        )
        return ui.Row(
            children=(
                ui.Icon(icon=self.icon if level else "volume-off"),
                ui.Column(children=(ui.Text(text=self.title), slider), gap=0, weight=1),
            ),
            gap=20,
            padding=(24, 8, 16, 4),
            width="fill",
        )


@dataclass(frozen=True)
class Link(Item):
    """Leads to another page: its class, or `package/class`."""

    target: type[Activity] | str

    def widget(self, shown: Page, system: System) -> ui.Widget:
        return self._row(system, lambda: system.start(self.target))


@dataclass(frozen=True)
class Act(Item):
    """Does something of its own, or opens a dialog of its own, or both."""

    do: Callable[[Any, System], None] = lambda shown, system: None
    """Gets the page."""
    _: KW_ONLY
    opens: Callable[[Any, System], ui.Dialog | None] | None = None
    """Makes the dialog; gets the page."""

    def widget(self, shown: Page, system: System) -> ui.Widget:
        def tapped() -> None:
            if self.opens is not None:
                shown.open = self.title
            self.do(shown, system)

        return self._row(system, tapped)

    def dialog(self, shown: Page, system: System) -> ui.Dialog | None:
        return self.opens(shown, system) if self.opens is not None else None


@dataclass(frozen=True)
class Fact(Item):
    """A value that a tap shows in a dialog."""

    value: Words
    _: KW_ONLY
    more: Words = ""
    """What the dialog says in place of the value."""

    def summary(self, system: System) -> str:
        return words(self.value, system)

    def widget(self, shown: Page, system: System) -> ui.Widget:
        said = words(self.more, system) or self.summary(system)
        return self._row(system, setter(shown, open=self.title, said=said))

    def dialog(self, shown: Page, system: System) -> ui.Dialog:
        return message_dialog(self.title, shown.said, setter(shown, open=""))


class Page(Activity):
    """A page of Settings."""

    title: ClassVar[str]
    items: ClassVar[Sequence[Item]] = ()
    large: ClassVar[bool] = True
    """The title is large and scrolls away."""
    open: str = ""
    """Title of the item whose dialog is open."""
    said: str = ""
    """What the dialog of a fact says: the value when it was tapped."""

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        """Return what the page shows now."""
        return self.items

    def build(self, system: System) -> ui.Widget:
        rows = (item.widget(self, system) if isinstance(item, Item) else item for item in self.rows(system))
        return page(system, self.title, rows, large=self.large)

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        if not self.open:
            return None
        items = (item for item in self.rows(system) if isinstance(item, Item) and item.title == self.open)
        return next((item.dialog(self, system) for item in items), None)
