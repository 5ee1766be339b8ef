"""The emulator image's scripts, run for real: the SDK's `emulator` is a stand-in that serves a simulated phone."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import adbutils
import pytest

from rlfactory.emulators.adb.server import adb_server

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "containers/emulator"
OUTSIDE = "127.0.0.2"
"""Stands for the container's own address."""

EMULATOR = f"""#!{sys.executable}
import asyncio, os, sys
sys.path.insert(0, {str(ROOT)!r})
from rlfactory.emulators.simulator.wire.host import PhoneHost
from rlfactory.emulators.simulator.phone import PhoneConfig

options = sys.argv[1:]
with open(os.environ["STAND_IN_LOG"], "a") as log:
    print(*options, file=log)
with open(os.environ["STAND_IN_LOG"] + ".pid", "w") as pid:
    print(os.getpid(), file=pid)
if os.environ.get("STAND_IN_FAILS"):
    sys.exit("PANIC: no such AVD")

async def main():
    host = PhoneHost()
    port = int(options[options.index("-port") + 1])
    # A console of Android's ends the emulator by `kill`; the simulated phone's ends its server.
    server = await host.start(PhoneConfig(width_px=270, height_px=600), console_port=port, adb_port=port + 1)
    while host.phones or os.environ.get("STAND_IN_STAYS"):
        await asyncio.sleep(0.05)

asyncio.run(main())
"""
SOCAT = f"""#!{sys.executable}
import asyncio, re, sys
outer, address = re.match(r"TCP-LISTEN:(\\d+),bind=([\\d.]+),", sys.argv[1]).groups()
inner = int(sys.argv[2].rpartition(":")[2])

async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()

async def serve(reader, writer):
    try:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", inner)
    except OSError:
        return writer.close()
    await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer), return_exceptions=True)

async def main():
    server = await asyncio.start_server(serve, address, int(outer))
    await server.serve_forever()

asyncio.run(main())
"""


@dataclass
class Phone:
    """A container's worth of processes."""

    home: Path
    port: int
    environment: dict[str, str]
    words: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self, **environment: str) -> str:
        """Start, and return the line that says that it is ready; its last words when it is not."""
        log = self.home / "words"
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [SCRIPTS / "entrypoint.sh"],
                env={**self.environment, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        while "phone ready" not in log.read_text() and self.process.poll() is None:  # the test's timeout is the bound
            time.sleep(0.05)
        return log.read_text().strip()

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30)

    def healthy(self) -> bool:
        return subprocess.run([SCRIPTS / "health.sh"], env=self.environment, check=False).returncode == 0

    def console(self, command: str) -> str:
        with socket.create_connection((OUTSIDE, self.port), timeout=10) as connection:
            connection.sendall(f"{command}\nquit\n".encode())
            return b"".join(iter(lambda: connection.recv(4096), b"")).decode()

    @property
    def pid(self) -> int:
        """The emulator's."""
        return int((self.home / "starts.pid").read_text())

    @property
    def starts(self) -> list[str]:
        """The options of each start of the emulator."""
        return (self.home / "starts").read_text().splitlines()


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Phone]:
    sdk = tmp_path / "sdk"
    programs = {"emulator/emulator": EMULATOR, "platform-tools/adb": f'#!/bin/sh\nexec {adbutils.adb_path()} "$@"\n'}
    if shutil.which("socat") is None:  # the image has the real one
        programs["emulator/socat"] = SOCAT
    for name, text in programs.items():
        program = sdk / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    port = free_even_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ANDROID_HOME": str(sdk),
        "ANDROID_AVD_HOME": str(tmp_path / "avd"),
        "KVM_DEVICE": "/dev/null",
        "LISTEN_ADDRESS": OUTSIDE,
        "CONSOLE_PORT": str(port),
        "GRPC_PORT": str(port + 5),
        "PHONE_DISK_MB": "10",
        "PHONE_BOOT_TIMEOUT_S": "60",
        "STAND_IN_LOG": str(tmp_path / "starts"),
        "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554",
    }
    phone = Phone(home=tmp_path, port=port, environment=environment)
    yield phone
    if phone.process is not None and phone.process.poll() is None:
        phone.stop()


def free_even_port() -> int:
    """Return an even port whose next six are free, too, and whose adb server's (2000 above) exists."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1]) & ~1
        if port < 60_000 and all(is_free(port + offset) for offset in (0, 1, 4, 5, 2000)):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


def test_the_first_start_makes_a_golden_snapshot_and_the_next_loads_it(phone):
    assert re.search(rf"phone ready after \d+ s on {OUTSIDE}: console {phone.port}", phone.start())
    assert phone.healthy()
    assert "golden" in phone.console("avd snapshot list")
    assert "-no-snapshot-load" in phone.starts[0]
    assert f"-grpc {phone.port + 4} " in phone.starts[0]
    assert "-no-window" in phone.starts[0]
    config = dict(line.split("=", 1) for line in (phone.home / "avd/phone.avd/config.ini").read_text().splitlines())
    assert (config["hw.lcd.width"], config["hw.lcd.height"], config["hw.ramSize"]) == ("1080", "2400", "4096")
    assert config["image.sysdir.1"] == "system-images/android-33/google_apis/x86_64/"
    assert (phone.home / ".emulator_console_auth_token").read_text() == ""
    assert phone.stop() == 143
    assert not phone.healthy()
    assert "phone ready" in phone.start()
    assert "-snapshot golden" in phone.starts[1]
    assert "-no-snapshot-load" not in phone.starts[1]


async def test_adb_reaches_the_phone_at_the_containers_address(phone):
    await asyncio.to_thread(phone.start)
    serial = f"{OUTSIDE}:{phone.port + 1}"
    async with adb_server() as adb:
        await adb.connect(serial)
        await adb.wait_for_device(serial)
        assert (await adb.shell(serial, "settings get global window_animation_scale")).stdout == b"0\n"
        assert (await adb.shell(serial, "getprop sys.boot_completed")).stdout == b"1\n"


@pytest.mark.parametrize("environment", [{}, {"STAND_IN_STAYS": "1"}], ids=["", "of an emulator that hangs"])
def test_nothing_is_left_when_it_is_stopped(phone, environment):
    phone.start(**environment)
    assert phone.stop(signal.SIGINT) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(phone.pid, 0)
    for offset in (0, 1, 5, 2000):
        with socket.socket() as probe:
            assert probe.connect_ex((OUTSIDE if offset < 2000 else "127.0.0.1", phone.port + offset))


def test_a_phone_whose_emulator_dies_ends_with_it(phone):
    phone.start()
    phone.console("kill")
    assert phone.process.wait(30) == 1
    assert "the emulator ended with code" in (phone.home / "words").read_text()
    assert not phone.healthy()


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"KVM_DEVICE": "/dev/no-kvm"}, "error: /dev/no-kvm is missing: start the container with --device /dev/kvm"),
        ({"PHONE_DISK_MB": "999999999"}, "MB of disk are free for the phone, 999999999 are needed"),
        ({"ANDROID_HOME": "/nowhere"}, "error: no emulator in /nowhere/emulator"),
        ({"STAND_IN_FAILS": "1"}, "error: the emulator ended while it booted; its words are above"),
    ],
)
def test_what_is_missing_is_named(phone, environment, complaint):
    assert complaint in phone.start(**environment)
    assert phone.process.returncode == 1


def test_a_machine_for_redroid_is_told_from_one_that_is_not(tmp_path):
    script = ROOT / "containers/redroid/check_host.sh"
    for folder in ("proc", "dev"):
        (tmp_path / folder).mkdir()
    (tmp_path / "proc/filesystems").write_text("nodev\tproc\n\text4\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    1048576 kB\n")

    def check() -> tuple[int, str, str]:
        environment = {**os.environ, "ROOT": str(tmp_path)}
        ended = subprocess.run([script], env=environment, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout, ended.stderr

    code, _, complaints = check()
    assert code == 1
    assert "missing: binder in the kernel\n" in complaints
    assert "modprobe binder_linux" in complaints
    assert "missing: memory: 1024 MB are available" in complaints
    (tmp_path / "proc/meminfo").write_text("MemAvailable:    8388608 kB\n")
    assert "binder" in check()[2]
    assert "memory" not in check()[2]
    (tmp_path / "dev/binder").touch()
    assert check()[:2] == (0, "this machine can run redroid\n")
    (tmp_path / "dev/binder").unlink()
    (tmp_path / "proc/filesystems").write_text("nodev\tbinder\n")
    assert check()[0] == 0
