"""settings, svc, service, cmd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rlfactory.emulators.simulator.android.radios import put_setting
from rlfactory.emulators.simulator.machine.clock import zone_info
from rlfactory.emulators.simulator.machine.settings_tables import NAMESPACES
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError, Verbs, without_user

table = CommandTable()
_PARCEL: Final = "Result: Parcel(00000000    '....')"


@table.command("settings")
def _settings(context: Context) -> int:
    words = without_user(context.args)
    verb, rest = (words[0] if words else ""), words[1:]
    if not rest:
        return _settings_usage(context)
    namespace, *values = rest
    namespace = namespace.lower()
    if namespace not in NAMESPACES:
        return context.fail(f"Invalid namespace '{namespace}'", 255)
    tables = context.state.settings
    match verb, values:
        case "get", [key]:
            value = dict(tables.items(namespace)).get(key)
            context.line("null" if value is None else value)
        case "list", []:
            context.lines(f"{key}={value}" for key, value in tables.items(namespace))
        case "put", [key, value, *_]:
            _put(context, namespace, key, value)
        case "delete", [key]:
            context.line(f"Deleted {int(tables.delete(namespace, key))} rows")
            context.phone.invalidate()
        case "reset", [_, *_]:
            pass
        case _:
            return _settings_usage(context)
    return 0


def _settings_usage(context: Context) -> int:
    return context.complain(
        "Settings provider (settings) commands:\n"
        "  get|delete NAMESPACE KEY\n  put NAMESPACE KEY VALUE\n  list NAMESPACE\n"
        "NAMESPACE is one of {system, secure, global}",
        255,
    )


# --- radios --------------------------------------------------------------------------------------------------------

_ON: Final = frozenset({"enable", "enabled", "on", "yes", "true", "1"})
_OFF: Final = frozenset({"disable", "disabled", "off", "no", "false", "0"})


def _switch(context: Context, word: str, change: Callable[[bool], None]) -> int:
    if word not in _ON | _OFF:
        return context.fail(f"bad argument '{word}'", 255)
    change(word in _ON)
    return 0


@table.command("svc")
def _svc(context: Context) -> int:
    system = context.phone.system
    match context.args:
        case ["wifi" | "bluetooth" | "data" | "nfc" as what, word]:
            changes = {
                "wifi": system.set_wifi,
                "bluetooth": system.set_bluetooth,
                "data": lambda on: _put(context, "global", "mobile_data", "1" if on else "0"),
                "nfc": lambda on: _put(context, "global", "nfc_on", "1" if on else "0"),
            }
            return _switch(context, word, changes[what])
        case ["power", "stayon", _] | ["usb", *_]:
            return 0
        case ["power", "reboot", *_]:
            return context.run(["reboot"])
        case _:
            context.line(
                "Available commands:\n    help\n    power\n    data\n    wifi\n    usb\n    nfc\n    bluetooth"
            )
            return 0 if context.args in ([], ["help"]) else 1


def _put(context: Context, namespace: str, key: str, value: str) -> None:
    put_setting(context.state, namespace, key, value)
    context.phone.invalidate()


@table.command("service")
def _service(context: Context) -> int:
    match context.args:
        case ["call", "alarm", "3", "s16", zone, *_]:
            _set_zone(context, zone)
            context.line(_PARCEL)
        case ["call", "statusbar", "1", *_]:
            return context.run(["cmd", "statusbar", "expand-notifications"])
        case ["call", "statusbar", "2", *_]:
            return context.run(["cmd", "statusbar", "collapse"])
        case ["call", _, number, *_] if number.isdigit():
            context.line(_PARCEL)
        case ["check", name]:
            context.line(f"Service {name}: found")
        case ["list"]:
            context.line("Found 3 services:\n0\tactivity: []\n1\tpackage: []\n2\twindow: []")
        case _:
            raise UsageError("usage: service [list | check SERVICE | call SERVICE CODE [s16 STR]...]")
    return 0


def _set_zone(context: Context, zone: str) -> None:
    """Set the time zone; as on Android, an unknown one is ignored."""
    try:
        zone_info(zone)
    except ValueError:
        return
    context.state.clock.zone = zone
    context.phone.invalidate()


# --- cmd -----------------------------------------------------------------------------------------------------------

_SAME_AS: Final = {
    **{name: name for name in ("appops", "content", "input", "settings")},
    **{"activity": "am", "package": "pm", "window": "wm"},
}
_SERVICES: Final = Verbs()


@table.command("cmd", reads=lambda args: "-S" in args)
def _cmd(context: Context) -> int | None:
    if not context.args:
        return context.fail("No service specified; use -l to list all running services", 20)
    service, *rest = context.args
    if service in {"-l", "-w"}:
        context.line("Currently running services:\n  " + "\n  ".join(sorted({*_SAME_AS, *_SERVICES})))
        return 0
    if service in _SAME_AS:
        return context.run([_SAME_AS[service], *rest])
    handler = _SERVICES.get(service)
    if handler is None:
        return context.fail(f"Can't find service: {service}", 20)
    return handler(context, rest)


def _unknown(context: Context, words: list[str]) -> int:
    return context.complain(f"Unknown command: {' '.join(words)[:80]}", 255)


@_SERVICES.verb("wifi")
def _cmd_wifi(context: Context, words: list[str]) -> None:
    match words:
        case ["set-wifi-enabled", word]:
            _switch(context, word, context.phone.system.set_wifi)
        case ["status"]:
            on = context.state.settings.flag("global", "wifi_on")
            context.line(f"Wifi is {'enabled' if on else 'disabled'}")


@_SERVICES.verb("bluetooth_manager")
def _cmd_bluetooth(context: Context, words: list[str]) -> int:
    return _switch(context, words[0] if words else "", context.phone.system.set_bluetooth)


@_SERVICES.verb("connectivity")
def _cmd_connectivity(context: Context, words: list[str]) -> int:
    match words:
        case ["airplane-mode"]:
            on = context.state.settings.flag("global", "airplane_mode_on")
            context.line("enabled" if on else "disabled")
            return 0
        case ["airplane-mode", word]:
            return _switch(context, word, context.phone.system.set_airplane_mode)
        case _:
            return _unknown(context, words)


@_SERVICES.verb("statusbar")
def _cmd_statusbar(context: Context, words: list[str]) -> int:
    match words[:1]:
        case ["expand-notifications" | "expand-settings"]:
            context.state.view.overlay = "shade"
            context.state.view.keyboard_open = False
        case ["collapse"]:
            context.state.view.overlay = ""
        case _:
            return _unknown(context, words)
    context.phone.invalidate()
    return 0


@_SERVICES.verb("uimode")
def _cmd_uimode(context: Context, words: list[str]) -> int:
    modes = {"no": "1", "yes": "2", "auto": "0"}
    match words:
        case ["night"]:
            pass
        case ["night", word] if word in modes:
            _put(context, "secure", "ui_night_mode", modes[word])
        case _:
            return _unknown(context, words)
    current = context.state.settings.get("secure", "ui_night_mode", "1")
    names = {value: name for name, value in modes.items()}
    context.line(f"Night mode: {names.get(current, 'no')}")
    return 0


@_SERVICES.verb("notification")
def _cmd_notification(context: Context, words: list[str]) -> None:
    if words[:1] == ["list"]:
        context.lines(f"0|{note.package}|{note.id}|null|10000" for note in context.state.notifications)


@_SERVICES.verb("clipboard")
def _cmd_clipboard(context: Context, words: list[str]) -> int:
    match words:
        case ["get", *_]:
            context.line(context.phone.system.clipboard)
        case ["set", text]:
            context.phone.system.clipboard = text
        case _:
            return _unknown(context, words)
    return 0


@_SERVICES.verb("device_config", "jobscheduler", "overlay", "power", "role")
def _cmd_nothing(context: Context, words: list[str]) -> None:
    """Accepted, and without effect on this phone."""
