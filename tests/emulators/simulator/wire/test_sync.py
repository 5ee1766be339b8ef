"""The sync service, byte by byte, over a transport in memory of this process."""

from __future__ import annotations

import asyncio
import stat
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.wire.adb_packets import CLSE, OKAY, WRTE, Packet
from tests.emulators.simulator.wire.adb_peer import Peer, connected, greeted


class SyncPeer:
    """A client of one `sync:` stream."""

    def __init__(self, peer: Peer, remote: int) -> None:
        self._peer = peer
        self._remote = remote
        self._received = b""
        self.closed = False

    async def send(self, data: bytes) -> None:
        """Write in one packet and wait until it was taken, or the stream was closed."""
        if self.closed:
            return
        await self._peer.say(WRTE, 1, self._remote, data)
        while (await self._next()).command == WRTE:
            pass

    async def request(self, name: bytes, path: str) -> None:
        await self.send(name + struct.pack("<I", len(path.encode())) + path.encode())

    async def read(self, form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, await self.read_bytes(struct.calcsize("<" + form)))

    async def read_bytes(self, size: int) -> bytes:
        while len(self._received) < size:
            assert not self.closed, "the stream ended early"
            await self._next()
        data, self._received = self._received[:size], self._received[size:]
        return data

    async def ends(self) -> bool:
        while not self.closed:
            await self._next()
        return True

    async def _next(self) -> Packet:
        packet = await self._peer.hear()
        if packet.command == WRTE:
            self._received += packet.payload
            await self._peer.say(OKAY, 1, packet.first)
        elif packet.command == CLSE:
            self.closed = True
        return packet


@asynccontextmanager
async def phone_and_peer() -> AsyncIterator[tuple[SyncPeer, Phone]]:
    """A phone and a client of its sync service; afterwards it serves another as well."""
    async with greeted() as (server, peer):
        yield SyncPeer(peer, (await peer.open(1, b"sync:")).first), server.phone
        async with connected(server) as other:
            await other.hear()
            await assert_well(SyncPeer(other, (await other.open(1, b"sync:")).first))


async def assert_well(peer: SyncPeer) -> None:
    await peer.request(b"STAT", "/sdcard")
    name, mode, _, _ = await peer.read("4sIII")
    assert (name, stat.S_ISDIR(mode)) == (b"STAT", True)


async def assert_failed(peer: SyncPeer, words: bytes) -> None:
    name, length = await peer.read("4sI")
    assert name == b"FAIL"
    assert words in await peer.read_bytes(length)


async def test_files_are_described_in_both_versions() -> None:
    async with phone_and_peer() as (peer, phone):
        phone.system.files.write("/sdcard/f", b"12345", mode=0o640, modified_ns=1_700_000_000_123_000_000)
        await peer.request(b"STAT", "/sdcard/f")
        assert await peer.read("4sIII") == (b"STAT", stat.S_IFREG | 0o640, 5, 1_700_000_000)
        await peer.request(b"LST2", "/sdcard/f")
        name, error, _, _, mode, links, _, _, size, _, modified, _ = await peer.read("4sIQQIIIIQqqq")
        assert (name, error, mode, links, size, modified) == (b"LST2", 0, stat.S_IFREG | 0o640, 1, 5, 1_700_000_000)
        await peer.request(b"STAT", "/nowhere")
        assert await peer.read("4sIII") == (b"STAT", 0, 0, 0)
        await peer.request(b"STA2", "/nowhere")
        assert (await peer.read("4sIQQIIIIQqqq"))[:2] == (b"STA2", 2)


async def test_directories_are_listed_in_both_versions() -> None:
    async with phone_and_peer() as (peer, phone):
        phone.system.files.make_dirs("/sdcard/d/sub")
        phone.system.files.write("/sdcard/d/ü", b"x")
        for request, entry, form in ((b"LIST", b"DENT", "4sIIII"), (b"LIS2", b"DNT2", "4sIQQIIIIQqqqI")):
            await peer.request(request, "/sdcard/d")
            names = []
            while (fields := await peer.read(form))[0] == entry:
                names.append((await peer.read_bytes(fields[-1])).decode())
            assert fields[0] == b"DONE"
            assert names == [".", "..", "sub", "ü"]
        await peer.request(b"LIST", "/sdcard/d/ü")
        assert (await peer.read("4sIIII"))[0] == b"DONE"


async def test_a_file_goes_both_ways() -> None:
    async with phone_and_peer() as (peer, phone):
        data = bytes(range(256)) * 400
        await peer.request(b"SEND", "/sdcard/new/dir/f.bin,33188")
        for start in range(0, len(data), 60_000):
            chunk = data[start : start + 60_000]
            await peer.send(b"DATA" + struct.pack("<I", len(chunk)) + chunk)
        await peer.send(b"DONE" + struct.pack("<I", 1_600_000_000))
        assert await peer.read("4sI") == (b"OKAY", 0)
        entry = phone.system.files.stat("/sdcard/new/dir/f.bin")
        assert (entry.data, entry.mode, entry.modified_ns) == (data, 0o644, 1_600_000_000_000_000_000)
        await peer.request(b"RECV", "/sdcard/new/dir/f.bin")
        back = b""
        while (header := await peer.read("4sI"))[0] == b"DATA":
            assert header[1] <= 65536
            back += await peer.read_bytes(header[1])
        assert (header, back) == ((b"DONE", 0), data)
        await peer.send(b"QUIT" + struct.pack("<I", 0))
        assert await peer.ends()


async def test_failures_are_told_and_the_stream_goes_on() -> None:
    async with phone_and_peer() as (peer, _):
        for path, words in (("/nowhere", b"No such file"), ("/sdcard", b"Is a directory")):
            await peer.request(b"RECV", path)
            await assert_failed(peer, words)
        for request, words in (("/sdcard,33188", b"directory"), ("/sdcard/l,41471", b"symbolic"), ("/x,mode", b"bad")):
            await peer.request(b"SEND", request)
            await peer.send(b"DONE" + struct.pack("<I", 0))
            await assert_failed(peer, words)
        await assert_well(peer)


async def test_a_truncated_upload_leaves_no_trace() -> None:
    async with phone_and_peer() as (peer, phone):
        await peer.request(b"SEND", "/sdcard/half,33188")
        await peer.send(b"DATA" + struct.pack("<I", 1000) + b"x" * 500)
    assert not phone.system.files.exists("/sdcard/half")


REQUESTS = st.builds(
    lambda name, length, body: name + struct.pack("<I", length if length is not None else len(body)) + body,
    st.sampled_from(
        [b"STAT", b"STA2", b"LST2", b"LIST", b"LIS2", b"RECV", b"SEND", b"DATA", b"DONE", b"QUIT", b"????"]
    ),
    st.one_of(st.none(), st.none(), st.integers(0, 80), st.just(2**32 - 1)),
    st.one_of(st.binary(max_size=40), st.sampled_from([b"/sdcard", b"/sdcard/a,33188", b"/\0", b"", b"/sdcard/\xff"])),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.one_of(REQUESTS, st.binary(min_size=1, max_size=30)), max_size=8))
def test_any_request_ends_its_stream_at_worst(pieces: list[bytes]) -> None:
    async def attack() -> None:
        async with phone_and_peer() as (peer, _):
            for piece in pieces:
                await peer.send(piece)

    asyncio.run(attack())
