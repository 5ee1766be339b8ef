"""Between `rlfactory.envs.api.types` and protobuf, both ways. Nothing else in the house knows the messages' fields.

A large answer is serialized once and never copied: messages are put together from parts that are bytes already.
"""

from __future__ import annotations

import functools
import json
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import (
    JSON,
    SPLITS,
    CoordinateFrame,
    EpisodeState,
    ImageFormat,
    ImageRef,
    Observation,
    ResetResult,
    Reward,
    SessionOptions,
    Split,
    StepResult,
    StepTiming,
    TaskInfo,
    ToolCall,
    ToolResult,
    ToolSchema,
    ToolStatus,
)
from rlfactory.envs.wire.crowds import MAX_FIELDS, SMALL_BYTES, is_crowded
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.v1 import env_pb2 as pb

E = TypeVar("E", bound=int)
K = TypeVar("K")

FORMAT_TO_PB: Final = {each: pb.ImageFormat.Value(f"IMAGE_FORMAT_{each.name}") for each in ImageFormat}
FORMAT_FROM_PB: Final = {v: k for k, v in FORMAT_TO_PB.items()} | {pb.IMAGE_FORMAT_UNSPECIFIED: ImageFormat.JPEG}
FRAME_TO_PB: Final = {each: pb.CoordinateFrame.Value(f"COORDINATE_FRAME_{each.name}") for each in CoordinateFrame}
FRAME_FROM_PB: Final = {v: k for k, v in FRAME_TO_PB.items()} | {
    pb.COORDINATE_FRAME_UNSPECIFIED: CoordinateFrame.DEVICE_PX
}
STATUS_TO_PB: Final = {each: pb.ToolStatus.Value(f"TOOL_STATUS_{each.name}") for each in ToolStatus}
STATUS_FROM_PB: Final = {v: k for k, v in STATUS_TO_PB.items()}
STATE_TO_PB: Final = {each: pb.EpisodeState.Value(f"EPISODE_STATE_{each.name}") for each in EpisodeState}
STATE_FROM_PB: Final = {v: k for k, v in STATE_TO_PB.items()}
SPLIT_TO_PB: Final = {each: pb.Split.Value(f"SPLIT_{each.upper()}") for each in SPLITS}
SPLIT_FROM_PB: Final = {v: k for k, v in SPLIT_TO_PB.items()}

# Fields that are called and typed alike on both sides.
TASK: Final = ("name", "suite", "description", "max_turns")
IMAGE: Final = ("data", "width_px", "height_px", "digest")
OBSERVATION: Final = ("sequence", "tree_xml", "activity", "width_px", "height_px", "text")
RESULT: Final = ("call_id", "name", "text", "duration_s")
RESET: Final = (
    *("session", "goal", "max_turns", "lease_expiry_s", "state_hash"),
    *("build", "task_digest", "perturb", "progress"),
)
REWARD: Final = ("total", "progress", "success")
OPTIONAL: Final = (
    "image_quality",
    "max_pixels",
    "multiple_px",
    "max_turns",
    "lease_s",
    "step_timeout_s",
    "phone_wait_s",
)
TIMING: Final = ("act_s", "settle_s", "observe_s", "judge_s", "total_s")


def same(source: object, names: Iterable[str]) -> dict[str, Any]:
    """Return these fields by name."""
    return {name: getattr(source, name) for name in names}


def fill(message: Message, source: object, names: Iterable[str]) -> None:
    """Set these fields of a message that is a part already: one that becomes a part later is copied by its bytes."""
    for name in names:
        setattr(message, name, getattr(source, name))


_DECODER: Final = json.JSONDecoder()
MAX_ARGUMENTS_BYTES: Final = 1 << 20
"""Of one step. Longer ones are cut by clients, and rejected as the model's mistake."""
TOO_LONG: Final = f" (longer than {MAX_ARGUMENTS_BYTES} bytes, the calls of a step are cut)"
MAX_NAME_CHARS: Final = 10_000
MAX_MARKS: Final = 1 << 16
"""Commas, colons and brackets in the arguments of a step, also within strings."""
MAX_VALUES: Final = 1 << 14
"""Of these beyond strings: values are read on the event loop, where so many take some milliseconds."""
MAX_DIGITS: Final = 400
"""Of a number, more than any float has: what a longer one costs grows with the square of its length."""
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # linear: it goes nowhere back, and never fails
_DIGIT: Final = re.compile("[0-9]")
MAX_DEPTH: Final = 64
"""Of lists and objects in arguments: whatever walks through them may do so recursively."""


def _known(table: Mapping[E, K], value: E, what: str) -> K:
    """Raises: TaskError: a number that this version of the protocol does not define."""
    try:
        return table[value]
    except KeyError:
        raise TaskError(f"{what} {value} is not defined by envs.v1") from None


def enumerator(kind: EnumTypeWrapper, number: int) -> str:
    """Return an enumerator's name without its enum's, in small letters: "leased"; of a newer protocol its number."""
    prefix = kind.Name(0).removesuffix("UNSPECIFIED")
    return kind.Name(number).removeprefix(prefix).lower() if number in kind.values() else str(number)


# --- options ---------------------------------------------------------------------------------------------------------


def options_to_pb(options: SessionOptions) -> pb.Options:
    """Return the message of the options."""
    return pb.Options(
        image_format=FORMAT_TO_PB[options.image_format],
        image_quality=options.image_quality,
        max_pixels=options.max_pixels,
        multiple_px=options.multiple_px,
        without_image=not options.with_image,
        with_tree=options.with_tree,
        coordinates=FRAME_TO_PB[options.coordinates],
        max_turns=options.max_turns,
        lease_s=options.lease_s,
        step_timeout_s=options.step_timeout_s,
        group=options.group,
        perturb=options.perturb,
        phone_wait_s=options.phone_wait_s,
    )


def options_from_pb(message: pb.Options) -> SessionOptions:
    """Return the options, with the defaults of `SessionOptions` for what is unset.

    Raises: TaskError: an enumerator that is not defined, or an extension.
    """
    for extension in message.extensions:
        raise TaskError(f"the option {extension.type_url[:80]!r} is no capability of this service")
    return SessionOptions(
        **same(message, (name for name in OPTIONAL if message.HasField(name))),
        image_format=_known(FORMAT_FROM_PB, message.image_format, "image_format"),
        with_image=not message.without_image,
        with_tree=message.with_tree,
        coordinates=_known(FRAME_FROM_PB, message.coordinates, "coordinates"),
        group=message.group,
        perturb=message.perturb,
    )


def split_from_pb(number: pb.Split) -> Split | None:
    """Return the split; None where none is named. Raises: TaskError: no such split."""
    return _known(SPLIT_FROM_PB, number, "split") if number else None


# --- tasks and tools -------------------------------------------------------------------------------------------------


def task_to_pb(info: TaskInfo) -> pb.Task:
    """Return the message of a task's description."""
    splits = [SPLIT_TO_PB[split] for split in info.splits]
    return pb.Task(**same(info, TASK), apps=info.apps, splits=splits, tools=info.tools)


def task_from_pb(message: pb.Task) -> TaskInfo:
    """Return a task's description."""
    splits = tuple(SPLIT_FROM_PB[split] for split in message.splits if split in SPLIT_FROM_PB)
    return TaskInfo(**same(message, TASK), apps=tuple(message.apps), splits=splits, tools=tuple(message.tools))


def schema_to_pb(schema: ToolSchema) -> pb.ToolSchema:
    """Return the message of a tool's schema."""
    return pb.ToolSchema(
        name=schema.name, description=schema.description, parameters_json=json.dumps(schema.parameters)
    )


def schema_from_pb(message: pb.ToolSchema) -> ToolSchema:
    """Return a tool's schema."""
    return ToolSchema(
        name=message.name, description=message.description, parameters=_json_object(message.parameters_json)
    )


def calls_to_pb(calls: Sequence[ToolCall]) -> list[pb.ToolCall]:
    """Return the messages of a step's calls. Arguments that cannot travel are cut, for the service to reject them."""
    arguments = [_json_of(call) for call in calls]
    if sum(map(len, arguments)) > MAX_ARGUMENTS_BYTES:
        arguments = [each[: MAX_ARGUMENTS_BYTES // len(arguments)] for each in arguments]
    return [
        pb.ToolCall(id=_sendable(call.id), name=_sendable(call.name), arguments_json=each)
        for call, each in zip(calls, arguments, strict=True)
    ]


def _sendable(text: str) -> str:
    """Return the text with a mark for each half of a surrogate pair, which is no character."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _json_of(call: ToolCall) -> str:
    try:
        return json.dumps(call.arguments)
    except (RecursionError, ValueError, TypeError) as error:
        return f"no JSON: {error}"


def calls_from_pb(messages: Sequence[pb.ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls; an empty id becomes the call's index. Arguments that are no JSON object mark it unreadable.

    So do those that bring what all say beyond what is read of a step.

    Raises: TaskError: two calls of the same id.
    """
    calls: list[ToolCall] = []
    texts = [message.arguments_json for message in messages]
    said = _Said() if sum(map(len, texts)) > MAX_VALUES else None  # so few characters hold no more values than that
    for index, (message, text) in enumerate(zip(messages, texts, strict=True)):
        calls.append(_call_from_pb(message, index, text, problem=said.problem_with(text) if said else ""))
    if len(calls) > 1 and len({call.id for call in calls}) < len(calls):
        raise TaskError(f"call ids must differ within a step, got {', '.join(call.id for call in calls)}"[:500])
    return tuple(calls)


def marks_of(json_text: str) -> int:
    """Return how many commas, colons and opening brackets there are: there are no more values than these and one."""
    said = json_text.encode("utf-8", "surrogatepass")
    return len(said) - len(said.translate(None, b",:[{"))  # one look at each character, not four


class _Said:
    """How much the calls of a step have said so far."""

    def __init__(self) -> None:
        self._chars = self._marks = self._values = 0

    def problem_with(self, arguments_json: str) -> str:
        """Count a call's arguments; return why they are not read, "" if they are."""
        marks = values = marks_of(arguments_json)
        self._chars += len(arguments_json)
        self._marks += marks
        if self._chars > MAX_ARGUMENTS_BYTES:
            return f"the arguments of this step have more than {MAX_ARGUMENTS_BYTES} characters"
        if self._marks <= MAX_MARKS and self._values + marks > MAX_VALUES:
            values = marks_of(_STRING.sub("", arguments_json))
        self._values += values
        too_many = self._marks > MAX_MARKS or self._values > MAX_VALUES
        return f"the arguments of this step hold more than {MAX_VALUES} values" if too_many else ""


def _call_from_pb(message: pb.ToolCall, index: int, text: str, *, problem: str) -> ToolCall:
    name = message.name[:MAX_NAME_CHARS]
    arguments: Mapping[str, JSON] = {}
    unreadable = ""
    try:
        if problem:
            raise TaskError(problem)
        arguments = _json_object(text)
    except TaskError as error:
        unreadable = str(error) + TOO_LONG * (len(text) > MAX_ARGUMENTS_BYTES // 64)
    return ToolCall(id=message.id or str(index), name=name, arguments=arguments, unreadable=unreadable)


def _json_object(text: str) -> Mapping[str, JSON]:
    """Raises: TaskError: not a JSON object."""
    try:
        # So many digits in a row cannot be where none of every so many characters is a digit.
        decoder = _BOUNDED if len(text) > MAX_DIGITS and _DIGIT.search(text[MAX_DIGITS::MAX_DIGITS]) else _DECODER
        value, end = decoder.raw_decode(text) if text[:1] == "{" else ({}, 0)
        if end < len(text):  # something before or after it, be it white space
            value = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise TaskError(f"arguments must be a JSON object, got {type(value).__name__}")
    if len(text) > MAX_DEPTH and not _is_shallow(value):
        raise TaskError(f"arguments are nested more than {MAX_DEPTH} deep")
    return value


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits; at most {MAX_DIGITS} are read")
    return int(digits)


_BOUNDED: Final = json.JSONDecoder(parse_int=_bounded_int)


def _is_shallow(value: JSON) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner: list[JSON] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        if not inner:
            return True
        level = inner
    return False


def result_from_pb(message: pb.ToolResult) -> ToolResult:
    """Return a call's result."""
    return ToolResult(**same(message, RESULT), status=_known(STATUS_FROM_PB, message.status, "tool status"))


# --- observations ----------------------------------------------------------------------------------------------------


def observation_to_pb(message: pb.Observation, observation: Observation, *, with_bytes: bool = True) -> None:
    """Fill an observation's message; without the image's bytes when the client holds them already."""
    fill(message, observation, OBSERVATION)
    if observation.image is not None:
        fill(message.image, observation.image, IMAGE if with_bytes else IMAGE[1:])
        message.image.format = FORMAT_TO_PB[observation.image.format]


def observation_from_pb(message: pb.Observation) -> Observation:
    """Return the observation; an image whose bytes were left out has `data == b""`."""
    image = None
    if message.HasField("image"):
        image_format = _known(FORMAT_FROM_PB, message.image.format, "image_format")
        image = ImageRef(**same(message.image, IMAGE), format=image_format)
    return Observation(**same(message, OBSERVATION), image=image)


# --- sessions and steps ----------------------------------------------------------------------------------------------


def reset_to_pb(result: ResetResult) -> pb.ResetResponse:
    """Return the message of a new session, image bytes included."""
    tools = [schema_to_pb(schema) for schema in result.tools]
    message = pb.ResetResponse(**same(result, RESET), tools=tools)
    observation_to_pb(message.observation, result.observation)
    return message


def reset_from_pb(message: pb.ResetResponse) -> ResetResult:
    """Return a new session."""
    tools = tuple(schema_from_pb(schema) for schema in message.tools)
    return ResetResult(**same(message, RESET), tools=tools, observation=observation_from_pb(message.observation))


def step_to_pb(result: StepResult, *, with_bytes: bool) -> pb.StepResponse:
    """Return the message of a step, without its lease, which differs for each who asks."""
    message = pb.StepResponse(state=STATE_TO_PB[result.state], state_hash=result.state_hash)
    for each in result.results:
        called = message.results.add(status=STATUS_TO_PB[each.status])
        fill(called, each, RESULT)
    observation_to_pb(message.observation, result.observation, with_bytes=with_bytes)
    fill(message.reward, result.reward, REWARD)
    message.reward.parts.update(result.reward.parts)
    message.reward.side_effects.extend(result.reward.side_effects)
    fill(message.timing, result.timing, TIMING)
    return message


def step_from_pb(message: pb.StepResponse) -> StepResult:
    """Return a step's result; its lease is read apart."""
    reward = message.reward
    return StepResult(
        results=tuple(result_from_pb(each) for each in message.results),
        observation=observation_from_pb(message.observation),
        reward=Reward(**same(reward, REWARD), parts=dict(reward.parts), side_effects=tuple(reward.side_effects)),
        state=_known(STATE_FROM_PB, message.state, "episode state"),
        timing=StepTiming(**same(message.timing, TIMING)),
        state_hash=message.state_hash,
    )


FILE: Final = FileDescriptorProto.FromString(pb.DESCRIPTOR.serialized_pb)
REMOVED: Final = {
    f"{FILE.package}.{message.name}": {n for each in message.reserved_range for n in range(each.start, each.end)}
    for message in FILE.message_type
}
"""By message: the numbers of fields that there were once."""


class Answer(NamedTuple):
    """What a step is answered with: a StepResponse, or a google.rpc.Status."""

    parts: tuple[bytes, ...]
    """Serialized; one after the other they are the message."""
    size_bytes: int
    failed: bool

    @classmethod
    def of(cls, *parts: bytes, failed: bool = False) -> Answer:
        return cls(parts, sum(map(len, parts)), failed)


def outcomes(answers: Sequence[tuple[int, Answer]], load: Load) -> bytes:
    """Return the StepsResponse of numbered answers, and how busy the service is after them."""
    pieces = [_load_bytes(load)]
    for number, (parts, size_bytes, failed) in answers:
        head = _NUMBER + _varint(number) + (_STATUS if failed else _RESPONSE) + _varint(size_bytes)
        pieces += (_OUTCOMES, _varint(len(head) + size_bytes), head, *parts)
    return b"".join(pieces)


def lease_bytes(expiry_s: float) -> bytes:
    """Return a StepResponse of nothing but its lease. Messages that follow each other are merged by whoever reads."""
    return _LEASE + _DOUBLE.pack(expiry_s)


@functools.lru_cache
def _load_bytes(load: Load) -> bytes:
    return serialized(pb.StepsResponse(load=pb.Load(**load._asdict())))


def load_from_pb(message: pb.Load) -> Load:
    return Load(message.phones, message.free, message.waiting, message.sessions, message.draining)


def parsed(kind: type[Message], data: bytes) -> Any:
    """Return the message that the bytes are.

    Raises: TaskError: they are none, hold more than is read at once, or say what is not read any more.
    """
    if len(data) > SMALL_BYTES and is_crowded(data, kind.DESCRIPTOR):
        raise TaskError(f"a {kind.DESCRIPTOR.full_name} holds at most {MAX_FIELDS} fields and numbers")
    try:
        message = kind.FromString(data)
    except DecodeError:
        raise TaskError(f"these {len(data)} bytes are no {kind.DESCRIPTOR.full_name}") from None
    removed = REMOVED.get(kind.DESCRIPTOR.full_name)
    if removed and (sent := removed & {field.field_number for field in UnknownFieldSet(message)}):
        names = ", ".join(map(str, sorted(sent)))
        raise TaskError(f"{kind.DESCRIPTOR.full_name} has no field {names} any more: this client speaks version 1")
    return message


def serialized(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


def _varint(value: int) -> bytes:
    if value < 128:
        return _BYTES[value]
    return _BYTES[value & 127 | 128] + _varint(value >> 7)


_BYTES: Final = tuple(bytes((value,)) for value in range(256))
_DOUBLE: Final = struct.Struct("<d")
_FIXED_64: Final = 1
_LENGTH_DELIMITED: Final = 2
# The tags of fields, by their numbers.
_LEASE: Final = _varint(pb.StepResponse.LEASE_EXPIRY_S_FIELD_NUMBER << 3 | _FIXED_64)
_NUMBER: Final = _varint(pb.StepOutcome.NUMBER_FIELD_NUMBER << 3)
_OUTCOMES: Final = _varint(pb.StepsResponse.OUTCOMES_FIELD_NUMBER << 3 | _LENGTH_DELIMITED)
_RESPONSE: Final = _varint(pb.StepOutcome.RESPONSE_FIELD_NUMBER << 3 | _LENGTH_DELIMITED)
_STATUS: Final = _varint(pb.StepOutcome.STATUS_FIELD_NUMBER << 3 | _LENGTH_DELIMITED)
