"""Clock: the stopwatch tab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.data import Stopwatch, load_stopwatch, save_stopwatch
from rlfactory.emulators.simulator.view.widgets import (
    Callback,
    Canvas,
    Column,
    Divider,
    IconButton,
    Row,
    Scroll,
    Spacer,
    Stack,
    Text,
    Widget,
)

DIAL = 280.0
"""Diameter of the dial, in dp."""


def stopwatch_body(system: System) -> Widget:
    """Return the dial, the laps and the buttons. Contract: Start at rest; Pause and Lap while it runs."""
    stopwatch = load_stopwatch(system)
    elapsed = stopwatch.elapsed_ms(system.uptime_ms())
    dial = Stack(
        children=(
            (_ring(stopwatch, elapsed), "center", "center"),
            (Text(key="stopwatch_time_text", text=split_text(elapsed), style="display_large"), "center", "center"),
        ),
        width=DIAL,
        height=DIAL,
    )
    return Column(
        children=(
            Column(children=(dial,), align="center", width="fill", padding=(0, 24, 0, 16)),
            _laps(stopwatch, elapsed),
            _buttons(system, stopwatch, elapsed),
        ),
        width="fill",
        height="fill",
    )


def split_text(milliseconds: int) -> str:
    """Return "05.25", "1:05.25" or "1:02:05.25"."""
    seconds, rest = divmod(milliseconds, 1000)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    text = f"{seconds % 60:02d}.{rest // 10:02d}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes:02d}:{text}"


def _ring(stopwatch: Stopwatch, elapsed: int) -> Canvas:
    """Return the dial's rim; with laps, how far this lap is on the way of the last one."""
    center, radius = DIAL / 2, DIAL / 2 - 6
    operations: list[tuple[object, ...]] = [("ring", center, center, radius, 6, "surface_container_highest")]
    laps = (0, *stopwatch.laps_ms)
    share = (elapsed - laps[-1]) / max(laps[-1] - laps[-2], 1) if len(laps) > 1 else elapsed % 60_000 / 60_000
    if share > 0:
        operations.append(("arc", center, center, radius, -90, 360 * min(share, 1.0), 6, "primary"))
    return Canvas(operations=tuple(operations), width=DIAL, height=DIAL)


def _laps(stopwatch: Stopwatch, elapsed: int) -> Widget:
    if not stopwatch.laps_ms:
        return Spacer(weight=1)
    ends = (0, *stopwatch.laps_ms, elapsed)
    rows: list[Widget] = []
    for number in range(len(ends) - 1, 0, -1):
        line = Row(
            key="lap",
            children=(
                Text(text=f"# {number}", color="on_surface_variant", weight=1),
                Text(text=split_text(ends[number] - ends[number - 1]), weight=1, text_align="center"),
                Text(text=split_text(ends[number]), weight=1, text_align="end"),
            ),
            padding=(32, 0, 32, 0),
            height=48,
            width="fill",
        )
        rows += [line, Divider()]
    return Scroll(key="laps_list", children=tuple(rows), weight=1, width="fill")


def _buttons(system: System, stopwatch: Stopwatch, elapsed: int) -> Widget:
    def change(by: Callable[[Stopwatch, int], Stopwatch]) -> Callback:
        return lambda: save_stopwatch(system, by(load_stopwatch(system), system.uptime_ms()))

    reset = _side("stopwatch_reset", "restart", "Reset", change(lambda _, __: Stopwatch()))
    if stopwatch.since_ms is not None:
        children: tuple[Widget, ...] = (
            reset,
            _main("pause", "Pause", change(_paused)),
            _side("stopwatch_lap", "timer-outline", "Lap", change(_lapped)),
        )
    else:
        start = _main("play", "Start", change(lambda watch, uptime: replace(watch, since_ms=uptime)))
        children = (reset, start, Spacer(width=56)) if elapsed else (start,)
    return Row(children=children, gap=32, justify="center", width="fill", padding=(0, 16, 0, 24))


def _paused(stopwatch: Stopwatch, uptime_ms: int) -> Stopwatch:
    return replace(stopwatch, before_ms=stopwatch.elapsed_ms(uptime_ms), since_ms=None)


def _lapped(stopwatch: Stopwatch, uptime_ms: int) -> Stopwatch:
    return replace(stopwatch, laps_ms=(*stopwatch.laps_ms, stopwatch.elapsed_ms(uptime_ms)))


def _main(icon: str, description: str, on_tap: Callback) -> Widget:
    return IconButton(
        key="fab",
        icon=icon,
        description=description,
        color="on_primary_container",
        container="primary_container",
        diameter=96,
        size=36,
        on_tap=on_tap,
    )


def _side(key: str, icon: str, description: str, on_tap: Callback) -> Widget:
    return IconButton(
        key=key,
        icon=icon,
        description=description,
        color="on_secondary_container",
        container="secondary_container",
        diameter=56,
        on_tap=on_tap,
    )
