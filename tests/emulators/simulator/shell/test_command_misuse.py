"""Commands used wrongly: each fails with words, and no arguments whatever break the phone."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.shell.commands.registry import COMMANDS

SETTINGS = "com.android.settings"


WRONG: dict[str, list[str]] = {
    "svc": ["wifi maybe", "nothing"],
    "service": ["nothing"],
    "cmd": ["", "no_service", "uimode day", "statusbar fly"],
    "settings": ["get nowhere x", "", "put system"],
    "pm": [
        "",
        "fly",
        "grant no.such CAMERA",
        "grant com.android.settings",
        "path no.such",
        "install",
        "uninstall com.android.settings",
    ],
    "appops": ["set no.such CAMERA deny"],
    "am": ["", "fly", "stack fly", "start --ei number x -a y", "start -n"],
    "monkey": ["-p no.such 1", "99999"],
    "input": ["", "fly", "tap 1", "tap a b", "text", "keyevent", "keyevent KEYCODE_NONSENSE", "keycombination 113"],
    "ime": ["set no.such/.Ime"],
    "wm": ["size big", "density thin", "fly"],
    "uiautomator": ["runtest"],
    "dumpsys": ["no.such"],
    "content": [
        "",
        "query --uri",
        "insert --uri content://sms/sent --bind a:s:b",
        "insert --uri content://x/y --bind nonsense",
        "query --uri content://settings/nowhere",
    ],
    "sqlite3": ["", "/no/such/dir.db 'CREATE TABLE t(a)'", "-fly x.db"],
    "setprop": ["ro.build.id x", "'bad name' x", "a.b " + "x" * 100],
    "date": ["nonsense"],
    "sleep": ["forever"],
    "kill": ["999999", ""],
    "killall": ["no.such"],
    "toybox": ["fly"],
    "ping": ["-c 1 example.org"],
    "ifconfig": ["eth9"],
    "chmod": ["999 /data", "u"],
    "chown": ["nobody /data"],
    "ln": ["-s a b"],
    "rm": ["", "/data/.."],
    "mkdir": [""],
    "cp": ["a"],
    "mv": ["a"],
    "touch": ["-d nonsense /data/x"],
    "truncate": ["-s x /data/x"],
    "dd": ["if=/dev/zero"],
    "mktemp": ["x"],
    "find": ["/ -fly", "/ -size big", "/ -exec"],
    "grep": ["", "'[' /system/etc/hosts"],
    "sed": ["", "s/a", "k"],
    "sort": ["-k 0 /system/etc/hosts"],
    "cut": ["/system/etc/hosts", "-f x /system/etc/hosts"],
    "tr": ["a"],
    "seq": ["x"],
    "head": ["-n x /system/etc/hosts"],
    "xargs": ["-Z"],
    "base64": ["-d /system/etc/hosts"],
    "test": ["1 -eq"],
    "[": ["1"],
    "expr": ["1 +", "a + 1"],
    "printf": [""],
    "stat": ["", "/nope"],
    "du": ["/nope"],
    "realpath": ["/nope"],
    "basename": [""],
    "timeout": ["1"],
    "ls": ["--fly -?"],
}
"""Commands, and the words after them with which they make no sense."""


@pytest.mark.parametrize("command", [f"{name} {words}".strip() for name, uses in WRONG.items() for words in uses])
def test_wrong_use_fails_with_words(phone: Phone, command: str) -> None:
    output = phone.shell(command)
    assert output.exit_code != 0
    assert output.stdout + output.stderr or command == "pm path no.such" or command.startswith(("test", "killall"))


_WORDS = """
-a -b -c -d -e -f -n -r -s -x -z -1 -R -la - -- --help / . .. /sdcard /data/* {} ; + 0 1 -5 99999999999 1e9 %s %d %Y
a=b s/a/b/g s/( 2p [ ] ( ) ! -o -type -exec list get put query --uri content://x/y global system wifi_on start
force-stop dump tap swipe keyevent HOME text size density install clear path activity window
"""
_ARGUMENTS = st.lists(
    st.one_of(st.sampled_from(_WORDS.split()), st.text(alphabet=st.characters(codec="utf-8"), max_size=6)), max_size=6
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
