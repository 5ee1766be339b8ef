"""Settings: `com.android.settings`, its main list, its search, and the intents that lead to its pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import writer
from rlfactory.emulators.simulator.apps.kit.rows import empty_state, row, search_bar_title, search_pill, slug
from rlfactory.emulators.simulator.apps.settings import about, apps, devices, display, network, time
from rlfactory.emulators.simulator.apps.settings.page import Page, Setting, Words, words
from rlfactory.emulators.simulator.apps.settings.switches import SWITCHES
from rlfactory.emulators.simulator.view import widgets as ui


@dataclass(frozen=True)
class Section:
    """An entry of the main list."""

    title: str
    subtitle: Words
    icon: str
    color: str
    page: type[Activity]

    def widget(self, system: System) -> ui.Widget:
        return ui.ListItem(
            key=slug(self.title),
            title=self.title,
            subtitle=words(self.subtitle, system),
            leading=ui.Avatar(icon=self.icon, color=self.color, size=40),
            on_tap=partial(system.start, self.page),
        )


def _location(system: System) -> str:
    return "On" if system.settings.flag("secure", "location_mode") else "Off"


SECTIONS = (
    Section("Network & internet", "Wi-Fi, hotspot, airplane mode", "wifi", "#1A73E8", network.NetworkDashboard),
    Section("Connected devices", "Bluetooth, pairing", "devices", "#1E8E3E", devices.ConnectedDevices),
    Section("Apps", "Recent apps, all apps", "apps", "#E8710A", apps.ManageApplications),
    Section("Notifications", "Notification history, bubbles", "bell", "#D93025", SWITCHES["Notifications"]),
    Section("Battery", "100%", "battery", "#12B5CB", SWITCHES["Battery"]),
    Section("Storage", about.storage_summary, "harddisk", "#9334E6", about.StorageSettings),
    Section("Sound & vibration", "Volume, haptics, Do Not Disturb", "volume-high", "#E52592", display.SoundSettings),
    Section("Display", "Dark theme, font size, brightness", "brightness-6", "#F9AB00", display.DisplaySettings),
    Section("Wallpaper & style", "Themed icons, dark theme", "palette", "#C5221F", SWITCHES["Wallpaper & style"]),
    Section("Accessibility", "Display, interaction, audio", "human", "#1A73E8", SWITCHES["Accessibility"]),
    Section("Security", "Play Protect, device security", "lock", "#188038", SWITCHES["Security"]),
    Section("Privacy", "Permissions, camera and microphone", "eye", "#4285F4", SWITCHES["Privacy"]),
    Section("Location", _location, "map-marker", "#F29900", SWITCHES["Location"]),
    Section("System", "Languages, gestures, time", "cellphone-cog", "#5F6368", about.SystemSettings),
    Section("About phone", devices.device_name, "cellphone-information", "#80868B", about.AboutPhone),
)


class MainSettings(Activity):
    """The list of all sections."""

    name = ".Settings"

    def build(self, system: System) -> ui.Widget:
        to_search = partial(system.start, SearchSettings)
        search = search_pill("search_action_bar", "Search settings", to_search, padding=(16, 4, 16, 12))
        rows = (search, *(entry.widget(system) for entry in SECTIONS), ui.Spacer(height=24))
        body = ui.Scroll(key="main_content_scrollable_container", children=rows, height="fill")
        return ui.Scaffold(app_bar=ui.AppBar(title="Settings", large=True), body=body)


SEARCHABLE: tuple[tuple[str, str, type[Activity]], ...] = (
    *((entry.title, "Settings", entry.page) for entry in SECTIONS),
    ("Wi-Fi", "Network & internet > Internet", network.WifiSettings),
    ("Internet", "Network & internet", network.WifiSettings),
    ("Airplane mode", "Network & internet", network.AirplaneModeSettings),
    ("Hotspot & tethering", "Network & internet", SWITCHES["Hotspot & tethering"]),
    ("Bluetooth", "Connected devices > Connection preferences", devices.BluetoothSettings),
    ("NFC", "Connected devices > Connection preferences", devices.ConnectionPreferences),
    ("Brightness level", "Display", display.DisplaySettings),
    ("Dark theme", "Display", display.DisplaySettings),
    ("Screen timeout", "Display", display.DisplaySettings),
    ("Auto-rotate screen", "Display", display.DisplaySettings),
    ("Font size", "Display > Display size and text", display.FontSizeSettings),
    ("Media volume", "Sound & vibration", display.SoundSettings),
    ("Do Not Disturb", "Sound & vibration", display.SoundSettings),
    ("Battery Saver", "Battery", SWITCHES["Battery"]),
    ("Date & time", "System", time.DateTimeSettings),
    ("Languages", "System > Languages & input", about.LanguageSettings),
    ("Gestures", "System", SWITCHES["Gestures"]),
    ("Device name", "About phone", about.AboutPhone),
    ("Model", "About phone", about.AboutPhone),
    ("Android version", "About phone", about.AboutPhone),
    ("Build number", "About phone", about.AboutPhone),
)
"""What the search finds: title, where it is, page."""


def _bare(text: str) -> str:
    """Return what a search compares: "wifi" finds "Wi-Fi"."""
    return "".join(c for c in text.casefold() if c.isalnum())


class SearchSettings(Activity):
    name = ".search.SearchResultTrampoline"
    query: str = ""

    def build(self, system: System) -> ui.Widget:
        wanted = [_bare(word) for word in self.query.split()]
        found = [entry for entry in SEARCHABLE if wanted and all(word in _bare(entry[0]) for word in wanted)]
        results: tuple[ui.Widget, ...] = tuple(
            row("search_result", title, subtitle=place, on_tap=partial(system.start, target))
            for title, place, target in found
        )
        if wanted and not results:
            results = (empty_state("magnify-close", "No results"),)
        return ui.Scaffold(
            app_bar=search_bar_title("Search settings", self.query, writer(self, "query"), system.back),
            body=ui.Scroll(key="search_results", children=results, height="fill"),
        )


class _Settings(App):
    def furnish(self, system: System) -> None:
        """Give everything that is chosen a value, so that choosing something and taking it back leaves no trace."""
        for page in self.activities:
            for item in page.items if issubclass(page, Page) else ():
                if isinstance(item, Setting):
                    item.write(system, item.value(system) or item.default)
        for app in system.apps():
            for setting, default in apps.APP_SETTINGS.items():
                system.settings.put("secure", f"{setting}:{app.package}", default)
        network.WifiState(system).connect(network.NETWORKS[0].ssid)


SETTINGS = _Settings(
    package="com.android.settings",
    label="Settings",
    icon="cog",
    color="#5F6368",
    activities=(
        MainSettings,
        SearchSettings,
        *network.PAGES,
        *devices.PAGES,
        *apps.PAGES,
        *display.PAGES,
        *about.PAGES,
        *SWITCHES.values(),
    ),
    version_name="13",
    version_code=33,
    filters={
        "android.settings.SETTINGS": MainSettings,
        "android.settings.WIFI_SETTINGS": network.WifiSettings,
        "android.settings.WIRELESS_SETTINGS": network.NetworkDashboard,
        "android.settings.AIRPLANE_MODE_SETTINGS": network.AirplaneModeSettings,
        "android.settings.BLUETOOTH_SETTINGS": devices.BluetoothSettings,
        "android.settings.DISPLAY_SETTINGS": display.DisplaySettings,
        "android.settings.SOUND_SETTINGS": display.SoundSettings,
        "android.settings.DATE_SETTINGS": time.DateTimeSettings,
        "android.settings.DEVICE_INFO_SETTINGS": about.AboutPhone,
        "android.settings.INTERNAL_STORAGE_SETTINGS": about.StorageSettings,
        "android.settings.LOCATION_SOURCE_SETTINGS": SWITCHES["Location"],
        "android.settings.LOCALE_SETTINGS": about.LanguageSettings,
        "android.settings.ACCESSIBILITY_SETTINGS": SWITCHES["Accessibility"],
        "android.settings.SECURITY_SETTINGS": SWITCHES["Security"],
        "android.settings.PRIVACY_SETTINGS": SWITCHES["Privacy"],
        "android.settings.NOTIFICATION_SETTINGS": SWITCHES["Notifications"],
        "android.settings.BATTERY_SAVER_SETTINGS": SWITCHES["Battery"],
        "android.settings.APPLICATION_DEVELOPMENT_SETTINGS": SWITCHES["Developer options"],
        "android.settings.APPLICATION_SETTINGS": apps.ManageApplications,
        "android.settings.MANAGE_APPLICATIONS_SETTINGS": apps.ManageApplications,
        "android.settings.APPLICATION_DETAILS_SETTINGS package:": apps.AppInfo,
        "android.settings.MANAGE_APP_ALL_FILES_ACCESS_PERMISSION package:": apps.AllFilesAccess,
        "android.intent.action.POWER_USAGE_SUMMARY": SWITCHES["Battery"],
    },
)
