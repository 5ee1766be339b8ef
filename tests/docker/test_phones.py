"""Phones in containers under the pool: what dies is replaced, what a dead service left is reaped, nothing is open."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rlfactory.emulators.device.device import Device, ImageSpec, OpenApp, Tap
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.pool import PhoneState, Pool, PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.docker import DockerConfig, DockerSource
from rlfactory.processes.docker.engine import Engine
from rlfactory.processes.docker.owner import Owner
from rlfactory.processes.docker.spec import CellInfo, CellSpec, Scope
from rlfactory.processes.errors import ImageMissing

pytestmark = pytest.mark.docker
SMALL = PhoneConfig(width_px=270, height_px=600)
T = 20.0
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


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout


def ours(engine: Engine, owner: str = OWNER) -> list[CellInfo]:
    return [cell for cell in engine.cells() if cell.owner == owner]


def networks(owner: str = OWNER) -> list[str]:
    return docker("network", "ls", "-q", "--filter", f"label=rlfactory.owner={owner}").split()


async def all_free(pool: Pool) -> None:
    async with asyncio.timeout(60):
        while not all(status.state is PhoneState.FREE for status in pool.status()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the pool tells nobody: there is no event to wait for


async def test_phones_are_leased_reset_and_forked(images: Engine) -> None:
    async with Pool(source(), PoolConfig(phones=2)) as pool:
        await all_free(pool)
        async with pool.lease(timeout_s=T) as first:
            await first.device.act(OpenApp("Settings"), timeout_s=T)
            await first.device.push("/sdcard/trace", b"x", timeout_s=T)
            assert (await first.device.observe(ImageSpec(), with_tree=True, timeout_s=T)).tree is not None
            snapshot = await first.device.save_snapshot(timeout_s=T)
            async with pool.lease(timeout_s=T, host=first.host) as other:
                await other.device.load_snapshot(snapshot, timeout_s=T)
                assert np.array_equal(
                    await other.device.screenshot(timeout_s=T), await first.device.screenshot(timeout_s=T)
                )
        await all_free(pool)
        async with pool.lease(timeout_s=T) as lease:
            assert "files/trace" not in await lease.device.state(timeout_s=T)
    assert (ours(images), networks()) == ([], [])


async def test_a_killed_container_is_replaced_with_its_phones(images: Engine) -> None:
    async with Pool(source(1), PoolConfig(phones=2, backoff_s=0.01)) as pool:
        await all_free(pool)
        async with pool.lease(timeout_s=T) as bystander:
            with pytest.raises(DeviceError):
                async with pool.lease(timeout_s=T) as lease:
                    victim = next(cell for cell in ours(images) if cell.name == lease.host)
                    docker("kill", victim.name)
                    await lease.device.act(Tap(1, 1), timeout_s=T)
            await bystander.device.act(Tap(1, 1), timeout_s=T)
        await all_free(pool)
        assert victim.name not in {cell.name for cell in ours(images)}
    assert (ours(images), networks()) == ([], [])


async def test_containers_are_locked_down(images: Engine) -> None:
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


async def test_what_a_killed_service_left_is_reaped_and_a_living_one_is_not(images: Engine) -> None:
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


def test_a_missing_image_is_named_with_what_builds_it(images: Engine) -> None:
    spec = CellSpec(image="rlfactory-nothing", kind="simulator", scope=Scope.SERVICE)
    with pytest.raises(ImageMissing, match="make image-nothing"):
        images.make_cell(spec)
    assert networks() == []


async def test_a_container_that_ends_at_once_says_why_and_leaves_nothing(images: Engine) -> None:
    """The image of the service refuses to start without credentials."""
    broken = DockerSource(SMALL, DockerConfig(image="rlfactory-envd"))
    try:
        with pytest.raises(DeviceError, match=r"ended as it started: error: 0\.0\.0\.0 is not loopback"):
            await broken.start()
    finally:
        await broken.close()
    assert (ours(images), networks()) == ([], [])
