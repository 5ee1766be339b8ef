"""Settings: network and internet, Wi-Fi."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import (
    choice_dialog,
    main_switch,
    note,
    page,
    prompt_dialog,
    row,
    section,
    switch_row,
)
from rlfactory.emulators.simulator.apps.kit.preferences import Preferences
from rlfactory.emulators.simulator.apps.settings.toggle_pages import DataSaverSettings, HotspotSettings
from rlfactory.emulators.simulator.view.widgets import (
    Avatar,
    Callback,
    Column,
    Dialog,
    Divider,
    Icon,
    ListItem,
    Row,
    Text,
    Widget,
)

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


def _network_icon(network: Network) -> Widget:
    return Icon(icon=f"wifi-strength-{network.bars}", color="on_surface")


@dataclass(kw_only=True)
class WifiSettings(Activity):
    """The Internet page: the Wi-Fi switch and the networks in range."""

    name: ClassVar[str] = ".Settings$WifiSettingsActivity"
    asked: str = ""
    """The network whose password is being asked for."""
    password: str = ""

    def build(self, system: System) -> Widget:
        wifi = WifiState(system)
        children: list[Widget] = [switch_row("wifi", "Wi-Fi", wifi.on, system.set_wifi)]
        if wifi.on:
            current = next((network for network in NETWORKS if network.ssid == wifi.connected), None)
            if current:
                children.append(self._connected(system, current))
            children.extend(self._network(system, network) for network in NETWORKS if network is not current)
        else:
            children.append(note("To see available networks, turn Wi-Fi on."))
        children.append(Divider())
        saved = sum(wifi.saved(network.ssid) for network in NETWORKS)
        children.append(
            row(
                "saved_networks",
                "Saved networks",
                subtitle=f"{saved} network{'s' if saved != 1 else ''}",
                icon="wifi-star",
                on_tap=lambda: system.start(SavedNetworks),
            )
        )
        return page(system, "Internet", children)

    def _connected(self, system: System, network: Network) -> Widget:
        item = ListItem(
            key="connected_network",
            title=network.ssid,
            subtitle="Connected",
            leading=_network_icon(network),
            trailing=Icon(icon="cog-outline"),
            on_tap=lambda: system.start(NetworkDetails, Intent(data=network.ssid)),
            background="secondary_container",
            radius=24,
        )
        return Column(children=(item,), padding=(16, 4, 16, 8))

    def _network(self, system: System, network: Network) -> Widget:
        saved = WifiState(system).saved(network.ssid)
        return ListItem(
            title=network.ssid,
            subtitle="Saved" if saved else "",
            leading=_network_icon(network),
            trailing=Icon(icon="lock-outline", description="Secured") if network.secured else None,
            on_tap=lambda: self._choose(system, network),
        )

    def _choose(self, system: System, network: Network) -> None:
        if network.secured and not WifiState(system).saved(network.ssid):
            self.asked, self.password = network.ssid, ""
        else:
            WifiState(system).connect(network.ssid)

    def dialog(self, system: System) -> Dialog | None:
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
            on_change=self._type,
            on_ok=lambda: self._connect(system),
            on_cancel=self._cancel,
        )

    def _type(self, text: str) -> None:
        self.password = text

    def _connect(self, system: System) -> None:
        WifiState(system).connect(self.asked)
        self._cancel()

    def _cancel(self) -> None:
        self.asked, self.password = "", ""


@dataclass(kw_only=True)
class SavedNetworks(Activity):
    """Networks whose password the phone knows."""

    name: ClassVar[str] = ".Settings$SavedAccessPointsSettingsActivity"

    def build(self, system: System) -> Widget:
        wifi = WifiState(system)
        saved = [network for network in NETWORKS if wifi.saved(network.ssid)]
        rows: list[Widget] = [
            ListItem(title=network.ssid, leading=_network_icon(network), on_tap=_open_details(system, network.ssid))
            for network in saved
        ]
        return page(system, "Saved networks", rows or [note("No saved networks.")])


def _open_details(system: System, ssid: str) -> Callback:
    return lambda: system.start(NetworkDetails, Intent(data=ssid))


@dataclass(kw_only=True)
class NetworkDetails(Activity):
    """One network: forget, disconnect or connect."""

    name: ClassVar[str] = ".Settings$WifiDetailsSettingsActivity"

    def build(self, system: System) -> Widget:
        ssid = self.intent.data
        network = next((network for network in NETWORKS if network.ssid == ssid), NETWORKS[0])
        wifi = WifiState(system)
        connected = wifi.connected == ssid
        head = Column(
            children=(
                Avatar(icon=f"wifi-strength-{network.bars}", color="primary", size=56),
                Text(text=ssid, style="title_large", text_align="center"),
                Text(text="Connected" if connected else "Saved", color="on_surface_variant", text_align="center"),
            ),
            gap=8,
            align="center",
            width="fill",
            padding=(24, 16, 24, 16),
        )
        link = (
            _action("disconnect", "close-circle-outline", "Disconnect", wifi.disconnect)
            if connected
            else _action("connect", "wifi", "Connect", lambda: wifi.connect(ssid))
        )
        actions = Row(
            children=(_action("forget", "delete-outline", "Forget", lambda: self._forget(system)), link),
            gap=8,
            width="fill",
            padding=(16, 0, 16, 16),
        )
        strength = ("", "Poor", "Fair", "Good", "Excellent")[network.bars]
        security = "WPA2-Personal" if network.secured else "None"
        facts = (
            row("signal_strength", "Signal strength", subtitle=strength, icon=f"wifi-strength-{network.bars}"),
            row("frequency", "Frequency", subtitle="5 GHz" if network.bars == 4 else "2.4 GHz", icon="radio-tower"),
            row("security", "Security", subtitle=security, icon="lock-outline"),
            *((row("ip_address", "IP address", subtitle="10.0.2.16", icon="ip-network-outline"),) if connected else ()),
        )
        return page(system, "Network details", (head, actions, Divider(), *facts), large=False)

    def _forget(self, system: System) -> None:
        WifiState(system).forget(self.intent.data)
        system.back()


def _action(key: str, icon: str, text: str, on_tap: Callback) -> Widget:
    return Column(
        key=key,
        children=(Icon(icon=icon, color="primary"), Text(text=text, style="label_large", color="primary")),
        gap=4,
        align="center",
        weight=1,
        padding=(8, 12, 8, 12),
        radius=16,
        on_tap=on_tap,
    )


@dataclass(kw_only=True)
class NetworkDashboard(Activity):
    """Network & internet."""

    name: ClassVar[str] = ".Settings$NetworkDashboardActivity"
    choosing: bool = False

    def build(self, system: System) -> Widget:
        airplane = system.settings.flag("global", "airplane_mode_on")
        mode = dict(PRIVATE_DNS)[system.settings.get("global", "private_dns_mode", "opportunistic")]
        return page(
            system,
            "Network & internet",
            (
                row(
                    "internet",
                    "Internet",
                    subtitle=internet_summary(system),
                    icon="wifi",
                    on_tap=lambda: system.start(WifiSettings),
                ),
                switch_row("airplane_mode", "Airplane mode", airplane, system.set_airplane_mode, icon="airplane"),
                row(
                    "hotspot_tethering",
                    "Hotspot & tethering",
                    icon="access-point",
                    subtitle="On" if system.settings.flag("global", "wifi_ap_enabled") else "Off",
                    on_tap=lambda: system.start(HotspotSettings),
                ),
                row(
                    "data_saver",
                    "Data Saver",
                    icon="swap-vertical-circle-outline",
                    subtitle="On" if system.settings.flag("global", "data_saver_enabled") else "Off",
                    on_tap=lambda: system.start(DataSaverSettings),
                ),
                row("private_dns", "Private DNS", subtitle=mode, icon="dns-outline", on_tap=self._choose),
            ),
        )

    def dialog(self, system: System) -> Dialog | None:
        if not self.choosing:
            return None
        current = system.settings.get("global", "private_dns_mode", "opportunistic")
        return choice_dialog(
            "Select Private DNS mode", PRIVATE_DNS, current, lambda mode: self._set_dns(system, mode), self._close
        )

    def _choose(self) -> None:
        self.choosing = True

    def _close(self) -> None:
        self.choosing = False

    def _set_dns(self, system: System, mode: str) -> None:
        system.settings.put("global", "private_dns_mode", mode)
        self.choosing = False


PRIVATE_DNS = (("off", "Off"), ("opportunistic", "Automatic"))


@dataclass(kw_only=True)
class AirplaneModeSettings(Activity):
    """What `android.settings.AIRPLANE_MODE_SETTINGS` opens."""

    name: ClassVar[str] = ".Settings$AirplaneModeSettingsActivity"

    def build(self, system: System) -> Widget:
        on = system.settings.flag("global", "airplane_mode_on")
        return page(
            system,
            "Airplane mode",
            (
                main_switch("airplane_mode", "Use airplane mode", on, system.set_airplane_mode),
                section("About"),
                note("Airplane mode turns off Wi-Fi, Bluetooth and the mobile network."),
            ),
        )


NETWORK_PAGES: tuple[type[Activity], ...] = (
    NetworkDashboard,
    WifiSettings,
    SavedNetworks,
    NetworkDetails,
    AirplaneModeSettings,
    HotspotSettings,
    DataSaverSettings,
)
