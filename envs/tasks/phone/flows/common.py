"""How the oracles get about in Settings, and what their other flows share. They go by what is on the screen only."""

from __future__ import annotations

from typing import Final

from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver

SETTINGS = "com.android.settings"
MAX_BACKS = 5
MAX_SWIPES = 5
CLEAR_TO: Final = 0.7
"""Share of the screen's height below which a button may float."""


async def open_settings(ui: UiDriver, *route: str) -> None:
    """Open Settings at its first page and go down by these labels, scrolling to each."""
    await ui.open("Settings")
    await back_until(ui, "Settings")
    for label in route:
        await find_and_tap(ui, label)


async def find_and_tap(ui: UiDriver, text: str) -> None:
    """Tap what has exactly this text, scrolling to it first when it is not in view."""
    await find(ui, text)
    await ui.tap(text)


async def find(ui: UiDriver, text: str) -> None:
    """Scroll until something has exactly this text: down the list, then once more from its top."""
    try:
        await ui.scroll_to(text)
    except OracleStuck:
        for _ in range(MAX_SWIPES):
            before = ui.observation.tree_xml
            await ui.swipe("down")
            if ui.observation.tree_xml == before:
                break
        await ui.scroll_to(text)


async def find_clear(ui: UiDriver, text: str) -> None:
    """Scroll until something has exactly this text, and away from the button that floats over the end of a list."""
    await find(ui, text)
    if ui.find(text)[0].bounds.center[1] > CLEAR_TO * ui.observation.height_px:
        await ui.swipe("up")


async def back_until(ui: UiDriver, text: str) -> None:
    """Press BACK until something on the screen has exactly this text. Raises: OracleStuck: nothing has."""
    for _ in range(MAX_BACKS):
        if ui.sees(text):
            return
        await ui.key("BACK")
    if not ui.sees(text):
        raise OracleStuck(f"no {text!r} by going back")


WIFI: Final = ("Network & internet", "Internet", "Wi-Fi")
BLUETOOTH: Final = ("Connected devices", "Connection preferences", "Bluetooth", "Use Bluetooth")
AIRPLANE_MODE: Final = ("Network & internet", "Airplane mode")


async def see_to(ui: UiDriver, *route: str, change: bool) -> None:
    """Go to a switch of Settings, look at it, and tap it if it has to change."""
    *pages, switch = route
    await open_settings(ui, *pages)
    await find(ui, switch)
    if change:
        await ui.tap(switch)


async def toggle_wifi(ui: UiDriver) -> None:
    await see_to(ui, *WIFI, change=True)


async def toggle_bluetooth(ui: UiDriver) -> None:
    await see_to(ui, *BLUETOOTH, change=True)


async def set_brightness(ui: UiDriver, *, end: float) -> None:
    """Tap the brightness slider at one end: 0.0 left, 1.0 right."""
    await open_settings(ui, "Display", "Brightness level")
    sliders = ui.find(resource_id="brightness_slider")
    if not sliders:
        raise OracleStuck("no brightness slider")
    left, _, right, _ = sliders[0].bounds
    await ui.tap_at(left + 1 if end < 0.5 else right - 2, sliders[0].bounds.center[1])


async def read_device_name(ui: UiDriver) -> str:
    await open_settings(ui, "About phone")
    return text_below(ui, "Device name")


def text_below(ui: UiDriver, label: str) -> str:
    """Return the text that comes next after the one given. Raises: OracleStuck: there is none."""
    texts = [node.text for node in ui.tree.walk() if node.text]
    if label not in texts[:-1]:
        raise OracleStuck(f"nothing follows {label!r} among {texts}")
    return texts[texts.index(label) + 1]


def titles(ui: UiDriver, resource_id: str) -> list[str]:
    """Return the first text inside each node with this id, from top to bottom."""
    return [next(inner.text for inner in node.walk() if inner.text) for node in ui.find(resource_id=resource_id)]
