"""Whether a phone outlives chance and malice: `python -m benchmarks.robustness [--json]`.

What is measured, and how, stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import random
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

import psutil
from rich.progress import track

from benchmarks.phones.crowd import HELLO, answers
from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.keys import KEYCODES
from rlfactory.emulators.simulator.apps.installed import ALL_APPS
from rlfactory.emulators.simulator.apps.kit.contract import LOOKS, Look, broken
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.wire.adb_packets import CLSE, CNXN, OKAY, OPEN, WRTE, Packet, encode
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer

EPISODE = 1_000
"""Events and packets, until the phone goes back to where it began."""
TIMEOUT_S = 30.0
TEXTS = ("a", "Zoë/..\\", "12:30", "", "line\nline", "-1", "9" * 300, "'; DROP TABLE x; --", "%s\0", "٣ 你好 🙂")
WORDS = re.findall(
    r"\S+",
    "echo cat ls $( ) ` ' \" ; && || | > < >> << { } $x ${y:-z} if then fi for do done * ? [ ] ~ \\ 2>&1 $? -1 -p "
    "input tap swipe settings put get global system am start broadcast -a -d -n dumpsys sqlite3 find rm screencap "
    "content query --uri content://sms wm size pm clear /data/data 9999999999 getprop uiautomator dump monkey while "
    "cmd /sdcard",
)
COMMANDS = (
    "settings put system user_rotation 1",
    "settings put system user_rotation 0",
    "cmd uimode night yes",
    "settings put system font_scale 1.3",
    "am start -a android.intent.action.VIEW -d content://contacts/people/",
    "am start -a android.intent.action.SEND -t text/plain --es android.intent.extra.TEXT hello",
    "am stack list",
    "uiautomator dump /sdcard/w.xml",
)
SERVICES = (
    b"shell:cat",
    b"shell,v2:cat",
    b"shell,v2,pty:",
    b"shell:",
    b"sync:",
    b"framebuffer:",
    b"exec:id",
    b"tcp:9008",
)


@dataclass(kw_only=True, slots=True)
class Figures:
    events: int = 0
    """Touches, keys, texts, time that passes, commands."""
    packets: int = 0
    """Sent to adbd and the console, most of them wrong."""
    crashes: int = 0
    """Exceptions that an event or a service raised and should not have."""
    unwell: int = 0
    """Times that the phone did not answer a command by adb, or was not as it began once it was restored."""
    growth_mb: float = 0.0
    """Resident memory at the end over that after a fifth of the events."""
    screens: int = 0
    """Screens held against the kit's contract afterwards, each in every look asked for."""
    contract_broken: int = 0
    faults: list[str] = field(default_factory=list)


class _Crashes(logging.Handler):
    """Collects what services log as failures of theirs."""

    def __init__(self, figures: Figures) -> None:
        super().__init__(logging.ERROR)
        self._figures = figures

    def emit(self, record: logging.LogRecord) -> None:
        self._figures.crashes += 1
        self._figures.faults.append(f"{record.name}: {record.getMessage()} {(record.exc_info or (0, ''))[1]!r}")


def event(phone: Phone, rng: random.Random) -> None:
    """Do one thing that a finger, a key, the time or a script does."""
    x_px, y_px = rng.randrange(phone.width_px), rng.randrange(phone.height_px)
    targets = [node for node in phone.ui_tree().walk() if node.clickable or node.long_clickable]
    on_px = rng.choice(targets).bounds.center if targets else (x_px, y_px)
    end_px = rng.randrange(-50, phone.width_px + 50), rng.randrange(-50, phone.height_px + 50)
    acts: tuple[tuple[int, Callable[[], object]], ...] = (
        (30, lambda: phone.tap(*on_px)),
        (15, lambda: phone.tap(x_px, y_px)),
        (4, lambda: phone.long_press(*on_px)),
        (2, lambda: phone.double_tap(*on_px)),
        (12, lambda: phone.swipe(x_px, y_px, *end_px, rng.randrange(1, 2000))),
        (3, lambda: phone.drag(x_px, y_px, *end_px)),
        (10, lambda: phone.type_text(rng.choice(TEXTS))),
        (10, lambda: phone.key(rng.choice(tuple(KEYCODES)))),
        (6, lambda: phone.key("BACK")),
        (3, lambda: phone.advance(rng.randrange(3_600_000))),
        (3, lambda: phone.shell(rng.choice(COMMANDS))),
        (3, lambda: phone.shell(" ".join(rng.choices(WORDS, k=rng.randrange(1, 12))))),
        (3, lambda: phone.system.open_app(rng.choice(phone.system.apps()).package)),
        (3, lambda: phone.encode(ImageSpec(max_pixels=131_072))),
    )
    (act,) = rng.choices([act for _, act in acts], [weight for weight, _ in acts])
    with suppress(DeviceError, ValueError):  # what a device refuses, it says so
        act()


def traffic(rng: random.Random) -> list[bytes]:
    """Return what one connection sends."""
    pieces = [HELLO] if rng.random() < 0.9 else []
    for _ in range(rng.randrange(1, 12)):
        command = rng.choice((CNXN, OPEN, OKAY, WRTE, CLSE))
        service = rng.choice(SERVICES) + b"\0"
        garbage = rng.randbytes(rng.randrange(60))
        payload = service if command == OPEN and rng.random() < 0.8 else garbage
        whole = encode(Packet(command, rng.randrange(5), rng.randrange(5), payload))
        pieces.append(garbage if rng.random() < 0.1 else whole)
    return pieces


async def send(port: int, pieces: Sequence[bytes]) -> None:
    """Send, and read until the phone has hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with suppress(ConnectionError):
        writer.writelines(pieces)
        writer.write_eof()
        async with asyncio.timeout(TIMEOUT_S):
            while await reader.read(1 << 16):
                pass
    writer.close()


async def disturb(server: PhoneServer, events: int, seed: int, figures: Figures) -> None:
    """Do random events on the phone, every twentieth of them a connection with nonsense."""
    assert server.ports is not None
    phone, rng, process = server.phone, random.Random(seed), psutil.Process()
    golden, wanted, before_bytes = phone.snapshot(), phone.state_hash(), 0
    for done in track(range(events), "disturbing", disable=not sys.stderr.isatty()):
        try:
            event(phone, rng)
        except Exception as error:  # noqa: BLE001 - of any kind: it is what the benchmark tells
            figures.crashes += 1
            figures.faults.append(f"event {done} of seed {seed}: {type(error).__name__}: {error}")
        figures.events += 1
        if done % 20 == 0:
            port = server.ports.adb if rng.random() < 0.8 else server.ports.console
            pieces = traffic(rng)
            figures.packets += len(pieces)
            await send(port, pieces)
        if done % EPISODE == EPISODE - 1:
            well = await answers(server.ports.adb)
            phone.restore(golden)
            figures.unwell += not (well and phone.state_hash() == wanted)
        if done == events // 5:
            gc.collect()
            before_bytes = process.memory_info().rss
    phone.restore(golden)
    gc.collect()
    figures.growth_mb = round((process.memory_info().rss - before_bytes) / 1e6, 1)


async def measure(events: int, seed: int, looks: Sequence[Look]) -> Figures:
    """Disturb one phone, then hold each of its screens against the kit's contract."""
    figures, crashes = Figures(), logging.getLogger("rlfactory.emulators.simulator")
    handler = _Crashes(figures)
    crashes.addHandler(handler)
    server = PhoneServer(Phone(PhoneConfig(width_px=540, height_px=1200)), SnapshotStore())
    await server.start()
    try:
        await disturb(server, events, seed, figures)
        for app in ALL_APPS:
            for activity in () if app.hidden else app.activities:
                for look in looks:
                    figures.screens += 1
                    faults = broken(server.phone, activity, look)
                    figures.contract_broken += bool(faults)
                    figures.faults += faults
    finally:
        await server.close()
        crashes.removeHandler(handler)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--events", type=int, default=200_000, help="a connection of nonsense with each 20")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    figures = asyncio.run(measure(options.events, options.seed, LOOKS))
    for fault in figures.faults:
        print(fault, file=sys.stderr)
    told = {**asdict(figures), "faults": len(figures.faults)}
    print(json.dumps(told) if options.json else "\n".join(f"{name}: {value}" for name, value in told.items()))
    return 1 if figures.faults or figures.unwell else 0


if __name__ == "__main__":
    sys.exit(main())
