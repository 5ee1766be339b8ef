"""`rlfactory emulators up --backend process`, and what its commands refuse. Containers: tests/docker."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from rlfactory.emulators.adb.server import adb_server
from tests.commands import RLFACTORY, run

UP = [sys.executable, "-m", "rlfactory", "emulators", "up", "--backend", "process"]


def listed_serials() -> set[str]:
    done = run(*RLFACTORY, "emulators", "ls", "--docker-host", "unix:///nowhere.sock", "--json")
    return {phone["serial"] for phone in json.loads(done.stdout)["phones"]} if done.returncode == 0 else set()


async def test_phones_are_served_until_the_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        *UP, "--phones", "2", "--width", "270", "--height", "600", "--json", stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        phones = json.loads(await process.stdout.readline())["phones"]
        assert len(phones) == 2
        listed = await asyncio.to_thread(listed_serials)
        assert {f"127.0.0.1:{phone['adb_port']}" for phone in phones} <= listed
        async with adb_server() as adb:
            serial = await adb.connect_emulator(phones[1]["console_port"], phones[1]["adb_port"])
            assert serial == phones[1]["serial"]
            await adb.wait_for_device(serial)
            assert (await adb.shell(serial, "wm size")).stdout == b"Physical size: 270x600\n"
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await process.wait() == 0
        assert not listed & await asyncio.to_thread(listed_serials)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--backend", "simulator", "--docker-host", "unix:///nowhere.sock"], "--backend process needs none"),
        (["--backend", "simulator", "--port", "5554"], "--port is for --backend process"),
        (["--backend", "attached", "--adb-port", "1"], "no adb server on 127.0.0.1:1"),
        (["--port", "5555"], "a console port is even"),
        (["--phones", "0"], "phones"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments: list[str], words: str) -> None:
    done = subprocess.run([*UP, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_is_said_in_one_line() -> None:
    import socket

    with socket.socket() as taken:
        for port in range(20_000, 60_000, 2):
            try:
                taken.bind(("127.0.0.1", port))
                break
            except OSError:
                continue
        taken.listen()
        done = subprocess.run([*UP, "--port", str(port)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "address is in use" in done.stderr or "already in use" in done.stderr
    assert done.stderr.count("\n") == 1
