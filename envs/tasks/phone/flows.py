"""How the oracles get about in Settings, and what their other flows share. They go by what is on the screen only."""

from __future__ import annotations

from rlfactory.envs.tasks.hand import Hand, OracleStuck

SETTINGS = "com.android.settings"
MAX_BACKS = 5
MAX_SWIPES = 5


async def open_settings(hand: Hand, *route: str) -> None:
    """Open Settings at its first page and go down by these labels, scrolling to each."""
    await hand.open("Settings")
    await back_until(hand, "Settings")
    for label in route:
        await find_and_tap(hand, label)


async def find_and_tap(hand: Hand, text: str) -> None:
    """Tap what has exactly this text, scrolling to it first when it is not in view."""
    await find(hand, text)
    await hand.tap(text)


async def find(hand: Hand, text: str) -> None:
    """Scroll until something has exactly this text: down the list, then once more from its top."""
    try:
        await hand.scroll_to(text)
    except OracleStuck:
        for _ in range(MAX_SWIPES):
            before = hand.observation.tree_xml
            await hand.swipe("down")
            if hand.observation.tree_xml == before:
                break
        await hand.scroll_to(text)


async def back_until(hand: Hand, text: str) -> None:
    """Press BACK until something on the screen has exactly this text. Raises: OracleStuck: nothing has."""
    for _ in range(MAX_BACKS):
        if hand.sees(text):
            return
        await hand.key("BACK")
    if not hand.sees(text):
        raise OracleStuck(f"no {text!r} by going back")


async def toggle_wifi(hand: Hand) -> None:
    await open_settings(hand, "Network & internet", "Internet", "Wi-Fi")


async def toggle_bluetooth(hand: Hand) -> None:
    await open_settings(hand, "Connected devices", "Connection preferences", "Bluetooth", "Use Bluetooth")


async def toggle_airplane_mode(hand: Hand) -> None:
    await open_settings(hand, "Network & internet", "Airplane mode")


async def set_brightness(hand: Hand, *, end: float) -> None:
    """Tap the brightness slider at one end: 0.0 left, 1.0 right."""
    await open_settings(hand, "Display", "Brightness level")
    sliders = hand.find(resource_id="brightness_slider")
    if not sliders:
        raise OracleStuck("no brightness slider")
    left, _, right, _ = sliders[0].bounds
    await hand.tap_at(left + 1 if end < 0.5 else right - 2, sliders[0].bounds.center[1])


async def read_device_name(hand: Hand) -> str:
    await open_settings(hand, "About phone")
    return text_below(hand, "Device name")


def text_below(hand: Hand, label: str) -> str:
    """Return the text that comes next after the one given. Raises: OracleStuck: there is none."""
    texts = [node.text for node in hand.tree.walk() if node.text]
    if label not in texts[:-1]:
        raise OracleStuck(f"nothing follows {label!r} among {texts}")
    return texts[texts.index(label) + 1]


def titles(hand: Hand, resource_id: str) -> list[str]:
    """Return the first text inside each node with this id, from top to bottom."""
    return [next(inner.text for inner in node.walk() if inner.text) for node in hand.find(resource_id=resource_id)]
