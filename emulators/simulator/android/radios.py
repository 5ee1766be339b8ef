"""Wi-Fi, Bluetooth and airplane mode, and the settings keys that have to agree with them.

`wifi_on` is 0 (off), 1 (on) or 2 (on although airplane mode is); `bluetooth_on` is 0 or 1. Airplane mode turns both
off and remembers what to put back.
"""

from __future__ import annotations

from rlfactory.emulators.simulator.machine.state import PhoneState


def set_wifi(state: PhoneState, on: bool) -> None:
    on_value = "2" if state.settings.flag("global", "airplane_mode_on") else "1"
    state.settings.put("global", "wifi_on", on_value if on else "0")
    state.radios.wifi_after_airplane = False


def set_bluetooth(state: PhoneState, on: bool) -> None:
    state.settings.put("global", "bluetooth_on", "1" if on else "0")
    state.radios.bluetooth_after_airplane = False


def set_airplane_mode(state: PhoneState, on: bool) -> None:
    """Switch airplane mode; setting it to what it is already changes nothing."""
    settings, memory = state.settings, state.radios
    if settings.flag("global", "airplane_mode_on") == on:
        return
    wifi, bluetooth = settings.flag("global", "wifi_on"), settings.flag("global", "bluetooth_on")
    settings.put("global", "airplane_mode_on", "1" if on else "0")
    if on:
        memory.wifi_after_airplane, memory.bluetooth_after_airplane = wifi, bluetooth
        settings.put("global", "wifi_on", "0")
        settings.put("global", "bluetooth_on", "0")
    else:
        settings.put("global", "wifi_on", "1" if wifi or memory.wifi_after_airplane else "0")
        settings.put("global", "bluetooth_on", "1" if bluetooth or memory.bluetooth_after_airplane else "0")
        memory.wifi_after_airplane = memory.bluetooth_after_airplane = False


def put_setting(state: PhoneState, namespace: str, key: str, value: str) -> None:
    """Write a setting as `settings put` does: the airplane key switches the mode, the rotation keys the display."""
    if (namespace, key) == ("global", "airplane_mode_on"):
        set_airplane_mode(state, value not in {"0", "", "null"})
    state.settings.put(namespace, key, value)
    if (namespace, key) == ("system", "user_rotation") and value in {"0", "1", "2", "3"}:
        state.display.rotation = {"0": 0, "1": 1, "2": 2, "3": 3}[value]  # type: ignore[assignment]
