"""Messages of very many very small parts, told by their bytes before they are parsed.

Two bytes make a message within a message: parsing two million of them would hold up the event loop for a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from google.protobuf.descriptor import Descriptor

SMALL_BYTES: Final = 4 << 10
"""Messages up to here are parsed whatever they hold."""
MAX_FIELDS: Final = 32_768
"""Of a larger one, those of the messages within it and the numbers of its lists included."""
MOST_CALLS: Final = 6_000
"""Of a step, which shares its stream with others: a client sends no more, for a crowd ends the stream."""
FIELDS_OF_PIECE: Final = 8
_NOT_LAST: Final = bytes(range(128, 256))
"""Of the bytes of a number all but the last one are such."""
_VARINT: Final = 0
_DELIMITED: Final = 2
_FIXED_BYTES: Final = {1: 8, 5: 4}


def is_crowded(data: bytes, kind: Descriptor) -> bool:
    """Tell whether a message holds more than is read at once. Of bytes that are none, it does not matter."""
    count = 0
    within = [(0, len(data), kind)]
    try:
        while within:
            begin, end, kind = within.pop()
            for tag, value_at, next_at in _fields(data, begin, end):
                count += 1
                field = kind.fields_by_number.get(tag >> 3)
                if tag & 7 == _DELIMITED and field is not None:
                    if field.message_type is not None:
                        within.append((value_at, next_at, field.message_type))
                    elif field.type not in (field.TYPE_STRING, field.TYPE_BYTES):
                        count += len(data[value_at:next_at].translate(None, _NOT_LAST))
                if count > MAX_FIELDS:
                    return True
    except IndexError:  # cut off
        return False
    return False


def pieces(data: bytes) -> Iterator[bytes]:
    """Give a message in pieces, each a message of the same kind with few of its fields.

    What is left where the bytes are no message is a piece, too.
    """
    begin = count = 0
    try:
        for _, _, end in _fields(data, 0, len(data)):
            count += 1
            if count == FIELDS_OF_PIECE or end - begin > SMALL_BYTES:
                yield data[begin:end]
                begin, count = end, 0
    except IndexError:
        pass
    if begin < len(data):
        yield data[begin:]


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Give tag, begin of the value, and end of each field. Raises: IndexError: the last one is cut off."""
    while at < end:
        tag, value_at = _read_varint(data, at)
        at = value_at
        kind = tag & 7
        if kind == _VARINT:
            _, at = _read_varint(data, at)
        elif kind == _DELIMITED:
            size, value_at = _read_varint(data, at)
            at = value_at + size
        else:
            at += _FIXED_BYTES.get(kind, 0)  # groups, which nobody uses any more, are marks without a value
        if at > end:
            raise IndexError
        yield tag, value_at, at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
