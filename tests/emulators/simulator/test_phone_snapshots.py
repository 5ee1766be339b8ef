"""Snapshots, forks and hashes of a phone: everything comes back, nothing is shared, every change is noticed."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.android.app import App, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from tests.emulators.simulator.example_apps import NOTES, NOTES_APP, NoteEditor, NoteList

HOME = "com.google.android.apps.nexuslauncher/.NexusLauncherActivity"


@pytest.fixture
def phone() -> Phone:
    return Phone(PhoneConfig(), apps=(NOTES_APP,))


def _disturb(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    phone.system.start(NoteEditor, Intent(extras={"title": "b"}))
    phone.system.settings.put("system", "screen_brightness", "7")
    phone.system.set_airplane_mode(True)
    phone.system.clipboard = "copied"
    phone.system.toast("hi")
    phone.system.notify(NOTES, 3, title="t", text="x", icon="bell")
    phone.state.files.write("/sdcard/Download/new.txt", b"new")
    phone.state.packages.grant(NOTES, "android.permission.CAMERA")
    phone.state.properties["debug.a"] = "1"
    phone.state.display.rotation = 1
    phone.advance(5_000)
    with phone.system.database(f"/data/data/{NOTES}/databases/n.db") as db:
        db.execute("INSERT INTO note VALUES ('x')")


def test_restore_brings_everything_back(phone: Phone) -> None:
    before, hashed = phone.snapshot(), phone.state_hash()
    _disturb(phone)
    assert phone.state_hash() != hashed
    changed = phone.snapshot()
    phone.restore(before)
    assert phone.state_hash() == hashed
    assert not phone.state.files.exists("/sdcard/Download/new.txt")
    assert (phone.foreground, phone.system.clipboard, phone.width_px) == (HOME, "", 1080)
    phone.restore(changed)
    assert phone.foreground == f"{NOTES}/.edit.NoteEditor"


def test_a_snapshot_is_not_touched_by_what_happens_later(phone: Phone) -> None:
    phone.system.open_app(NOTES)
    snapshot, hashed = phone.snapshot(), phone.state_hash()
    activity = phone.activity
    assert isinstance(activity, NoteList)
    for _ in range(2):
        activity.seen.append("changed")
        _disturb(phone)
        phone.restore(snapshot)
        assert phone.state_hash() == hashed


def test_a_fork_is_equal_and_then_independent(phone: Phone) -> None:
    _disturb(phone)
    twin = phone.fork("twin")
    assert twin.config.serial == "twin"
    assert twin.state_hash() == phone.state_hash()
    twin.state.files.write("/sdcard/only-there", b"")
    twin.system.home()
    assert not phone.state.files.exists("/sdcard/only-there")
    assert phone.foreground == f"{NOTES}/.edit.NoteEditor"
    twin.advance(1_000)
    twin.state.files.write("/sdcard/later", b"")
    assert twin.state.files.stat("/sdcard/later").modified_ns == twin.state.clock.wall_ns()


def test_equal_histories_have_equal_hashes_and_pixels() -> None:
    phones = [Phone(PhoneConfig(serial=serial), apps=(NOTES_APP,)) for serial in ("a", "b")]
    for phone in phones:
        _disturb(phone)
    assert phones[0].state_hash() == phones[1].state_hash()
    assert (phones[0].rgb().copy() == phones[1].rgb()).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda phone: phone.advance(1),
        lambda phone: phone.system.settings.put("secure", "x", "y"),
        lambda phone: phone.system.open_app(NOTES),
        lambda phone: phone.state.packages.grant(NOTES, "android.permission.CAMERA"),
        lambda phone: phone.state.files.set_mode("/sdcard/Download", 0o700),
        lambda phone: setattr(phone.system, "clipboard", "x"),
        lambda phone: phone.shell("service call alarm 3 s16 Asia/Tokyo"),
    ],
)
def test_the_hash_notices_every_kind_of_change(phone: Phone, change: object) -> None:
    before = phone.state_hash()
    assert callable(change)
    change(phone)
    assert phone.state_hash() != before


def test_phones_of_one_kind_start_from_a_shared_image() -> None:
    golden = GoldenImages()
    installs: list[str] = []

    class Counted(App):
        def install(self, system: System) -> None:
            installs.append(self.package)

    app = Counted(package="a.b", label="", icon="", color="#000000", activities=(NoteList,))
    first = Phone(PhoneConfig(), apps=(app,), golden=golden)
    second = Phone(PhoneConfig(serial="other"), apps=(app,), golden=golden)
    assert installs == ["a.b"]
    assert first.state_hash() == second.state_hash()
    Phone(PhoneConfig(width_px=540, height_px=1200), apps=(app,), golden=golden)
    assert installs == ["a.b", "a.b"]


def test_snapshots_and_forks_copy_no_file(phone: Phone) -> None:
    phone.state.files.write("/sdcard/Download/film", bytes(10_000))
    snapshot = phone.snapshot()
    kept = phone.state.files.read("/sdcard/Download/film")
    assert phone.fork("twin").state.files.read("/sdcard/Download/film") is kept
    phone.state.files.write("/sdcard/Download/film", b"")
    phone.restore(snapshot)
    assert phone.state.files.read("/sdcard/Download/film") is kept
