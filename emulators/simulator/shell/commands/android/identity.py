"""Who and what this is: id, uname, getprop, setprop, which, env."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from rlfactory.emulators.simulator.android.properties import MAX_VALUE_CHARS, properties
from rlfactory.emulators.simulator.machine.clock import zone_info
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError

table = CommandTable()
_GROUPS: Final = "0(root),1004(input),1007(log),1011(adb),1015(sdcard_rw),1028(sdcard_r),3001(net_bt_admin),3003(inet)"
_KERNEL: Final = "5.15.83-android13-8"


@table.command("id")
def _id(context: Context) -> None:
    match context.args:
        case ["-u" | "-g" | "-G"]:
            context.line("0")
        case ["-un" | "-gn" | "-nu" | "-ng"]:
            context.line("root")
        case _:
            context.line(f"uid=0(root) gid=0(root) groups={_GROUPS} context=u:r:su:s0")


@table.command("uname")
def _uname(context: Context) -> None:
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


@table.command("getprop")
def _getprop(context: Context) -> None:
    values = properties(context.phone)
    match [arg for arg in context.args if arg != "-T"]:
        case []:
            context.lines(f"[{name}]: [{values[name]}]" for name in sorted(values))
        case [name]:
            context.line(values.get(name, ""))
        case [name, default, *_]:
            context.line(values.get(name, default))


@table.command("setprop")
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


@table.command("which")
def _which(context: Context) -> int:
    status = 0 if context.args else 1
    for name in context.args:
        if name.startswith("-"):
            continue
        if posixpath.basename(name) in context.shell.commands:
            context.line(f"/system/bin/{posixpath.basename(name)}")
        else:
            status = 1
    return status


@table.command("env", "printenv")
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
    context.lines(f"{name}={shell.variables[name]}" for name in sorted(shell.exported & shell.variables.keys()))
    return 0
