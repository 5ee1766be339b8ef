"""The rest of Android: logcat, network tools, reboot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import Command, Context

_WLAN: Final = """wlan0     Link encap:Ethernet  HWaddr 02:15:b2:00:00:00
          inet addr:10.0.2.16  Bcast:10.0.2.255  Mask:255.255.255.0
          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1
          RX packets:128 errors:0 dropped:0 overruns:0 frame:0
          TX packets:96 errors:0 dropped:0 overruns:0 carrier:0

"""
_LOOPBACK: Final = """lo        Link encap:Local Loopback
          inet addr:127.0.0.1  Mask:255.0.0.0
          UP LOOPBACK RUNNING  MTU:65536  Metric:1
          RX packets:8 errors:0 dropped:0 overruns:0 frame:0
          TX packets:8 errors:0 dropped:0 overruns:0 carrier:0

"""


def _wifi_on(context: Context) -> bool:
    return context.state.settings.flag("global", "wifi_on")


def _ifconfig(context: Context) -> int:
    names = [arg for arg in context.args if not arg.startswith("-")]
    wanted = names or ["lo", "wlan0"]
    status = 0
    for name in wanted:
        if name == "lo":
            context.out(_LOOPBACK)
        elif name == "wlan0" and _wifi_on(context):
            context.out(_WLAN)
        elif names:
            status = context.fail(f"{name}: No such device")
    return status


def _ip(context: Context) -> int:
    if {"addr", "address", "a"} & set(context.args):
        context.line("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo")
        if _wifi_on(context):
            context.line(
                "2: wlan0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500\n    inet 10.0.2.16/24 scope global wlan0"
            )
    elif {"route", "r"} & set(context.args) and _wifi_on(context):
        context.line("10.0.2.0/24 dev wlan0 proto kernel scope link src 10.0.2.16")
    return 0


def _ping(context: Context) -> int:
    """There is no network behind the phone."""
    hosts = [arg for arg in context.args if not arg.startswith("-") and not arg.isdigit()]
    return context.fail(f"unknown host {hosts[-1] if hosts else ''}", 2)


def _logcat(context: Context) -> int:
    """The log is empty: `-d` prints its heads, a stream ends at once, clearing works."""
    if "-c" not in context.args and "--clear" not in context.args and ("-d" in context.args or "-t" in context.args):
        context.line("--------- beginning of main")
    return 0


def _log(context: Context) -> int:
    return 0


def _reboot(context: Context) -> int:
    """Restart the interface: every app but the home screen ends."""
    navigator = context.phone.navigator
    home = context.state.tasks.home.package
    for package in list(context.state.packages.processes):
        if package != home:
            navigator.force_stop(package)
    for task in context.state.tasks.recents():
        navigator.remove_task(task.id)
    context.state.view.overlay = ""
    navigator.home()
    return 0


def _nothing(context: Context) -> int:
    return 0


def _getenforce(context: Context) -> int:
    context.line("Permissive")
    return 0


COMMANDS: Final[Mapping[str, Command]] = {
    "atrace": _nothing,
    "chattr": _nothing,
    "clear": _nothing,
    "getenforce": _getenforce,
    "ifconfig": _ifconfig,
    "ip": _ip,
    "iptables": _nothing,
    "log": _log,
    "logcat": _logcat,
    "mount": _nothing,
    "netstat": _nothing,
    "ping": _ping,
    "reboot": _reboot,
    "start": _nothing,
    "stop": _nothing,
    "umount": _nothing,
}
