"""Settings: the pages that are nothing but switches, and the switches that stand on several pages."""

from __future__ import annotations

from rlfactory.emulators.simulator.apps.settings.page import Heading, Page, Toggle

DARK_THEME = Toggle(
    "Dark theme",
    "secure/ui_night_mode",
    default="1",
    on="2",
    off="1",
    subtitle="Makes the screen easier to look at in the dark",
)
LIFT_TO_CHECK = Toggle("Lift to check phone", "secure/doze_pulse_on_pick_up", default="1")


class NotificationSettings(Page):
    name = ".Settings$NotificationAppListActivity"
    title = "Notifications"
    items = (
        Heading("Manage"),
        Toggle(
            "Notification history",
            "secure/notification_history_enabled",
            subtitle="Keeps recently dismissed notifications",
        ),
        Toggle("Bubbles", "secure/notification_bubbles", default="1"),
        Heading("Privacy"),
        Toggle("Notifications on lock screen", "secure/lock_screen_show_notifications", default="1"),
        Toggle(
            "Sensitive notifications",
            "secure/lock_screen_allow_private_notifications",
            default="1",
            subtitle="Show sensitive content when locked",
        ),
        Heading("General"),
        Toggle("Do Not Disturb", "global/zen_mode", subtitle="Only get notified by important people and apps"),
        Toggle("Heads-up notifications", "global/heads_up_notifications_enabled", default="1"),
        Toggle("Notification dot on app icon", "secure/notification_badging", default="1"),
    )


class WallpaperSettings(Page):
    name = ".Settings$WallpaperSettingsActivity"
    title = "Wallpaper & style"
    items = (Heading("Home screen"), DARK_THEME, Toggle("Themed icons", "secure/themed_icons_enabled"))


class AccessibilitySettings(Page):
    name = ".Settings$AccessibilitySettingsActivity"
    title = "Accessibility"
    items = (
        Heading("Display"),
        Toggle(
            "Color inversion", "secure/accessibility_display_inversion_enabled", subtitle="Turns light screens dark"
        ),
        Toggle(
            "Extra dim",
            "secure/reduce_bright_colors_activated",
            subtitle="Makes the screen darker than the lowest brightness",
        ),
        Toggle("High contrast text", "secure/high_text_contrast_enabled"),
        Toggle("Magnification", "secure/accessibility_display_magnification_enabled"),
        Heading("Interaction"),
        Toggle("Live Caption", "secure/odi_captions_enabled"),
        Toggle("Mono audio", "system/master_mono"),
        Toggle("Power button ends call", "secure/incall_power_button_behavior", on="2"),
    )


class PrivacySettings(Page):
    name = ".Settings$PrivacyDashboardActivity"
    title = "Privacy"
    items = (
        Heading("Controls"),
        Toggle("Camera access", "secure/camera_access_enabled", default="1", subtitle="For apps and services"),
        Toggle("Microphone access", "secure/microphone_access_enabled", default="1", subtitle="For apps and services"),
        Toggle(
            "Show clipboard access",
            "secure/clipboard_show_access_notifications",
            default="1",
            subtitle="Show a message when apps access text you have copied",
        ),
        Toggle("Show passwords", "system/show_password", default="1"),
    )


class SecuritySettings(Page):
    name = ".Settings$SecuritySettingsActivity"
    title = "Security"
    items = (
        Heading("Device security"),
        Toggle("Google Play Protect", "global/package_verifier_enable", default="1", subtitle="Scans apps for threats"),
        Toggle("Find My Device", "secure/find_my_device_enabled", default="1"),
        Toggle("Lock instantly with power button", "secure/power_button_instantly_locks", default="1"),
    )


class LocationSettings(Page):
    name = ".Settings$LocationSettingsActivity"
    title = "Location"
    items = (
        Toggle("Use location", "secure/location_mode", default="3", on="3"),
        Heading("Location services"),
        Toggle("Wi-Fi scanning", "global/wifi_scan_always_enabled"),
        Toggle("Bluetooth scanning", "global/ble_scan_always_enabled"),
    )


class GestureSettings(Page):
    name = ".Settings$GestureSettingsActivity"
    title = "Gestures"
    items = (
        Toggle(
            "Quickly open camera",
            "secure/camera_double_tap_power_gesture_disabled",
            on="0",
            off="1",
            subtitle="Press the power button twice",
        ),
        LIFT_TO_CHECK,
        Toggle("Tap to check phone", "secure/doze_pulse_on_double_tap", default="1"),
        Toggle("One-handed mode", "secure/one_handed_mode_enabled"),
    )


class DataSaverSettings(Page):
    name = ".Settings$DataSaverSettingsActivity"
    title = "Data Saver"
    items = (
        Toggle(
            "Use Data Saver",
            "global/data_saver_enabled",
            subtitle="Prevents some apps from using data in the background",
        ),
    )


class HotspotSettings(Page):
    name = ".Settings$TetherSettingsActivity"
    title = "Hotspot & tethering"
    items = (
        Toggle("Wi-Fi hotspot", "global/wifi_ap_enabled", subtitle="Share internet with other devices"),
        Toggle("Bluetooth tethering", "global/bluetooth_tethering_enabled"),
    )


class BatterySettings(Page):
    name = ".Settings$PowerUsageSummaryActivity"
    title = "Battery"
    items = (
        Toggle("Use Battery Saver", "global/low_power", subtitle="Turns on dark theme and limits background activity"),
        Heading("Preferences"),
        Toggle(
            "Adaptive Battery",
            "global/adaptive_battery_management_enabled",
            default="1",
            subtitle="Extends battery life based on your phone use",
        ),
        Toggle(
            "Battery percentage",
            "system/status_bar_show_battery_percent",
            subtitle="Show battery percentage in status bar",
        ),
    )


class DeveloperSettings(Page):
    name = ".Settings$DevelopmentSettingsDashboardActivity"
    title = "Developer options"
    items = (
        Toggle("Use developer options", "global/development_settings_enabled"),
        Heading("Debugging"),
        Toggle(
            "Stay awake", "global/stay_on_while_plugged_in", on="7", subtitle="Screen will never sleep while charging"
        ),
        Toggle("USB debugging", "global/adb_enabled", default="1", subtitle="Debug mode when USB is connected"),
        Heading("Input"),
        Toggle("Show taps", "system/show_touches", subtitle="Show visual feedback for taps"),
        Toggle("Pointer location", "system/pointer_location", subtitle="Screen overlay showing current touch data"),
    )


class LockScreenSettings(Page):
    name = ".Settings$LockScreenSettingsActivity"
    title = "Lock screen"
    items = (
        Heading("When to show"),
        Toggle("Always show time and info", "secure/doze_always_on", subtitle="Increased battery usage"),
        LIFT_TO_CHECK,
    )


PAGES: tuple[type[Page], ...] = (
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
    LockScreenSettings,
)
