"""Settings: the pages that are nothing but switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.apps.settings.toggles import (
    BATTERY_SAVER,
    DARK_THEME,
    USE_LOCATION,
    Toggle,
    TogglePage,
)


@dataclass(kw_only=True)
class NotificationSettings(TogglePage):
    name: ClassVar[str] = ".Settings$NotificationAppListActivity"
    title: ClassVar[str] = "Notifications"
    groups: ClassVar = (
        (
            "Manage",
            (
                Toggle(
                    title="Notification history",
                    namespace="secure",
                    setting="notification_history_enabled",
                    subtitle="Keeps recently dismissed notifications",
                ),
                Toggle(title="Bubbles", namespace="secure", setting="notification_bubbles", default="1"),
            ),
        ),
        (
            "Privacy",
            (
                Toggle(
                    title="Notifications on lock screen",
                    namespace="secure",
                    setting="lock_screen_show_notifications",
                    default="1",
                ),
                Toggle(
                    title="Sensitive notifications",
                    namespace="secure",
                    setting="lock_screen_allow_private_notifications",
                    default="1",
                    subtitle="Show sensitive content when locked",
                ),
            ),
        ),
        (
            "General",
            (
                Toggle(
                    title="Do Not Disturb",
                    namespace="global",
                    setting="zen_mode",
                    subtitle="Only get notified by important people and apps",
                ),
                Toggle(
                    title="Heads-up notifications",
                    namespace="global",
                    setting="heads_up_notifications_enabled",
                    default="1",
                ),
                Toggle(
                    title="Notification dot on app icon",
                    namespace="secure",
                    setting="notification_badging",
                    default="1",
                ),
            ),
        ),
    )


@dataclass(kw_only=True)
class WallpaperSettings(TogglePage):
    name: ClassVar[str] = ".Settings$WallpaperSettingsActivity"
    title: ClassVar[str] = "Wallpaper & style"
    groups: ClassVar = (
        (
            "Home screen",
            (
                DARK_THEME,
                Toggle(title="Themed icons", namespace="secure", setting="themed_icons_enabled"),
            ),
        ),
    )


@dataclass(kw_only=True)
class AccessibilitySettings(TogglePage):
    name: ClassVar[str] = ".Settings$AccessibilitySettingsActivity"
    title: ClassVar[str] = "Accessibility"
    groups: ClassVar = (
        (
            "Display",
            (
                Toggle(
                    title="Color inversion",
                    namespace="secure",
                    setting="accessibility_display_inversion_enabled",
                    subtitle="Turns light screens dark",
                ),
                Toggle(
                    title="Extra dim",
                    namespace="secure",
                    setting="reduce_bright_colors_activated",
                    subtitle="Makes the screen darker than the lowest brightness",
                ),
                Toggle(title="High contrast text", namespace="secure", setting="high_text_contrast_enabled"),
                Toggle(
                    title="Magnification", namespace="secure", setting="accessibility_display_magnification_enabled"
                ),
            ),
        ),
        (
            "Interaction",
            (
                Toggle(title="Live Caption", namespace="secure", setting="odi_captions_enabled"),
                Toggle(title="Mono audio", namespace="system", setting="master_mono"),
                Toggle(
                    title="Power button ends call", namespace="secure", setting="incall_power_button_behavior", on="2"
                ),
            ),
        ),
    )


@dataclass(kw_only=True)
class PrivacySettings(TogglePage):
    name: ClassVar[str] = ".Settings$PrivacyDashboardActivity"
    title: ClassVar[str] = "Privacy"
    groups: ClassVar = (
        (
            "Controls",
            (
                Toggle(
                    title="Camera access",
                    namespace="secure",
                    setting="camera_access_enabled",
                    default="1",
                    subtitle="For apps and services",
                ),
                Toggle(
                    title="Microphone access",
                    namespace="secure",
                    setting="microphone_access_enabled",
                    default="1",
                    subtitle="For apps and services",
                ),
                Toggle(
                    title="Show clipboard access",
                    namespace="secure",
                    setting="clipboard_show_access_notifications",
                    default="1",
                    subtitle="Show a message when apps access text you have copied",
                ),
                Toggle(title="Show passwords", namespace="system", setting="show_password", default="1"),
            ),
        ),
    )


@dataclass(kw_only=True)
class SecuritySettings(TogglePage):
    name: ClassVar[str] = ".Settings$SecuritySettingsActivity"
    title: ClassVar[str] = "Security"
    groups: ClassVar = (
        (
            "Device security",
            (
                Toggle(
                    title="Google Play Protect",
                    namespace="global",
                    setting="package_verifier_enable",
                    default="1",
                    subtitle="Scans apps for threats",
                ),
                Toggle(title="Find My Device", namespace="secure", setting="find_my_device_enabled", default="1"),
                Toggle(
                    title="Lock instantly with power button",
                    namespace="secure",
                    setting="power_button_instantly_locks",
                    default="1",
                ),
            ),
        ),
    )


@dataclass(kw_only=True)
class LocationSettings(TogglePage):
    name: ClassVar[str] = ".Settings$LocationSettingsActivity"
    title: ClassVar[str] = "Location"
    groups: ClassVar = (
        ("", (USE_LOCATION,)),
        (
            "Location services",
            (
                Toggle(title="Wi-Fi scanning", namespace="global", setting="wifi_scan_always_enabled"),
                Toggle(title="Bluetooth scanning", namespace="global", setting="ble_scan_always_enabled"),
            ),
        ),
    )


@dataclass(kw_only=True)
class GestureSettings(TogglePage):
    name: ClassVar[str] = ".Settings$GestureSettingsActivity"
    title: ClassVar[str] = "Gestures"
    groups: ClassVar = (
        (
            "",
            (
                Toggle(
                    title="Quickly open camera",
                    namespace="secure",
                    setting="camera_double_tap_power_gesture_disabled",
                    default="0",
                    on="0",
                    off="1",
                    subtitle="Press the power button twice",
                ),
                Toggle(title="Lift to check phone", namespace="secure", setting="doze_pulse_on_pick_up", default="1"),
                Toggle(title="Tap to check phone", namespace="secure", setting="doze_pulse_on_double_tap", default="1"),
                Toggle(title="One-handed mode", namespace="secure", setting="one_handed_mode_enabled"),
            ),
        ),
    )


@dataclass(kw_only=True)
class DataSaverSettings(TogglePage):
    name: ClassVar[str] = ".Settings$DataSaverSettingsActivity"
    title: ClassVar[str] = "Data Saver"
    groups: ClassVar = (
        (
            "",
            (
                Toggle(
                    title="Use Data Saver",
                    namespace="global",
                    setting="data_saver_enabled",
                    subtitle="Prevents some apps from using data in the background",
                ),
            ),
        ),
    )


@dataclass(kw_only=True)
class HotspotSettings(TogglePage):
    name: ClassVar[str] = ".Settings$TetherSettingsActivity"
    title: ClassVar[str] = "Hotspot & tethering"
    groups: ClassVar = (
        (
            "",
            (
                Toggle(
                    title="Wi-Fi hotspot",
                    namespace="global",
                    setting="wifi_ap_enabled",
                    subtitle="Share internet with other devices",
                ),
                Toggle(title="Bluetooth tethering", namespace="global", setting="bluetooth_tethering_enabled"),
            ),
        ),
    )


@dataclass(kw_only=True)
class BatterySettings(TogglePage):
    name: ClassVar[str] = ".Settings$PowerUsageSummaryActivity"
    title: ClassVar[str] = "Battery"
    groups: ClassVar = (
        ("", (BATTERY_SAVER,)),
        (
            "Preferences",
            (
                Toggle(
                    title="Adaptive Battery",
                    namespace="global",
                    setting="adaptive_battery_management_enabled",
                    default="1",
                    subtitle="Extends battery life based on your phone use",
                ),
                Toggle(
                    title="Battery percentage",
                    namespace="system",
                    setting="status_bar_show_battery_percent",
                    subtitle="Show battery percentage in status bar",
                ),
            ),
        ),
    )


@dataclass(kw_only=True)
class DeveloperSettings(TogglePage):
    name: ClassVar[str] = ".Settings$DevelopmentSettingsDashboardActivity"
    title: ClassVar[str] = "Developer options"
    groups: ClassVar = (
        ("", (Toggle(title="Use developer options", namespace="global", setting="development_settings_enabled"),)),
        (
            "Debugging",
            (
                Toggle(
                    title="Stay awake",
                    namespace="global",
                    setting="stay_on_while_plugged_in",
                    on="7",
                    subtitle="Screen will never sleep while charging",
                ),
                Toggle(
                    title="USB debugging",
                    namespace="global",
                    setting="adb_enabled",
                    default="1",
                    subtitle="Debug mode when USB is connected",
                ),
            ),
        ),
        (
            "Input",
            (
                Toggle(
                    title="Show taps",
                    namespace="system",
                    setting="show_touches",
                    subtitle="Show visual feedback for taps",
                ),
                Toggle(
                    title="Pointer location",
                    namespace="system",
                    setting="pointer_location",
                    subtitle="Screen overlay showing current touch data",
                ),
            ),
        ),
    )


TOGGLE_PAGES: tuple[type[TogglePage], ...] = (
    NotificationSettings,
    WallpaperSettings,
    AccessibilitySettings,
    PrivacySettings,
    SecuritySettings,
    LocationSettings,
    GestureSettings,
    DataSaverSettings,
    HotspotSettings,
    BatterySettings,
    DeveloperSettings,
)
