"""The apps over a database of their own: what is entered by touch is in it, and what others write there is shown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rlfactory.emulators.simulator.apps.broccoli.app import RECIPES
from rlfactory.emulators.simulator.apps.calendar.app import EVENTS, occurs_on
from rlfactory.emulators.simulator.apps.expense.app import EXPENSES
from rlfactory.emulators.simulator.apps.installed import ALL_APPS
from rlfactory.emulators.simulator.apps.joplin.app import NOTES
from rlfactory.emulators.simulator.apps.kit.first_run import IntroducedApp
from rlfactory.emulators.simulator.apps.tasks.app import TASKS
from rlfactory.emulators.simulator.apps.tracks.app import TRACKS, distance, duration
from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.conftest import Finger


def test_an_expense_is_entered_searched_and_deleted(phone: Phone, finger: Finger) -> None:
    finger.open("com.arduia.expense", "New expense")
    finger.fill(name_field="Taxi Fare", amount_field="172.93")
    phone.key("BACK")
    finger.tap(key="category_field")
    finger.tap("Transportation", "SAVE")
    (row,) = EXPENSES.rows(phone.system)
    assert (row["name"], row["amount"], row["category"], row["note"]) == ("Taxi Fare", 17293, 7, "")
    finger.tap("Search")
    phone.type_text("taxi")
    finger.tap("Taxi Fare", "Delete")
    phone.tap(*finger.nodes("Delete")[-1].bounds.center)
    assert EXPENSES.rows(phone.system) == ()


def test_an_amount_that_is_no_number_is_not_saved(phone: Phone, finger: Finger) -> None:
    finger.open("com.arduia.expense", "New expense")
    finger.fill(name_field="Tea", amount_field="1,x")
    finger.tap("SAVE")
    assert phone.state.view.toast == "Amount must be a number"
    assert EXPENSES.rows(phone.system) == ()


def test_a_form_that_is_left_asks_first(phone: Phone, finger: Finger) -> None:
    finger.open("com.flauschcode.broccoli", "New recipe")
    finger.fill(title_field="Soup")
    phone.key("BACK")
    phone.key("BACK")
    assert finger.sees("Discard changes?")
    finger.tap("Discard")
    assert finger.sees("No recipes yet")


def test_a_database_written_from_outside_is_shown_after_a_restart(phone: Phone, finger: Finger) -> None:
    finger.open("com.flauschcode.broccoli")
    RECIPES.insert(phone.system, {"title": "Kale salad", "description": "", "favorite": 0, "servings": "8 servings"})
    image = phone.system.files.read(RECIPES.path)
    phone.shell("am force-stop com.flauschcode.broccoli")
    phone.shell("rm -r /data/data/com.flauschcode.broccoli/databases/*")
    phone.system.files.write(RECIPES.path, image)
    finger.open("com.flauschcode.broccoli", "Kale salad")
    assert finger.sees("8 servings")


@pytest.mark.parametrize(
    ("package", "path"),
    [
        ("com.flauschcode.broccoli", RECIPES.path),
        ("org.tasks", TASKS.path),
        ("de.dennisguse.opentracks", TRACKS.path),
        ("net.cozic.joplin", NOTES.path),
        ("com.simplemobiletools.calendar.pro", EVENTS.path),
    ],
)
def test_a_spoiled_database_is_made_anew(phone: Phone, finger: Finger, package: str, path: str) -> None:
    finger.open(package)
    phone.shell(f"am force-stop {package}")
    phone.system.files.write(path, b"not a database")
    finger.open(package)
    assert phone.system.files.read(path).startswith(b"SQLite format 3")


def test_an_event_keeps_its_length_and_repeats_on_its_weekday(phone: Phone, finger: Finger) -> None:
    finger.open("com.simplemobiletools.calendar.pro", "New event")
    finger.fill(title_field="Yoga")
    phone.key("BACK")
    finger.tap(key="end_time_field")
    finger.tap(key="hour_18")
    finger.tap(key="minute_30")
    finger.tap("OK")
    finger.scroll_to("Start time")
    finger.tap(key="start_time_field")
    finger.tap(key="hour_9")
    finger.tap(key="minute_0")
    finger.tap("OK", "No repetition", "Weekly", "Save")
    (event,) = EVENTS.rows(phone.system)
    assert event["end_ts"] - event["start_ts"] == 2.5 * 3600
    assert event["repeat_rule"] == 64  # the phone's day is a Sunday
    today = phone.system.now().date()
    days = [days for days in range(-14, 22) if occurs_on(phone.system, event, today + timedelta(days=days))]
    assert days == [0, 7, 14, 21]


def test_tasks_are_completed_hidden_and_shown(phone: Phone, finger: Finger) -> None:
    finger.open("org.tasks", "New task")
    finger.fill(task_name_field="Water plants")
    finger.tap("Save", "Complete")
    assert not finger.sees("Water plants")
    finger.tap("More options", "Show completed")
    assert finger.sees("Water plants")


def test_figures_of_tracks_are_written_as_the_app_writes_them() -> None:
    assert (distance(12_000), duration(900_000), duration(11_700_000)) == ("7.46 mi", "15:00", "3:15:00")


def test_notes_live_in_notebooks_and_in_the_search_index(phone: Phone, finger: Finger) -> None:
    finger.open("net.cozic.joplin", "New note")
    finger.fill(title_field="Tacos", text_field="1/4 cup hemp seeds")
    finger.tap("Save", "Tacos")
    assert finger.texts("note_body") == ["1/4 cup hemp seeds"]
    with phone.system.database(NOTES.path) as db:
        assert db.execute("SELECT title, body FROM notes_normalized").fetchall() == [("tacos", "1/4 cup hemp seeds")]


@pytest.mark.parametrize("app", [a for a in ALL_APPS if isinstance(a, IntroducedApp)], ids=lambda app: app.label)
def test_a_first_run_is_gone_through_once(phone: Phone, finger: Finger, app: IntroducedApp) -> None:
    phone.system.clear_data(app.package)
    for step in app.first_run.steps:
        finger.open(app.package, step.buttons[0])
    assert app.first_run.page(phone.system) is None
