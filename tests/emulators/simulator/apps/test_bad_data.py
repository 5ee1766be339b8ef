"""What an app finds broken in its own data, or on the shared storage: it goes on, as on a real phone."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.apps.broccoli.app import RECIPES
from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.conftest import Finger


@pytest.mark.parametrize("kind", ["no database", "scribbled over"])
def test_every_app_opens_though_all_databases_are_broken(phone: Phone, kind: str) -> None:
    apps = [app for app in phone.system.apps() if not app.hidden]
    for app in apps:
        phone.system.open_app(app.package)
    paths = phone.shell("find /data/data -path '*/databases/*' -type f").stdout.decode().split()
    assert len(paths) > 10
    for path in paths:
        whole = phone.system.files.read(path)
        scribbled = whole[:100] + b"\xa5" * 9_000
        broken = {"no database": b"hello", "scribbled over": scribbled}
        phone.system.files.write(path, broken[kind])
    for app in phone.system.apps():
        phone.shell(f"am force-stop {app.package}")
    for app in apps:
        phone.system.open_app(app.package)
        assert phone.foreground.startswith(app.package)
        assert phone.ui_tree().children


def test_a_broken_database_is_begun_anew(phone: Phone, finger: Finger) -> None:
    """As Android's DefaultDatabaseErrorHandler does it."""
    finger.open("com.flauschcode.broccoli")
    image = phone.system.files.read(RECIPES.path)
    phone.system.files.write(RECIPES.path, image[:100] + b"\xa5" * 9_000)
    phone.shell("am force-stop com.flauschcode.broccoli")
    finger.open("com.flauschcode.broccoli")
    assert finger.sees("No recipes yet")
    assert RECIPES.insert(phone.system, {"title": "Soup", "favorite": 0})
    phone.invalidate()
    assert finger.sees("Soup")


def test_pictures_that_cannot_be_decoded_are_shown_as_broken(phone: Phone, finger: Finger) -> None:
    phone.shell("cd /sdcard/DCIM; echo 'no picture' > broken.png; echo > empty.jpg; head -c 40 *.png > cut_off.png")
    for package, folder in (
        ("com.simplemobiletools.gallery.pro", "DCIM (4)"),
        ("com.google.android.documentsui", "DCIM"),
    ):
        finger.open(package, folder)
        assert phone.rgb().any()
        for name in ("broken.png", "empty.jpg", "cut_off.png"):
            if finger.sees(name):
                finger.tap(name)
                assert phone.rgb().any()
                phone.key("BACK")
