"""The rest of Android: logcat, network tools, reboot, whoami, hostname."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context

table = CommandTable()
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


@table.command("ifconfig")
def _ifconfig(context: Context) -> None:
    names = [arg for arg in context.args if not arg.startswith("-")]
    for name in names or ["lo", "wlan0"]:
        if name == "lo":
            context.out(_LOOPBACK)
        elif name == "wlan0" and _wifi_on(context):
            context.out(_WLAN)
        elif names:
            context.fail(f"{name}: No such device")


@table.command("ip")
def _ip(context: Context) -> None:
    if {"addr", "address", "a"} & set(context.args):
        context.line("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo")
        if _wifi_on(context):
            context.line(
                "2: wlan0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500\n    inet 10.0.2.16/24 scope global wlan0"
            )
    elif {"route", "r"} & set(context.args) and _wifi_on(context):
        context.line("10.0.2.0/24 dev wlan0 proto kernel scope link src 10.0.2.16")


@table.command("ping")
def _ping(context: Context) -> int:
    """There is no network behind the phone."""
    hosts = [arg for arg in context.args if not arg.startswith("-") and not arg.isdigit()]
    return context.fail(f"unknown host {hosts[-1] if hosts else ''}", 2)


@table.command("logcat")
def _logcat(context: Context) -> None:
    """The log is empty: `-d` prints its heads, a stream ends at once, clearing works."""
    if "-c" not in context.args and "--clear" not in context.args and ("-d" in context.args or "-t" in context.args):
        context.line("--------- beginning of main")


@table.command("reboot")
def _reboot(context: Context) -> None:
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


_SAYS: Final = {"getenforce": "Permissive", "hostname": "localhost", "whoami": "root"}


@table.command(*_SAYS)
def _says(context: Context) -> None:
    """Commands that always print the same."""
    context.line(_SAYS[context.name])


@table.command("atrace", "chattr", "clear", "iptables", "log", "mount", "netstat", "setenforce", "start", "stop")
@table.command("sync", "umount")
def _nothing(context: Context) -> None:
    """Accepted, and without effect on this phone."""
