"""What the emulator console can be told to do with a phone: messages, calls, snapshots, place, rotation."""

from __future__ import annotations

import shlex
from typing import Final

from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone

_HELP = """Android console commands:

    help|h|?         print a list of commands
    ping             check if the emulator is alive
    quit|exit        quit control session
    auth             user authentication for the emulator console
    avd              control virtual device execution
    sms              SMS related commands
    gsm              GSM related commands
    geo              geo-location commands
    power            power related commands
    rotate           rotate the screen clockwise by 90 degrees
    kill             terminate the emulator
"""
_ANSWERS: Final = {
    **dict.fromkeys(("help", "h", "?"), _HELP),
    "ping": "I am alive!\n",
    "auth": "Android Console: type 'help' for a list of commands\n",
    "avd status": "virtual device is running\n",
}
"""To commands by how they begin, whatever follows."""
_CALL_STATES: Final = {"call": 1, "accept": 2, "cancel": 0}


class ConsoleError(Exception):
    """The command failed; the message follows `KO: `."""


def run_console(phone: Phone, snapshots: SnapshotStore, line: str) -> str:
    """Carry out a line and return what it prints. Raises: ConsoleError."""
    words = line.split()
    for start in (" ".join(words[:2]), " ".join(words[:1])):
        if start in _ANSWERS:
            return _ANSWERS[start]
    match words:
        case ["sms", "send", *_]:
            _sms_send(phone, *line.split(maxsplit=3)[2:])
        case ["avd", "snapshot", *rest]:
            return _avd_snapshot(phone, snapshots, rest)
        case ["gsm", what, _] if what in _CALL_STATES:
            phone.state.call_state = _CALL_STATES[what]
            phone.invalidate()
        case ["gsm", *_]:
            raise ConsoleError("usage: gsm call|accept|cancel NUMBER")
        case ["geo", "fix", longitude, latitude, *_]:
            _put(phone, "secure", "mock_location", f"{latitude},{longitude}")
        case ["power", what, value] if what in {"capacity", "ac", "status", "health", "present"}:
            _put(phone, "global", f"emulator_power_{what}", value)
        case ["rotate"]:
            _put(phone, "system", "user_rotation", str((phone.state.display.rotation + 1) % 4))
        case _:
            raise ConsoleError("unknown command, try 'help'")
    return ""


def _put(phone: Phone, namespace: str, key: str, value: str) -> None:
    _must(phone, f"settings put {namespace} {key} {shlex.quote(value)}", f"cannot set {key}")


def _must(phone: Phone, command: str, complaint: str) -> None:
    if phone.shell(command).exit_code:
        raise ConsoleError(complaint)


def _sms_send(phone: Phone, number: str = "", body: str = "") -> None:
    """An SMS comes in: it lands in the provider's inbox, which the messages app shows."""
    if not body:
        raise ConsoleError("missing argument, try 'sms send <phonenumber> <text message>'")
    command = (
        f"content insert --uri content://sms/inbox --bind address:s:{shlex.quote(number)} "
        f"--bind body:s:{shlex.quote(body)}"
    )
    _must(phone, command, "this phone has no messages provider")


def _avd_snapshot(phone: Phone, snapshots: SnapshotStore, words: list[str]) -> str:
    match words:
        case ["list"]:
            return "".join(f"{name}\n" for name in snapshots.names()) or "There is no snapshot available.\n"
        case ["save", name]:
            try:
                snapshots.save(phone, name)
            except OverflowError as error:
                raise ConsoleError(str(error)) from error
        case ["load", name]:
            try:
                snapshots.load(phone, name)
            except KeyError:
                raise ConsoleError(f"no snapshot {name!r}") from None
        case ["del" | "delete" | "remove", name]:
            if not snapshots.delete(name):
                raise ConsoleError(f"no snapshot {name!r}")
        case _:
            raise ConsoleError("usage: avd snapshot list|save NAME|load NAME|del NAME")
    return ""
