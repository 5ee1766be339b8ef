"""Phones that someone else started: found by serial, brought back to the state they were found in, left running."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rlfactory.emulators.adb.console import EmulatorConsole
from rlfactory.emulators.adb.device import AdbDevice
from rlfactory.emulators.device.device import OpenApp
from rlfactory.emulators.device.errors import DeviceError, DeviceUnsupported
from rlfactory.emulators.pool import Pool, PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer
from rlfactory.emulators.sources.attached import AttachedSource, Endpoints
from tests.emulators.adb.emulator_stub import ControllerStub, served
from tests.emulators.conftest import Lab

T = 20.0


@pytest.mark.parametrize(
    ("serial", "endpoints"),
    [
        ("emulator-5556", Endpoints(console=("127.0.0.1", 5556), grpc=None)),
        ("172.20.0.2:5555", Endpoints(console=("172.20.0.2", 5554), grpc=("172.20.0.2", 8554))),
        ("R5CT10", Endpoints(console=None, grpc=None)),
        ("emulator-x", Endpoints(console=None, grpc=None)),
    ],
)
def test_the_parts_of_a_phone_are_looked_for_by_its_serial(serial, endpoints):
    assert Endpoints.of(serial) == endpoints


async def test_a_phone_comes_back_as_it_was_found_and_is_left_so(lab_phone):
    lab_phone.phone.system.settings.put("system", "screen_brightness", "77")
    found = lab_phone.phone.state_hash()
    assert lab_phone.ports.console
    console = EmulatorConsole(lab_phone.ports.console)
    snapshots = await console.command("avd snapshot list")
    source = AttachedSource([lab_phone.serial], adb_port=lab_phone.adb_port)
    device = await source.start()
    with pytest.raises(DeviceError, match="all attached phones are in use"):
        await source.start()
    await device.shell("settings put system screen_brightness 11", timeout_s=T)
    await source.stop(device)
    device = await source.start()
    assert (await device.shell("settings get system screen_brightness", timeout_s=T)).stdout == "77\n"
    await device.act(OpenApp("Settings"), timeout_s=T)
    await source.stop(device)
    await source.close()
    assert lab_phone.phone.state_hash() == found
    assert await console.command("avd snapshot list") == snapshots


async def test_an_emulator_that_tells_of_itself_is_seen_by_its_frames(lab_phone, tmp_path: Path):
    async with served(ControllerStub(lab_phone.phone, token="its-own")) as address:
        facts = f"port.serial={lab_phone.ports.console}\ngrpc.port={address.rpartition(':')[2]}\ngrpc.token=its-own\n"
        (tmp_path / "pid_7.ini").write_text(facts)
        source = AttachedSource([lab_phone.serial], adb_port=lab_phone.adb_port, discovery=(tmp_path,))
        device = await source.start()
        assert isinstance(device, AdbDevice)
        assert "emulator gRPC " in device.frames.reason
        assert (await device.settle(timeout_s=T)).reason == "still"
        await source.stop(device)
        await source.close()
    source = AttachedSource([lab_phone.serial], adb_port=lab_phone.adb_port, discovery=(tmp_path,))
    device = await source.start()
    assert isinstance(device, AdbDevice)
    assert "emulator gRPC" not in device.frames.reason, "its endpoint is gone"
    await source.stop(device)
    await source.close()


async def standing_phone(lab: Lab) -> tuple[str, PhoneServer]:
    """Start a phone whose console is the port below adb's, as standing ones have it; return its address."""
    for port in range(25554, 25754, 2):
        try:
            server = await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(
                    lab.host.start(PhoneConfig(width_px=270, height_px=600), console_port=port, adb_port=port + 1),
                    lab._loop,
                )
            )
        except OSError:
            continue
        return f"127.0.0.1:{port + 1}", server
    raise AssertionError("no two ports beside each other are free")


async def test_phones_at_an_address_are_connected_to_by_a_server_of_our_own(lab):
    address, server = await standing_phone(lab)
    source = AttachedSource([address], adb_port=0)
    async with Pool(source, PoolConfig(phones=1)) as pool:
        for _ in range(2):
            async with pool.lease(timeout_s=T) as lease:
                assert lease.device.info.serial == address
                await lease.device.shell("settings put system screen_brightness 3", timeout_s=T)
        with pytest.raises(DeviceError):
            async with pool.lease(timeout_s=T):
                raise DeviceError("something went wrong with it")
        async with pool.lease(timeout_s=T) as lease:
            found = await lease.device.shell("settings get system screen_brightness", timeout_s=T)
            assert found.stdout != "3\n"
    await asyncio.to_thread(lab.run, lab.host.stop(server.ports.serial))


async def test_a_phone_without_a_console_serves_no_sessions(lab_phone):
    """A physical phone, say: nothing can bring it back to where an episode begins."""
    source = AttachedSource([f"127.0.0.1:{lab_phone.ports.adb}"], adb_port=0)
    device = await source.start()
    with pytest.raises(DeviceUnsupported, match="it has no snapshots"):
        await device.save_snapshot(timeout_s=T)
    await source.stop(device)
    with pytest.raises(DeviceError, match=r"no phone could be started: .* no episode can begin on it") as caught:
        async with Pool(source, PoolConfig(phones=1)):
            pass
    assert "\n" not in str(caught.value)
