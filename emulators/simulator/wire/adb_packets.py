"""The packets of the ADB transport (AOSP, packages/modules/adb/protocol.txt): pure encoding and checked reading."""

from __future__ import annotations

import asyncio
import struct
from typing import NamedTuple

HEADER = struct.Struct("<6I")
MAX_PAYLOAD = 1024 * 1024
VERSION = 0x01000001
"""From this version on, checksums are not looked at."""


def _command(name: bytes) -> int:
    return int.from_bytes(name, "little")


CNXN = _command(b"CNXN")
OPEN = _command(b"OPEN")
OKAY = _command(b"OKAY")
WRTE = _command(b"WRTE")
CLSE = _command(b"CLSE")
_KNOWN = {CNXN, OPEN, OKAY, WRTE, CLSE, _command(b"SYNC"), _command(b"AUTH"), _command(b"STLS")}


class PacketError(Exception):
    """The peer does not speak ADB, or not any more."""


class Packet(NamedTuple):
    command: int
    first: int
    """arg0: the sender's stream, or its version in CNXN."""
    second: int
    """arg1: the receiver's stream, or the largest payload in CNXN."""
    payload: bytes = b""


def encode(packet: Packet, *, with_checksum: bool = False) -> bytes:
    """Return the packet's bytes."""
    return encode_header(packet, with_checksum=with_checksum) + packet.payload


def encode_header(packet: Packet, *, with_checksum: bool = False) -> bytes:
    """Return what precedes the payload; peers of a version before `VERSION` want the checksum."""
    checksum = sum(packet.payload) & 0xFFFFFFFF if with_checksum else 0
    command, first, second, payload = packet
    return HEADER.pack(command, first, second, len(payload), checksum, command ^ 0xFFFFFFFF)


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """Return the next packet.

    Raises:
        PacketError: the bytes are no packet, or its payload is too long.
        asyncio.IncompleteReadError: the peer closed the connection.
    """
    command, first, second, length, _, magic = HEADER.unpack(await reader.readexactly(HEADER.size))
    if command ^ magic != 0xFFFFFFFF or command not in _KNOWN:
        raise PacketError(f"not an ADB packet: command {command:#x}, magic {magic:#x}")
    if length > MAX_PAYLOAD:
        raise PacketError(f"payload of {length} bytes; at most {MAX_PAYLOAD} are allowed")
    payload = await reader.readexactly(length) if length else b""
    return Packet(command, first, second, payload)
