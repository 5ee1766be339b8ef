"""The simulated adbd: what it does with packets, right ones and wrong ones."""

from __future__ import annotations

import asyncio
import re
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.emulators.simulator.shell.stdin_use import reads_stdin
from rlfactory.emulators.simulator.wire.adb_packets import (
    CLSE,
    CNXN,
    HEADER,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    VERSION,
    WRTE,
    Packet,
    encode,
    read_packet,
)
from rlfactory.emulators.simulator.wire.adbd import AdbDaemon, Stream
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer
from tests.emulators.simulator.wire.adb_peer import HELLO, Peer, T, connected, greeted, served


async def assert_silent(peer: Peer) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await peer.reader.readexactly(1)


async def assert_well(server: PhoneServer) -> None:
    """The phone still serves others."""
    async with connected(server) as peer:
        assert (await peer.hear()).command == CNXN
        assert await peer.run(1, b"shell:echo well") == b"well\n"


async def test_the_banner_names_the_phone_and_only_what_it_can() -> None:
    async with served() as server, connected(server) as peer:
        answer = await peer.hear()
        assert (answer.command, answer.first, answer.second) == (CNXN, VERSION, MAX_PAYLOAD)
        assert answer.payload.startswith(b"device::ro.product.name=")
        assert b"ro.product.model=Pixel_6" in answer.payload
        assert answer.payload.endswith(b"features=shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir")


async def test_a_peer_of_an_old_version_gets_checksums_and_small_packets() -> None:
    hello = encode(Packet(CNXN, 0x01000000, 4096, b"host::"), with_checksum=True)
    async with served() as server, connected(server, hello=hello) as peer:
        header = await peer.reader.readexactly(HEADER.size)
        *_, length, checksum, _ = HEADER.unpack(header)
        assert sum(await peer.reader.readexactly(length)) == checksum
        assert (await peer.open(1, b"exec:cat /big")).command == OKAY
        packet = await peer.hear()
        assert len(packet.payload) <= 4096


async def test_one_write_is_in_flight_until_it_is_acknowledged() -> None:
    async with greeted() as (_, peer):
        assert (await peer.open(7, b"exec:cat /big")).command == OKAY
        first = await peer.hear()
        assert (first.command, len(first.payload)) == (WRTE, MAX_PAYLOAD)
        await assert_silent(peer)
        total = len(first.payload)
        await peer.say(OKAY, 7, first.first)
        while (packet := await peer.hear()).command == WRTE:
            total += len(packet.payload)
            await peer.say(OKAY, 7, packet.first)
        assert total == 3_000_000


async def test_a_service_that_does_not_exist_is_refused() -> None:
    async with greeted() as (_, peer):
        for service in (b"jdwp:1", b"tcp:9008", b"localabstract:x", b"nonsense", b""):
            assert await peer.open(5, service) == Packet(CLSE, 0, 5, b"")


async def test_a_stream_that_closes_does_not_disturb_the_next() -> None:
    async with greeted() as (_, peer):
        opened = await peer.open(1, b"exec:cat /big")
        await peer.say(CLSE, 1, opened.first)
        while (packet := await peer.hear()).command != CLSE:  # adb-shell waits for it
            assert packet.second == 1
        assert (packet.first, packet.second) == (opened.first, 1)
        assert await peer.run(2, b"shell:echo next") == b"next\n"


async def test_one_phones_long_command_does_not_stall_another() -> None:
    async with served() as slow, served() as quick:
        slow.phone.lock.acquire()
        try:
            async with connected(slow) as held, connected(quick) as free:
                await held.hear()
                await free.hear()
                await held.say(OPEN, 1, 0, b"shell:echo slow\0")
                assert (await held.hear()).command == OKAY
                assert await free.run(1, b"shell:echo quick") == b"quick\n"
        finally:
            slow.phone.lock.release()
        await assert_well(slow)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\0" * 64,
        b"\xff" * 64,
        struct.pack("<6I", OPEN, 1, 0, 0, 0, OPEN ^ 0xFFFFFFFF),
        struct.pack("<6I", CNXN, VERSION, 4096, MAX_PAYLOAD + 1, 0, CNXN ^ 0xFFFFFFFF),
        HELLO + HELLO[:10] + b"?" * 30,
        HELLO + struct.pack("<6I", 0x12345678, 0, 0, 0, 0, 0x12345678 ^ 0xFFFFFFFF),
    ],
)
async def test_garbage_cuts_off_its_sender_only(garbage: bytes) -> None:
    async with served() as server, connected(server, hello=b"") as bystander:
        bystander.writer.write(HELLO)
        await bystander.hear()
        async with connected(server, hello=garbage) as peer:
            assert await peer.is_cut_off()
        assert await bystander.run(1, b"shell:echo still here") == b"still here\n"


async def test_a_write_too_many_cuts_off_its_sender() -> None:
    async with greeted() as (server, peer):
        opened = await peer.open(1, b"shell:cat")
        server.phone.lock.acquire()
        try:
            for _ in range(4):
                await peer.say(WRTE, 1, opened.first, b"x" * 100)
            await peer.say(WRTE, 99, 99, b"to nobody")
        finally:
            server.phone.lock.release()
        await assert_well(server)


PACKETS = st.builds(
    lambda command, first, second, payload: encode(Packet(command, first, second, payload)),
    st.sampled_from([CNXN, OPEN, OKAY, WRTE, CLSE]),
    st.integers(0, 4),
    st.integers(0, 4),
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([b"shell:cat\0", b"shell,v2:cat\0", b"sync:\0", b"shell:\0", b"framebuffer:\0", b"exec:id\0"]),
    ),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.one_of(PACKETS, st.binary(max_size=60)), max_size=12), st.booleans())
def test_the_phone_survives_any_traffic(traffic: list[bytes], polite: bool) -> None:
    async def attack() -> None:
        async with served() as server:
            async with connected(server, hello=HELLO if polite else b"") as peer:
                for piece in traffic:
                    peer.writer.write(piece)
                peer.writer.write_eof()
                assert await peer.is_cut_off()
            await assert_well(server)

    asyncio.run(attack())


SHELL_STREAMS = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.builds(
            lambda kind, length, data: bytes([kind]) + struct.pack("<I", length) + data,
            st.integers(0, 6),
            st.one_of(st.integers(0, 40), st.just(2**32 - 1)),
            st.binary(max_size=40),
        ),
    ),
    max_size=5,
)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([b"shell,v2,raw:", b"shell,v2,pty:", b"shell,v2:cat", b"shell:", b"sync:"]), SHELL_STREAMS)
def test_a_stream_of_garbage_ends_that_stream_only(service: bytes, pieces: list[bytes]) -> None:
    async def attack() -> None:
        async with greeted() as (server, peer):
            opened = await peer.open(1, service)
            for piece in pieces:
                if piece:
                    await peer.say(WRTE, 1, opened.first, piece)
                    while (packet := await peer.hear()).command == WRTE:
                        await peer.say(OKAY, 1, packet.first)
                    if packet.command == CLSE:
                        break
            await peer.say(CLSE, 1, opened.first)
            await assert_well(server)

    asyncio.run(attack())


async def test_a_connection_is_closed_even_when_the_phone_is_closed_in_the_middle_of_it() -> None:
    leaving = asyncio.Event()

    async def lingers(_stream: Stream) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            leaving.set()
            await asyncio.sleep(0.2)

    daemon = AdbDaemon("device::", lambda _name: lingers)
    reader, writer = await asyncio.open_connection("127.0.0.1", await daemon.start("127.0.0.1"))
    writer.write(encode(Packet(CNXN, VERSION, MAX_PAYLOAD, b"host::")))
    writer.write(encode(Packet(OPEN, 1, 0, b"shell:\0")))
    async with asyncio.timeout(T):
        assert [(await read_packet(reader)).command for _ in range(2)] == [CNXN, OKAY]
        writer.write_eof()
        await leaving.wait()
        await daemon.close()
        assert await reader.read() == b"", "the connection has ended"
    writer.close()
    await writer.wait_closed()


# --- shells


class ShellPeer:
    """A client of a shell stream, in either version of the protocol."""

    def __init__(self, peer: Peer, remote: int, *, version_2: bool) -> None:
        self._peer = peer
        self._remote = remote
        self._version_2 = version_2
        self.closed = False
        self._raw = b""

    @classmethod
    async def opened(cls, peer: Peer, service: bytes, *, version_2: bool) -> ShellPeer:
        return cls(peer, (await peer.open(1, service)).first, version_2=version_2)

    async def type(self, text: bytes) -> None:
        data = b"\0" + struct.pack("<I", len(text)) + text if self._version_2 else text
        await self._peer.say(WRTE, 1, self._remote, data)

    async def until(self, end: bytes) -> bytes:
        """Return what is printed, up to `end`."""
        while end not in self.printed and not self.closed:
            packet = await self._peer.hear()
            if packet.command == WRTE:
                self._raw += packet.payload
                await self._peer.say(OKAY, 1, packet.first)
            self.closed = packet.command == CLSE
        printed, self._raw = self.printed, b""
        return printed

    @property
    def printed(self) -> bytes:
        if not self._version_2:
            return self._raw
        printed, rest = b"", self._raw
        while len(rest) >= 5:
            kind, length = struct.unpack_from("<BI", rest)
            printed += rest[5 : 5 + length] if kind == 1 else b""
            rest = rest[5 + length :]
        return printed


@pytest.mark.parametrize(("service", "version_2"), [(b"shell,v2,pty:", True), (b"shell:", False)])
async def test_a_prompt_echoes_runs_lines_and_remembers_the_directory(service: bytes, version_2: bool) -> None:
    async with greeted() as (server, peer):
        shell = await ShellPeer.opened(peer, service, version_2=version_2)
        assert await shell.until(b"# ") == b"emulator64_x86_64:/ # "
        await shell.type(b"ecXX\x7f\x7fho hi\r")
        assert (await shell.until(b"/ # ")).endswith(b"ho hi\r\nhi\r\nemulator64_x86_64:/ # ")
        await shell.type(b"cd /sdcard; ls /nowhere\r")
        assert (await shell.until(b"# ")).count(b"No such file") == 1
        await shell.type(b"pwd\r")
        assert b"\r\n/sdcard\r\n" in await shell.until(b"# ")
        await shell.type(b"half a line\x03")
        assert b"^C\r\n" in await shell.until(b"# ")
        await shell.type(b"exit\r")
        await shell.until(b"never")
        assert shell.closed
        await assert_well(server)


async def test_ctrl_d_and_the_end_of_the_stream_leave_the_prompt() -> None:
    async with greeted() as (server, peer):
        shell = await ShellPeer.opened(peer, b"shell,v2,pty:", version_2=True)
        await shell.until(b"# ")
        await shell.type(b"\x04")
        await shell.until(b"never")
        assert shell.closed
        await assert_well(server)


async def test_logcat_streams_until_its_reader_leaves() -> None:
    async with greeted() as (_, peer):
        opened = await peer.open(1, b"shell:logcat -v epoch *:S")
        assert opened.command == OKAY
        await assert_silent(peer)
        await peer.say(CLSE, 1, opened.first)
        assert await peer.run(2, b"shell:logcat -b all -c") == b""


WORDS = re.findall(
    r"\S+",
    "echo cat ls $( ) ` ' \" ; && || | > < >> << & ( ) { } $x ${y:-z} if then fi for do done * ? [ ] ~ \\ 2>&1 $? -1 "
    "-p /sdcard input tap settings put get global am start dumpsys sqlite3 find rm screencap while true 9999999999",
)
COMMANDS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))


@settings(deadline=None, max_examples=60)
@given(st.lists(COMMANDS, min_size=1, max_size=4))
def test_the_phone_survives_any_command_line(commands: list[str]) -> None:
    async def attack() -> None:
        async with greeted() as (server, peer):
            for number, command in enumerate(commands, start=1):
                if not reads_stdin(command) and command.split():
                    await peer.run(number, b"exec:" + command.replace("\0", " ").encode("utf-8", "replace"))
            await assert_well(server)

    asyncio.run(attack())
