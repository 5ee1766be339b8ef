"""Messages put together from parts that are serialized already: a large answer is serialized once, and never copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.wire.v1 import env_pb2 as pb

LENGTH_DELIMITED: Final = 2
_OUTCOMES: Final = pb.StepsResponse.OUTCOMES_FIELD_NUMBER
_RESPONSE: Final = pb.StepOutcome.RESPONSE_FIELD_NUMBER
_STATUS: Final = pb.StepOutcome.STATUS_FIELD_NUMBER


@dataclass(frozen=True, slots=True)
class Answer:
    """What a step is answered with: a StepResponse, or a google.rpc.Status."""

    parts: tuple[bytes, ...]
    """Serialized; one after the other they are the message."""
    failed: bool = False

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.parts))


def outcomes(answers: Sequence[tuple[int, Answer]]) -> bytes:
    """Return the StepsResponse of numbered answers."""
    pieces: list[bytes] = []
    for number, answer in answers:
        head = pb.StepOutcome(number=number).SerializeToString()
        head += _tag(_STATUS if answer.failed else _RESPONSE) + _varint(answer.size_bytes)
        pieces += (_tag(_OUTCOMES), _varint(len(head) + answer.size_bytes), head, *answer.parts)
    return b"".join(pieces)


def parsed(kind: type[Message], data: bytes) -> Any:
    """Return the message that the bytes are. Raises: TaskError: they are none."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise TaskError(f"these {len(data)} bytes are no {kind.DESCRIPTOR.full_name}") from None


def serialized(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


def _tag(field: int) -> bytes:
    return _varint(field << 3 | LENGTH_DELIMITED)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
