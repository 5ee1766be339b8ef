"""Settings: `com.android.settings`, its main list, its search, and the intents that lead to its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import empty_state, round_row, row, search_bar_title, slug
from rlfactory.emulators.simulator.apps.settings.about import (
    ABOUT_PAGES,
    SPELL_CHECKER,
    AboutPhone,
    LanguageSettings,
    StorageSettings,
    SystemSettings,
    storage_summary,
)
from rlfactory.emulators.simulator.apps.settings.apps import APP_PAGES, AllFilesAccess, AppInfo, ManageApplications
from rlfactory.emulators.simulator.apps.settings.devices import (
    DEVICE_PAGES,
    NFC,
    BluetoothSettings,
    ConnectedDevices,
    ConnectionPreferences,
    device_name,
)
from rlfactory.emulators.simulator.apps.settings.display import (
    ADAPTIVE_BRIGHTNESS,
    AUTO_ROTATE,
    DISPLAY_PAGES,
    DO_NOT_DISTURB,
    LOCK_SCREEN_TOGGLES,
    NIGHT_LIGHT,
    SOUND_EFFECTS,
    VIBRATE,
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
from rlfactory.emulators.simulator.apps.settings.time import AUTO_TIME, AUTO_ZONE, DateTimeSettings
from rlfactory.emulators.simulator.apps.settings.toggle_pages import (
    TOGGLE_PAGES,
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
from rlfactory.emulators.simulator.view.widgets import (
    AppBar,
    Callback,
    Column,
    Icon,
    Row,
    Scaffold,
    Scroll,
    Spacer,
    Text,
    Widget,
)


@dataclass(frozen=True, kw_only=True)
class Section:
    """An entry of the main list."""

    title: str
    subtitle: str | Callable[[System], str]
    icon: str
    color: str
    page: type[Activity]


def _location(system: System) -> str:
    return "On" if system.settings.flag("secure", "location_mode") else "Off"


SECTIONS = (
    Section(
        title="Network & internet",
        subtitle="Wi-Fi, hotspot, airplane mode",
        icon="wifi",
        color="#1A73E8",
        page=NetworkDashboard,
    ),
    Section(
        title="Connected devices", subtitle="Bluetooth, pairing", icon="devices", color="#1E8E3E", page=ConnectedDevices
    ),
    Section(title="Apps", subtitle="Recent apps, all apps", icon="apps", color="#E8710A", page=ManageApplications),
    Section(
        title="Notifications",
        subtitle="Notification history, bubbles",
        icon="bell",
        color="#D93025",
        page=NotificationSettings,
    ),
    Section(title="Battery", subtitle="100%", icon="battery", color="#12B5CB", page=BatterySettings),
    Section(title="Storage", subtitle=storage_summary, icon="harddisk", color="#9334E6", page=StorageSettings),
    Section(
        title="Sound & vibration",
        subtitle="Volume, haptics, Do Not Disturb",
        icon="volume-high",
        color="#E52592",
        page=SoundSettings,
    ),
    Section(
        title="Display",
        subtitle="Dark theme, font size, brightness",
        icon="brightness-6",
        color="#F9AB00",
        page=DisplaySettings,
    ),
    Section(
        title="Wallpaper & style",
        subtitle="Themed icons, dark theme",
        icon="palette",
        color="#C5221F",
        page=WallpaperSettings,
    ),
    Section(
        title="Accessibility",
        subtitle="Display, interaction, audio",
        icon="human",
        color="#1A73E8",
        page=AccessibilitySettings,
    ),
    Section(
        title="Security", subtitle="Play Protect, device security", icon="lock", color="#188038", page=SecuritySettings
    ),
    Section(
        title="Privacy",
        subtitle="Permissions, camera and microphone",
        icon="eye",
        color="#4285F4",
        page=PrivacySettings,
    ),
    Section(title="Location", subtitle=_location, icon="map-marker", color="#F29900", page=LocationSettings),
    Section(
        title="System", subtitle="Languages, gestures, time", icon="cellphone-cog", color="#5F6368", page=SystemSettings
    ),
    Section(title="About phone", subtitle=device_name, icon="cellphone-information", color="#80868B", page=AboutPhone),
)


@dataclass(kw_only=True)
class MainSettings(Activity):
    """The list of all sections."""

    name: ClassVar[str] = ".Settings"

    def build(self, system: System) -> Widget:
        search = Row(
            key="search_action_bar",
            description="Search settings",
            children=(
                Icon(icon="magnify"),
                Text(text="Search settings", color="on_surface_variant", weight=1),
            ),
            gap=16,
            padding=(20, 0, 16, 0),
            height=52,
            width="fill",
            background="surface_container_high",
            radius=26,
            on_tap=lambda: system.start(SearchSettings),
        )
        rows = [
            round_row(
                slug(entry.title),
                entry.title,
                subtitle=entry.subtitle if isinstance(entry.subtitle, str) else entry.subtitle(system),
                icon=entry.icon,
                color=entry.color,
                on_tap=_opener(system, entry.page),
            )
            for entry in SECTIONS
        ]
        return Scaffold(
            app_bar=AppBar(title="Settings", large=True),
            body=Scroll(
                key="main_content_scrollable_container",
                children=(Column(children=(search,), padding=(16, 4, 16, 12)), *rows, Spacer(height=24)),
                height="fill",
            ),
        )


def _opener(system: System, target: type[Activity]) -> Callback:
    return lambda: system.start(target)


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
        words = [_bare(word) for word in self.query.split()]
        found = [entry for entry in SEARCHABLE if words and all(word in _bare(entry[0]) for word in words)]
        results: tuple[Widget, ...] = tuple(
            row("search_result", title, subtitle=place, on_tap=_opener(system, target))
            for title, place, target in found
        )
        if words and not results:
            results = (empty_state("magnify-close", "No results"),)
        return Scaffold(
            app_bar=search_bar_title("Search settings", self.query, self._search, system.back),
            body=Scroll(key="search_results", children=results, height="fill"),
        )

    def _search(self, text: str) -> None:
        self.query = text


class _Settings(App):
    def furnish(self, system: System) -> None:
        """Give every switch a value, so that turning one on and off again leaves no trace."""
        own = (ADAPTIVE_BRIGHTNESS, NIGHT_LIGHT, AUTO_ROTATE, DO_NOT_DISTURB, VIBRATE, NFC, AUTO_TIME, AUTO_ZONE)
        on_pages = [toggle for page in TOGGLE_PAGES for _, toggles in page.groups for toggle in toggles]
        for toggle in (*own, *LOCK_SCREEN_TOGGLES, *SOUND_EFFECTS, SPELL_CHECKER, *on_pages):
            if not system.settings.get(toggle.namespace, toggle.setting):
                system.settings.put(toggle.namespace, toggle.setting, toggle.default)


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
        *(page for page in TOGGLE_PAGES if page not in NETWORK_PAGES),
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
