"""The flat state: read by one script, parsed once, complete and quiet."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.probes import record
from rlfactory.emulators.device.state import PROBE, Change, DeviceState, diff, digest, parse_probe
from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.sources.direct import DirectDevice

HOME = "com.google.android.apps.nexuslauncher/.NexusLauncherActivity"
SETTINGS = "com.android.settings/.Settings"
PAIRED = "/data/misc/bluedroid/bt_config.xml"
HELLO_MD5 = hashlib.md5(b"hello\n").hexdigest()


@pytest.fixture
def phone() -> Phone:
    return Phone(PhoneConfig())


def read(phone: Phone) -> DeviceState:
    output = phone.shell(PROBE)
    assert output.stderr == b""
    return parse_probe(output.stdout.decode())


def changes(phone: Phone, command: str) -> dict[str, tuple[str | None, str | None]]:
    """Run a command and return what it changed: key -> (before, after)."""
    before = read(phone)
    result = phone.shell(command)
    assert result.exit_code == 0, result.stderr
    return {change.key: (change.before, change.after) for change in diff(before, read(phone))}


def test_what_an_app_of_ones_own_keeps_is_in_the_state() -> None:
    class Main(Activity):
        name = ".Main"

    package = "org.example.mine"
    mine = App(package=package, label="Mine", icon="heart", color="#C62828", activities=(Main,))
    folder = f"/data/data/{package}"
    keep = (
        f"mkdir -p {folder}/databases {folder}/files {folder}/cache {folder}/shared_prefs",
        f"""sqlite3 {folder}/databases/a.db "create table t(_id integer primary key, x text);
            insert into t values(1, 'a\n-- /data/data/x/y'); insert into t values(2, 'b')\"""",
        f'echo \'<map><int name="count" value="3"/></map>\' > {folder}/shared_prefs/p.xml',
        f"echo hello > {folder}/files/x.json; echo hello > {folder}/cache/y",
    )
    prefix = f"app/{package}"
    assert changes(Phone(PhoneConfig(), apps=[mine]), "; ".join(keep)) == {
        f"{prefix}/t/1": (None, "1,'a\n-- /data/data/x/y'"),
        f"{prefix}/t/2": (None, "2,'b'"),
        f"{prefix}/count": (None, "3"),
        f"{prefix}/files/x.json": (None, HELLO_MD5),
    }
    assert prefix not in "".join(changes(Phone(PhoneConfig(), apps=[]), "; ".join(keep)))


def test_reading_changes_nothing(phone: Phone) -> None:
    before = phone.state_hash()
    assert read(phone) == read(phone)
    assert phone.state_hash() == before


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("settings put system screen_brightness 255", {"settings/system/screen_brightness": ("102", "255")}),
        ("settings put secure new_key 'a=b c'", {"settings/secure/new_key": (None, "a=b c")}),
        ("svc wifi disable", {"settings/global/wifi_on": ("1", "0")}),
        ("mkdir -p '/sdcard/Download/x y'", {"files/Download/x y/": (None, "dir")}),
        ("echo hello > '/sdcard/Music/a  b.txt'", {"files/Music/a  b.txt": (None, HELLO_MD5)}),
        ("rmdir /sdcard/Podcasts", {"files/Podcasts/": ("dir", None)}),
        (f"am start -n {SETTINGS}", {"foreground": (HOME, SETTINGS)}),
        ("sleep 5; input keyevent HOME", {}),
        ("uiautomator dump", {}),
    ],
)
def test_a_change_shows_as_just_its_keys(
    phone: Phone, command: str, expected: dict[str, tuple[str | None, str | None]]
) -> None:
    assert changes(phone, command) == expected


INSERT = "content insert --uri content://com.android.contacts"
PERSON = {
    **{"name": "Ann, data2=1 Lee", "given": "Ann, data2=1", "family": "Lee", "company": "", "emails": [], "other": []},
    **{"phones": [["+1555", "mobile"]], "starred": False},
}


def data(number: int, kind: str, **cells: str) -> str:
    """Return the command that adds a row to a contact."""
    binds = "".join(f" --bind {name}:s:'{value}'" for name, value in cells.items())
    return f"{INSERT}/data --bind raw_contact_id:i:{number} --bind mimetype:s:vnd.android.cursor.item/{kind}{binds}"


def test_parts_that_are_not_read_again_are_as_they_would_be_read(phone: Phone) -> None:
    with ThreadPoolExecutor(max_workers=1) as executor:
        device = DirectDevice(phone, executor=executor, snapshots=SnapshotStore())
        first, snapshot = device.read_state(), phone.snapshot()
        for command in (
            "settings put system screen_brightness 9",
            "settings delete system screen_brightness",
            "cmd connectivity airplane-mode enable",
            f"am start -n {SETTINGS}",
            f'mkdir -p /data/misc/bluedroid; echo \'<map><int name="paired" value="1" /></map>\' > {PAIRED}',
            f"rm {PAIRED}",
        ):
            assert phone.shell(command).exit_code == 0
            changed = read(phone)
            assert diff(first, changed) and diff(device.read_state(), changed) == ()
        phone.restore(snapshot)
        assert diff(device.read_state(), first) == ()


def test_contacts_are_read_whole_and_numbered(phone: Phone) -> None:
    phone.shell("pm clear com.android.providers.contacts")
    assert not any(key.startswith("contacts/") for key in read(phone))
    for number, key in ((1, "contacts/Ann, data2=1 Lee"), (2, "contacts/Ann, data2=1 Lee#2")):
        new = f"{INSERT}/raw_contacts --bind account_type:n: --bind account_name:n:"
        rows = data(number, "name", data1="Ann, data2=1 Lee"), data(number, "phone_v2", data1="+1555", data2="2")
        assert changes(phone, "; ".join((new, *rows))) == {key: (None, record(**PERSON))}


@pytest.mark.parametrize(
    ("command", "differs"),
    [
        (data(1, "phone_v2", data1="+2", data2="1"), {"phones": [["+1555", "mobile"], ["+2", "home"]]}),
        (data(1, "email_v2", data1="a@b.org", data2="2"), {"emails": [["a@b.org", "work"]]}),
        (data(1, "organization", data1="Acme"), {"company": "Acme"}),
        (data(1, "note", data1="likes tea"), {"other": [["note", "likes tea"]]}),
        (
            "content update --uri content://com.android.contacts/raw_contacts --where _id=1 --bind starred:i:1",
            {"starred": True},
        ),
    ],
)
def test_no_field_of_a_contact_is_left_out(phone: Phone, command: str, differs: dict[str, object]) -> None:
    phone.shell("pm clear com.android.providers.contacts")
    phone.shell(f"{INSERT}/raw_contacts --bind account_type:n: --bind account_name:n:")
    phone.shell(data(1, "name", data1="Ann, data2=1 Lee"))
    phone.shell(data(1, "phone_v2", data1="+1555", data2="2"))
    key = "contacts/Ann, data2=1 Lee"
    assert changes(phone, command) == {key: (record(**PERSON), record(**PERSON | differs))}


ALARM = {"time": "06:05", "label": "a|b", "on": True, "days": 0, "vibrate": False, "sound": "default", "once": False}


def test_alarms_are_named_by_time_and_label_and_read_whole(phone: Phone) -> None:
    database = "/data/data/com.google.android.deskclock/databases/alarms.db"
    columns = "hour, minutes, daysofweek, enabled, vibrate, label, ringtone"
    insert = f"sqlite3 {database} \"INSERT INTO alarm_templates ({columns}) VALUES (6, 5, 0, 1, 0, 'a|b', {{}});\""
    key = "alarms/06:05/a|b"
    assert changes(phone, insert.format("NULL")) == {key: (None, record(**ALARM))}
    assert changes(phone, insert.format("'Orbit'")) == {f"{key}#2": (None, record(**ALARM | {"sound": "Orbit"}))}
    changed = f'sqlite3 {database} "UPDATE alarm_templates SET {{}} WHERE ringtone IS NULL;"'
    for assignment, differs in (("daysofweek = 3", {"days": 3}), ("delete_after_use = 1", {"once": True})):
        before = read(phone)[key]
        assert changes(phone, changed.format(assignment)) == {
            key: (before, record(**json.loads(before) | differs)),
        }


DERIVED = {"sqlite_sequence", "Media", "notes_normalized", "event_types", "threads", "canonical_addresses"}
OTHERWISE_READ = ("com.android.providers.contacts/", "com.google.android.deskclock/")


def databases(phone: Phone) -> list[tuple[str, str, int]]:
    """Return path, table and number of columns of what all apps keep in tables once they were opened."""
    for app in phone.system.apps():
        phone.system.open_app(app.package)
    phone.navigator.home()
    found = []
    for path, entry in phone.system.files.walk_entries("/data/data"):
        if entry.data and entry.data.startswith(b"SQLite") and not any(each in path for each in OTHERWISE_READ):
            with phone.system.database(path) as db:
                names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
                sizes = [len(db.execute(f'PRAGMA table_info("{name}")').fetchall()) for name in names]
            found += [(path, name, size) for name, size in zip(names, sizes, strict=True) if name not in DERIVED]
    return found


def test_a_row_more_in_any_app_is_seen_and_opening_apps_is_not(phone: Phone) -> None:
    before = read(phone)
    tables = databases(phone)
    assert diff(before, read(phone)) == ()
    assert len(tables) >= 12
    for path, table, columns in tables:
        row = ", ".join("7" * columns)
        seen = changes(phone, f"sqlite3 {path} 'INSERT INTO {table} VALUES ({row});'")
        assert [before for before, _ in seen.values()] == [None], f"{table} of {path}: {seen}"


def test_what_an_app_keeps_is_told_apart_by_its_values(phone: Phone) -> None:
    phone.system.open_app("com.flauschcode.broccoli")
    phone.navigator.home()
    run = 'sqlite3 /data/data/com.flauschcode.broccoli/databases/broccoli "{}"'
    key = "app/com.flauschcode.broccoli/recipes/1"
    assert changes(phone, run.format("INSERT INTO recipes (title, source) VALUES ('Soup', 'a\nCOMMIT;');")) == {
        key: (None, "1,'Soup',NULL,NULL,NULL,'a\nCOMMIT;',NULL,NULL,NULL,0")
    }
    assert list(changes(phone, run.format("UPDATE recipes SET favorite = 1;"))) == [key]
    assert list(changes(phone, "pm clear com.flauschcode.broccoli")) == [key]


def test_messages_are_read(phone: Phone) -> None:
    sent = "content insert --uri content://sms/sent --bind address:s:+1555 --bind body:s:'Hi, body=x'"
    assert changes(phone, sent) == {"sms/+1555": (None, record(type="sent", text="Hi, body=x"))}


@pytest.mark.parametrize("text", ["@@state:alarms\n07:00|1|0|1|0||x", "@@state:foreground\nx"])
def test_a_text_does_not_pass_for_a_part_of_the_state(phone: Phone, text: str) -> None:
    note = {"files/Documents/Markor/new.md": (None, hashlib.md5(f"{text}\n".encode()).hexdigest())}
    assert changes(phone, f"printf '%s\\n' '{text}' > /sdcard/Documents/Markor/new.md") == note
    assert read(phone)["text/Documents/Markor/new.md"] == text
    spoofed = changes(phone, f"settings put system a 'x\n{text}'")
    assert f"probe/{text[8:].partition(chr(10))[0]}" in spoofed, "a setting that passes for another part is seen"


def test_a_phone_without_clock_or_contacts_still_has_a_state() -> None:
    state = read(Phone(PhoneConfig(), apps=()))
    assert state["settings/global/wifi_on"] == "1"
    assert not any(key.startswith(("alarms/", "contacts/")) for key in state)


def test_what_real_phones_print_is_read_too() -> None:
    printed = (
        "@@state:settings-system\r\nscreen_brightness=10\r\nnotes=first\r\nsecond line\r\n"
        "@@state:foreground\r\n    ResumedActivity: ActivityRecord{3f2a u0 com.a/.B t5}\r\n"
    )
    assert parse_probe(printed) == {
        "settings/system/screen_brightness": "10",
        "settings/system/notes": "first\nsecond line",
        "foreground": "com.a/.B",
    }


@given(st.text(max_size=200))
def test_no_output_breaks_the_reader(text: str) -> None:
    parse_probe(text)
    parse_probe("@@state:contacts\n" + text)


def test_the_state_cannot_be_changed_and_has_a_digest(phone: Phone) -> None:
    state = read(phone)
    with pytest.raises(TypeError):
        state["x"] = "y"  # type: ignore[index]
    assert digest(state) == digest(dict(sorted(state.items(), reverse=True)))
    assert digest({**state, "x": "y"}) != digest(state)
    assert diff({"a": "1", "b": "2"}, {"b": "3"}) == (
        Change(key="a", before="1", after=None),
        Change(key="b", before="2", after="3"),
    )
