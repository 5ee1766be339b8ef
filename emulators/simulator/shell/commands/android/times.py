"""Time: date, sleep, uptime."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from rlfactory.emulators.simulator.machine.clock import MAX_WAIT_MS, NS_PER_MS, zone_info
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError

table = CommandTable()
_DEFAULT_FORMAT: Final = "%a %b %e %H:%M:%S %Z %Y"
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_POSIX: Final = re.compile(r"(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(\d\d)?(?:\.(\d\d))?")


@table.command("date")
def _date(context: Context) -> None:
    zone = zone_info(context.state.clock.zone)
    when = context.state.clock.now()
    template, setting = _DEFAULT_FORMAT, None
    words = list(context.args)
    while words:
        word = words.pop(0)
        if word == "-u":
            zone = UTC
        elif word in {"-d", "-s", "-D", "-r"}:
            if not words:
                raise UsageError(f"Missing argument to {word}")
            value = words.pop(0)
            if word == "-r":
                when = datetime.fromtimestamp(context.files.stat(context.path(value)).modified_ns / 1e9, UTC)
            elif word != "-D":
                when = _parsed(value, when, zone)
                setting = when if word == "-s" else setting
        elif word.startswith("+"):
            template = word[1:]
        elif not word.startswith("-"):
            setting = when = _parsed(word, when, zone)
    if setting is not None:
        context.state.clock.set_wall(round(setting.timestamp() * 1000) * NS_PER_MS)
        context.phone.invalidate()
    context.line(_formatted(when.astimezone(zone), template))


def _parsed(text: str, now: datetime, zone: tzinfo) -> datetime:
    """Read `MMDDhhmm[[CC]YY][.ss]`, `@seconds` or ISO 8601. Raises: UsageError."""
    try:
        if text.startswith("@"):
            return datetime.fromtimestamp(float(text[1:]), UTC)
        match = _POSIX.fullmatch(text)
        if match:
            month, day, hour, minute, first, second, seconds = match.groups()
            year = now.year if first is None else int(first + second if second else "20" + first)
            return datetime(year, int(month), int(day), int(hour), int(minute), int(seconds or 0), tzinfo=zone)
        when = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"bad date '{text}'") from None
    return when if when.tzinfo else when.replace(tzinfo=zone)


def _formatted(when: datetime, template: str) -> str:
    seconds = int(when.timestamp())
    replacements = {"%s": str(seconds), "%N": f"{when.microsecond * 1000:09d}", "%e": f"{when.day:2d}"}
    for directive, value in replacements.items():
        template = template.replace(directive, value)
    return when.strftime(template)


@table.command("sleep")
def _sleep(context: Context) -> None:
    total = 0.0
    for word in context.args:
        match = re.fullmatch(r"(\d{0,9}\.?\d*)([smhd]?)", word)
        if match is None or not match.group(1).strip("."):
            raise UsageError(f"bad number '{word}'")
        total += float(match.group(1)) * _UNITS[match.group(2)]
    if total * 1000 > MAX_WAIT_MS:
        raise UsageError(f"{total:g} s is more than this phone waits ({MAX_WAIT_MS // 1000} s)")
    context.phone.advance(round(total * 1000))


@table.command("usleep")
def _usleep(context: Context) -> None:
    if not context.args or not context.args[0].isdigit():
        raise UsageError("needs microseconds")
    context.phone.advance(min(int(context.args[0]) // 1000, MAX_WAIT_MS))


@table.command("uptime")
def _uptime(context: Context) -> None:
    clock = context.state.clock
    if "-s" in context.args:
        context.line(f"{clock.booted():%Y-%m-%d %H:%M:%S}")
        return
    minutes = clock.uptime_ms() // 60_000
    context.line(f" {context.state.clock.now():%H:%M:%S} up {minutes} min,  0 users,  load average: 0.00, 0.00, 0.00")
