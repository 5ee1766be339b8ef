"""The commands that hosts use, shape by shape: each works, exits 0, and prints what its readers look for."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulators.simulator.commands.registry import COMMANDS
from emulators.simulator.phone import Phone, PhoneConfig
from emulators.simulator.system_image import GoldenImages

SETTINGS = "com.android.settings"
MARKOR = "/storage/emulated/0/Documents/Markor"


def out(phone: Phone, command: str, *, stdin: bytes = b"") -> str:
    """Return what a command prints; it has to succeed."""
    output = phone.shell(command, stdin)
    assert output.exit_code == 0, (command, output.stdout, output.stderr)
    return output.stdout.decode()


SHAPES: list[tuple[str, str]] = [
    ("whoami", r"root\n"),
    ("pm list packages", r"(?s)(package:[\w.]+\n)+"),
    (f"pm clear {SETTINGS}", r"Success\n"),
    ("pm clear com.android.providers.contacts", r"Success\n"),
    (f"pm grant {SETTINGS} android.permission.POST_NOTIFICATIONS", ""),
    (f"appops set {SETTINGS} android:system_alert_window allow", ""),
    (f"am start  -W -n {SETTINGS}/.Settings", r"(?s)Starting: .*Status: ok\n.*Complete\n"),
    (f"am start '' -W -n {SETTINGS}/.Settings --es k v --ez b true", r"(?s)Starting: .*Complete\n"),
    ("am start -a android.intent.action.VIEW -d content://contacts/people/", r"(?s)Starting: (?!.*Error).*"),
    (
        "am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact -e name 'Ann Lee' -e phone 123",
        r"(?s)Starting: (?!.*Error).*",
    ),
    ("am start -a android.settings.SETTINGS", r"(?s)Starting: (?!.*Error).*"),
    (
        'am broadcast -a com.example.ACTION_UPDATE_OVERLAY --es task_type_string "a b" --es goal_string "c"',
        r"Broadcasting: .*\nBroadcast completed: result=0\n",
    ),
    (
        'am broadcast -a android.intent.action.MEDIA_SCANNER_SCAN_FILE -d "file:///storage/emulated/0/Music"',
        r"(?s).*Broadcast completed: result=0\n",
    ),
    (
        'am broadcast -a accessibility_forwarder.intent.action.SET_GRPC --ei "port" 8554 --es "host" 10.0.2.2 -n a/a.B',
        r"(?s).*Broadcast completed: result=0\n",
    ),
    ("am broadcast -a x --el l 5 --ef f 1.5 --esa s a,b", r"(?s).*Broadcast completed: result=0\n"),
    (f"am force-stop {SETTINGS}", ""),
    ("am force-stop no.such.app", ""),
    ("am stack list", r"(?s)RootTask id=1 .*taskId=1: .*topActivity=ComponentInfo\{.*\}.*"),
    (
        "am stack list | grep -E visible=true",
        r"  taskId=\d+: \S+ .*visible=true topActivity=ComponentInfo\{\S+/\S+\}\n",
    ),
    ("am stack remove 99", ""),
    ("am task lock 99", ""),
    (f"monkey -p {SETTINGS} -candroid.intent.category.LAUNCHER 1", r"(?s).*Events injected: 1\n.*"),
    (f"monkey -p {SETTINGS} 1", r"(?s).*Events injected: 1\n.*"),
    ("settings get global wifi_on", r"1\n"),
    ("settings get global no_such_key", r"null\n"),
    ("settings put system show_touches 1; settings get system show_touches", r"1\n"),
    (
        "settings put global policy_control 'immersive.full=*'; settings get global policy_control",
        r"immersive.full=\*\n",
    ),
    ("settings list system", r"(?s)(\w+=.*\n)+"),
    ("settings delete global policy_control", r"Deleted 0 rows\n"),
    ("svc wifi disable; settings get global wifi_on; svc wifi enable; settings get global wifi_on", r"0\n1\n"),
    ("svc bluetooth disable; settings get global bluetooth_on; svc bluetooth enable", r"0\n"),
    ("service call alarm 3 s16 UTC", r"Result: Parcel\(.*\)\n"),
    ("date 1015153423.00", r"Sun Oct 15 15:34:00 UTC 2023\n"),
    ("date", r"Sun Oct 15 15:34:00 UTC 2023\n"),
    ("date +%s", r"1697384040\n"),
    ("wm size", r"Physical size: 1080x2400\n"),
    ("wm density", r"Physical density: 420\n"),
    ("dumpsys input | grep logicalFrame", r"(?s).*logicalFrame=\[0, 0, 1080, 2400\].*"),
    ("dumpsys input | grep physicalFrame", r"(?s).*physicalFrame=\[0, 0, 1080, 2400\].*"),
    ("dumpsys input", r"(?s).*\n +SurfaceOrientation: 0\n.*"),
    ("dumpsys window | grep mCurrentRotation", r"  mCurrentRotation=ROTATION_0\n"),
    ("dumpsys window windows", r"(?s).*mCurrentFocus=Window\{\w+ u0 [\w.]+/[\w.]+\}\n.*"),
    ("dumpsys activity activities", r"(?s).*mResumedActivity: ActivityRecord\{\w+ u0 [\w.]+/[\w.]+ t\d+\}\n.*"),
    ("dumpsys activity top", r"(?s).*ACTIVITY [\w.]+/[\w.]+ \w+ pid=\d+\n"),
    (f"am start -n {SETTINGS}/.Settings; dumpsys activity recents", r"(?s).* id=2 .*"),
    (
        "dumpsys display",
        r"(?s).*DisplayViewport\{.*valid=true, .*orientation=0, .*deviceWidth=1080, deviceHeight=2400\}.*",
    ),
    (
        f"dumpsys package {SETTINGS}",
        r"(?s).*versionCode=33 minSdk=24 targetSdk=33\n.*versionName=13\n.*pkgFlags=\[ .* \]\n.*",
    ),
    (f"dumpsys package {SETTINGS}", r"(?s).*firstInstallTime=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n.*"),
    ("dumpsys telephony.registry", r"(?s).*mCallState=0\n.*"),
    ("dumpsys power", r"(?s).*mHoldingDisplaySuspendBlocker=true\n.*"),
    ("dumpsys battery", r"(?s).*level: 100\n.*"),
    ("getprop ro.build.version.sdk", r"33\n"),
    ("getprop sys.boot_completed", r"1\n"),
    ("getprop init.svc.bootanim", r"stopped\n"),
    ("getprop | grep ro.product.model", r"\[ro.product.model\]: \[Pixel 6\]\n"),
    ("setprop debug.x 5; getprop debug.x", r"5\n"),
    (
        "content query --uri content://contacts/phones/ --projection display_name:number",
        r"Row: 0 display_name=[^,]+, number=[^,]+\n(?s:.*)",
    ),
    ("content query --uri content://sms/inbox", r"No result found\.\n"),
    ("content query --uri content://sms/sent", r"No result found\.\n"),
    ("content delete --uri content://media/external/downloads", ""),
    ("content delete --uri content://call_log/calls", ""),
    (
        'mkdir -p /data/data/x/databases; sqlite3 /data/data/x/databases/m.db "CREATE TABLE sms(a); DELETE FROM sms;"',
        "",
    ),
    ('if [ -f "/sdcard/nope" ]; then\n    echo "Exists"\nelse\n    echo "Does not exist"\nfi', r"Does not exist\n"),
    ('if [ -d "/sdcard/Download" ]; then echo "Exists"; else echo "Does not exist"; fi', r"Exists\n"),
    (f"ls -1 {MARKOR}", r"(?s)(.+\n)*"),
    ("ls /sdcard/Pictures", r"(?s)(.+\n)*"),
    ("ls /sdcard/Movies", ""),
    (f"find {MARKOR} -type f -o -type d", rf"(?s){MARKOR}\n.*"),
    ("find /storage/emulated/0/ -mindepth 1 -type f -delete", ""),
    (f"echo 'it'\\''s (a) \"note\" $5' > {MARKOR}/a.md; cat {MARKOR}/a.md", r"it's \(a\) \"note\" \$5\n"),
    (f"mkdir -p {MARKOR}/sub; rm -r {MARKOR}/sub", ""),
    ("rm -rf /sdcard/Movies/*", ""),
    ("mkdir -p /data/data/aw/p && cp -a /data/data/com.android.settings/. /data/data/aw/p/", ""),
    (f"rm -rf /data/data/{SETTINGS}/*; restorecon -RD /data/data/{SETTINGS}; chmod 777 -R /data/data/{SETTINGS}", ""),
    ("touch '/sdcard/Download/a b.txt'; chmod 777 /sdcard/Download/a\\ b.txt", ""),
    ("touch /sdcard/f; chcon u:object_r:media_rw_data_file:s0 /sdcard/f", ""),
    ("input tap 500 500", ""),
    ("input swipe 500 1500 500 500 ''", ""),
    ("input swipe 500 1500 500 500 1000", ""),
    ("input draganddrop 500 1500 500 500 4000", ""),
    ("input text hello%sworld", ""),
    ("input keyevent KEYCODE_HOME", ""),
    ("input keyevent 67", ""),
    ("input keycombination 113 29 && input keyevent 67", ""),
    ("uiautomator dump /sdcard/window_dump.xml", r"UI hierchary dumped to: /sdcard/window_dump.xml\n"),
    (
        "uiautomator dump /sdcard/window_dump.xml; cat /sdcard/window_dump.xml",
        r"(?s).*<hierarchy rotation=\"0\">.*</hierarchy>\s*",
    ),
    ("logcat -b all -c", ""),
    ("logcat -v epoch '*:S'", ""),
    ("su 0 iptables -A OUTPUT -j DROP", ""),
    ("ime list -s -a", r"com.google.android.inputmethod.latin/.*\n"),
    ("pm path com.android.settings", r"package:/system/app/com.android.settings/base.apk\n"),
    ("ifconfig wlan0", r"(?s).*inet addr:10\.0\.2\.16 .*"),
    ("toybox md5sum /system/etc/hosts", r"[0-9a-f]{32}  /system/etc/hosts\n"),
    (
        "cmd package query-activities -a android.intent.action.MAIN -c android.intent.category.LAUNCHER",
        r"(?s).*name=com.*",
    ),
    ("id", r"uid=0\(root\).*\n"),
    ("bmgr enabled", r"Backup Manager currently disabled\n"),
    ("df /data", r"(?s)Filesystem.*\n"),
    ("du -s /sdcard", r"\d+\t/sdcard\n"),
    ("sleep 0.5; uptime", r"(?s).*up 1 min.*\n"),
    ("kill 999999 || true", ""),
]


MORE: list[tuple[str, str]] = [
    ("svc data disable; settings get global mobile_data; svc nfc enable; settings get global nfc_on", r"0\n1\n"),
    ("svc power stayon true; svc usb getFunctions; svc help", r"(?s)Available commands:.*"),
    ("cmd wifi set-wifi-enabled disabled; cmd wifi status; dumpsys wifi", r"Wifi is disabled\nWi-Fi is disabled\n"),
    ("cmd bluetooth_manager disable; dumpsys bluetooth_manager", r"(?s).*enabled: false\n.*"),
    ("cmd connectivity airplane-mode", r"disabled\n"),
    (
        "cmd uimode night yes; cmd uimode night; cmd uimode night no",
        r"Night mode: yes\nNight mode: yes\nNight mode: no\n",
    ),
    ("cmd clipboard set 'a b'; cmd clipboard get", r"a b\n"),
    ("cmd statusbar expand-notifications; dumpsys window windows | grep mCurrentFocus", r".*NotificationShade\}\n"),
    ("service call statusbar 1; service call statusbar 2; dumpsys window | grep Focus=", r"(?s).*Launcher.*"),
    ("service list; service check activity; service call foo 9", r"(?s)Found .*Service activity: found\nResult: .*"),
    ("cmd -l", r"(?s)Currently running services:\n.*  wifi\n.*"),
    ("settings --user 0 get global wifi_on; settings delete system show_touches", r"1\nDeleted 1 rows\n"),
    ("settings reset global untrusted_defaults", ""),
    ("appops set com.android.settings CAMERA deny; appops get com.android.settings; appops reset", r"CAMERA: deny\n"),
    ("appops get com.android.settings CAMERA", r"No operations\.\n"),
    ("pm list users; pm list features; pm list permissions", r"(?s)Users:\n.*feature:.*"),
    ("pm list packages -f settings", r"package:/system/app/com.android.settings/base.apk=com.android.settings\n"),
    ("pm list packages -U -s deskclock", r"package:com.google.android.deskclock uid:\d+\n"),
    ("pm resolve-activity --brief com.android.settings", r"priority=0 .*\ncom.android.settings/.Settings\n"),
    ("pm resolve-activity no.such", r"No activity found\n"),
    ("pm disable-user com.android.settings", r"Package com.android.settings new state: disabled-user\n"),
    ("pm dump com.android.settings | head -n 1", r"Packages:\n"),
    ("pm revoke com.android.settings CAMERA; pm trim-caches 1G", ""),
    ("am get-current-user; am wait-for-broadcast-idle", r"0\n"),
    ("am startservice -n a/.B", r"Starting service: Intent \{ cmp=a/.B \}\n"),
    ("am start -S -n com.android.settings/.Settings", r"(?s).*Stopping: com.android.settings\n"),
    ("am start -a android.intent.action.MAIN -c android.intent.category.HOME", r"(?s)Starting: .*"),
    ("am start com.android.settings; am kill com.android.settings; am kill-all", r"(?s)Starting: .*"),
    ("am start -a android.intent.action.MAIN -p com.google.android.deskclock; am stack list", r"(?s).*DeskClock.*"),
    ("monkey -p com.android.settings -s 3 --throttle 10 --pct-touch 100 4", r"(?s).*Events injected: 4\n.*"),
    ("input touchscreen tap 5 900; input -d 0 tap 5 900; input keyboard keyevent --longpress 4 3", ""),
    ("input swipe 500 900 500 900 800; input swipe 500 900 500 900 50; input roll 1 1", ""),
    ("input keycombination -t 100 KEYCODE_CTRL_LEFT KEYCODE_C", ""),
    (
        "ime list; ime set com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME; ime reset",
        r"(?s).*",
    ),
    ("wm density 320; wm density; wm density reset", r"Physical density: 420\nOverride density: 320\n"),
    ("wm user-rotation lock 1; dumpsys window | grep mCurrentRotation; wm user-rotation free", r".*ROTATION_90\n"),
    ("wm dismiss-keyguard", ""),
    ("settings put system user_rotation 3; dumpsys input | grep SurfaceOrientation", r" +SurfaceOrientation: 3\n"),
    ("screencap /sdcard/raw.bin; stat -c %s /sdcard/raw.bin", r"10368016\n"),
    ("uiautomator dump --compressed /dev/tty", r"(?s).*<hierarchy .*UI hierchary dumped to: /dev/tty\n"),
    (
        "dumpsys -l; dumpsys activity processes; dumpsys notification; dumpsys meminfo; dumpsys -t 5 SurfaceFlinger",
        r"(?s).+",
    ),
    ("dumpsys package no.such", r"Unable to find package: no.such\n"),
    ("dumpsys input_method", r"(?s).*mInputShown=false\n.*"),
    ("dumpsys window displays; dumpsys window policy", r"(?s).*cur=1080x2400 .*mAwake=true.*"),
    ("dumpsys battery set level 5; dumpsys battery unplug", ""),
    ("content query --uri content://settings/global/wifi_on --projection value", r"Row: 0 value=1\n"),
    ("content update --uri content://settings/global/wifi_on --bind value:s:0; settings get global wifi_on", r"0\n"),
    ("content delete --uri content://settings/system --where \"name='show_touches'\"", ""),
    (
        "content query --uri content://contacts/phones --where \"display_name='Mom'\" --projection number --sort _id",
        r"Row: 0 .*\n",
    ),
    (
        "content query --uri content://contacts/phones --where 'display_name=?' --arg Mom --projection number",
        r"Row: 0 .*\n",
    ),
    ("ifconfig; ip addr; ip route", r"(?s)lo .*wlan0.*10\.0\.2\.16.*"),
    ("svc wifi disable; ifconfig; ip addr", r"(?s)(?!.*wlan0).*"),
    (
        "getenforce; setenforce 0; mount; netstat; log -t tag text; logcat -d",
        r"Permissive\n--------- beginning of main\n",
    ),
    ("reboot; pidof com.android.systemui", r"1311\n"),
    ("uname -a; uname; hostname; id -u; id -un", r"Linux .*Toybox\nLinux\nlocalhost\n0\nroot\n"),
    (
        "which ls sh; command -v cd ls; type cd",
        r"/system/bin/ls\n/system/bin/sh\ncd\n/system/bin/ls\ncd is a shell builtin\n",
    ),
    ("getprop no.such.prop; getprop no.such.prop default", r"\ndefault\n"),
    ("export A=5; env | grep ^A=; printenv | grep ^A=; env -u A sh -c 'echo [$A]'", r"A=5\nA=5\n\[\]\n"),
    ("export | grep HOME; set | grep ^HOME=", r"export HOME=/\nHOME=/\n"),
    ("ps -A -o PID,NAME | head -n 2; pgrep init; pidof init", r"PID NAME\n1 init\n1\n1\n"),
    ("su root id -u; su 0 sh -c 'echo $0'; su -c 'echo a b'; echo 'echo in' | su", r"0\nsh\na b\nin\n"),
    ("echo 'echo from stdin' | sh; sh -s < /dev/null; busybox echo x; toybox | grep -c ls", r"from stdin\nx\n1\n"),
    ("time echo timed; timeout -s 9 5 echo t; nohup echo n; setsid echo s", r"timed\nt\nn\ns\n"),
    (
        "date -u +%H; date -d @0 +%Y; date -d '2020-02-03 04:05:06' +%d; date -s '2024-01-01 00:00:00'",
        r"15\n1970\n03\nMon Jan  1 .*\n",
    ),
    ("touch -d @86400 /data/t; date -r /data/t +%F", r"1970-01-02\n"),
    ("usleep 1000; sleep 1m; uptime", r" 15:35:00 up 2 min,.*\n"),
    (
        "sha1sum /system/etc/hosts; sha512sum -b /system/etc/hosts; printf x | crc32",
        r"[0-9a-f]{40}  .*\n[0-9a-f]{128}\n8cdc1683\n",
    ),
    ("stat /sdcard/Download", r"(?s)  File: /sdcard/Download\n.*directory\nAccess: \(0770/drwxrwx---\).*Modify: .*"),
    (
        "cd /data; mkdir z; chown system:shell z; chgrp media_rw z; stat -c '%U %G %u %g' z; chown 5 z; stat -c %u z",
        r"system media_rw 1000 1023\n5\n",
    ),
    (
        "mkdir /data/z; touch /data/z/f; du -a /data/z; du -sh /data/z",
        r"0?4?\t/data/z/f\n4\t/data/z\n4.0K\t/data/z\n|0\t.*\n4\t.*\n4.0K.*\n",
    ),
    (
        "ls -ln /system/etc/hosts; ls -lh /system/etc/hosts; ls -s /system/etc",
        r"(?s)-rw-r--r-- 1 0 0 +\d+ .*total 4\n +4 hosts\n",
    ),
    (
        "cd /data; mkdir l; truncate -s 10 l/big; touch -d @5 l/old; ls -S l; ls -t l; ls -rt l; ls -F l",
        r"big\nold\nbig\nold\nold\nbig\nbig\nold\n",
    ),
    ("mktemp; mktemp -d; mktemp -u /data/a.XXXXXX; mktemp -p /data b.XXXXXX", r"(/data/\S+\d{6}\n){4}"),
    ("sqlite3 :memory: 'SELECT 1.0, NULL, 2' ; sqlite3 -nullvalue N :memory: 'SELECT NULL'", r"1.0\|\|2\nN\n"),
    (
        "sqlite3 /data/q.db 'CREATE TABLE t(a);' '.schema' '.headers on' '.mode csv' 'SELECT 1 AS x'",
        r"CREATE TABLE t\(a\);\nx\n1\n",
    ),
    ("sqlite3 /data/q.db 'CREATE TABLE t(a);' '.dump' .quit 'SELECT 9'", r"(?s)BEGIN TRANSACTION;\n.*COMMIT;\n"),
    ("sqlite3 /data/q.db .tables; sqlite3 -column -header :memory: 'SELECT 1 AS a'", r"a\n1\n"),
    ("echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/null; cat < /dev/null; echo c | cat /dev/stdin", r"a\nc\n"),
    ("echo x >&1; echo y 2>&-; cat <&-; echo z > /dev/tty", r"x\ny\n"),
    (
        "tee -a /data/tee < /system/etc/hosts | head -c 9; tail -c 5 /data/tee; tail -v -n 1 /data/tee",
        r"(?s)127\.0\.0\.1host\n==> .*",
    ),
    ("nl /system/etc/hosts | head -n 1; df -h | tail -n 1", r" +1\t127.*\n/dev/fuse .*\n"),
]


@pytest.mark.parametrize(("command", "pattern"), [*SHAPES, *MORE])
def test_a_host_gets_what_it_parses(phone: Phone, command: str, pattern: str) -> None:
    assert re.fullmatch(pattern, out(phone, command))


@pytest.mark.parametrize(
    "command",
    [
        "svc wifi maybe",
        "svc nothing",
        "service nothing",
        "cmd",
        "cmd no_service",
        "cmd uimode day",
        "cmd statusbar fly",
        "settings get nowhere x",
        "settings",
        "settings put system",
        "pm",
        "pm fly",
        "pm grant no.such CAMERA",
        "pm grant com.android.settings",
        "pm path no.such",
        "pm install",
        "pm uninstall com.android.settings",
        "appops set no.such CAMERA deny",
        "am",
        "am fly",
        "am stack fly",
        "am start --ei number x -a y",
        "am start -n",
        "monkey -p no.such 1",
        "monkey 99999",
        "input",
        "input fly",
        "input tap 1",
        "input tap a b",
        "input text",
        "input keyevent",
        "input keyevent KEYCODE_NONSENSE",
        "input keycombination 113",
        "ime set no.such/.Ime",
        "wm size big",
        "wm density thin",
        "wm fly",
        "uiautomator runtest",
        "dumpsys no.such",
        "content",
        "content query --uri",
        "content insert --uri content://sms/sent --bind a:s:b",
        "content insert --uri content://x/y --bind nonsense",
        "content query --uri content://settings/nowhere",
        "sqlite3",
        "sqlite3 /no/such/dir.db 'CREATE TABLE t(a)'",
        "sqlite3 -fly x.db",
        "setprop ro.build.id x",
        "setprop 'bad name' x",
        "setprop a.b " + "x" * 100,
        "date nonsense",
        "sleep forever",
        "kill 999999",
        "kill",
        "killall no.such",
        "toybox fly",
        "ping -c 1 example.org",
        "ifconfig eth9",
        "chmod 999 /data",
        "chmod u",
        "chown nobody /data",
        "ln -s a b",
        "rm",
        "rm /data/..",
        "mkdir",
        "cp a",
        "mv a",
        "touch -d nonsense /data/x",
        "truncate -s x /data/x",
        "dd if=/dev/zero",
        "mktemp x",
        "find / -fly",
        "find / -size big",
        "find / -exec",
        "grep",
        "grep '[' /system/etc/hosts",
        "sed",
        "sed s/a",
        "sed k",
        "sort -k 0 /system/etc/hosts",
        "cut /system/etc/hosts",
        "cut -f x /system/etc/hosts",
        "tr a",
        "seq x",
        "head -n x /system/etc/hosts",
        "xargs -Z",
        "base64 -d /system/etc/hosts",
        "test 1 -eq",
        "[ 1",
        "expr 1 +",
        "expr a + 1",
        "printf",
        "stat",
        "stat /nope",
        "du /nope",
        "realpath /nope",
        "basename",
        "timeout 1",
        "ls --fly -?",
    ],
)
def test_wrong_use_fails_with_words(phone: Phone, command: str) -> None:
    output = phone.shell(command)
    assert output.exit_code != 0
    assert output.stdout + output.stderr or command == "pm path no.such" or command.startswith(("test", "killall"))


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
    assert out(phone, "pm list packages -3") == "package:net.gsantner.markor\n"
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


# --- garbage ---------------------------------------------------------------------------------------------------------

_WORDS = """
-a -b -c -d -e -f -n -r -s -x -z -1 -R -la - -- --help / . .. /sdcard /data/* {} ; + 0 1 -5 99999999999 1e9 %s %d %Y
a=b s/a/b/g s/( 2p [ ] ( ) ! -o -type -exec list get put query --uri content://x/y global system wifi_on start
force-stop dump tap swipe keyevent HOME text size density install clear path activity window
"""
_ARGUMENTS = st.lists(
    st.one_of(
        st.sampled_from(_WORDS.split()),
        st.text(alphabet=st.characters(codec="utf-8"), max_size=6),
    ),
    max_size=6,
)


@given(name=st.sampled_from(sorted(COMMANDS)), args=_ARGUMENTS, stdin=st.binary(max_size=20))
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_arguments_break_a_command(busy: Phone, name: str, args: list[str], stdin: bytes) -> None:
    snapshot = busy.snapshot()
    try:
        busy.shell(" ".join([name, *("'" + arg.replace("'", "'\\''") + "'" for arg in args)]), stdin)
    finally:
        busy.restore(snapshot)


@pytest.fixture(scope="module")
def busy(golden: GoldenImages) -> Phone:
    phone = Phone(PhoneConfig(width_px=270, height_px=600), golden=golden)
    phone.system.open_app(SETTINGS)
    return phone
