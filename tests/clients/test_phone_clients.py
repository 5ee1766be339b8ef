"""Unmodified clients do a job on a simulated phone: install, push, pull, look, tap by text, type, start, stop.

Three of them want packages that ours cannot have beside them: PHONE_CLIENTS_PYTHON names their interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import adbutils
import pytest
import uiautomator2

from rlfactory.emulators.simulator.phone import PhoneConfig
from tests.emulators.conftest import Lab, LabPhone

CLIENTS_PYTHON = os.environ.get("PHONE_CLIENTS_PYTHON", sys.executable)
CONTACTS = "com.google.android.contacts"
INSERT = "am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact -e name"
MODULES = {"adb_shell": "adb_shell", "airtest": "airtest", "viewclient": "com.dtmilano"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def phone(lab: Lab) -> Iterator[LabPhone]:
    phone = lab.start_phone(PhoneConfig(width_px=360, height_px=800))
    yield phone
    lab.stop_phone(phone)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What clients are given: a file to send, and an app to install."""
    (tmp_path / "sent.txt").write_text("Ünï cödé\n")
    with zipfile.ZipFile(tmp_path / "app.apk", "w") as archive:
        archive.writestr("AndroidManifest.xml", b"\x03\x00\x08\x00" + "net.gsantner.markor".encode("utf-16-le"))
    return tmp_path


def people(phone: LabPhone) -> str:
    query = "content query --uri content://com.android.contacts/contacts --projection display_name"
    return phone.phone.shell(query).stdout.decode()


def test_adb(phone: LabPhone, folder: Path) -> None:
    assert b"Success" in phone.adb("install", "-r", "-g", str(folder / "app.apk")).stdout
    assert phone.adb("push", str(folder / "sent.txt"), "/sdcard/Download/").returncode == 0
    assert phone.adb("pull", "/sdcard/Download/sent.txt", str(folder / "back.txt")).returncode == 0
    assert (folder / "back.txt").read_text() == "Ünï cödé\n"
    phone.adb("shell", f"{INSERT} 'Ünï cödé'")
    tree = phone.adb("exec-out", "uiautomator dump /dev/tty").stdout.decode()
    assert "Ünï" in tree
    phone.adb("shell", "am force-stop", CONTACTS)
    assert CONTACTS.encode() not in phone.adb("shell", "dumpsys activity top").stdout


def test_adbutils(phone: LabPhone, folder: Path) -> None:
    device = adbutils.AdbClient(port=phone.adb_port).device(phone.serial)
    device.install(str(folder / "app.apk"), nolaunch=True, silent=True)
    device.sync.push(folder / "sent.txt", "/sdcard/Download/sent.txt", check=True)
    device.sync.pull("/sdcard/Download/sent.txt", folder / "back.txt")
    assert (folder / "back.txt").read_text() == "Ünï cödé\n"
    device.app_start(CONTACTS)
    assert device.app_current().package == CONTACTS
    before = device.screenshot()
    device.shell(f"{INSERT} Adbutils")
    assert "Adbutils" in device.dump_hierarchy()
    assert device.screenshot().tobytes() != before.tobytes()
    device.app_stop(CONTACTS)
    assert device.app_current().package != CONTACTS


def test_uiautomator2(phone: LabPhone, folder: Path) -> None:
    device = uiautomator2.connect(adbutils.AdbClient(port=phone.adb_port).device(phone.serial))
    try:
        device.push(str(folder / "sent.txt"), "/sdcard/Download/sent.txt")
        device.pull("/sdcard/Download/sent.txt", str(folder / "back.txt"))
        assert (folder / "back.txt").read_text() == "Ünï cödé\n"
        device.app_start(CONTACTS, wait=True)
        device(description="Create contact").click(timeout=20)
        device(text="First name").click(timeout=20)
        device.send_keys("Ünï cödé")
        assert device.screenshot().size == (360, 800)
        device(text="Save").click(timeout=20)
        assert "Ünï cödé" in people(phone)
        device.toast.show("hello there", 2)
        assert device.toast.get_message(1) == "hello there"
        device.app_stop(CONTACTS)
        assert device.app_current()["package"] != CONTACTS
    finally:
        device.stop_uiautomator(wait=False)


@pytest.mark.phone_clients
@pytest.mark.parametrize("client", MODULES)
def test_another_client(phone: LabPhone, folder: Path, client: str) -> None:
    found = [
        CLIENTS_PYTHON,
        "-c",
        f"import importlib.util as u, sys; sys.exit(u.find_spec('{MODULES[client]}') is None)",
    ]
    if subprocess.run(found, capture_output=True, check=False).returncode:
        pytest.skip(
            "needs adb-shell, airtest and androidviewclient; PHONE_CLIENTS_PYTHON names an interpreter with them"
        )
    variables = {
        "PATH": f"{Path(adbutils.adb_path()).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "ADB_PORT": str(phone.ports.adb),
        "ANDROID_ADB_SERVER_PORT": str(phone.adb_port),
        "ANDROID_SERIAL": phone.serial,
    }
    player = Path(__file__).with_name("players") / f"{client}_player.py"
    line = [CLIENTS_PYTHON, str(player), str(folder)]
    done = subprocess.run(line, env=variables, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert [name for name, well in told.items() if not well] == []
    if client != "viewclient":
        assert (folder / "back.txt").read_text() == "Ünï cödé\n"
    if client != "adb_shell":
        assert client.capitalize() in people(phone)
