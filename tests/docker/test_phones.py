"""Phones in containers under the pool: what dies is replaced, what a dead service left is reaped, nothing is open."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.pool import Lease, Pool, PoolConfig
from rlfactory.emulators.sources.docker import DockerConfig, DockerSource
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.docker.owner import Owner
from rlfactory.processes.docker.spec import CellInfo, CellSpec, Scope
from rlfactory.processes.errors import ImageMissing
from tests.commands import docker
from tests.emulators.sources.hosted_phones import (
    SMALL,
    Eventually,
    T,
    assert_leased_reset_and_forked,
    assert_replaced_when_killed,
)

pytestmark = pytest.mark.docker
OWNER = str(Owner.this_process())
HOLD = """
import asyncio
from rlfactory.emulators.sources.docker import DockerConfig, DockerSource
from rlfactory.emulators.simulator.phone import PhoneConfig

async def main():
    source = DockerSource(PhoneConfig(width_px=270, height_px=600), DockerConfig())
    device = await source.start()
    print(device.info.serial, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def source(phones_per_container: int = 2) -> DockerSource:
    return DockerSource(SMALL, DockerConfig(phones_per_container=phones_per_container))


def ours(engine: DockerEngine, owner: str = OWNER) -> list[CellInfo]:
    return [cell for cell in engine.cells() if cell.owner == owner]


def networks(owner: str = OWNER) -> list[str]:
    return docker("network", "ls", "-q", "--filter", f"label=rlfactory.owner={owner}").split()


async def test_phones_are_leased_reset_and_forked(images: DockerEngine, eventually: Eventually) -> None:
    async with Pool(source(), PoolConfig(phones=2)) as pool:
        await assert_leased_reset_and_forked(pool, eventually)
    assert (ours(images), networks()) == ([], [])


async def test_a_killed_container_is_replaced_with_its_phones(images: DockerEngine, eventually: Eventually) -> None:
    killed = ""

    async def kill(lease: Lease) -> None:
        nonlocal killed
        killed = next(cell for cell in ours(images) if cell.name == lease.host).name
        docker("kill", killed)

    async with Pool(source(1), PoolConfig(phones=2, backoff_s=0.01)) as pool:
        await assert_replaced_when_killed(pool, kill, eventually)
        assert killed not in {cell.name for cell in ours(images)}
    assert (ours(images), networks()) == ([], [])


async def test_containers_are_locked_down(images: DockerEngine) -> None:
    phones = source()
    try:
        device: Device = await phones.start()
        (cell,) = ours(images)
        container = inspect(cell.name)
        host, state = container["HostConfig"], container["Config"]
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"]
        assert "no-new-privileges" in host["SecurityOpt"]
        assert not host["Privileged"]
        assert host["PidsLimit"] > 0
        assert host["Memory"] > 0
        assert host["MemorySwap"] == host["Memory"]
        assert host["Binds"] in (None, [])
        assert (host["PortBindings"] or {}, state["Labels"]["rlfactory.scope"]) == ({}, "service")
        (network,) = container["NetworkSettings"]["Networks"]
        assert inspect(network, kind="network")["Internal"]
        assert device.info.serial.startswith(f"{cell.address}:")
        assert await phones.memory_bytes(device) > 10_000_000
        await phones.stop(device)
    finally:
        await phones.close()


def inspect(name: str, *, kind: str = "container") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(docker(kind, "inspect", name))[0]
    return found


async def test_what_a_killed_service_left_is_reaped_and_a_living_one_is_not(images: DockerEngine) -> None:
    holders = [await hold(), await hold()]
    try:
        living, killed = [str(Owner.of(process.pid)) for process in holders]
        holders[1].send_signal(signal.SIGKILL)
        await holders[1].wait()
        async with asyncio.timeout(T):
            while ours(images, killed):  # noqa: ASYNC110 - its containers end with its connection to the engine
                await asyncio.sleep(0.1)
        assert networks(killed)
        images.reap()
        assert not networks(killed)
        assert len(ours(images, living)) == len(networks(living)) == 1
    finally:
        for process in holders:
            if process.returncode is None:
                process.kill()
                await process.wait()
        images.reap()
    assert not networks(living)


async def hold() -> asyncio.subprocess.Process:
    """Start a process that holds a phone in a container."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLD, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline()
    return process


def test_a_missing_image_is_named_with_what_builds_it(images: DockerEngine) -> None:
    spec = CellSpec(image="rlfactory-nothing", kind="simulator", scope=Scope.SERVICE)
    with pytest.raises(ImageMissing, match="make image-nothing"):
        images.make_cell(spec)
    assert networks() == []


async def test_a_container_that_ends_at_once_says_why_and_leaves_nothing(images: DockerEngine) -> None:
    """The image of the service refuses to start without credentials."""
    broken = DockerSource(SMALL, DockerConfig(image="rlfactory-envd"))
    try:
        with pytest.raises(DeviceError, match=r"ended as it started: error: 0\.0\.0\.0 is not loopback"):
            await broken.start()
    finally:
        await broken.close()
    assert (ours(images), networks()) == ([], [])
