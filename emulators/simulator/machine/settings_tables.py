"""The settings tables (system, secure, global) with the values that a fresh Pixel 6 on API 33 has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NAMESPACES: Final = ("system", "secure", "global")

DEFAULTS: Final = MappingProxyType(
    {
        "system": {
            "accelerometer_rotation": "0",
            "alarm_alert_set": "1",
            "dim_screen": "1",
            "dtmf_tone": "1",
            "font_scale": "1.0",
            "haptic_feedback_enabled": "1",
            "hearing_aid": "0",
            "lockscreen_sounds_enabled": "1",
            "mode_ringer_streams_affected": "422",
            "notification_light_pulse": "1",
            "pointer_location": "0",
            "pointer_speed": "0",
            "screen_brightness": "102",
            "screen_brightness_mode": "0",
            "screen_off_timeout": "1800000",
            "show_touches": "0",
            "sound_effects_enabled": "1",
            "time_12_24": "24",
            "user_rotation": "0",
            "vibrate_on": "1",
            "vibrate_when_ringing": "0",
            "volume_alarm": "6",
            "volume_bluetooth_sco": "7",
            "volume_music": "5",
            "volume_notification": "5",
            "volume_ring": "5",
            "volume_system": "7",
            "volume_voice": "4",
        },
        "secure": {
            "accessibility_enabled": "0",
            "android_id": "8f1c9d2b7a3e4f60",
            "assistant": "",
            "autofill_service": "",
            "camera_double_tap_power_gesture_disabled": "0",
            "default_input_method": "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME",
            "doze_enabled": "1",
            "enabled_accessibility_services": "",
            "enabled_input_methods": "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME",
            "immersive_mode_confirmations": "confirmed",
            "install_non_market_apps": "1",
            "location_mode": "3",
            "lockscreen.disabled": "1",
            "navigation_mode": "0",
            "night_display_activated": "0",
            "screensaver_enabled": "0",
            "show_ime_with_hard_keyboard": "1",
            "sms_default_application": "com.simplemobiletools.smsmessenger",
            "speak_password": "1",
            "touch_exploration_enabled": "0",
            "ui_night_mode": "1",
            "user_setup_complete": "1",
        },
        "global": {
            "adb_enabled": "1",
            "airplane_mode_on": "0",
            "airplane_mode_radios": "cell,bluetooth,wifi,nfc,wimax",
            "animator_duration_scale": "1.0",
            "auto_time": "1",
            "auto_time_zone": "1",
            "bluetooth_on": "1",
            "boot_count": "2",
            "data_roaming": "0",
            "development_settings_enabled": "1",
            "device_name": "Pixel 6",
            "device_provisioned": "1",
            "heads_up_notifications_enabled": "1",
            "low_power": "0",
            "mobile_data": "1",
            "mode_ringer": "2",
            "package_verifier_user_consent": "-1",
            "stay_on_while_plugged_in": "1",
            "transition_animation_scale": "1.0",
            "usb_mass_storage_enabled": "1",
            "wifi_on": "1",
            "wifi_scan_always_enabled": "0",
            "window_animation_scale": "1.0",
            "zen_mode": "0",
        },
    }
)

MAX_VALUE_CHARS: Final = 32_768
MAX_KEYS: Final = 4_096


class SettingsTables:
    """The settings tables; values are strings, as on a phone. A table is made anew by each change, so copies share it.

    Raises: ValueError: unknown namespace, an empty or huge key or value, too many keys.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, str]] = DEFAULTS) -> None:
        self._tables = dict(tables)

    def get(self, namespace: str, key: str, default: str = "") -> str:
        return self.table(namespace).get(key, default)

    def flag(self, namespace: str, key: str) -> bool:
        """Tell whether the value is a number other than 0."""
        return self.get(namespace, key, "0") not in {"0", "", "null", "false"}

    def put(self, namespace: str, key: str, value: str) -> None:
        table = self.table(namespace)
        if not key or len(key) > 256:
            raise ValueError(f"bad settings key {key[:40]!r}")
        if len(value) > MAX_VALUE_CHARS or len(table) >= MAX_KEYS:
            raise ValueError(f"the settings table {namespace!r} has no room for {key!r}")
        self._tables[namespace] = {**table, key: value}

    @property
    def brightness(self) -> float:
        """How bright the screen is, from 0 to 1; the table holds 1 to 255."""
        text = self.get("system", "screen_brightness", "102")
        level = int(text) if text.isdecimal() else 102
        return (min(max(level, 1), 255) - 1) / 254

    def set_brightness(self, fraction: float) -> None:
        self.put("system", "screen_brightness", str(round(1 + fraction * 254)))

    def delete(self, namespace: str, key: str) -> bool:
        """Remove a key and tell whether it was there."""
        table = self.table(namespace)
        self._tables[namespace] = {each: value for each, value in table.items() if each != key}
        return key in table

    def items(self, namespace: str) -> list[tuple[str, str]]:
        """Return keys and values, sorted by key."""
        return sorted(self.table(namespace).items())

    def copy(self) -> SettingsTables:
        return SettingsTables(self._tables)

    def table(self, namespace: str) -> Mapping[str, str]:
        """Return the table as it is now; it does not change."""
        try:
            return self._tables[namespace]
        except KeyError:
            raise ValueError(f"no settings namespace {namespace!r}; there are {', '.join(NAMESPACES)}") from None
