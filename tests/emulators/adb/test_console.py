"""The emulator console: our client, and the simulated phone's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.emulators.adb.console import ConsoleRefused, EmulatorConsole
from rlfactory.emulators.device.errors import DeviceError, DeviceLost
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.wire.host import PhoneHost
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer

SMALL = PhoneConfig(width_px=270, height_px=600)


@pytest.fixture
async def host() -> AsyncIterator[PhoneHost]:
    host = PhoneHost()
    yield host
    await host.close()


@pytest.fixture
async def server(host: PhoneHost) -> PhoneServer:
    return await host.start(SMALL)


def console_of(server: PhoneServer) -> EmulatorConsole:
    assert server.ports is not None
    return EmulatorConsole(server.ports.console)


async def test_it_answers_as_the_emulator_does(server: PhoneServer) -> None:
    console = console_of(server)
    assert await console.command("ping") == "I am alive!"
    assert "avd" in await console.command("help")
    assert await console.command("avd name")
    assert await console.command("auth anything at all")
    with pytest.raises(ConsoleRefused, match="unknown command"):
        await console.command("frobnicate")


async def test_a_snapshot_saved_on_one_phone_loads_on_another(host: PhoneHost, server: PhoneServer) -> None:
    other = await host.start(SMALL)
    first, second = console_of(server), console_of(other)
    server.phone.system.settings.put("system", "screen_brightness", "11")
    await first.save_snapshot("golden")
    assert await second.command("avd snapshot list") == "golden"
    assert other.phone.state_hash() != server.phone.state_hash()
    await second.load_snapshot("golden")
    assert other.phone.state_hash() == server.phone.state_hash()
    await second.delete_snapshot("golden")
    for refused in (first.load_snapshot, first.delete_snapshot):
        with pytest.raises(ConsoleRefused, match="no snapshot 'golden'"):
            await refused("golden")


async def test_a_call_comes_in(server: PhoneServer) -> None:
    await console_of(server).command("gsm call 5551234")
    assert server.phone.state.call_state == 1
    await console_of(server).command("gsm cancel 5551234")
    assert server.phone.state.call_state == 0
    with pytest.raises(ConsoleRefused, match="usage"):
        await console_of(server).command("gsm sing")
    with pytest.raises(ConsoleRefused, match="missing argument"):
        await console_of(server).command("sms send 555")


async def test_killing_takes_the_phone_off_the_network(host: PhoneHost, server: PhoneServer, eventually) -> None:
    assert server.ports is not None
    await console_of(server).kill()
    await eventually(lambda: not host.phones)
    with pytest.raises(DeviceLost, match="does not answer"):
        await console_of(server).command("ping")


async def test_a_command_is_one_line(server: PhoneServer) -> None:
    with pytest.raises(ValueError, match="one line"):
        await console_of(server).command("ping\nkill")


async def test_the_token_is_read_where_the_console_says(tmp_path: Path) -> None:
    """A real emulator's console asks for a token; the greeting names its file."""
    token_file = tmp_path / "token"
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"Android Console: Authentication required\r\n"
            b"Android Console: type 'auth <auth_token>' to authenticate\r\n"
            b"Android Console: you can find your <auth_token> in\r\n" + f"'{token_file}'\r\nOK\r\n".encode()
        )
        heard.extend(filter(None, [await reader.readline()]))
        writer.write(b"OK\r\n")
        heard.extend(filter(None, [await reader.readline()]))
        writer.write(b"OK\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    console = EmulatorConsole(server.sockets[0].getsockname()[1])
    with pytest.raises(DeviceError, match="token"):
        await console.command("ping")
    token_file.write_text("s3cret\n")
    await console.command("ping")
    assert heard == [b"auth s3cret\n", b"ping\n"]
    server.close()


@settings(deadline=None, max_examples=20)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_garbage_ends_its_connection_at_worst(lines: list[bytes]) -> None:
    async def attack() -> None:
        host = PhoneHost()
        server = await host.start(SMALL)
        assert server.ports is not None
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports.console)
            for line in lines:
                writer.write(line.replace(b"kill", b"live") + b"\n")
            writer.write_eof()
            async with asyncio.timeout(30):
                await reader.read(-1)
            writer.close()
            await writer.wait_closed()
            assert await console_of(server).command("ping") == "I am alive!"
        finally:
            await host.close()

    asyncio.run(attack())
