"""Settings: what its switches, sliders and dialogs do to the settings tables, and where its pages are."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.apps.settings.app import SEARCHABLE, SECTIONS, SETTINGS
from rlfactory.emulators.simulator.apps.settings.page import Page, Toggle
from rlfactory.emulators.simulator.machine.settings_tables import NAMESPACES
from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.conftest import Finger

PACKAGE = "com.android.settings"


def setting(phone: Phone, namespace: str, key: str) -> str:
    return phone.state.settings.get(namespace, key)


@pytest.mark.parametrize(
    ("way", "changed", "value", "seen"),
    [
        (("Network & internet", "Internet", "Wi-Fi"), "global/wifi_on", "0", "Saved networks"),
        (("Network & internet", "Internet", "Wi-Fi", "Wi-Fi"), "global/wifi_on", "1", "Connected"),
        (("Network & internet", "Private DNS", "Off"), "global/private_dns_mode", "off", "Private DNS"),
        (("Network & internet", "Airplane mode"), "global/airplane_mode_on", "1", "Airplane mode is on"),
        (("Network & internet", "Airplane mode"), "global/wifi_on", "0", "Airplane mode is on"),
        (("Network & internet", "Airplane mode", "Airplane mode"), "global/wifi_on", "1", "AndroidWifi"),
        (("Connected devices", "Connection preferences", "Bluetooth", "Use Bluetooth"), "global/bluetooth_on", "0", ""),
        (
            ("Display", "Screen timeout", "2 minutes"),
            "system/screen_off_timeout",
            "120000",
            "After 2 minutes of inactivity",
        ),
        (("Display", "Display size and text", "Make larger"), "system/font_scale", "1.15", "Large"),
        (("Sound & vibration", "Phone ringtone", "Helium"), "system/ringtone", "Helium", "Helium"),
    ],
)
def test_a_setting_is_changed_by_the_way_a_person_goes(
    phone: Phone, finger: Finger, way: tuple[str, ...], changed: str, value: str, seen: str
) -> None:
    finger.open(PACKAGE, *way)
    assert setting(phone, *changed.split("/")) == value
    assert not seen or finger.sees(seen)


def test_networks_in_range_are_shown_only_with_wifi_on(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Network & internet", "Internet")
    assert finger.sees("CoffeeHouse Guest")
    finger.tap("Wi-Fi")
    assert not finger.sees("CoffeeHouse Guest")


@pytest.mark.parametrize("mode", ["hostname", ""])
def test_a_page_shows_a_value_that_it_does_not_offer(phone: Phone, finger: Finger, mode: str) -> None:
    phone.state.settings.put("global", "private_dns_mode", mode)
    finger.open(PACKAGE, "Network & internet")
    assert finger.sees("Private DNS", *([mode] if mode else []))


def test_the_brightness_slider_reaches_both_ends_exactly(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Display", "Brightness level")
    track = finger.node(key="brightness_slider").bounds
    phone.tap(track.right - 2, track.center[1])
    assert setting(phone, "system", "screen_brightness") == "255"
    phone.swipe(track.right - 40, track.center[1], track.left, track.center[1], 500)
    assert setting(phone, "system", "screen_brightness") == "1"
    finger.tap("Done")
    assert finger.sees("0%")


def test_dark_theme_changes_the_setting_and_the_picture(phone: Phone, finger: Finger) -> None:
    phone.system.start(SECTIONS[7].page)
    light = phone.rgb().mean()
    finger.tap("Dark theme")
    assert setting(phone, "secure", "ui_night_mode") == "2"
    assert phone.rgb().mean() < light / 2


def test_the_phone_is_renamed(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "About phone", "Device name")
    finger.replace("Blue Pixel")
    finger.tap("OK")
    assert setting(phone, "global", "device_name") == "Blue Pixel"
    assert finger.sees("Blue Pixel")


def test_seven_taps_on_the_build_number_make_a_developer(phone: Phone, finger: Finger) -> None:
    phone.state.settings.put("global", "development_settings_enabled", "0")
    assert phone.system.send(Intent(action="android.settings.DEVICE_INFO_SETTINGS"))
    finger.scroll_to("Build number")
    for _ in range(6):
        finger.tap("Build number")
    assert setting(phone, "global", "development_settings_enabled") == "0"
    finger.tap("Build number")
    assert setting(phone, "global", "development_settings_enabled") == "1"


def test_a_fact_opens_in_full(phone: Phone, finger: Finger) -> None:
    assert phone.system.send(Intent(action="android.settings.DEVICE_INFO_SETTINGS"))
    finger.tap("Model")
    assert "Serial number" in "".join(node.text for node in phone.ui_tree().walk())
    finger.tap("OK")
    assert finger.sees("About phone")


def test_a_secured_network_asks_for_its_password(phone: Phone, finger: Finger) -> None:
    assert phone.system.send(Intent(action="android.settings.WIFI_SETTINGS"))
    finger.tap("Home-5G")
    phone.type_text("short")
    finger.tap("Connect")
    assert finger.sees("Connect"), "a short password must not do"
    phone.type_text("er-than-that")
    finger.tap("Connect", "Home-5G")
    assert finger.sees("Network details")
    finger.tap("Forget")
    assert not finger.sees("Connected")


def test_a_device_is_paired_and_forgotten(phone: Phone, finger: Finger) -> None:
    phone.system.set_bluetooth(False)
    assert phone.system.send(Intent(action="android.settings.BLUETOOTH_SETTINGS"))
    phone.system.start(SECTIONS[1].page)
    finger.tap("Pair new device")
    assert setting(phone, "global", "bluetooth_on") == "1"
    finger.tap("MX Keys", "Pair")
    phone.key("BACK")
    finger.tap("Forget MX Keys", "Forget device")
    assert not finger.sees("MX Keys")


def test_date_and_time_are_set_by_hand(phone: Phone, finger: Finger) -> None:
    assert phone.system.send(Intent(action="android.settings.DATE_SETTINGS"))
    finger.tap("Set time automatically", "Date", "Next month")
    finger.tap(key="day_3")
    finger.tap("OK", "Time")
    finger.tap(key="hour_8")
    finger.tap(key="minute_5")
    finger.tap("OK")
    assert f"{phone.system.now():%Y-%m-%d %H:%M}" == "2023-11-03 08:05"
    finger.tap("Use 24-hour format")
    assert setting(phone, "system", "time_12_24") == "12"
    assert finger.sees("8:05 AM")


def test_the_search_finds_pages(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Search settings")
    phone.type_text("wifi")
    finger.tap(key="search_result")
    assert phone.foreground.endswith("$WifiSettingsActivity")


def test_apps_are_listed_stopped_and_cleared(phone: Phone, finger: Finger) -> None:
    phone.system.open_app("net.gsantner.markor")
    assert phone.system.send(
        Intent(action="android.settings.APPLICATION_DETAILS_SETTINGS", data="package:net.gsantner.markor")
    )
    finger.tap("Force stop", "OK")
    assert "net.gsantner.markor" not in phone.state.packages.processes
    finger.open(PACKAGE, "Apps", "Markor", "Clear storage", "Delete", "Open")
    assert finger.sees("NEXT"), "an app without data starts with its introduction"


def toggles(page: type[Page]) -> list[Toggle]:
    return [item for item in page.items if isinstance(item, Toggle)]


@pytest.mark.parametrize(
    "page",
    [page for page in SETTINGS.activities if issubclass(page, Page) and toggles(page)],
    ids=lambda page: page.__name__,
)
def test_each_switch_of_a_page_turns_on_and_off(phone: Phone, finger: Finger, page: type[Page]) -> None:
    before = {name: phone.state.settings.items(name) for name in NAMESPACES}
    phone.system.start(page)
    for toggle in toggles(page):
        was = toggle.checked(phone.system)
        finger.tap(toggle.title)
        assert toggle.checked(phone.system) != was, toggle.title
        assert finger.node(key=f"{toggle.id}_switch").checked != was
        finger.tap(toggle.title)
    untouched = {("global", "stay_on_while_plugged_in")}  # Its value for "on" is not the one the phone comes with.
    for name, rows in before.items():
        changed = {key for key, _ in set(rows) ^ set(phone.state.settings.items(name))}
        assert {(name, key) for key in changed} <= untouched


@pytest.mark.parametrize("action", sorted(SETTINGS.filters))
def test_every_intent_opens_its_page(phone: Phone, action: str) -> None:
    name, _, scheme = action.partition(" ")
    assert phone.system.send(Intent(action=name, data=f"{scheme}com.android.settings" if scheme else ""))
    assert phone.foreground.startswith(PACKAGE + "/")


def test_all_that_the_search_knows_exists() -> None:
    assert {page for _, _, page in SEARCHABLE} <= set(SETTINGS.activities)
