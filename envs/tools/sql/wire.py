"""Frames between a pool and its workers: eight bytes of lengths, a JSON object, then raw bytes (a database) or none.

A worker is never believed more than JSON can say: no pickle comes back from it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

LENGTHS: Final = struct.Struct("<II")
MAX_HEADER_BYTES: Final = 64 << 20

Message = dict[str, Any]
"""`op` and what belongs to it; see `rlfactory.envs.tools.sql.worker`."""


def pack(message: Mapping[str, Any], payload: bytes = b"") -> bytes:
    """Return one frame."""
    header = json.dumps(message, separators=(",", ":")).encode("ascii")
    return LENGTHS.pack(len(header), len(payload)) + header + payload


def read(stream: BinaryIO) -> tuple[Message, bytes]:
    """Return the next frame. Raises: EOFError: the other side has gone."""
    header_bytes, payload_bytes = LENGTHS.unpack(_exactly(stream, LENGTHS.size))
    message: Message = json.loads(_exactly(stream, header_bytes))
    return message, _exactly(stream, payload_bytes)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the pipe was closed")
    return data
