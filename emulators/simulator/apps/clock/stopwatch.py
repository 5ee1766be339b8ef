"""Clock: the stopwatch tab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.data import Stopwatch, load_stopwatch, save_stopwatch
from rlfactory.emulators.simulator.apps.clock.dial import dial, round_button
from rlfactory.emulators.simulator.view import widgets as ui


@dataclass(kw_only=True)
class StopwatchTab:
    """The dial, the laps and the buttons; all it shows is in the app's preferences."""

    def fab(self, system: System) -> None:
        return None

    def dialog(self, system: System) -> None:
        return None

    def body(self, system: System) -> ui.Widget:
        """Return the tab. Contract: Start at rest; Pause and Lap while it runs."""
        stopwatch = load_stopwatch(system)
        elapsed = stopwatch.elapsed_ms(system.uptime_ms())
        time = ui.Text(key="stopwatch_time_text", text=split_text(elapsed), style="display_large")
        face = dial(time, 280, 6, 360 * _share(stopwatch, elapsed))
        return ui.Column(
            children=(
                ui.Column(children=(face,), align="center", width="fill", padding=(0, 24, 0, 16)),
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


def _share(stopwatch: Stopwatch, elapsed: int) -> float:
    """Return how far this lap is on the way of the last one; without laps, how much of the minute has passed."""
    laps = (0, *stopwatch.laps_ms)
    if len(laps) == 1:
        return elapsed % 60_000 / 60_000
    return min((elapsed - laps[-1]) / max(laps[-1] - laps[-2], 1), 1.0)


def _laps(stopwatch: Stopwatch, elapsed: int) -> ui.Widget:
    if not stopwatch.laps_ms:
        return ui.Spacer(weight=1)
    ends = (0, *stopwatch.laps_ms, elapsed)
    rows: list[ui.Widget] = []
    for number in range(len(ends) - 1, 0, -1):
        line = ui.Row(
            key="lap",
            children=(
                ui.Text(text=f"# {number}", color="on_surface_variant", weight=1),
                ui.Text(text=split_text(ends[number] - ends[number - 1]), weight=1, text_align="center"),
                ui.Text(text=split_text(ends[number]), weight=1, text_align="end"),
            ),
            padding=(32, 0, 32, 0),
            height=48,
            width="fill",
        )
        rows += [line, ui.Divider()]
    return ui.Scroll(key="laps_list", children=tuple(rows), weight=1, width="fill")


def _buttons(system: System, stopwatch: Stopwatch, elapsed: int) -> ui.Widget:
    def change(by: Callable[[Stopwatch, int], Stopwatch]) -> ui.Callback:
        return lambda: save_stopwatch(system, by(load_stopwatch(system), system.uptime_ms()))

    def main(icon: str, text: str, by: Callable[[Stopwatch, int], Stopwatch]) -> ui.Widget:
        return round_button("fab", icon, text, change(by), role="primary_container", diameter=96, size=36)

    def side(key: str, icon: str, text: str, by: Callable[[Stopwatch, int], Stopwatch]) -> ui.Widget:
        return round_button(key, icon, text, change(by), role="secondary_container", diameter=56)

    reset = side("stopwatch_reset", "restart", "Reset", lambda _, __: Stopwatch())
    start = main("play", "Start", lambda watch, uptime: replace(watch, since_ms=uptime))
    children: tuple[ui.Widget, ...] = (reset, start, ui.Spacer(width=56)) if elapsed else (start,)
    if stopwatch.since_ms is not None:
        children = (reset, main("pause", "Pause", _paused), side("stopwatch_lap", "timer-outline", "Lap", _lapped))
    return ui.Row(children=children, gap=32, justify="center", width="fill", padding=(0, 16, 0, 24))


def _paused(stopwatch: Stopwatch, uptime_ms: int) -> Stopwatch:
    return replace(stopwatch, before_ms=stopwatch.elapsed_ms(uptime_ms), since_ms=None)


def _lapped(stopwatch: Stopwatch, uptime_ms: int) -> Stopwatch:
    return replace(stopwatch, laps_ms=(*stopwatch.laps_ms, stopwatch.elapsed_ms(uptime_ms)))
