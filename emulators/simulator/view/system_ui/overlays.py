"""What the phone itself draws around and over apps: status bar, navigation bar, shade, recents, toast.

Each is a pure function from the phone to a widget (the bars: from the few facts they show, so that their pictures are
kept).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from rlfactory.emulators.simulator.view import widgets as w
from rlfactory.emulators.simulator.view.drawing.painter import Operation, still_picture
from rlfactory.emulators.simulator.view.layout import Node, Rect

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.machine.state import Notification
    from rlfactory.emulators.simulator.machine.task_stack import ActivityRecord, Task
    from rlfactory.emulators.simulator.phone import Phone

    TaskPicture = Callable[[Phone, ActivityRecord], tuple[tuple[Any, ...], ...]]

PACKAGE = "com.android.systemui"
CARD_DP = 300.0
"""Height of a task's picture in the overview."""
PICTURED_TASKS = 3
"""Tasks further down the overview show their icon only: nobody sees them without scrolling."""
STATUS_BAR_DP = 30.0
NAVIGATION_BAR_DP = 48.0


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What the status bar shows."""

    clock: str
    wifi: bool
    bluetooth: bool
    airplane: bool
    notifications: tuple[str, ...]
    """Icon names, newest first."""


def clock_text(phone: Phone) -> str:
    """Return the time of day as the status bar shows it."""
    now = phone.system.now()
    if phone.state.settings.get("system", "time_12_24", "24") == "12":
        return f"{now.hour % 12 or 12}:{now.minute:02d}"
    return f"{now:%H:%M}"


def status_facts(phone: Phone) -> StatusFacts:
    """Read what the status bar shows off the phone's state."""
    settings = phone.state.settings
    icons = dict.fromkeys(note.icon for note in reversed(phone.state.notifications))
    return StatusFacts(
        clock=clock_text(phone),
        wifi=settings.flag("global", "wifi_on"),
        bluetooth=settings.flag("global", "bluetooth_on"),
        airplane=settings.flag("global", "airplane_mode_on"),
        notifications=tuple(icons)[:3],
    )


def status_bar(facts: StatusFacts, color: str) -> w.Widget:
    """Return the bar at the top; `color` is that of its content."""
    right = (
        *(("bluetooth",) if facts.bluetooth else ()),
        *(("wifi-strength-4",) if facts.wifi else ()),
        "airplane" if facts.airplane else "network-strength-4",
        "battery",
    )
    return w.Row(
        children=(
            w.Text(text=facts.clock, style="status_bar", color=color, max_lines=1),
            w.Spacer(width=6),
            *(w.Icon(icon=icon, size=15, color=color) for icon in facts.notifications),
            w.Spacer(weight=1),
            *(w.Icon(icon=icon, size=15, color=color) for icon in right),
        ),
        gap=4,
        padding=(22, 3, 20, 0),
    )


# --- navigation bar ------------------------------------------------------------------------------------------------


class NavigationKey(w.Stack):
    """One of the three buttons; `code` is the Android key that it presses."""

    code: str


def navigation_bar(color: str, background: str | None, *, keyboard: bool) -> w.Widget:
    """Return the bar at the bottom; with the keyboard open, Back points down."""
    back = ("chevron-down", 26) if keyboard else ("play", 19)
    buttons = (
        ("BACK", "Back", *back),
        ("HOME", "Home", "circle", 15),
        ("APP_SWITCH", "Overview", "square-rounded", 15),
    )
    keys = tuple(
        NavigationKey(
            code=code,
            description=description,
            children=w.centered(_navigation_icon(icon, size, color)),
            width=96,
            height="fill",
        )
        for code, description, icon, size in buttons
    )
    return w.Row(children=keys, justify="center", align="stretch", gap=24, background=background)


def _navigation_icon(icon: str, size: float, color: str) -> w.Widget:
    if icon != "play":
        return w.Icon(icon=icon, size=size, color=color)
    triangle = ("polygon", ((12.5, 2.0), (12.5, 16.0), (1.5, 9.0)), color)
    return w.Canvas(width=18, height=18, operations=(triangle,))


# --- notification shade --------------------------------------------------------------------------------------------


def shade(phone: Phone, close: Callable[[], None]) -> w.Widget:
    """Return quick settings and notifications; covers the whole screen."""
    now = phone.system.now()
    header = w.Row(
        children=(
            w.Text(key="clock", text=clock_text(phone), style="headline_medium"),
            w.Spacer(weight=1),
            w.Text(key="date", text=f"{now:%a, %b} {now.day}", style="title_small", color="on_surface_variant"),
        ),
        padding=(8, 0, 8, 0),
    )
    slider = w.Slider(
        key="slider",
        description="Display brightness",
        value=phone.state.settings.brightness,
        on_change=phone.state.settings.set_brightness,
    )
    parts: list[w.Widget] = [header, slider, _tiles(phone, close), w.Spacer(height=4)]
    notes = sorted(phone.state.notifications, key=lambda note: -note.posted_ns)
    parts.extend(_notification(phone, note, close) for note in notes)
    if notes:
        clear = w.Button(key="dismiss_text", text="Clear all", kind="tonal", on_tap=partial(_clear, phone))
        parts.append(w.Row(children=(clear,), justify="end"))
    else:
        nothing, color = "No notifications", "on_surface_variant"
        parts.append(w.Text(text=nothing, text_align="center", color=color, padding=(0, 24, 0, 0)))
    return w.Column(
        key="quick_settings_panel",
        children=(w.Scroll(key="shade", children=tuple(parts), gap=12, weight=1, height="fill"),),
        padding=(16, 12, 16, 0),
        background="surface_container",
        height="fill",
    )


def _clear(phone: Phone) -> None:
    phone.state.notifications = ()


def _tiles(phone: Phone, close: Callable[[], None]) -> w.Widget:
    system, dark = phone.system, is_dark(phone)
    radios = (
        ("wifi", "wifi", "wifi-off", "Internet", "AndroidWifi", system.set_wifi),
        ("bluetooth", "bluetooth", "bluetooth-off", "Bluetooth", "On", system.set_bluetooth),
        ("airplane_mode", "airplane", "airplane", "Airplane mode", "On", system.set_airplane_mode),
    )

    def settings() -> None:
        close()
        if system.app("com.android.settings") is not None:
            system.open_app("com.android.settings")

    def toggle_dark() -> None:
        phone.state.settings.put("secure", "ui_night_mode", "1" if dark else "2")

    tiles: list[w.Widget] = []
    for name, icon, icon_off, title, state, turn in radios:
        on = phone.state.settings.flag("global", f"{name}_on")
        tiles.append(_tile(icon if on else icon_off, title, state if on else "Off", on, partial(turn, not on)))
    tiles.append(_tile("theme-light-dark", "Dark theme", "On" if dark else "Off", dark, toggle_dark))
    tiles.append(_tile("cog-outline", "Settings", "", False, settings))
    tiles.append(_tile("battery", "Battery Saver", "Off", False, None))
    return w.Grid(columns=2, gap=8, children=tuple(tiles))


def is_dark(phone: Phone) -> bool:
    """Say whether the dark theme is on."""
    return phone.state.settings.get("secure", "ui_night_mode", "1") == "2"


def _tile(icon: str, title: str, state: str, on: bool, on_tap: Callable[[], None] | None) -> w.Widget:
    color = "on_primary" if on else "on_surface"
    texts: tuple[w.Widget, ...] = (w.Text(text=title, style="title_small", color=color, max_lines=1),)
    if state:
        texts += (w.Text(text=state, style="body_small", color=color, max_lines=1),)
    return w.Row(
        class_name="android.widget.Switch" if state else "android.widget.Button",
        key=title.lower().replace(" ", "_"),
        description=title,
        selected=on,
        on_tap=on_tap,
        children=(w.Icon(icon=icon, color=color, size=22), w.Column(children=texts, weight=1)),
        gap=12,
        min_height=64,
        padding=(18, 0, 12, 0),
        background="primary" if on else "surface_container_highest",
        radius=20,
    )


def _notification(phone: Phone, note: Notification, close: Callable[[], None]) -> w.Widget:
    app = phone.system.app(note.package)

    def open_it() -> None:
        close()
        if app is not None:
            phone.system.open_app(note.package)

    return w.Row(
        children=(
            w.Avatar(icon=note.icon, color=app.color if app else "primary", size=36),
            w.Column(
                children=(
                    w.Text(text=app.label if app else note.package, style="body_small", color="on_surface_variant"),
                    w.Text(key="android:id/title", text=note.title, style="title_small", max_lines=1),
                    w.Text(key="android:id/text", text=note.text, style="body_medium", max_lines=3),
                ),
                weight=1,
            ),
        ),
        gap=14,
        padding=(16, 14, 16, 14),
        background="surface_container_lowest",
        radius=24,
        on_tap=open_it,
    )


# --- recents -------------------------------------------------------------------------------------------------------


def recents(phone: Phone, close: Callable[[], None], picture: TaskPicture) -> w.Widget:
    """Return the overview: a card per task, the latest first; `picture` draws what a task shows."""
    tasks = phone.state.tasks.recents()

    def clear_all() -> None:
        for task in tasks:
            phone.navigator.remove_task(task.id)
        close()

    cards: tuple[w.Widget, ...] = tuple(
        _task_card(phone, task, close, picture if number < PICTURED_TASKS else None)
        for number, task in enumerate(tasks)
    )
    if not cards:
        empty = w.Text(
            key="no_recents", text="No recent items", style="title_medium", text_align="center", padding=(0, 240, 0, 0)
        )
        return w.Column(children=(empty,), background="surface_container", height="fill")
    clear = w.Row(
        children=(w.Button(key="clear_all", text="Clear all", kind="tonal", on_tap=clear_all),), justify="center"
    )
    return w.Column(
        key="overview_panel",
        children=(w.Scroll(key="recents", children=(*cards, clear), gap=16, weight=1, height="fill"),),
        padding=(40, 24, 40, 16),
        background="surface_container_high",
        height="fill",
    )


def _task_card(phone: Phone, task: Task, close: Callable[[], None], picture: TaskPicture | None) -> w.Widget:
    app = phone.catalog.app(task.package)
    label, icon, color = (app.label, app.icon, app.color) if app else (task.package, "android", "#5F6368")

    def show() -> None:
        close()
        phone.navigator.show_task(task.id)

    def dismiss(direction: str) -> None:
        if direction in {"left", "right"}:
            phone.navigator.remove_task(task.id)

    header = w.Row(
        children=(
            w.Avatar(icon=icon, color=color, size=36),
            w.Text(text=label, style="title_medium", weight=1, max_lines=1),
            w.IconButton(
                icon="close", description=f"Close {label}", on_tap=lambda: dismiss("left"), key="dismiss_task"
            ),
        ),
        gap=14,
        padding=(16, 8, 4, 8),
    )
    screen: w.Widget
    if picture is None:
        screen = w.Stack(children=w.centered(w.Icon(icon=icon, size=72, color=color)), height=CARD_DP)
    else:
        screen = w.Picture(operations=picture(phone, task.top), source_width_px=phone.width_px, height=CARD_DP)
    return w.Column(
        key="task",
        description=label,
        children=(header, screen, w.Spacer(height=20)),
        background="surface",
        radius=24,
        on_tap=show,
        on_swipe=dismiss,
    )


# --- toast ---------------------------------------------------------------------------------------------------------


def toast(text: str) -> w.Widget:
    """Return the short message near the bottom."""
    return w.Row(
        children=(
            w.Text(key="android:id/message", text=text, style="body_medium", color="inverse_on_surface", max_lines=2),
        ),
        padding=(22, 13, 22, 13),
        background="inverse_surface",
        radius=24,
    )


# --- the bars' pictures, kept from frame to frame --------------------------------------------------------------------


@lru_cache(maxsize=256)
def status_picture(
    facts: StatusFacts, color: str, width: int, height: int, density: float
) -> tuple[Node, tuple[Operation, ...]]:
    """Return the status bar, placed, and its display list."""
    return still_picture(status_bar(facts, color), Rect(0, 0, width, height), density, dark=False)


@lru_cache(maxsize=64)
def navigation_picture(
    color: str, background: str | None, area: Rect, density: float, *, keyboard_open: bool, dark: bool
) -> tuple[Node, tuple[Operation, ...]]:
    """Return the navigation bar, placed, and its display list."""
    bar = navigation_bar(color, background, keyboard=keyboard_open)
    return still_picture(bar, area, density, dark=dark)
