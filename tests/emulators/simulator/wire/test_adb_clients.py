"""The simulated phone under unmodified clients: the adb binary, adbutils, uiautomator2."""

from __future__ import annotations

import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import adbutils
import pytest
import uiautomator2
from PIL import Image

from tests.emulators.conftest import Lab, LabPhone


@pytest.fixture
def client(lab_phone: LabPhone) -> adbutils.AdbDevice:
    return adbutils.AdbClient(port=lab_phone.adb_port).device(lab_phone.serial)


# --- the adb binary


def test_adb_lists_the_phone(lab_phone: LabPhone) -> None:
    listing = lab_phone.adb("devices", "-l").stdout.decode()
    assert f"{lab_phone.serial}" in listing
    assert "product:sdk_phone model:Pixel_6 device:emu" in listing


def test_adb_shell_keeps_outputs_and_exit_code_apart(lab_phone: LabPhone) -> None:
    done = lab_phone.adb("shell", "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)


def test_adb_shell_takes_input(lab_phone: LabPhone) -> None:
    assert lab_phone.adb("shell", "cat | tr a-z A-Z", stdin=b"hello\n").stdout == b"HELLO\n"
    assert lab_phone.adb("shell", "-T", stdin=b"echo from a script\n").stdout == b"from a script\n"


def test_adb_exec_out_is_byte_for_byte(lab_phone: LabPhone) -> None:
    picture = lab_phone.adb("exec-out", "screencap", "-p").stdout
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.endswith(b"IEND\xaeB`\x82")


def test_adb_pushes_and_pulls_a_tree(lab_phone: LabPhone, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "a.txt").write_bytes(b"alpha")
    (source / "deep" / "er" / "b b.bin").write_bytes(bytes(range(256)) * 1000)
    pushed = lab_phone.adb("push", str(source), "/sdcard/Download/")
    assert pushed.returncode == 0, pushed.stderr
    target = tmp_path / "target"
    pulled = lab_phone.adb("pull", "/sdcard/Download/source", str(target))
    assert pulled.returncode == 0, pulled.stderr
    files = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    assert files == {"a.txt": b"alpha", "deep/er/b b.bin": bytes(range(256)) * 1000}
    assert lab_phone.adb("shell", "cat /sdcard/Download/source/a.txt").stdout == b"alpha"


def test_adb_installs_a_file_in_its_streamed_default(lab_phone: LabPhone, tmp_path: Path) -> None:
    """It names the size, sends that much, and waits for the answer with its side still open."""
    with zipfile.ZipFile(tmp_path / "app.apk", "w") as archive:
        archive.writestr("AndroidManifest.xml", b"\x03\x00\x08\x00" + "net.gsantner.markor".encode("utf-16-le"))
    done = lab_phone.adb("install", "-r", "-t", "-g", str(tmp_path / "app.apk"))
    assert (done.returncode, b"Success" in done.stdout) == (0, True), done.stderr


def test_adb_says_why_a_transfer_failed(lab_phone: LabPhone, tmp_path: Path) -> None:
    missing = lab_phone.adb("pull", "/sdcard/nothing", str(tmp_path / "x"))
    assert missing.returncode != 0
    assert b"No such file" in missing.stderr + missing.stdout
    (tmp_path / "file").write_bytes(b"x")
    blocked = lab_phone.adb("push", str(tmp_path / "file"), "/data/local/tmp/u2.jar/below")
    assert blocked.returncode != 0
    assert b"Not a directory" in blocked.stderr + blocked.stdout


def test_adb_root_reverse_and_forward(lab_phone: LabPhone) -> None:
    assert b"already running as root" in lab_phone.adb("root").stdout
    assert b"opens no connections" in lab_phone.adb("reverse", "tcp:1", "tcp:2").stderr
    port = int(lab_phone.adb("forward", "tcp:0", "tcp:9008").stdout)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert connection.recv(1) == b""  # nothing listens on the phone's port yet


def test_adb_emu_reaches_the_console(lab_phone: LabPhone, tmp_path: Path) -> None:
    # adb leaves out what comes before the second OK: without a token there is nothing left of a short answer.
    (tmp_path / ".emulator_console_auth_token").write_text("any")
    assert lab_phone.adb("emu", "ping", home=tmp_path).stdout == b"I am alive!\r\nOK\r\n"
    assert lab_phone.adb("emu", "avd", "snapshot", "save", "one", home=tmp_path).stdout == b"OK\r\n"
    assert b"one\r\n" in lab_phone.adb("emu", "avd", "snapshot", "list", home=tmp_path).stdout


# --- adbutils


def test_adbutils_reads_the_phone(client: adbutils.AdbDevice, lab_phone: LabPhone) -> None:
    assert client.shell("echo merged; echo too >&2") == "merged\ntoo"
    done = client.shell2("ls /nowhere")
    assert done.returncode == 1
    assert "No such file" in done.output
    parted = client.shell2("echo a; echo b >&2; false", v2=True)
    assert (parted.stdout, parted.stderr, parted.returncode) == ("a\n", "b\n", 1)
    assert client.window_size() == (360, 800)
    assert client.prop.model == "Pixel 6"
    assert client.app_current().package == lab_phone.phone.foreground.split("/")[0]
    assert client.screenshot().size == (360, 800)
    assert "com.android.settings" in client.list_packages()
    assert "<hierarchy" in client.dump_hierarchy()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # adbutils leaves its socket open
def test_adbutils_reads_the_framebuffer(client: adbutils.AdbDevice) -> None:
    assert client.framebuffer().convert("RGB").tobytes() == client.screenshot().tobytes()


def test_adbutils_transfers_files(client: adbutils.AdbDevice, tmp_path: Path) -> None:
    data = bytes(range(256)) * 3000
    assert client.sync.push(data, "/sdcard/Transfer/d.bin", check=True) == len(data)
    assert client.sync.read_bytes("/sdcard/Transfer/d.bin") == data
    assert client.sync.stat("/sdcard/Transfer/d.bin").size == len(data)
    assert client.sync.stat("/sdcard/none").mtime is None
    assert [item.path for item in client.sync.list("/sdcard/Transfer")] == [".", "..", "d.bin"]
    client.sync.pull("/sdcard/Transfer", tmp_path / "pulled", exist_ok=True)
    assert (tmp_path / "pulled" / "d.bin").read_bytes() == data


# --- uiautomator2


@pytest.fixture
def ui(client: adbutils.AdbDevice) -> Iterator[uiautomator2.Device]:
    device = uiautomator2.connect(client)
    yield device
    device.stop_uiautomator(wait=False)


def test_uiautomator2_finds_and_clicks(ui: uiautomator2.Device) -> None:
    ui.app_start("com.android.settings", wait=True)
    assert ui.app_current()["package"] == "com.android.settings"
    assert ui.window_size() == (360, 800)
    assert ui.info["currentPackageName"] == "com.android.settings"
    entry = ui(textContains="Network")
    assert entry.exists
    assert entry.wait(timeout=20)
    entry.click()
    assert not ui(text="Search settings").exists(timeout=0.2)
    ui.press("back")
    assert ui.xpath("//*[contains(@text, 'Network')]").wait(timeout=20) is not None
    assert ui(text="no such thing").wait(timeout=0.5) is False
    with pytest.raises(uiautomator2.UiObjectNotFoundError):
        ui(text="no such thing").click(timeout=0.2)
    assert not ui(textContains="About").exists
    ui(scrollable=True).scroll.toEnd()
    assert ui(textContains="About").exists


def test_uiautomator2_looks(ui: uiautomator2.Device) -> None:
    picture = ui.screenshot()
    assert isinstance(picture, Image.Image)
    assert picture.size == (360, 800)
    assert "<hierarchy" in ui.dump_hierarchy()
    assert ui.dump_hierarchy(pretty=True).count("<node") > 3


def test_uiautomator2_types_by_the_clipboard(ui: uiautomator2.Device, lab_phone: LabPhone) -> None:
    ui.app_start("com.google.android.contacts")
    ui(description="Create contact").click(timeout=20)
    ui(className="android.widget.EditText").click(timeout=20)
    ui.send_keys("Ünï cödé")
    assert ui.clipboard == "Ünï cödé"
    assert ui(text="Ünï cödé").exists
    ui(focused=True).set_text("plain")
    assert ui(focused=True).get_text() == "plain"
    ui(focused=True).clear_text()
    assert not ui(text="plain").exists


def test_uiautomator2_shows_a_toast(ui: uiautomator2.Device) -> None:
    ui.toast.show("hello there", 2)
    assert ui.toast.get_message(1) == "hello there"
    ui.clear_toast()
    assert ui.last_toast is None


def test_uiautomator2_restarts_its_server(ui: uiautomator2.Device) -> None:
    ui.reset_uiautomator()
    assert ui.info["displayWidth"] == 360


def test_uiautomator2_moves_fingers(ui: uiautomator2.Device, lab_phone: LabPhone) -> None:
    ui.app_start("com.android.settings")
    before = ui.dump_hierarchy()
    ui.swipe(180, 700, 180, 200, duration=0.2)
    assert ui.dump_hierarchy() != before
    ui.swipe_points([(180, 200), (180, 400), (180, 760)], 0.2)
    ui.touch.down(180, 700).move(180, 500).up(180, 200)
    assert ui.dump_hierarchy() != before
    ui(scrollable=True).scroll.toBeginning()
    assert ui.dump_hierarchy() == before
    assert ui(scrollable=True).scroll.to(textContains="About")
    ui(scrollable=True).fling.forward()
    ui(scrollable=True).drag_to(180, 500)
    ui.drag(180, 200, 180, 300)
    ui.long_click(180, 400, 0.6)
    ui.double_click(180, 400)
    ui.press("home")
    assert ui.app_current()["package"] == lab_phone.phone.foreground.split("/")[0]


def test_uiautomator2_presses_keys_and_turns_the_screen_off(ui: uiautomator2.Device, lab_phone: LabPhone) -> None:
    ui.app_start("com.android.settings")
    ui.press("recent")
    ui.press(4)
    ui.press("home")
    ui.screen_off()
    assert ui.info["screenOn"] is False
    ui.screen_on()
    assert ui.info["screenOn"] is True
    ui.open_notification()
    assert lab_phone.phone.state.view.overlay == "shade"
    ui.press("back")
    ui.open_quick_settings()
    assert lab_phone.phone.state.view.overlay == "shade"
    with pytest.raises(uiautomator2.exceptions.RPCError):
        ui.press("hyper")


def test_uiautomator2_describes_objects(ui: uiautomator2.Device) -> None:
    ui.app_start("com.android.settings")
    rows = ui(className="android.widget.TextView")
    assert len(rows) == rows.count > 3
    assert [info["text"] for info in rows.info_list()] == [rows[index].info["text"] for index in range(rows.count)]
    assert rows[0].info["bounds"]["right"] <= 360
    assert ui(scrollable=True).child(className="android.widget.TextView").exists
    assert rows[0].wait_gone(timeout=0.1) is False
    assert ui(text="nothing").wait_gone(timeout=0.1) is True


def test_uiautomator2_turns_the_screen(ui: uiautomator2.Device) -> None:
    ui.set_orientation("left")
    assert ui.orientation == "left"
    assert ui.window_size() == (800, 360)
    assert ui.screenshot().size == (800, 360)
    ui.set_orientation("natural")
    assert ui.window_size() == (360, 800)
    ui.freeze_rotation(False)


def test_one_adb_server_serves_many_phones(lab: Lab, lab_phone: LabPhone) -> None:
    others = [lab.start_phone(lab_phone.phone.config) for _ in range(20)]
    try:
        for number, other in enumerate(others):
            assert other.adb("shell", f"echo {number} > /sdcard/number").returncode == 0
        for number, other in enumerate(others):
            assert other.adb("shell", "cat /sdcard/number").stdout == f"{number}\n".encode()
        assert lab_phone.adb("shell", "cat /sdcard/number").returncode == 1
    finally:
        for other in others:
            lab.stop_phone(other)
