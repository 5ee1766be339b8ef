"""Settings: network and internet, Wi-Fi."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import prompt_dialog
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.kit.rows import icon_tile, main_switch, note, plural, row, switch_row
from rlfactory.emulators.simulator.apps.settings.page import Choice, Heading, Item, Link, Note, Page
from rlfactory.emulators.simulator.apps.settings.switches import SWITCHES
from rlfactory.emulators.simulator.view import widgets as ui

MIN_PASSWORD_LENGTH = 8


@dataclass(frozen=True, kw_only=True)
class Network:
    """A Wi-Fi network in range."""

    ssid: str
    bars: int
    """Signal strength, 1 to 4."""
    secured: bool = True


NETWORKS = (
    Network(ssid="AndroidWifi", bars=4, secured=False),
    Network(ssid="Home-5G", bars=4),
    Network(ssid="CoffeeHouse Guest", bars=3, secured=False),
    Network(ssid="Neighbors-2.4", bars=2),
    Network(ssid="Printer-Direct", bars=1),
)


class WifiState:
    """Which network is in use and which are saved; kept in a file, as the Wi-Fi service keeps it."""

    def __init__(self, system: System) -> None:
        self._prefs = Preferences(system, "/data/misc/wifi/WifiConfigStore.xml")
        self.on = system.settings.flag("global", "wifi_on")

    @property
    def connected(self) -> str:
        """The SSID in use, "" for none."""
        return self._prefs.get("connected", NETWORKS[0].ssid) if self.on else ""

    def saved(self, ssid: str) -> bool:
        return self._prefs.get(f"saved:{ssid}", ssid == NETWORKS[0].ssid)

    def connect(self, ssid: str) -> None:
        self._prefs.put(connected=ssid)
        self._prefs.put(**{f"saved:{ssid}": True})

    def disconnect(self) -> None:
        self._prefs.put(connected="")

    def forget(self, ssid: str) -> None:
        self._prefs.put(**{f"saved:{ssid}": False})
        if self._prefs.get("connected", NETWORKS[0].ssid) == ssid:
            self.disconnect()


def internet_summary(system: System) -> str:
    wifi = WifiState(system)
    if wifi.on:
        return wifi.connected or "Wi-Fi on, not connected"
    return "Airplane mode is on" if system.settings.flag("global", "airplane_mode_on") else "Wi-Fi is off"


def _on_or_off(setting: str) -> Callable[[System], str]:
    return lambda system: "On" if system.settings.flag("global", setting) else "Off"


def _row(network: Network, on_tap: ui.Callback, **look: Any) -> ui.ListItem:
    icon = ui.Icon(icon=f"wifi-strength-{network.bars}", color="on_surface")
    return ui.ListItem(title=network.ssid, leading=icon, on_tap=on_tap, **look)


def _open_details(system: System, network: Network) -> ui.Callback:
    return lambda: system.start(NetworkDetails, Intent(data=network.ssid))


class WifiSettings(Page):
    """The Internet page: the Wi-Fi switch and the networks in range."""

    name = ".Settings$WifiSettingsActivity"
    title = "Internet"
    asked: str = ""
    """The network whose password is being asked for."""
    password: str = ""

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        wifi = WifiState(system)
        yield switch_row("wifi", "Wi-Fi", wifi.on, system.set_wifi)
        if not wifi.on:
            yield note("To see available networks, turn Wi-Fi on.")
        current = [network for network in NETWORKS if network.ssid == wifi.connected]
        for network in current:
            yield self._connected(system, network)
        for network in NETWORKS if wifi.on else ():
            if network not in current:
                yield self._network(wifi, network)
        yield ui.Divider()
        saved = plural(sum(wifi.saved(network.ssid) for network in NETWORKS), "network")
        yield Link("Saved networks", SavedNetworks, subtitle=saved, icon="wifi-star")

    def _connected(self, system: System, network: Network) -> ui.Widget:
        item = _row(
            network,
            _open_details(system, network),
            key="connected_network",
            subtitle="Connected",
            trailing=ui.Icon(icon="cog-outline"),
            background="secondary_container",
            radius=24,
        )
        return ui.Column(children=(item,), padding=(16, 4, 16, 8))

    def _network(self, wifi: WifiState, network: Network) -> ui.Widget:
        saved = wifi.saved(network.ssid)
        connect, ask = partial(wifi.connect, network.ssid), setter(self, asked=network.ssid, password="")
        lock = ui.Icon(icon="lock-outline", description="Secured") if network.secured else None
        on_tap = ask if network.secured and not saved else connect
        return _row(network, on_tap, subtitle="Saved" if saved else "", trailing=lock)

    def dialog(self, system: System) -> ui.Dialog | None:
        if not self.asked:
            return None
        return prompt_dialog(
            self.asked,
            self.password,
            key="password",
            hint="Password",
            password=True,
            ok="Connect",
            enabled=len(self.password) >= MIN_PASSWORD_LENGTH,
            on_change=writer(self, "password"),
            on_ok=lambda: self._connect(system),
            on_cancel=setter(self, asked="", password=""),
        )

    def _connect(self, system: System) -> None:
        WifiState(system).connect(self.asked)
        self.asked = self.password = ""


class SavedNetworks(Page):
    """Networks whose password the phone knows."""

    name = ".Settings$SavedAccessPointsSettingsActivity"
    title = "Saved networks"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        wifi = WifiState(system)
        saved = [network for network in NETWORKS if wifi.saved(network.ssid)]
        return [_row(each, _open_details(system, each)) for each in saved] or [note("No saved networks.")]


class NetworkDetails(Page):
    """One network, the intent's data: forget, disconnect or connect."""

    name = ".Settings$WifiDetailsSettingsActivity"
    title = "Network details"
    large = False

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        ssid, wifi = self.intent.data, WifiState(system)
        network = next((network for network in NETWORKS if network.ssid == ssid), NETWORKS[0])
        connected = wifi.connected == ssid
        icon = f"wifi-strength-{network.bars}"
        yield ui.Column(
            children=(
                ui.Avatar(icon=icon, color="primary", size=56),
                ui.Text(text=ssid, style="title_large", text_align="center"),
                ui.Text(text="Connected" if connected else "Saved", color="on_surface_variant", text_align="center"),
            ),
            gap=8,
            align="center",
            width="fill",
            padding=(24, 16, 24, 16),
        )
        forget = _action("delete-outline", "Forget", lambda: self._forget(system))
        link = _action("wifi", "Connect", lambda: wifi.connect(ssid))
        if connected:
            link = _action("close-circle-outline", "Disconnect", wifi.disconnect)
        yield ui.Row(children=(forget, link), gap=8, width="fill", padding=(16, 0, 16, 16))
        yield ui.Divider()
        strength = ("", "Poor", "Fair", "Good", "Excellent")[network.bars]
        yield row("signal_strength", "Signal strength", subtitle=strength, icon=icon)
        yield row("frequency", "Frequency", subtitle="5 GHz" if network.bars == 4 else "2.4 GHz", icon="radio-tower")
        security = "WPA2-Personal" if network.secured else "None"
        yield row("security", "Security", subtitle=security, icon="lock-outline")
        if connected:
            yield row("ip_address", "IP address", subtitle="10.0.2.16", icon="ip-network-outline")

    def _forget(self, system: System) -> None:
        WifiState(system).forget(self.intent.data)
        system.back()


def _action(icon: str, text: str, on_tap: ui.Callback) -> ui.Widget:
    return icon_tile(text.lower(), icon, text, on_tap, gap=4, padding=(8, 12, 8, 12))


class NetworkDashboard(Page):
    """Network & internet."""

    name = ".Settings$NetworkDashboardActivity"
    title = "Network & internet"
    items = (
        Link("Internet", WifiSettings, subtitle=internet_summary, icon="wifi"),
        Link(
            "Hotspot & tethering",
            SWITCHES["Hotspot & tethering"],
            subtitle=_on_or_off("wifi_ap_enabled"),
            icon="access-point",
        ),
        Link(
            "Data Saver",
            SWITCHES["Data Saver"],
            subtitle=_on_or_off("data_saver_enabled"),
            icon="swap-vertical-circle-outline",
        ),
        Choice(
            "Private DNS",
            "global/private_dns_mode",
            (("off", "Off"), ("opportunistic", "Automatic")),
            default="opportunistic",
            question="Select Private DNS mode",
            icon="dns-outline",
        ),
    )

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        internet, *others = self.items
        airplane = system.settings.flag("global", "airplane_mode_on")
        mode = switch_row("airplane_mode", "Airplane mode", airplane, system.set_airplane_mode, icon="airplane")
        return (internet, mode, *others)


class AirplaneModeSettings(Page):
    """What `android.settings.AIRPLANE_MODE_SETTINGS` opens."""

    name = ".Settings$AirplaneModeSettingsActivity"
    title = "Airplane mode"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        on = system.settings.flag("global", "airplane_mode_on")
        yield main_switch("airplane_mode", "Use airplane mode", on, system.set_airplane_mode)
        yield Heading("About")
        yield Note("Airplane mode turns off Wi-Fi, Bluetooth and the mobile network.")


PAGES: tuple[type[Activity], ...] = (
    NetworkDashboard,
    WifiSettings,
    SavedNetworks,
    NetworkDetails,
    AirplaneModeSettings,
)
