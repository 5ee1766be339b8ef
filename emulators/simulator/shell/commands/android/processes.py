"""Processes and running commands in other ways: ps, kill, sh, su, toybox, time, timeout, ..."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import Command, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.files.naming import user_name

_NATIVE: Final = (
    (1, 0, "root", "init"),
    (2, 0, "root", "[kthreadd]"),
    (350, 1, "logd", "logd"),
    (362, 1, "system", "servicemanager"),
    (480, 1, "root", "zygote64"),
    (512, 1, "system", "surfaceflinger"),
    (640, 1, "root", "adbd"),
    (1020, 480, "system", "system_server"),
    (1311, 480, "u0_a90", "com.android.systemui"),
    (1402, 480, "radio", "com.android.phone"),
)
_ZYGOTE_PID: Final = 480


def _table(context: Context) -> list[tuple[int, int, str, str]]:
    """Return pid, parent, user and name of every process."""
    packages = context.state.packages
    apps = [
        (pid, _ZYGOTE_PID, user_name(packages.installed[name].uid) if name in packages.installed else "root", name)
        for name, pid in packages.processes.items()
    ]
    return sorted([*_NATIVE, *apps])


def _ps(context: Context) -> int:
    if "-o" in context.args:
        return _ps_columns(context)
    context.line("USER            PID   PPID     VSZ    RSS WCHAN            ADDR S NAME")
    for pid, parent, user, name in _table(context):
        context.line(f"{user:<12} {pid:>6} {parent:>6} {13000000:>7} {98304:>6} {0:<10} {0:>10} S {name}")
    return 0


def _ps_columns(context: Context) -> int:
    columns = context.args[context.args.index("-o") + 1 :][:1] or ["PID,NAME"]
    names = [column.split("=")[0].upper() for column in columns[0].split(",")]
    context.line(" ".join(names))
    for pid, parent, user, name in _table(context):
        cells = {"PID": str(pid), "PPID": str(parent), "USER": user, "NAME": name, "CMD": name, "ARGS": name, "S": "S"}
        context.line(" ".join(cells.get(column, "-") for column in names))
    return 0


def _pidof(context: Context) -> int:
    wanted = [arg for arg in context.args if not arg.startswith("-")]
    found = [str(pid) for pid, _, _, name in _table(context) if name in wanted]
    if found:
        context.line(" ".join(found))
    return 0 if found else 1


def _pgrep(context: Context) -> int:
    wanted = [arg for arg in context.args if not arg.startswith("-")]
    found = [pid for pid, _, _, name in _table(context) if any(word in name for word in wanted)]
    for pid in found:
        context.line(str(pid))
    return 0 if found else 1


def _kill(context: Context) -> int:
    pids = [arg for arg in context.args if not arg.startswith("-")]
    if not pids:
        raise UsageError("Needs 1 argument")
    status = 0
    for pid in pids:
        owner = next((name for number, _, _, name in _table(context) if str(number) == pid), None)
        if owner is None:
            status = context.fail(f"bad pid '{pid}'" if not pid.isdigit() else f"{pid}: No such process")
        elif owner in context.state.packages.processes:
            context.phone.navigator.force_stop(owner)
    return status


def _killall(context: Context) -> int:
    status = 0
    for name in [arg for arg in context.args if not arg.startswith("-")]:
        if name in context.state.packages.processes:
            context.phone.navigator.force_stop(name)
        else:
            status = context.fail(f"{name}: No such process")
    return status


def _sh(context: Context) -> int:
    words = list(context.args)
    shell = context.shell.fork()
    flags = ""
    while words and words[0][:1] in {"-", "+"} and len(words[0]) > 1:
        flag = words.pop(0)
        if flag == "--":
            break
        flags += flag[1:]
    shell.options.errexit = shell.options.errexit or "e" in flags
    if "c" in flags:
        if not words:
            return context.fail("-c: needs an argument", 2)
        shell.name, shell.positional = (words[1] if len(words) > 1 else "sh"), words[2:]
        return shell.nested_text(words[0])
    if words and "s" not in flags:
        shell.name, shell.positional = words[0], words[1:]
        return shell.nested_text(context.read(words[0]).decode("utf-8", "surrogateescape"))
    return shell.nested_text(context.stdin().decode("utf-8", "surrogateescape"))


def _su(context: Context) -> int:
    words = list(context.args)
    while words and (words[0] in {"-", "-l", "-p", "-m", "--login"} or words[0] in {"0", "root", "shell", "2000"}):
        words.pop(0)
    if words[:1] == ["-c"]:
        return context.shell.fork().nested_text(" ".join(words[1:]))
    if not words:
        return context.shell.fork().nested_text(context.stdin().decode("utf-8", "surrogateescape"))
    return context.run(words)


def _wrapper(context: Context) -> int:
    """nohup, nice, ionice, setsid, time, busybox: run the rest of the words."""
    words = list(context.args)
    while words and words[0].startswith("-"):
        words.pop(0)
        if words and words[0].isdigit():
            words.pop(0)
    if not words:
        return 0
    status = context.shell.fork().nested_text(" ".join(quote(word) for word in words))
    if context.name == "time":
        context.shell.streams.stderr.write(b"real 0m0.01s\nuser 0m0.00s\nsys 0m0.00s\n")
    return status


def _timeout(context: Context) -> int:
    words = list(context.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in {"-s", "-k"} and words:
            words.pop(0)
    if len(words) < 2:
        raise UsageError("Needs 2 arguments")
    return context.run(words[1:])


def _toybox(context: Context) -> int:
    from rlfactory.emulators.simulator.shell.commands.registry import COMMANDS as ALL

    if not context.args:
        context.line(" ".join(sorted(ALL)))
        return 0
    if context.args[0] not in ALL:
        return context.fail(f"Unknown command {context.args[0]}", 127)
    return context.run(context.args)


def _nothing(context: Context) -> int:
    return 0


COMMANDS: Final[Mapping[str, Command]] = {
    "busybox": _toybox,
    "ionice": _wrapper,
    "kill": _kill,
    "killall": _killall,
    "nice": _wrapper,
    "nohup": _wrapper,
    "pgrep": _pgrep,
    "pidof": _pidof,
    "ps": _ps,
    "setenforce": _nothing,
    "setsid": _wrapper,
    "sh": _sh,
    "su": _su,
    "sync": _nothing,
    "time": _wrapper,
    "timeout": _timeout,
    "toybox": _toybox,
}
