"""What phones in containers are asked to be, and what a machine must have for them: all that needs no engine."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from rlfactory.emulators.simulator.wire.health import pulse, serve_pulse
from rlfactory.emulators.sources import preflight
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.standing import StandingConfig, serials_of
from rlfactory.emulators.sources.tables import attached_table, duration, phones_table
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.docker.owner import Owner
from rlfactory.processes.docker.spec import CellInfo, ContainerLimits
from rlfactory.processes.errors import EngineUnavailable
from rlfactory.tables import print_table


def shown(table: Table) -> str:
    """Return what is printed where there is no terminal."""
    with io.StringIO() as out:
        print_table(table, Console(file=out))
        return out.getvalue()


def test_phones_are_spread_over_containers() -> None:
    config = StandingConfig(phones=7, phones_per_container=3, width_px=540, height_px=1200)
    specs = config.specs()
    assert [spec.phones for spec in specs] == [3, 3, 1]
    assert specs[2].command == ("--phones", "1", "--width", "540", "--height", "1200")
    assert specs[0].limits.memory_mb > specs[2].limits.memory_mb
    assert [spec.phones for spec in StandingConfig(phones=2, phones_per_container=8).specs()] == [2]


def test_real_android_has_a_container_a_phone() -> None:
    (first, second) = StandingConfig(kind=SourceKind.EMULATOR, phones=2).specs()
    assert (first.image, first.devices, first.privileged) == ("rlfactory-emulator", ("/dev/kvm",), False)
    assert first == second
    (phone,) = StandingConfig(kind=SourceKind.REDROID, image="mine").specs()
    assert (phone.image, phone.privileged) == ("mine", True)


@pytest.mark.parametrize("wrong", [{"phones": 0}, {"phones_per_container": 0}])
def test_impossible_numbers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        StandingConfig(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"memory_mb": 1}, {"pids": 1}, {"cpus": -1.0}])
def test_impossible_limits_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ContainerLimits(**wrong)


def test_a_containers_phones_have_fixed_ports() -> None:
    cell = CellInfo(
        id="1",
        name="rlfactory-simulator-1",
        cell="1",
        kind="simulator",
        scope="standing",
        owner="",
        image="i",
        state="running",
        created_s=0.0,
        address="10.0.0.2",
        phones=2,
    )
    assert serials_of(cell) == ["10.0.0.2:5555", "10.0.0.2:5557"]


def test_the_preflight_names_every_lack_and_its_remedy(tmp_path: Path) -> None:
    android = StandingConfig(kind=SourceKind.EMULATOR, phones=1000)
    (kvm,) = preflight._kvm_problems(tmp_path / "kvm")
    assert "nested virtualisation" in kvm
    (binder,) = preflight._binder_problems("nodev\tproc\n", tmp_path)
    assert "modprobe binder_linux" in binder
    assert not list(preflight._binder_problems("nodev\tbinder\n", tmp_path))
    (memory,) = preflight._memory_problems("MemTotal: 9 kB\nMemAvailable:  2048000 kB\n", android)
    assert "2000 MB are free" in memory
    (disk,) = preflight._disk_problems(tmp_path, android)
    assert "docker image prune" in disk
    assert not list(preflight._disk_problems(tmp_path / "elsewhere", android))
    (networks,) = preflight.network_problems(30, 2)
    assert "--phones-per-container" in networks
    assert not list(preflight.network_problems(1, 2))


def test_no_engine_is_said_with_what_to_do() -> None:
    with pytest.raises(EngineUnavailable, match=r"apt install docker\.io"):
        DockerEngine("unix:///nowhere.sock")


def test_an_owner_lives_as_long_as_its_process() -> None:
    here = Owner.this_process()
    assert Owner.parse(str(here)) == here
    assert here.lives(lambda _container: False)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        other = Owner.of(process.pid)
        assert other.lives(lambda _container: False)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    assert not other.lives(lambda _container: True)
    later = Owner(host=socket.gethostname(), pid=os.getpid(), started_ticks=here.started_ticks + 1)
    assert not later.lives(lambda _container: True), "another process that has the same number"


def test_an_owner_in_a_container_lives_as_long_as_that_runs() -> None:
    owner = Owner.parse("0123456789ab:1:77")
    assert owner is not None
    assert owner.lives(lambda container: container == "0123456789ab")
    assert not owner.lives(lambda _container: False)
    elsewhere = Owner.parse("another-machine:1:77")
    assert elsewhere is not None
    assert elsewhere.lives(lambda _container: False), "what cannot be known is left alone"
    assert Owner.parse("nonsense") is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0s"), (42, "42s"), (185, "3m 05s"), (7800, "2h 10m"), (356400, "4d 3h")]
)
def test_a_length_of_time_is_short_to_read(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_tables_show_phones_and_what_is_wrong_with_them() -> None:
    row: dict[str, object] = {
        "serial": "10.0.0.2:5555",
        "container": "rlfactory-simulator-1",
        "scope": "standing",
        "state": "running",
        "age_s": 5.0,
        "memory_mb": 26.4,
        "image": "rlfactory-simulator",
    }
    text = shown(phones_table([row, {**row, "serial": "", "scope": "service", "state": "exited"}]))
    for words in ("2 phones", "10.0.0.2:5555", "26 MB", "simulator-1", "its service's", "exited"):
        assert words in text
    info: dict[str, object] = {"serial": "R5CT", "state": "device", "model": "Pixel", "sdk": 34}
    assert "1080x2400" in shown(attached_table([{**info, "width_px": 1080, "height_px": 2400}]))


def test_a_phone_has_one_line_of_a_table_however_long_its_names_are(long="rlfactory-" + "x" * 90) -> None:
    row: dict[str, object] = {"serial": "10.0.0.2:5555", "container": long, "scope": "standing", "state": "running"}
    text = shown(phones_table([{**row, "age_s": 5.0, "memory_mb": 26.4, "image": long}]))
    (line,) = (line for line in text.splitlines() if "10.0.0.2:5555" in line)
    assert long in line and "x" * 90 in line.split()[-1]
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


async def test_the_pulse_tells_how_many_phones_there_are() -> None:
    import asyncio

    async with await serve_pulse(lambda: 3, port=0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await asyncio.to_thread(pulse, port=port) == "3 phones"
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(pulse, port=port)
