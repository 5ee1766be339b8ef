"""The apps as adb scripts written for real phones meet them: intents, providers, databases, files, first runs."""

from __future__ import annotations

import random
import re

import pytest

from rlfactory.emulators.device.state import PROBE, diff, parse_probe
from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.apps.installed import ALL_APPS
from rlfactory.emulators.simulator.apps.kit.contract import LOOKS, Look, broken
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from tests.emulators.simulator.conftest import Finger

PHONES = "content query --uri content://contacts/phones/ --projection display_name:number"
ALARMS_DB = "/data/data/com.google.android.deskclock/databases/alarms.db"
NOTEBOOK = "/storage/emulated/0/Documents/Markor"


def run(phone: Phone, command: str) -> str:
    """Run a command that has to succeed and return what it printed."""
    output = phone.shell(command)
    assert output.exit_code == 0, f"{command}: {output.stderr.decode()}"
    return output.stdout.decode()


@pytest.mark.parametrize(
    "component",
    [
        "com.android.settings/.Settings",
        "com.google.android.contacts/com.android.contacts.activities.PeopleActivity",
        "com.google.android.deskclock/com.android.deskclock.DeskClock",
        "net.gsantner.markor/net.gsantner.markor.activity.MainActivity",
        "com.google.android.documentsui/com.android.documentsui.files.FilesActivity",
    ],
)
def test_apps_start_by_component_and_by_monkey(phone: Phone, component: str) -> None:
    package = component.partition("/")[0]
    assert "Error" not in run(phone, f"am start  -W -n {component}")
    assert phone.foreground.startswith(package + "/")
    top = run(phone, "am stack list | grep -E visible=true")
    assert package in top.splitlines()[0]
    phone.key("HOME")
    run(phone, f"monkey -p {package} -candroid.intent.category.LAUNCHER 1")
    assert phone.foreground.startswith(package + "/")


def test_a_contact_is_inserted_as_androidworld_does_it(phone: Phone, finger: Finger) -> None:
    run(
        phone,
        "am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact "
        "-e name 'Ali Hassan' -e phone +14155550177",
    )
    finger.tap("Save")
    phone.key("BACK")
    assert "display_name=Ali Hassan, number=+14155550177" in run(phone, PHONES)
    run(phone, "pm clear com.android.providers.contacts")
    assert "No result found." in run(phone, PHONES)
    run(phone, "am start -a android.intent.action.VIEW -d content://contacts/people/")
    assert finger.sees("No contacts")


def test_contacts_are_seeded_by_content_insert(phone: Phone, finger: Finger) -> None:
    uri = "content://com.android.contacts"
    run(phone, f"content insert --uri {uri}/raw_contacts --bind account_type:n: --bind account_name:n:")
    rows = run(phone, f"content query --uri {uri}/raw_contacts --projection _id")
    raw = max(int(number) for number in re.findall(r"_id=(\d+)", rows))
    for kind, value in (("name", "Rosa Vega"), ("phone_v2", "305-555-0142")):
        run(
            phone,
            f"content insert --uri {uri}/data --bind raw_contact_id:i:{raw} "
            f"--bind mimetype:s:vnd.android.cursor.item/{kind} --bind 'data1:s:{value}'",
        )
    assert "display_name=Rosa Vega, number=305-555-0142" in run(phone, PHONES)
    finger.open("com.google.android.contacts")
    finger.scroll_to("Rosa Vega")
    run(phone, f'content delete --uri {uri}/raw_contacts --where "_id={raw}"')
    assert "Rosa Vega" not in run(phone, PHONES)
    assert not finger.sees("Rosa Vega")


def test_alarms_are_edited_by_sqlite3_and_shown_after_a_restart(phone: Phone, finger: Finger) -> None:
    finger.open("com.google.android.deskclock")
    run(phone, f"sqlite3 {ALARMS_DB} \"UPDATE alarm_templates SET label = 'Rowing', hour = 5 WHERE hour = 7\"")
    run(phone, "am force-stop com.google.android.deskclock")
    finger.open("com.google.android.deskclock")
    assert finger.sees("05:00", "Rowing")
    run(phone, "pm clear com.google.android.deskclock")
    assert run(phone, f"sqlite3 {ALARMS_DB} 'SELECT count(*) FROM alarm_templates'") == "0\n"


def test_a_database_pushed_in_place_of_the_old_one_is_used(phone: Phone, finger: Finger) -> None:
    """AndroidWorld empties the folder and pushes one file; the app has to make what it misses."""
    run(phone, f"rm -r {ALARMS_DB.rpartition('/')[0]}/*")
    run(phone, "am force-stop com.google.android.deskclock")
    finger.open("com.google.android.deskclock")
    assert finger.sees("No Alarms")
    assert run(phone, f"sqlite3 {ALARMS_DB} 'SELECT count(*) FROM alarm_instances'") == "0\n"


def test_notes_written_by_the_shell_are_shown_and_deleted_for_real(phone: Phone, finger: Finger) -> None:
    run(phone, f"mkdir -p {NOTEBOOK} && echo 'Call the plumber' > {NOTEBOOK}/to_do.md")
    finger.open("net.gsantner.markor")
    finger.long_press("to_do.md", "Delete", "OK")
    assert "to_do.md" not in run(phone, f"find {NOTEBOOK} -type f -o -type d")
    run(phone, "find /storage/emulated/0/ -mindepth 1 -type f -delete")
    assert not finger.sees("ideas.txt")


def test_reading_a_note_leaves_its_times_alone(phone: Phone, finger: Finger) -> None:
    before = run(phone, f"ls {NOTEBOOK} -ll -au")
    finger.open("net.gsantner.markor", "weekly_plan.md")
    phone.key("BACK")
    assert run(phone, f"ls {NOTEBOOK} -ll -au") == before


def test_files_are_deleted_and_moved_for_real(phone: Phone, finger: Finger) -> None:
    run(phone, "echo hello > /sdcard/Download/letter.txt")
    finger.open("com.google.android.documentsui", "Download")
    finger.long_press("letter.txt", "Delete", "OK")
    assert phone.shell("ls /sdcard/Download/letter.txt").exit_code != 0


def test_settings_follow_svc_and_the_screen_alike(phone: Phone, finger: Finger) -> None:
    run(phone, "svc wifi disable")
    run(phone, "am start -a android.settings.WIFI_SETTINGS")
    assert not finger.node(key="wifi_switch").checked
    finger.tap("Wi-Fi")
    assert run(phone, "settings get global wifi_on") in {"1\n", "2\n"}
    run(phone, "settings put system screen_brightness 255")
    run(phone, "am start -a android.settings.DISPLAY_SETTINGS")
    assert finger.sees("100%")


def test_restoring_an_apps_folder_brings_its_state_back(phone: Phone, finger: Finger) -> None:
    """AndroidWorld's app snapshots copy /data/data/PACKAGE."""
    package = "net.gsantner.markor"
    run(phone, f"mkdir -p /data/data/android_world/snapshots && "
               f"cp -a /data/data/{package} /data/data/android_world/snapshots/{package}")  # fmt: skip
    run(phone, f"pm clear {package}")
    finger.open(package)
    assert finger.sees("NEXT")
    run(phone, f"am force-stop {package}")
    run(phone, f"cp -a /data/data/android_world/snapshots/{package}/. /data/data/{package}/")
    finger.open(package)
    assert finger.sees("ideas.txt")


SCREENS = [activity for app in ALL_APPS if not app.hidden for activity in app.activities]


@pytest.mark.parametrize(
    ("activity", "look"),
    [(activity, LOOKS[number % len(LOOKS)]) for number, activity in enumerate(SCREENS)],
    ids=[activity.__name__ for activity in SCREENS],
)
def test_every_screen_keeps_the_kits_contract(golden: GoldenImages, activity: type[Activity], look: Look) -> None:
    """In one look each; `benchmarks.robustness` tries them all."""
    phone = Phone(PhoneConfig(width_px=540, height_px=1200), golden=golden)
    before = phone.state_hash()
    assert broken(phone, activity, look) == []
    assert phone.state_hash() == before


@pytest.mark.parametrize("seed", range(4))
def test_no_sequence_of_touches_breaks_an_app(phone: Phone, finger: Finger, seed: int) -> None:
    rng = random.Random(seed)
    packages = [app.package for app in phone.system.apps() if not app.hidden]
    for step in range(160):
        if step % 40 == 0:
            finger.open(rng.choice(packages))
        targets = [node for node in phone.ui_tree().walk() if node.clickable or node.long_clickable]
        match rng.choices(("tap", "long", "type", "back", "swipe", "wait"), (12, 1, 2, 2, 2, 1))[0]:
            case "tap" if targets:
                phone.tap(*rng.choice(targets).bounds.center)
            case "long" if targets:
                phone.long_press(*rng.choice(targets).bounds.center)
            case "type":
                phone.type_text(rng.choice(("a", "Zoë/..\\", "12:30", "", "line\nline")))
            case "swipe":
                phone.swipe(540, rng.randrange(300, 2300), 540, rng.randrange(300, 2300), 300)
            case "wait":
                phone.advance(rng.randrange(100_000))
            case _:
                phone.key("BACK")
    saved, digest = phone.snapshot(), phone.state_hash()
    phone.key("HOME")
    phone.restore(saved)
    assert phone.state_hash() == digest


def test_opening_the_apps_changes_nothing_that_tasks_look_at(phone: Phone) -> None:
    before = parse_probe(run(phone, PROBE))
    for app in phone.system.apps():
        if not app.hidden:
            phone.system.home()
            phone.system.open_app(app.package)
            phone.scene()
    changed = {change.key for change in diff(before, parse_probe(run(phone, PROBE)))}
    assert changed == {"foreground"}
