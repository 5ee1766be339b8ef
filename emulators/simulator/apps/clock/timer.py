"""Clock: the timer tab, a keypad and a list of countdowns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.data import PACKAGE, Timer, all_timers, save_timers
from rlfactory.emulators.simulator.apps.clock.dial import dial, round_button
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.rows import bar_button
from rlfactory.emulators.simulator.view import widgets as ui

MAX_DIGITS = 6
MINUTE_MS = 60_000
START_ROW_HEIGHT = 104.0
SCREEN_WIDTH_DP = 411.0


@dataclass(kw_only=True)
class TimerTab:
    """What the timer tab shows: the keypad's digits, and whether it lies over the list."""

    digits: str = ""
    adding: bool = False

    def keypad_shown(self, system: System) -> bool:
        return self.adding or not all_timers(system)

    def fab(self, system: System) -> ui.Fab | None:
        if self.keypad_shown(system):
            return None
        return ui.Fab(key="fab", icon="plus", description="Add timer", on_tap=setter(self, adding=True, digits=""))

    def body(self, system: System) -> ui.Widget:
        if self.keypad_shown(system):
            return self._keypad(system)
        cards = tuple(_card(system, timer) for timer in all_timers(system))
        return ui.Scroll(
            key="timer_list", children=(*cards, ui.Spacer(height=96)), gap=12, padding=(16, 8, 16, 0), height="fill"
        )

    def dialog(self, system: System) -> None:
        return None

    def on_back(self, system: System) -> bool:
        if self.adding and all_timers(system):
            self._cancel()
            return True
        return False

    # --- keypad ----------------------------------------------------------------------------------------------------

    def _parts(self) -> tuple[int, int, int]:
        padded = self.digits.rjust(MAX_DIGITS, "0")
        return int(padded[:2]), int(padded[2:4]), int(padded[4:])

    def _keypad(self, system: System) -> ui.Widget:
        hours, minutes, seconds = self._parts()
        read_out = ui.Text(
            key="timer_setup_time",
            text=f"{hours:02d}h {minutes:02d}m {seconds:02d}s",
            description=f"{hours} hours, {minutes} minutes, {seconds} seconds",
            style="display_medium",
            color="primary" if self.digits else "on_surface_variant",
            text_align="center",
        )
        height = _key_height(system)
        keys = [self._digit(text, height) for text in ("1", "2", "3", "4", "5", "6", "7", "8", "9", "00", "0")]
        erase = setter(self, digits=self.digits[:-1])
        delete = _pad_key("timer_setup_delete", "Delete", ui.Icon(icon="backspace-outline"), erase, height)
        return ui.Column(
            children=(
                ui.Spacer(weight=1),
                read_out,
                ui.Spacer(weight=1),
                ui.Grid(children=(*keys, delete), columns=3, gap=12, padding=(40, 0, 40, 0), width="fill"),
                self._start_row(system),
            ),
            width="fill",
            height="fill",
        )

    def _start_row(self, system: System) -> ui.Widget:
        """Return what is below the keypad: Start once a length is typed, Cancel where there is a list to go back to."""
        start = _round("fab", "play", "Start", lambda: self._start(system)) if self.digits else ui.Spacer(width=72)
        cancel = ui.Button(key="cancel", text="Cancel", kind="text", width=88, on_tap=self._cancel)
        left = cancel if all_timers(system) else ui.Spacer(width=88)
        return ui.Row(
            children=(left, start, ui.Spacer(width=88)), gap=24, justify="center", height=START_ROW_HEIGHT, width="fill"
        )

    def _digit(self, text: str, height: float) -> ui.Widget:
        label = ui.Text(text=text, style="headline_large", text_align="center")
        return _pad_key(f"timer_setup_digit_{text}", "", label, partial(self._press, text), height)

    def _press(self, text: str) -> None:
        digits = (self.digits + text).lstrip("0")
        if len(digits) <= MAX_DIGITS:
            self.digits = digits

    def _cancel(self) -> None:
        self.adding, self.digits = False, ""

    def _start(self, system: System) -> None:
        (hours, minutes, seconds), timers = self._parts(), all_timers(system)
        length = (hours * 3600 + minutes * 60 + seconds) * 1000
        number = max((timer.id for timer in timers), default=0) + 1
        timer = Timer(id=number, length_ms=length, left_ms=length).started(system.uptime_ms())
        save_timers(system, (timer, *timers))
        self._cancel()


def _key_height(system: System) -> float:
    """Return how high the keypad's keys are, in dp, so that four rows of them fit on a short screen too."""
    screen_dp = system.height_px * SCREEN_WIDTH_DP / system.width_px
    return min(max((screen_dp - 440) / 4, 44), 84)


def _pad_key(key: str, description: str, content: ui.Widget, on_tap: ui.Callback, height: float) -> ui.Widget:
    return ui.Centered(
        key=key,
        description=description,
        children=(content,),
        width="fill",
        height=height,
        radius=height / 2,
        background="surface_container_high",
        on_tap=on_tap,
    )


def clock_text(milliseconds: int) -> str:
    """Return "1:02:03", "2:03" or "0:03", with a minus sign for time gone by."""
    seconds = -(-milliseconds // 1000)
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, rest = divmod(seconds, 3600)
    return f"{sign}{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{sign}{rest // 60}:{rest % 60:02d}"


def timer_name(timer: Timer) -> str:
    """Return a timer's heading: "1h 30m Timer"."""
    seconds = timer.length_ms // 1000
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count) + " Timer"


def _card(system: System, timer: Timer) -> ui.Widget:
    remaining = timer.remaining_ms(system.uptime_ms())
    over = remaining <= 0
    head = (
        ui.Text(text=timer_name(timer), style="title_medium", color="on_surface_variant", weight=1),
        bar_button("close", "close", "Delete timer", _change(system, timer, lambda _, __: None)),
    )
    time = ui.Text(key="timer_time_text", text=clock_text(remaining), style="display_medium")
    share = max(remaining, 0) / max(timer.length_ms, remaining, 1)
    face = dial(time, 232, 8, -360 * share, track="on_error" if over else "surface_container_highest")
    return ui.Column(
        key="timer",
        children=(
            ui.Row(children=head, width="fill"),
            ui.Column(children=(face,), align="center", width="fill", padding=(0, 8, 0, 16)),
            _buttons(system, timer, over=over),
        ),
        padding=(20, 12, 16, 20),
        background="error_container" if over else "surface_container",
        radius=28,
        width="fill",
    )


def _buttons(system: System, timer: Timer, *, over: bool) -> ui.Widget:
    restore = _change(system, timer, lambda each, _: each.restored())
    if over:
        main = _round("timer_stop", "stop", "Stop", restore)
    elif timer.ends_at_ms is not None:
        main = _round("play_pause", "pause", "Pause", _change(system, timer, Timer.paused))
    else:
        main = _round("play_pause", "play", "Start", _change(system, timer, Timer.started))
    add = ui.Button(
        key="timer_add_time_button",
        text="+1:00",
        description="Add 1 minute",
        kind="tonal",
        height=56,
        on_tap=_change(system, timer, lambda each, uptime_ms: each.extended(uptime_ms, MINUTE_MS)),
    )
    reset = ui.IconButton(
        key="reset", icon="restart", description="Reset", container="secondary_container", diameter=56, on_tap=restore
    )
    return ui.Row(children=(add, main) if over else (add, main, reset), gap=16, justify="center", width="fill")


def _round(key: str, icon: str, description: str, on_tap: ui.Callback) -> ui.Widget:
    return round_button(key, icon, description, on_tap, role="primary", diameter=72, size=32)


def _change(system: System, timer: Timer, change: Callable[[Timer, int], Timer | None]) -> ui.Callback:
    """Return a callback that puts what `change` makes of the timer and the uptime in its place, None for nothing."""

    def put() -> None:
        system.cancel_notification(PACKAGE, timer.id)
        uptime_ms = system.uptime_ms()
        changed = [change(each, uptime_ms) if each.id == timer.id else each for each in all_timers(system)]
        save_timers(system, [each for each in changed if each is not None])

    return put
