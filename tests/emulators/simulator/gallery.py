"""An app that shows every widget once: to look at, and for the tests of the view layer. No phone has it installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.launcher.app import LAUNCHER
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.view import widgets as w

PACKAGE = "org.example.gallery"
DRAWING = (
    ("circle", 40, 40, 30, "primary"),
    ("arc", 40, 40, 36, -90, 200, 4, "error"),
    ("line", 0, 0, 80, 80, 2, "outline"),
    ("text", 40, 40, "7", "title_large", "on_primary"),
)


class Gallery(Activity):
    """Every widget once, and what was done to them."""

    name = ".Gallery"
    title: str = ""
    body: str = "one\ntwo"
    switched: bool = False
    ticked: bool = False
    slid: float = 0.5
    tab: int = 0
    popup: str = ""
    events: list[str] = field(default_factory=list)

    def build(self, system: System) -> w.Widget:
        bar = w.AppBar(
            title="Gallery",
            on_back=system.back,
            actions=(
                w.IconButton(
                    key="more", icon="dots-vertical", description="More options", on_tap=lambda: self._open("menu")
                ),
            ),
        )
        tabs = w.TabBar(
            tabs=(w.Tab(text="One", icon="home"), w.Tab(text="Two", icon="star")),
            index=self.tab,
            on_select=self._set("tab"),
            place="bottom",
        )
        body = w.Scroll(key="list", height="fill", children=self._rows())
        fab = w.Fab(key="fab", icon="plus", description="Add", on_tap=lambda: self._open("dialog"))
        return w.Scaffold(app_bar=bar, body=body, bottom_bar=tabs, fab=fab)

    def dialog(self, system: System) -> w.Dialog | w.Menu | None:
        if self.popup == "menu":
            items = tuple(w.Action(text=text, on_tap=partial(self._chose, text)) for text in ("Sort", "Delete"))
            return w.Menu(key="popup", items=items, on_dismiss=lambda: self._open(""), anchor="more")
        if self.popup == "dialog":
            name = w.TextField(key="name", value=self.title, on_change=self._set("title"), label="Name", autofocus=True)
            actions = (
                w.Action(text="Cancel", on_tap=lambda: self._open("")),
                w.Action(text="OK", on_tap=lambda: self._chose("OK")),
            )
            return w.Dialog(title="New thing", body=name, actions=actions, on_dismiss=lambda: self._open(""))
        return None

    def _rows(self) -> tuple[w.Widget, ...]:
        return (
            *self._controls(),
            w.Slider(key="slider", description="Level", value=self.slid, on_change=self._set("slid")),
            w.Divider(),
            self._buttons(),
            w.Canvas(width=80, height=80, operations=DRAWING),
            w.Grid(columns=3, gap=4, children=tuple(self._card(index) for index in range(7))),
            *(self._row(index) for index in range(20)),
        )

    def _controls(self) -> tuple[w.Widget, ...]:
        switch = w.Switch(key="wifi_switch", checked=self.switched, on_change=self._set("switched"))
        fields = (
            w.TextField(key="title", value=self.title, on_change=self._set("title"), label="Title"),
            w.TextField(key="body", value=self.body, on_change=self._set("body"), hint="Write", multiline=True),
        )
        return (
            w.ListItem(key="wifi", title="Wi-Fi", subtitle="Connected", leading=w.Icon(icon="wifi"), trailing=switch),
            w.ListItem(
                key="tick", title="Tick me", trailing=w.Checkbox(checked=self.ticked, on_change=self._set("ticked"))
            ),
            w.ListItem(key="off", title="Disabled", enabled=False, on_tap=partial(self.events.append, "off")),
            w.Column(padding=(24, 8, 24, 8), gap=16, children=fields),
        )

    def _buttons(self) -> w.Widget:
        tapped, held = partial(self.events.append, "hello"), partial(self.events.append, "held")
        children = (
            w.Button(key="hello", text="Hello", on_tap=tapped, on_long_press=held),
            w.Button(text="Tonal", kind="tonal", icon="plus"),
            w.Button(text="Out", kind="outlined"),
            w.Spacer(weight=1),
            w.Radio(checked=True),
        )
        return w.Row(gap=8, padding=(24, 8, 24, 8), children=children)

    def _row(self, index: int) -> w.Widget:
        return w.ListItem(
            key=f"row{index}",
            title=f"Row {index}",
            subtitle="With some more text " * (index % 5),
            leading=w.Avatar(letter="R"),
            on_tap=partial(self.events.append, f"row{index}"),
        )

    def _card(self, index: int) -> w.Widget:
        return w.Column(
            key=f"card{index}",
            background="secondary_container",
            radius=12,
            padding=(8, 8, 8, 8),
            elevation=1,
            on_drop=lambda key: self.events.append(f"card{index}->{key}"),
            on_swipe=lambda way: self.events.append(f"card{index} {way}"),
            children=(w.Text(text=f"Card {index}"),),
        )

    def _open(self, popup: str) -> None:
        self.popup = popup

    def _chose(self, text: str) -> None:
        self.events.append(text)
        self.popup = ""

    def _set(self, name: str) -> Callable[[object], None]:
        return partial(setattr, self, name)


GALLERY = App(package=PACKAGE, label="Gallery", icon="image", color="#7B1FA2", activities=(Gallery,))


def gallery_phone(width_px: int = 540, height_px: int = 1200) -> tuple[Phone, Gallery]:
    """Return a phone that shows the gallery, and the gallery."""
    phone = Phone(PhoneConfig(width_px=width_px, height_px=height_px), [GALLERY, LAUNCHER])
    phone.system.open_app(PACKAGE)
    gallery = phone.activity
    assert isinstance(gallery, Gallery)
    return phone, gallery


def tap_key(phone: Phone, key: str) -> None:
    """Tap the middle of what is seen of the widget with a key."""
    node = phone.scene().find(key)
    assert node is not None, f"{key} is not on the screen"
    seen = node.visible
    phone.tap((seen.left + seen.right) // 2, (seen.top + seen.bottom) // 2)
