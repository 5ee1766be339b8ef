"""Settings: `com.android.settings`, its main list, its search, and the intents that lead to its pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import writer
from rlfactory.emulators.simulator.apps.kit.rows import empty_state, row, search_bar_title, search_pill, slug
from rlfactory.emulators.simulator.apps.settings.about import (
    ABOUT_PAGES,
    AboutPhone,
    LanguageSettings,
    StorageSettings,
    SystemSettings,
    storage_summary,
)
from rlfactory.emulators.simulator.apps.settings.apps import APP_PAGES, AllFilesAccess, AppInfo, ManageApplications
from rlfactory.emulators.simulator.apps.settings.devices import (
    DEVICE_PAGES,
    BluetoothSettings,
    ConnectedDevices,
    ConnectionPreferences,
    device_name,
)
from rlfactory.emulators.simulator.apps.settings.display import (
    DISPLAY_PAGES,
    DisplaySettings,
    FontSizeSettings,
    SoundSettings,
)
from rlfactory.emulators.simulator.apps.settings.network import (
    NETWORK_PAGES,
    AirplaneModeSettings,
    NetworkDashboard,
    WifiSettings,
)
from rlfactory.emulators.simulator.apps.settings.page import Page, Toggle, Words, words
from rlfactory.emulators.simulator.apps.settings.switches import (
    SWITCH_PAGES,
    AccessibilitySettings,
    BatterySettings,
    DeveloperSettings,
    GestureSettings,
    HotspotSettings,
    LocationSettings,
    NotificationSettings,
    PrivacySettings,
    SecuritySettings,
    WallpaperSettings,
)
from rlfactory.emulators.simulator.apps.settings.time import DateTimeSettings
from rlfactory.emulators.simulator.view.widgets import AppBar, Avatar, ListItem, Scaffold, Scroll, Spacer, Widget


@dataclass(frozen=True)
class Section:
    """An entry of the main list."""

    title: str
    subtitle: Words
    icon: str
    color: str
    page: type[Activity]

    def widget(self, system: System) -> Widget:
        return ListItem(
            key=slug(self.title),
            title=self.title,
            subtitle=words(self.subtitle, system),
            leading=Avatar(icon=self.icon, color=self.color, size=40),
            on_tap=partial(system.start, self.page),
        )


def _location(system: System) -> str:
    return "On" if system.settings.flag("secure", "location_mode") else "Off"


SECTIONS = (
    Section("Network & internet", "Wi-Fi, hotspot, airplane mode", "wifi", "#1A73E8", NetworkDashboard),
    Section("Connected devices", "Bluetooth, pairing", "devices", "#1E8E3E", ConnectedDevices),
    Section("Apps", "Recent apps, all apps", "apps", "#E8710A", ManageApplications),
    Section("Notifications", "Notification history, bubbles", "bell", "#D93025", NotificationSettings),
    Section("Battery", "100%", "battery", "#12B5CB", BatterySettings),
    Section("Storage", storage_summary, "harddisk", "#9334E6", StorageSettings),
    Section("Sound & vibration", "Volume, haptics, Do Not Disturb", "volume-high", "#E52592", SoundSettings),
    Section("Display", "Dark theme, font size, brightness", "brightness-6", "#F9AB00", DisplaySettings),
    Section("Wallpaper & style", "Themed icons, dark theme", "palette", "#C5221F", WallpaperSettings),
    Section("Accessibility", "Display, interaction, audio", "human", "#1A73E8", AccessibilitySettings),
    Section("Security", "Play Protect, device security", "lock", "#188038", SecuritySettings),
    Section("Privacy", "Permissions, camera and microphone", "eye", "#4285F4", PrivacySettings),
    Section("Location", _location, "map-marker", "#F29900", LocationSettings),
    Section("System", "Languages, gestures, time", "cellphone-cog", "#5F6368", SystemSettings),
    Section("About phone", device_name, "cellphone-information", "#80868B", AboutPhone),
)


class MainSettings(Activity):
    """The list of all sections."""

    name = ".Settings"

    def build(self, system: System) -> Widget:
        to_search = partial(system.start, SearchSettings)
        search = search_pill("search_action_bar", "Search settings", to_search, padding=(16, 4, 16, 12))
        rows = (search, *(entry.widget(system) for entry in SECTIONS), Spacer(height=24))
        body = Scroll(key="main_content_scrollable_container", children=rows, height="fill")
        return Scaffold(app_bar=AppBar(title="Settings", large=True), body=body)


SEARCHABLE: tuple[tuple[str, str, type[Activity]], ...] = (
    *((entry.title, "Settings", entry.page) for entry in SECTIONS),
    ("Wi-Fi", "Network & internet > Internet", WifiSettings),
    ("Internet", "Network & internet", WifiSettings),
    ("Airplane mode", "Network & internet", AirplaneModeSettings),
    ("Hotspot & tethering", "Network & internet", HotspotSettings),
    ("Bluetooth", "Connected devices > Connection preferences", BluetoothSettings),
    ("NFC", "Connected devices > Connection preferences", ConnectionPreferences),
    ("Brightness level", "Display", DisplaySettings),
    ("Dark theme", "Display", DisplaySettings),
    ("Screen timeout", "Display", DisplaySettings),
    ("Auto-rotate screen", "Display", DisplaySettings),
    ("Font size", "Display > Display size and text", FontSizeSettings),
    ("Media volume", "Sound & vibration", SoundSettings),
    ("Do Not Disturb", "Sound & vibration", SoundSettings),
    ("Battery Saver", "Battery", BatterySettings),
    ("Date & time", "System", DateTimeSettings),
    ("Languages", "System > Languages & input", LanguageSettings),
    ("Gestures", "System", GestureSettings),
    ("Device name", "About phone", AboutPhone),
    ("Model", "About phone", AboutPhone),
    ("Android version", "About phone", AboutPhone),
    ("Build number", "About phone", AboutPhone),
)
"""What the search finds: title, where it is, page."""


def _bare(text: str) -> str:
    """Return what a search compares: "wifi" finds "Wi-Fi"."""
    return "".join(c for c in text.casefold() if c.isalnum())


@dataclass(kw_only=True)
class SearchSettings(Activity):
    name: ClassVar[str] = ".search.SearchResultTrampoline"
    query: str = ""

    def build(self, system: System) -> Widget:
        wanted = [_bare(word) for word in self.query.split()]
        found = [entry for entry in SEARCHABLE if wanted and all(word in _bare(entry[0]) for word in wanted)]
        results: tuple[Widget, ...] = tuple(
            row("search_result", title, subtitle=place, on_tap=partial(system.start, target))
            for title, place, target in found
        )
        if wanted and not results:
            results = (empty_state("magnify-close", "No results"),)
        return Scaffold(
            app_bar=search_bar_title("Search settings", self.query, writer(self, "query"), system.back),
            body=Scroll(key="search_results", children=results, height="fill"),
        )


class _Settings(App):
    def furnish(self, system: System) -> None:
        """Give every switch a value, so that turning one on and off again leaves no trace."""
        for page in self.activities:
            for item in page.items if issubclass(page, Page) else ():
                if isinstance(item, Toggle):
                    item.write(system, item.value(system) or item.default)


SETTINGS = _Settings(
    package="com.android.settings",
    label="Settings",
    icon="cog",
    color="#5F6368",
    activities=(
        MainSettings,
        SearchSettings,
        *NETWORK_PAGES,
        *DEVICE_PAGES,
        *APP_PAGES,
        *DISPLAY_PAGES,
        *ABOUT_PAGES,
        *SWITCH_PAGES,
    ),
    version_name="13",
    version_code=33,
    filters={
        "android.settings.SETTINGS": MainSettings,
        "android.settings.WIFI_SETTINGS": WifiSettings,
        "android.settings.WIRELESS_SETTINGS": NetworkDashboard,
        "android.settings.AIRPLANE_MODE_SETTINGS": AirplaneModeSettings,
        "android.settings.BLUETOOTH_SETTINGS": BluetoothSettings,
        "android.settings.DISPLAY_SETTINGS": DisplaySettings,
        "android.settings.SOUND_SETTINGS": SoundSettings,
        "android.settings.DATE_SETTINGS": DateTimeSettings,
        "android.settings.DEVICE_INFO_SETTINGS": AboutPhone,
        "android.settings.INTERNAL_STORAGE_SETTINGS": StorageSettings,
        "android.settings.LOCATION_SOURCE_SETTINGS": LocationSettings,
        "android.settings.LOCALE_SETTINGS": LanguageSettings,
        "android.settings.ACCESSIBILITY_SETTINGS": AccessibilitySettings,
        "android.settings.SECURITY_SETTINGS": SecuritySettings,
        "android.settings.PRIVACY_SETTINGS": PrivacySettings,
        "android.settings.NOTIFICATION_SETTINGS": NotificationSettings,
        "android.settings.BATTERY_SAVER_SETTINGS": BatterySettings,
        "android.settings.APPLICATION_DEVELOPMENT_SETTINGS": DeveloperSettings,
        "android.settings.APPLICATION_SETTINGS": ManageApplications,
        "android.settings.MANAGE_APPLICATIONS_SETTINGS": ManageApplications,
        "android.settings.APPLICATION_DETAILS_SETTINGS package:": AppInfo,
        "android.settings.MANAGE_APP_ALL_FILES_ACCESS_PERMISSION package:": AllFilesAccess,
        "android.intent.action.POWER_USAGE_SUMMARY": BatterySettings,
    },
)
