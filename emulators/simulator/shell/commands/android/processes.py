"""Processes and running commands in other ways: ps, kill, sh, su, toybox, time, timeout, ..."""

from __future__ import annotations

from shlex import quote
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.files.naming import user_name

table = CommandTable()
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


@table.command("ps")
def _ps(context: Context) -> None:
    if "-o" in context.args:
        _ps_columns(context)
        return
    context.line("USER            PID   PPID     VSZ    RSS WCHAN            ADDR S NAME")
    for pid, parent, user, name in _table(context):
        context.line(f"{user:<12} {pid:>6} {parent:>6} {13000000:>7} {98304:>6} {0:<10} {0:>10} S {name}")


def _ps_columns(context: Context) -> None:
    columns = context.args[context.args.index("-o") + 1 :][:1] or ["PID,NAME"]
    names = [column.split("=")[0].upper() for column in columns[0].split(",")]
    context.line(" ".join(names))
    for pid, parent, user, name in _table(context):
        cells = {"PID": str(pid), "PPID": str(parent), "USER": user, "NAME": name, "CMD": name, "ARGS": name, "S": "S"}
        context.line(" ".join(cells.get(column, "-") for column in names))


def _words(context: Context) -> list[str]:
    """Return the arguments that are no options."""
    return [arg for arg in context.args if not arg.startswith("-")]


@table.command("pidof")
def _pidof(context: Context) -> int:
    wanted = _words(context)
    found = [str(pid) for pid, _, _, name in _table(context) if name in wanted]
    if found:
        context.line(" ".join(found))
    return 0 if found else 1


@table.command("pgrep")
def _pgrep(context: Context) -> int:
    wanted = _words(context)
    found = [pid for pid, _, _, name in _table(context) if any(word in name for word in wanted)]
    context.lines(map(str, found))
    return 0 if found else 1


@table.command("kill")
def _kill(context: Context) -> None:
    pids = _words(context)
    if not pids:
        raise UsageError("Needs 1 argument")
    for pid in pids:
        owner = next((name for number, _, _, name in _table(context) if str(number) == pid), None)
        if owner is None:
            context.fail(f"bad pid '{pid}'" if not pid.isdigit() else f"{pid}: No such process")
        elif owner in context.state.packages.processes:
            context.phone.navigator.force_stop(owner)


@table.command("killall")
def _killall(context: Context) -> None:
    for name in _words(context):
        if name in context.state.packages.processes:
            context.phone.navigator.force_stop(name)
        else:
            context.fail(f"{name}: No such process")


def _sh_reads(args: list[str]) -> bool:
    return "-c" not in args and all(arg.startswith("-") for arg in args)


@table.command("sh", reads=_sh_reads)
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
    return shell.nested_text(context.stdin_text())


@table.command("su")
def _su(context: Context) -> int:
    words = list(context.args)
    while words and (words[0] in {"-", "-l", "-p", "-m", "--login"} or words[0] in {"0", "root", "shell", "2000"}):
        words.pop(0)
    if words[:1] == ["-c"]:
        return context.shell.fork().nested_text(" ".join(words[1:]))
    if not words:
        return context.shell.fork().nested_text(context.stdin_text())
    return context.run(words)


@table.command("ionice", "nice", "nohup", "setsid", "time", wraps=True)
def _wrapper(context: Context) -> int:
    """Run the rest of the words."""
    words = list(context.args)
    while words and words[0].startswith("-"):
        words.pop(0)
        if words and words[0].isdigit():
            words.pop(0)
    if not words:
        return 0
    status = context.shell.fork().nested_text(" ".join(quote(word) for word in words))
    if context.name == "time":
        context.complain("real 0m0.01s\nuser 0m0.00s\nsys 0m0.00s")
    return status


@table.command("timeout")
def _timeout(context: Context) -> int:
    words = list(context.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in {"-s", "-k"} and words:
            words.pop(0)
    if len(words) < 2:
        raise UsageError("Needs 2 arguments")
    return context.run(words[1:])


@table.command("toybox", "busybox", wraps=True)
def _toybox(context: Context) -> int:
    if not context.args:
        context.line(" ".join(sorted(context.shell.commands)))
        return 0
    if context.args[0] not in context.shell.commands:
        return context.fail(f"Unknown command {context.args[0]}", 127)
    return context.run(context.args)
