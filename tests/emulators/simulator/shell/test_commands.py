"""The commands that hosts use: exact formats, and what they change on the phone."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from rlfactory.emulators.simulator.phone import Phone

SETTINGS = "com.android.settings"


def out(phone: Phone, command: str, *, stdin: bytes = b"") -> str:
    """Return what a command prints; it has to succeed."""
    output = phone.shell(command, stdin)
    assert output.exit_code == 0, (command, output.stdout, output.stderr)
    return output.stdout.decode()


# --- exact formats ---------------------------------------------------------------------------------------------------


def test_long_listing_with_full_times(phone: Phone) -> None:
    phone.state.files.write("/sdcard/Download/a b.txt", b"12345", modified_ns=1_697_384_040_123_456_789)
    lines = out(phone, "ls /sdcard/Download -ll -au").splitlines()
    row = next(line for line in lines if line.endswith("a b.txt"))
    assert re.fullmatch(r"-rw-rw---- +1 \S+ +media_rw +5 2023-10-15 15:34:00\.123456789 \+0000 a b\.txt", row), row
    assert lines[0].startswith("total ")
    assert [line.split()[-1] for line in lines[1:3]] == [".", ".."]


def test_listings_of_files_folders_and_missing_paths(phone: Phone) -> None:
    phone.shell("mkdir -p /data/t/d; echo 1 > /data/t/f; touch /data/t/.h")
    assert out(phone, "ls /data/t") == "d\nf\n"
    assert out(phone, "ls -a /data/t") == ".\n..\n.h\nd\nf\n"
    assert out(phone, "ls -A /data/t") == ".h\nd\nf\n"
    assert out(phone, "ls -d /data/t") == "/data/t\n"
    assert out(phone, "ls -p /data/t") == "d/\nf\n"
    assert out(phone, "ls -R /data/t") == "/data/t:\nd\nf\n\n/data/t/d:\n"
    assert out(phone, "cd /data/t; ls f d") == "f\n\nd:\n"
    missing = phone.shell("ls /data/t/nope /data/t/f")
    assert (missing.exit_code, missing.stdout) == (1, b"/data/t/f\n")


def test_ps_has_nine_columns_and_knows_running_apps(phone: Phone) -> None:
    phone.system.open_app(SETTINGS)
    lines = out(phone, "ps -A").splitlines()
    assert lines[0].split()[:2] == ["USER", "PID"]
    row = next(line for line in lines if line.endswith(SETTINGS))
    assert len(row.split()) >= 9
    pid = out(phone, f"pidof {SETTINGS}").strip()
    assert row.split()[1] == pid
    phone.shell(f"kill {pid}")
    assert phone.shell(f"pidof {SETTINGS}").exit_code == 1


def test_a_database_can_be_read_written_and_shown_in_many_ways(phone: Phone) -> None:
    phone.shell("sqlite3 /data/d.db 'CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES(1,\"x\"),(2,NULL);'")
    assert out(phone, "sqlite3 /data/d.db 'SELECT * FROM t'") == "1|x\n2|\n"
    assert out(phone, "sqlite3 -header -csv /data/d.db 'SELECT * FROM t'") == "a,b\n1,x\n2,\n"
    assert out(phone, "sqlite3 -separator : /data/d.db 'SELECT * FROM t WHERE a=1;'") == "1:x\n"
    assert out(phone, "sqlite3 -line /data/d.db 'SELECT * FROM t WHERE a=1'") == "a = 1\nb = x\n"
    assert out(phone, "sqlite3 -json /data/d.db 'SELECT * FROM t'") == '[{"a": 1, "b": "x"},\n{"a": 2, "b": null}]\n'
    assert out(phone, "sqlite3 /data/d.db .tables") == "t\n"
    assert out(phone, "echo 'SELECT count(*) FROM t;' | sqlite3 /data/d.db") == "2\n"
    assert out(phone, "sqlite3 /data/d.db \"SELECT 'a;b'; SELECT 2;\"") == "a;b\n2\n"
    failed = phone.shell("sqlite3 /data/d.db 'SELECT * FROM none'")
    assert (failed.exit_code, failed.stderr) == (1, b"Error: no such table: none\n")


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE '/tmp/rlfactory-escape.db' AS e",
        "VACUUM INTO '/tmp/rlfactory-escape.db'",
        "SELECT load_extension('x')",
        "SELECT writefile('/tmp/x','y')",
    ],
)
def test_sql_cannot_reach_the_hosts_files(phone: Phone, sql: str) -> None:
    out(phone, "sqlite3 /data/d.db 'CREATE TABLE t(a)'")
    assert phone.shell(f'sqlite3 /data/d.db "{sql}"').exit_code == 1


def test_a_query_without_end_is_interrupted(phone: Phone) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT count(*) FROM n"
    output = phone.shell(f"sqlite3 /data/d.db '{endless}'")
    assert output.exit_code == 1
    assert b"interrupted" in output.stderr


def test_a_failed_statement_keeps_those_before_it(phone: Phone) -> None:
    phone.shell(
        "sqlite3 /data/d.db 'CREATE TABLE t(a); INSERT INTO t VALUES(1); SELECT nonsense; INSERT INTO t VALUES(2);'"
    )
    assert out(phone, "sqlite3 /data/d.db 'SELECT * FROM t'") == "1\n"


# --- effects ---------------------------------------------------------------------------------------------------------


def test_starting_stopping_and_removing_activities(phone: Phone) -> None:
    out(phone, f"am start -n {SETTINGS}/{SETTINGS}.Settings")
    assert phone.foreground == f"{SETTINGS}/.Settings"
    assert "brought to the front" in out(phone, f"input keyevent HOME; am start -n {SETTINGS}/.Settings")
    out(phone, f"am force-stop {SETTINGS}")
    assert phone.foreground.startswith("com.google.android.apps.nexuslauncher/")
    out(phone, f"am start -n {SETTINGS}/.Settings")
    number = re.findall(r" id=(\d+)", out(phone, "dumpsys activity recents"))[0]
    out(phone, f"am stack remove {number}")
    assert "id=" not in out(phone, "dumpsys activity recents")


@pytest.mark.parametrize(
    "command",
    [
        "am start -n no.such/.App",
        "am start -a no.such.ACTION",
        f"am start -n {SETTINGS}/.NoSuchActivity",
        "am start -n x",
    ],
)
def test_what_cannot_be_started_is_an_error(phone: Phone, command: str) -> None:
    output = phone.shell(command)
    assert output.exit_code == 1
    assert b"Error" in output.stdout or b"Bad component" in output.stderr


def test_airplane_mode_keeps_the_radio_keys_in_agreement(phone: Phone) -> None:
    read = "settings get global wifi_on; settings get global bluetooth_on; settings get global airplane_mode_on"
    out(phone, "cmd connectivity airplane-mode enable")
    assert out(phone, read) == "0\n0\n1\n"
    out(phone, "svc wifi enable")
    assert out(phone, read) == "2\n0\n1\n"
    out(phone, "cmd connectivity airplane-mode disable")
    assert out(phone, read) == "1\n1\n0\n"
    out(phone, "svc wifi disable; settings put global airplane_mode_on 1; settings put global airplane_mode_on 0")
    assert out(phone, read) == "0\n1\n0\n"


def test_setting_the_date_and_zone(phone: Phone) -> None:
    assert out(phone, "date 010203042024.05; date '+%Y-%m-%d %H:%M:%S'").endswith("2024-01-02 03:04:05\n")
    out(phone, "service call alarm 3 s16 Europe/Berlin")
    assert out(phone, "date +%H:%M%Z") == "04:04CET\n"
    assert out(phone, "getprop persist.sys.timezone") == "Europe/Berlin\n"
    out(phone, "service call alarm 3 s16 No/Where")
    assert out(phone, "getprop persist.sys.timezone") == "Europe/Berlin\n"
    assert phone.shell("date 99999999").exit_code == 1


def test_clearing_an_app_puts_its_data_back_and_takes_its_permissions(phone: Phone) -> None:
    out(phone, "pm grant net.gsantner.markor READ_MEDIA_AUDIO; echo x > /data/data/net.gsantner.markor/extra")
    assert "READ_MEDIA_AUDIO: granted=true" in out(phone, "dumpsys package net.gsantner.markor")
    out(phone, "pm clear net.gsantner.markor")
    assert "READ_MEDIA_AUDIO" not in out(phone, "dumpsys package net.gsantner.markor")
    assert not phone.state.files.exists("/data/data/net.gsantner.markor/extra")
    assert phone.shell("pm clear no.such").exit_code == 1


def _apk(package: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("AndroidManifest.xml", b"\x03\x00\x08\x00" + package.encode("utf-16-le"))
    return buffer.getvalue()


def test_installing_known_packages(phone: Phone) -> None:
    apk = _apk("net.gsantner.markor")
    assert out(phone, "pm uninstall net.gsantner.markor") == "Success\n"
    assert "markor" not in out(phone, "pm list packages")
    phone.state.files.write("/data/local/tmp/m.apk", apk)
    assert out(phone, "pm install -r -t -g /data/local/tmp/m.apk") == "Success\n"
    assert "package:net.gsantner.markor\n" in out(phone, "pm list packages -3")
    assert out(phone, f"cmd package install -S {len(apk)}", stdin=apk) == "Success\n"
    assert phone.shell("pm install /data/local/tmp/none.apk").exit_code == 1
    assert b"Failure" in phone.shell("cmd package install -S 3", b"abc").stdout


def test_screencap_is_a_png_of_the_screen(phone: Phone) -> None:
    png = phone.shell("screencap -p").stdout
    assert png.startswith(b"\x89PNG\r\n")
    out(phone, "screencap -p /sdcard/s.png")
    assert phone.state.files.read("/sdcard/s.png") == png
    raw = phone.shell("screencap").stdout
    assert len(raw) == 16 + 1080 * 2400 * 4
    assert raw[16:19] == phone.rgb()[0, 0].tobytes()


def test_the_screen_can_be_resized(phone: Phone) -> None:
    out(phone, "wm size 540x1200")
    assert out(phone, "wm size") == "Physical size: 1080x2400\nOverride size: 540x1200\n"
    assert phone.rgb().shape == (1200, 540, 3)
    out(phone, "wm size reset")
    assert phone.shell("wm size 1x1").exit_code != 0


def test_settings_content_provider(phone: Phone) -> None:
    out(phone, "content insert --uri content://settings/system --bind name:s:user_rotation --bind value:i:0")
    assert out(
        phone, "content query --uri content://settings/system --where \"name='user_rotation'\" --projection value"
    ) == ("Row: 0 value=0\n")
    assert phone.shell("content query --uri content://no.such/x").exit_code == 1
    assert phone.shell("content query --uri nonsense").exit_code == 1


def test_two_taps_of_one_command_line_are_a_double_tap(phone: Phone) -> None:
    twin = phone.fork("twin")
    twin.double_tap(540, 1200)
    out(phone, "input tap 540 1200 && input tap 540 1200")
    assert phone.state_hash() == twin.state_hash()


def test_time_passes_only_by_waiting_and_acting(phone: Phone) -> None:
    start = int(out(phone, "date +%s"))
    assert int(out(phone, "ls > /dev/null; date +%s")) == start
    out(phone, "sleep 90")
    assert int(out(phone, "date +%s")) == start + 90
    out(phone, "input tap 5 1000")
    assert int(out(phone, "date +%s")) == start + 91
    assert phone.shell("sleep 99999999").exit_code == 1
