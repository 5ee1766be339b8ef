"""Who and what this is: whoami, id, uname, hostname, getprop, setprop, which, env."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from rlfactory.emulators.simulator.android.properties import MAX_VALUE_CHARS, properties
from rlfactory.emulators.simulator.machine.clock import zone_info
from rlfactory.emulators.simulator.shell.commands.context import Command, Context, UsageError

_GROUPS: Final = "0(root),1004(input),1007(log),1011(adb),1015(sdcard_rw),1028(sdcard_r),3001(net_bt_admin),3003(inet)"
_KERNEL: Final = "5.15.83-android13-8"


def _whoami(context: Context) -> int:
    context.line("root")
    return 0


def _id(context: Context) -> int:
    match context.args:
        case ["-u" | "-g" | "-G"]:
            context.line("0")
        case ["-un" | "-gn" | "-nu" | "-ng"]:
            context.line("root")
        case _:
            context.line(f"uid=0(root) gid=0(root) groups={_GROUPS} context=u:r:su:s0")
    return 0


def _uname(context: Context) -> int:
    fields = {
        "s": "Linux",
        "n": "localhost",
        "r": _KERNEL,
        "v": "#1 SMP PREEMPT Thu Mar 2 00:00:00 UTC 2023",
        "m": "aarch64",
        "o": "Toybox",
    }
    letters = "".join(arg.lstrip("-") for arg in context.args) or "s"
    context.line(" ".join(text for letter, text in fields.items() if letter in letters or "a" in letters))
    return 0


def _hostname(context: Context) -> int:
    context.line("localhost")
    return 0


def _getprop(context: Context) -> int:
    values = properties(context.phone)
    match [arg for arg in context.args if arg != "-T"]:
        case []:
            for name in sorted(values):
                context.line(f"[{name}]: [{values[name]}]")
        case [name]:
            context.line(values.get(name, ""))
        case [name, default, *_]:
            context.line(values.get(name, default))
    return 0


def _setprop(context: Context) -> int:
    if len(context.args) != 2:
        raise UsageError("needs 2 arguments")
    name, value = context.args
    if not re.fullmatch(r"[A-Za-z0-9_.@:-]{1,128}", name):
        return context.fail(f"illegal property name '{name[:40]}'")
    if len(value) > MAX_VALUE_CHARS:
        return context.fail(f"value '{value[:20]}...' too long; try a shorter one")
    if name.startswith("ro.") and name in properties(context.phone):
        return context.fail(f"failed to set property '{name}' to '{value}'")
    if name == "persist.sys.timezone":
        zone_info(value)
        context.state.clock.zone = value
        context.phone.invalidate()
    else:
        context.state.properties[name] = value
    return 0


def _which(context: Context) -> int:
    from rlfactory.emulators.simulator.shell.commands.registry import find_command

    status = 0 if context.args else 1
    for name in context.args:
        if name.startswith("-"):
            continue
        if find_command(posixpath.basename(name)):
            context.line(f"/system/bin/{posixpath.basename(name)}")
        else:
            status = 1
    return status


def _env(context: Context) -> int:
    words = list(context.args)
    shell = context.shell.fork()
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if word == "-i":
            shell.variables.clear()
        elif word == "-u" and words:
            shell.variables.pop(words.pop(0), None)
        elif "=" in word:
            name, _, value = word.partition("=")
            shell.assign(name, value)
            shell.exported.add(name)
    if words:
        return shell.call(words)
    for name in sorted(shell.exported & shell.variables.keys()):
        context.line(f"{name}={shell.variables[name]}")
    return 0


COMMANDS: Final[Mapping[str, Command]] = {
    "env": _env,
    "getprop": _getprop,
    "hostname": _hostname,
    "id": _id,
    "printenv": _env,
    "setprop": _setprop,
    "uname": _uname,
    "which": _which,
    "whoami": _whoami,
}
