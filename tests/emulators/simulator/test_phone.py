"""The phone as one object: tasks and back stacks, clock, packages, settings, databases."""

from __future__ import annotations

import sqlite3
import threading
import time
from datetime import datetime, timedelta

import pytest

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.android.catalog import UnknownComponentError
from rlfactory.emulators.simulator.machine.clock import MAX_WAIT_MS
from rlfactory.emulators.simulator.machine.packages import UnknownPackageError
from rlfactory.emulators.simulator.phone import ACTION_MS, Phone, PhoneConfig
from tests.emulators.simulator.example_apps import NOTES, NOTES_APP, VIEWER_APP, NoteEditor, NoteList

HOME = "com.google.android.apps.nexuslauncher/.NexusLauncherActivity"


@pytest.fixture
def phone() -> Phone:
    return Phone(PhoneConfig(), apps=(NOTES_APP, VIEWER_APP))


def _components(phone: Phone) -> list[list[str]]:
    return [[record.component for record in task.records] for task in phone.state.tasks.tasks]


# --- navigation ------------------------------------------------------------------------------------------------------


def test_a_new_phone_shows_its_home_screen(phone: Phone) -> None:
    assert phone.foreground == HOME
    phone.navigator.press_back()
    phone.system.back()
    assert phone.foreground == HOME


def test_an_app_opens_and_back_keeps_its_task_behind(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    assert phone.foreground == f"{NOTES}/.NoteList"
    first = phone.activity
    phone.navigator.press_back()
    assert phone.foreground == HOME
    phone.system.open_app(NOTES)
    assert phone.activity is first


def test_activities_stack_up_and_finish_one_by_one(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    phone.system.start(NoteEditor, Intent(extras={"title": "a"}))
    assert phone.foreground == f"{NOTES}/.edit.NoteEditor"
    phone.system.start("org.example.viewer/.Viewer")
    assert _components(phone)[-1] == [f"{NOTES}/.NoteList", f"{NOTES}/.edit.NoteEditor", "org.example.viewer/.Viewer"]
    phone.system.back()
    phone.navigator.press_back()
    assert phone.foreground == f"{NOTES}/.NoteList"


def test_an_activity_may_handle_back_itself(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    phone.system.start(NoteEditor)
    editor = phone.activity
    assert isinstance(editor, NoteEditor)
    editor.dirty = True
    phone.navigator.press_back()
    assert phone.activity is editor
    phone.navigator.press_back()
    assert phone.foreground == f"{NOTES}/.NoteList"


def test_lifecycle_calls_come_in_order(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    activity = phone.activity
    assert isinstance(activity, NoteList)
    assert activity.seen == ["create", "resume"]
    phone.system.start(NoteEditor)
    phone.system.back()
    phone.system.home()
    assert activity.seen == ["create", "resume", "pause", "resume", "pause"]


def test_implicit_intents_find_the_most_specific_handler(phone: Phone) -> None:
    assert phone.system.send(Intent(action="android.intent.action.VIEW", data="https://example.org/"))
    assert phone.foreground == "org.example.viewer/.Viewer"
    assert phone.system.send(Intent(action="android.intent.action.VIEW", data="content://notes/5"))
    assert phone.system.send(Intent(action="android.intent.action.SEND", mime_type="text/plain"))
    assert not phone.system.send(Intent(action="android.intent.action.VIEW", data="geo:1,2"))
    with pytest.raises(UnknownComponentError):
        phone.system.start("org.example.viewer/.Nothing")


def test_force_stop_takes_the_app_out_of_every_task(phone: Phone) -> None:
    phone.system.open_app("org.example.viewer")
    phone.system.start(NoteEditor)
    phone.system.open_app(NOTES)
    phone.system.notify(NOTES, 1, title="t", text="x", icon="bell")
    phone.system.force_stop(NOTES)
    assert phone.foreground == "org.example.viewer/.Viewer"
    assert [len(records) for records in _components(phone)] == [1, 1]
    assert phone.state.notifications == ()
    assert NOTES not in phone.state.packages.processes


def test_tasks_and_stacks_are_bounded(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    for _ in range(250):
        phone.system.start(NoteEditor)
    assert len(phone.state.tasks.front.records) == 100


def test_a_broadcast_reaches_its_receiver(phone: Phone) -> None:
    output = phone.shell("am broadcast -a org.example.SHOUT -e text hello\\ there")
    assert output.stdout.decode().splitlines()[-1] == 'Broadcast completed: result=-1, data="HELLO THERE"'
    assert phone.system.clipboard == "hello there"


# --- time ------------------------------------------------------------------------------------------------------------


def test_virtual_time_moves_with_actions_and_waits_only(phone: Phone) -> None:
    start = phone.system.now()
    assert start == datetime.fromisoformat(phone.config.start)
    uptime = phone.system.uptime_ms()
    phone.tap(500, 1000)
    assert phone.system.now() - start == timedelta(milliseconds=ACTION_MS)
    phone.advance(500)
    assert phone.system.uptime_ms() - uptime == ACTION_MS + 500
    phone.system.set_time(start)
    assert phone.system.now() == start
    assert phone.system.uptime_ms() - uptime == ACTION_MS + 500


def test_realtime_follows_the_host() -> None:
    phone = Phone(PhoneConfig(clock="realtime"), apps=(NOTES_APP, VIEWER_APP))
    before = phone.system.now()
    deadline = time.monotonic() + 5
    while phone.system.now() == before and time.monotonic() < deadline:
        pass
    assert timedelta(0) < phone.system.now() - before < timedelta(seconds=5)
    phone.advance(60_000)
    assert phone.system.now() - before > timedelta(seconds=60)


@pytest.mark.parametrize("milliseconds", [-1, MAX_WAIT_MS + 1])
def test_impossible_waits_are_refused(phone: Phone, milliseconds: int) -> None:
    with pytest.raises(ValueError, match="ms"):
        phone.advance(milliseconds)


@pytest.mark.parametrize(
    "arguments",
    [
        {"width_px": 10},
        {"height_px": 99_999},
        {"density_dpi": 5},
        {"start": "2023-10-15T15:34:00"},
        {"clock": "sundial"},
    ],
)
def test_bad_configurations_are_named(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments)).partition("_")[0] + "|screen"):
        PhoneConfig(**arguments)  # type: ignore[arg-type]


# --- packages, settings, databases -----------------------------------------------------------------------------------


def test_two_apps_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two apps are called"):
        Phone(PhoneConfig(), apps=(VIEWER_APP, VIEWER_APP))


def test_clearing_data_and_launching_recreate_an_apps_files(phone: Phone) -> None:
    phone.shell(f"rm -r /data/data/{NOTES}/*")
    phone.system.open_app(NOTES)
    assert phone.state.files.is_dir(f"/data/data/{NOTES}/cache")
    phone.system.clear_data(NOTES)
    assert phone.state.files.list(f"/data/data/{NOTES}") == ["databases"]
    entry = phone.state.files.stat(f"/data/data/{NOTES}/databases/n.db")
    assert entry.uid == phone.state.packages.entry(NOTES).uid
    with pytest.raises(UnknownPackageError):
        phone.system.clear_data("no.such")


def test_settings_know_their_namespaces_and_limits(phone: Phone) -> None:
    settings = phone.system.settings
    assert settings.get("global", "wifi_on") == "1"
    assert settings.get("global", "nothing", "x") == "x"
    assert settings.flag("global", "wifi_on")
    with pytest.raises(ValueError, match="namespace"):
        settings.get("other", "x")
    with pytest.raises(ValueError, match="no room"):
        settings.put("system", "x", "v" * 40_000)
    with pytest.raises(ValueError, match="key"):
        settings.put("system", "", "v")


def test_a_database_is_written_on_a_clean_exit_only(phone: Phone) -> None:
    path = f"/data/data/{NOTES}/databases/n.db"
    before = phone.state.files.read(path)
    with pytest.raises(KeyError), phone.system.database(path) as db:
        db.execute("INSERT INTO note VALUES ('lost')")
        raise KeyError
    with phone.system.database(path) as db:
        assert db.execute("SELECT * FROM note").fetchall() == []
    assert phone.state.files.read(path) is before
    phone.advance(1_000)
    with phone.system.database(path) as db:
        db.execute("INSERT INTO note VALUES ('kept')")
    assert phone.state.files.stat(path).modified_ns == phone.state.clock.wall_ns()


def test_databases_of_hosts_in_wal_mode_open(phone: Phone, tmp_path: object) -> None:
    path = f"{tmp_path}/host.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with open(path, "rb") as file:  # noqa: PTH123
        phone.state.files.write("/data/host.db", file.read())
    with phone.system.database("/data/host.db") as db:
        db.execute("INSERT INTO t VALUES (1)")
    with phone.system.database("/data/host.db") as db:
        assert db.execute("SELECT a FROM t").fetchall() == [(1,)]


def test_a_file_that_is_no_database_counts_as_empty(phone: Phone) -> None:
    phone.state.files.write("/data/garbage.db", b"not a database")
    with phone.system.database("/data/garbage.db") as db:
        db.execute("CREATE TABLE t (a)")
    assert phone.state.files.read("/data/garbage.db").startswith(b"SQLite format 3")


def test_looking_at_a_database_that_is_not_there_makes_no_file(phone: Phone) -> None:
    with phone.system.database("/data/none.db") as db:
        assert db.execute("SELECT 1").fetchone() == (1,)
    assert not phone.state.files.exists("/data/none.db")


def test_threads_take_turns(phone: Phone) -> None:
    def work(number: int) -> None:
        for step in range(30):
            phone.shell(f"echo {step} > /sdcard/t{number}; settings put system k{number} {step}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert phone.shell("cat /sdcard/t?").stdout == b"29\n" * 4
