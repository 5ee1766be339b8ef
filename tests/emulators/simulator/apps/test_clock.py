"""Clock: alarms and their database, timers that run out, the stopwatch's contract, cities."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.apps.clock.cities import offset_text
from rlfactory.emulators.simulator.apps.clock.data import DATABASE, Alarm, all_alarms, all_timers, save_alarm
from rlfactory.emulators.simulator.apps.clock.stopwatch import split_text
from rlfactory.emulators.simulator.apps.clock.timer import clock_text
from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.conftest import Finger

PACKAGE = "com.google.android.deskclock"


def alarms(phone: Phone) -> dict[str, tuple[str, bool]]:
    """Return "hh:mm" -> (label, enabled)."""
    return {f"{alarm.hour:02d}:{alarm.minute:02d}": (alarm.label, alarm.enabled) for alarm in all_alarms(phone.system)}


def notes(phone: Phone) -> list[tuple[str, str, str]]:
    """Return package, title and text of each notification."""
    return [(note.package, note.title, note.text) for note in phone.state.notifications]


def pick_time(finger: Finger, hour: int, minute: int) -> None:
    finger.tap(key=f"hour_{hour}")
    finger.tap(key=f"minute_{minute}")
    finger.tap("OK")


def type_length(finger: Finger, *keys: str) -> None:
    for key in keys:
        finger.tap(key=f"timer_setup_digit_{key}")


def test_an_alarm_is_added_and_labelled(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Add alarm")
    pick_time(finger, 6, 45)
    assert alarms(phone)["06:45"] == ("", True)
    finger.tap("Add label")
    phone.type_text("Gym")
    finger.tap("OK")
    assert alarms(phone)["06:45"] == ("Gym", True)
    assert finger.sees("Gym")
    with phone.system.database(DATABASE) as db:
        assert db.execute("SELECT enabled FROM alarm_templates WHERE hour = 6 AND minutes = 45").fetchall() == [(1,)]


def test_an_alarm_is_switched_off_and_on(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Alarm 07:00")
    assert alarms(phone)["07:00"] == ("Work", False)
    finger.tap("Alarm 07:00")
    assert alarms(phone)["07:00"] == ("Work", True)


def test_an_alarm_gets_another_time_days_and_sound(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "09:30")
    pick_time(finger, 10, 15)
    assert alarms(phone)["10:15"] == ("", True), "a changed alarm is on"
    finger.tap("Saturday", "Sunday", "Bright Morning", "Orbit", "Vibrate")
    changed = next(alarm for alarm in all_alarms(phone.system) if alarm.hour == 10)
    assert (changed.days, changed.ringtone, changed.vibrate) == (0b1100000, "Orbit", False)
    assert finger.sees("Sun, Sat")


def test_an_alarm_is_deleted(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Expand alarm 07:00", "Delete")
    assert list(alarms(phone)) == ["09:30"]


def test_alarms_ring_when_their_time_comes(phone: Phone) -> None:
    save_alarm(phone.system, Alarm(hour=15, minute=36, label="Tea"))
    phone.advance(60_000)
    assert notes(phone) == []
    phone.advance(90_000)
    assert notes(phone) == [(PACKAGE, "Tea", "15:36")]
    assert alarms(phone)["15:36"] == ("Tea", False), "an alarm without days rings once"


def test_alarms_that_the_clock_jumps_over_do_not_ring(phone: Phone) -> None:
    phone.system.set_time(datetime(2023, 10, 20, 12, 0, tzinfo=UTC))
    phone.advance(1000)
    assert notes(phone) == []
    assert alarms(phone)["07:00"] == ("Work", True)


@pytest.mark.parametrize(
    ("days", "expected"), [(0, "2023-10-16 07:00"), (0b0000100, "2023-10-18 07:00"), (0b1000000, "2023-10-22 07:00")]
)
def test_an_alarm_knows_when_it_rings_next(days: int, expected: str) -> None:
    now = datetime(2023, 10, 15, 15, 34, tzinfo=UTC)  # a Sunday
    assert f"{Alarm(hour=7, minute=0, days=days).next_time(now):%Y-%m-%d %H:%M}" == expected


def test_alarms_put_into_the_database_by_hand_are_shown(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    with phone.system.database(DATABASE) as db:
        db.execute(
            "INSERT INTO alarm_templates (hour, minutes, daysofweek, enabled, vibrate, label) "
            "VALUES (22, 5, 0, 1, 0, 'Tide')"
        )
    phone.system.force_stop(PACKAGE)
    finger.open(PACKAGE)
    assert finger.sees("22:05", "Tide")


def test_clearing_the_clock_leaves_no_alarm(phone: Phone, finger: Finger) -> None:
    phone.system.clear_data(PACKAGE)
    finger.open(PACKAGE)
    assert finger.sees("No Alarms")
    assert phone.system.files.exists(DATABASE)


def test_the_timer_reads_as_the_contract_says(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Timer")
    assert not finger.sees("Start")
    type_length(finger, *"16035")
    read_out = finger.node(key="timer_setup_time")
    assert read_out.text == "01h 60m 35s"
    finger.tap("Delete")
    assert finger.node(key="timer_setup_time").text == "00h 16m 03s"
    assert finger.sees("0 hours, 16 minutes, 3 seconds", "Start")
    assert all_timers(phone.system) == ()


def test_a_timer_runs_pauses_and_runs_out(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Timer")
    type_length(finger, "1", "00")
    finger.tap("Start")
    assert finger.texts("timer_time_text") == ["0:59"]
    phone.advance(20_000)
    finger.tap("Pause")
    phone.advance(3_600_000)
    assert finger.texts("timer_time_text") == ["0:39"]
    finger.tap("Add 1 minute")
    assert finger.texts("timer_time_text") == ["1:39"]
    finger.tap("Start")
    phone.system.home()
    phone.advance(100_000)
    assert notes(phone) == [(PACKAGE, "Time\u2019s up", "1m Timer")]
    finger.open(PACKAGE)
    assert finger.texts("timer_time_text")[0].startswith("-")
    finger.tap("Stop")
    assert notes(phone) == []
    assert finger.texts("timer_time_text") == ["1:00"]
    finger.tap("Delete timer")
    assert finger.sees("00h 00m 00s")


def test_a_second_timer_is_added_and_the_keypad_left(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Timer")
    type_length(finger, "9")
    finger.tap("Start", "Add timer")
    phone.key("BACK")
    assert finger.sees("9s Timer")
    finger.tap("Add timer", "Cancel", "Add timer")
    type_length(finger, "8")
    finger.tap("Start")
    assert [timer.length_ms for timer in all_timers(phone.system)] == [8000, 9000]


def test_the_stopwatch_shows_what_the_contract_asks(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Stopwatch")
    assert finger.sees("Start")
    assert len(finger.nodes("Stopwatch")) >= 2
    finger.tap("Start")
    assert finger.sees("Pause", "Lap")
    phone.advance(61_250)
    finger.tap("Lap", "Pause")
    assert finger.sees("Start")
    assert finger.texts("stopwatch_time_text") == ["01:03.25"]
    phone.system.home()
    phone.advance(5_000)
    finger.open(PACKAGE)
    assert finger.texts("stopwatch_time_text") == ["01:03.25"]
    finger.tap("Reset")
    assert finger.texts("stopwatch_time_text") == ["00:00.00"]


def test_the_stopwatch_runs_on_while_nobody_looks(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Stopwatch", "Start")
    phone.key("BACK")
    phone.system.force_stop(PACKAGE)
    phone.advance(30_000)
    finger.open(PACKAGE, "Stopwatch")
    assert finger.texts("stopwatch_time_text")[0] >= "00:32"


def test_a_city_is_added_and_removed(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Clock", "Add city")
    phone.type_text("tok")
    finger.tap("Tokyo")
    assert finger.sees("Tomorrow, +9 hrs")
    finger.tap("Tokyo", "Remove")
    assert not finger.sees("Tokyo")


def test_intents_open_their_tabs(phone: Phone, finger: Finger) -> None:
    assert phone.system.send(Intent(action="android.intent.action.SHOW_TIMERS"))
    assert finger.sees("00h 00m 00s")
    assert phone.system.send(Intent(action="android.intent.action.SHOW_ALARMS"))
    assert finger.sees("Add alarm")
    assert "DeskClock" in phone.foreground


def test_a_snapshot_keeps_a_running_timer(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Timer")
    type_length(finger, "9")
    finger.tap("Start")
    saved, shown = phone.snapshot(), finger.texts("timer_time_text")
    phone.advance(60_000)
    finger.tap("Delete timer")
    phone.restore(saved)
    assert finger.texts("timer_time_text") == shown


def test_12_hours_are_picked_with_am_and_pm(phone: Phone, finger: Finger) -> None:
    phone.state.settings.put("system", "time_12_24", "12")
    finger.open(PACKAGE, "Add alarm", "AM", "7 o'clock", "minute 20", "PM", "OK")
    assert "19:20" in alarms(phone)
    assert finger.sees("7:20 PM")


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0:00"), (999, "0:01"), (61_000, "1:01"), (3_600_000, "1:00:00"), (-5_000, "-0:05")]
)
def test_remaining_time_is_written_like_a_clock(ms: int, text: str) -> None:
    assert clock_text(ms) == text


def test_stopwatch_times_have_hundredths() -> None:
    assert [split_text(ms) for ms in (0, 61_250, 3_725_250)] == ["00:00.00", "01:01.25", "1:02:05.25"]


def test_the_same_time_elsewhere_is_said_so() -> None:
    here = datetime(2023, 10, 15, 15, 34, tzinfo=UTC)
    assert offset_text(here, here) == "Today, same time"
