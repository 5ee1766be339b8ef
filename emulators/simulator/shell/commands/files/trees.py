"""Changing the tree: mkdir, rm, rmdir, cp, mv, touch, ln, mktemp, truncate, dd."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from rlfactory.emulators.simulator.machine.clock import zone_info
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.files.attributes import parsed_mode

table = CommandTable()
_MAX_FILE: Final = 256 * 1024 * 1024
_NULL: Final = "/dev/null"


@table.command("mkdir", flags="pvZ", with_value="m", least=1)
def _mkdir(context: Context) -> None:
    options, files = context.options, context.files
    for operand, path in context.paths():
        with context.attempt(operand):
            if "p" in options:
                files.make_dirs(path)
            else:
                files.make_dir(path)
            if "m" in options:
                files.set_mode(path, parsed_mode(options["m"], 0o777, is_dir=True))


@table.command("rm", flags="frRiv")
def _rm(context: Context) -> None:
    recursive, force = bool({"r", "R"} & context.options.keys()), "f" in context.options
    if not context.operands and not force:
        raise UsageError("Needs 1 argument")
    for operand, path in context.paths():
        if posixpath.basename(operand.rstrip("/")) in {".", ".."}:
            context.fail(f"bad path {operand}")
        elif context.files.is_dir(path) and not recursive:
            context.fail(f"{operand}: Is a directory")
        else:
            with context.attempt(), contextlib.suppress(*([FileNotFoundError] if force else [])):
                context.files.remove(path, recursive=recursive)


@table.command("rmdir", flags="p", least=1)
def _rmdir(context: Context) -> None:
    for _, path in context.paths():
        with context.attempt():
            if context.files.is_file(path):
                context.files.list(path)
            context.files.remove(path)
            parent = posixpath.dirname(path.rstrip("/")) if "p" in context.options else ""
            while parent not in {"", "/"}:
                context.files.remove(parent)
                parent = posixpath.dirname(parent)


def _destination(context: Context, sources: list[str], target: str, *, into: bool) -> Callable[[str], str]:
    """Return where each source goes: into the target directory, or to the target name."""
    folder = context.path(target)
    if into and context.files.is_dir(folder):

        def inside(source: str) -> str:
            name = posixpath.basename(source.rstrip("/"))
            # `SRC/.` means the content of SRC, so it goes to the target itself.
            return folder if name in {".", ""} else f"{folder.rstrip('/')}/{name}"

        return inside
    if len(sources) > 1:
        raise UsageError(f"'{target}' not directory")
    return lambda _: folder


@table.command("cp", flags="adDfFHiLlnPprRsTuv", with_value="t")
def _cp(context: Context) -> None:
    recursive = bool({"a", "r", "R"} & context.options.keys())
    preserve = bool({"a", "p"} & context.options.keys())

    def copy(source: str, path: str, goal: str) -> None:
        if path == _NULL:
            context.files.write(goal, b"")
        elif context.files.is_dir(path) and not recursive:
            context.fail(f"Skipped dir '{source}'")
        else:
            _copy(context, path, goal, preserve=preserve)

    _transfer(context, copy)


@table.command("mv", flags="finTvx", with_value="t")
def _mv(context: Context) -> None:
    _transfer(context, lambda _, path, goal: context.files.rename(path, goal))


def _transfer(context: Context, act: Callable[[str, str, str], None]) -> None:
    """Call `act` with each source as given, its path and where it goes; what is there already stays with `-n`."""
    options = context.options
    operands = context.operands + ([options["t"]] if "t" in options else [])
    if len(operands) < 2:
        raise UsageError("Needs 2 arguments")
    *sources, target = operands
    destination = _destination(context, sources, target, into="T" not in options)
    for source in sources:
        path = context.path(source)
        if path != _NULL and not context.files.exists(path):
            context.fail(f"bad '{source}': No such file or directory")
            continue
        with context.attempt(source):
            goal = destination(source)
            if "n" not in options or not context.files.exists(goal):
                act(source, path, goal)


def _copy(context: Context, source: str, target: str, *, preserve: bool) -> None:
    """Copy a file or directory to a name; an existing directory is merged into."""
    files = context.files
    if files.is_dir(source) and files.is_dir(target):
        context.shell.budget.step()
        for name in files.list(source):
            _copy(context, f"{source.rstrip('/')}/{name}", f"{target.rstrip('/')}/{name}", preserve=preserve)
        if preserve:
            entry = files.stat(source)
            files.set_mode(target, entry.mode)
            files.set_owner(target, entry.uid, entry.gid)
            files.set_times(target, entry.modified_ns)
    else:
        files.copy(source, target, recursive=True, preserve=preserve)


# --- times and sizes -----------------------------------------------------------------------------------------------


@table.command("touch", flags="acmf", with_value="dtr", least=1)
def _touch(context: Context) -> None:
    when_ns = _touch_time(context, context.options)
    for _, path in context.paths():
        with context.attempt():
            if context.files.exists(path):
                context.files.set_times(path, when_ns)
            elif "c" not in context.options:
                context.files.write(path, b"", modified_ns=when_ns)


def _touch_time(context: Context, options: Mapping[str, str]) -> int:
    if "r" in options:
        return context.files.stat(context.path(options["r"])).modified_ns
    clock = context.state.clock
    if "d" in options:
        text = options["d"]
        if re.fullmatch(r"@\d{1,11}(\.\d{1,9})?", text):
            whole, _, fraction = text[1:].partition(".")
            return int(whole) * 10**9 + int(fraction.ljust(9, "0") or "0")
        when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=zone_info(clock.zone))
        return round(when.timestamp() * 1000) * 1_000_000
    if "t" in options:
        match = re.fullmatch(r"(\d\d)?(\d\d)?(\d{8})(?:\.(\d\d))?", options["t"])
        if match is None:
            raise UsageError(f"bad time '{options['t']}'")
        century, year, rest, seconds = match.groups()
        if century and not year:
            century, year = "20", century
        full_year = f"{century or '20'}{year}" if year else str(clock.now().year)
        when = datetime.strptime(f"{full_year}{rest}{seconds or '00'}", "%Y%m%d%H%M%S")
        return round(when.replace(tzinfo=zone_info(clock.zone)).timestamp() * 1000) * 1_000_000
    return clock.wall_ns()


@table.command("truncate", flags="c", with_value="s", least=1)
def _truncate(context: Context) -> None:
    match = re.fullmatch(r"([-+]?)(\d{1,12})([kKmMgG]?)", context.options.get("s", ""))
    if match is None:
        raise UsageError("needs -s SIZE")
    amount = int(match.group(2)) * {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}[match.group(3).lower()]
    for operand, path in context.paths():
        with context.attempt():
            if "c" in context.options and not context.files.exists(path):
                continue
            content = context.files.read(path) if context.files.exists(path) else b""
            size = {"": amount, "+": len(content) + amount, "-": max(0, len(content) - amount)}[match.group(1)]
            if size > _MAX_FILE:
                raise UsageError(f"{operand}: File too large")
            context.files.write(path, content[:size].ljust(size, b"\0"))


@table.command("dd", reads=lambda args: not any(argument.startswith("if=") for argument in args))
def _dd(context: Context) -> None:
    values = dict(arg.partition("=")[::2] for arg in context.args)
    sizes = {name: _dd_number(values[name]) for name in ("bs", "count", "skip", "seek") if name in values}
    block, count = sizes.get("bs", 512), sizes.get("count")
    wanted = None if count is None else block * count
    if (wanted or 0) > _MAX_FILE or block > _MAX_FILE:
        raise UsageError("bad count: File too large")
    source = values.get("if", "-")
    if source in {"/dev/zero", "/dev/urandom", "/dev/random"}:
        if wanted is None:
            raise UsageError("count is needed for an endless input")
        data = bytes(wanted)
    else:
        data = context.read(source)[sizes.get("skip", 0) * block :][:wanted]
    if "of" in values:
        path = context.path(values["of"])
        offset = sizes.get("seek", 0) * block
        if offset + len(data) > _MAX_FILE:
            raise UsageError("bad seek: File too large")
        before = context.files.read(path)[:offset] if offset and context.files.exists(path) else b""
        context.files.write(path, before.ljust(offset, b"\0") + data)
    else:
        context.write(data)
    whole, part = divmod(len(data), block) if block else (0, 0)
    records = f"{whole}+{int(part > 0)}"
    context.complain(f"{records} records in\n{records} records out\n{len(data)} bytes copied", status=0)


def _dd_number(text: str) -> int:
    match = re.fullmatch(r"(\d{1,12})([kKmM]?)", text)
    if match is None:
        raise UsageError(f"bad number '{text}'")
    return int(match.group(1)) * {"": 1, "k": 1024, "m": 1024**2}[match.group(2).lower()]


@table.command("mktemp", flags="dqut", with_value="p")
def _mktemp(context: Context) -> None:
    options, operands = context.options, context.operands
    template = operands[0] if operands else "tmp.XXXXXXXXXX"
    if not template.endswith("XXXXXX"):
        raise UsageError("need 6 X")
    stem = template.rstrip("X")
    folder = options.get("p", "/data/local/tmp" if not operands or "t" in options else "")
    base = posixpath.join(folder, stem) if folder else context.path(stem)
    number = 0
    while context.files.exists(path := f"{base}{number:06d}"):
        number += 1
    if "u" not in options:
        if "d" in options:
            context.files.make_dir(path, mode=0o700)
        else:
            context.files.write(path, b"", mode=0o600)
    context.line(path)


@table.command("ln")
def _ln(context: Context) -> int:
    return context.fail("links are not supported by this file system")
