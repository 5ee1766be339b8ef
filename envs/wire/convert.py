"""Between `rlfactory.envs.api.types` and protobuf, both ways. Nothing else in the house knows the messages' fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar, get_args

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import (
    JSON,
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
from rlfactory.envs.wire.v1 import env_pb2 as pb

E = TypeVar("E", bound=int)
K = TypeVar("K")

FORMAT_TO_PB: Final = {
    ImageFormat.JPEG: pb.IMAGE_FORMAT_JPEG,
    ImageFormat.PNG: pb.IMAGE_FORMAT_PNG,
    ImageFormat.WEBP: pb.IMAGE_FORMAT_WEBP,
}
FORMAT_FROM_PB: Final = {v: k for k, v in FORMAT_TO_PB.items()} | {pb.IMAGE_FORMAT_UNSPECIFIED: ImageFormat.JPEG}
FRAME_TO_PB: Final = {
    CoordinateFrame.DEVICE_PX: pb.COORDINATE_FRAME_DEVICE_PX,
    CoordinateFrame.IMAGE_PX: pb.COORDINATE_FRAME_IMAGE_PX,
    CoordinateFrame.PERMILLE_999: pb.COORDINATE_FRAME_PERMILLE_999,
    CoordinateFrame.PERMILLE_1000: pb.COORDINATE_FRAME_PERMILLE_1000,
}
FRAME_FROM_PB: Final = {v: k for k, v in FRAME_TO_PB.items()} | {
    pb.COORDINATE_FRAME_UNSPECIFIED: CoordinateFrame.DEVICE_PX
}
STATUS_TO_PB: Final = {
    ToolStatus.OK: pb.TOOL_STATUS_OK,
    ToolStatus.REJECTED: pb.TOOL_STATUS_REJECTED,
    ToolStatus.ERROR: pb.TOOL_STATUS_ERROR,
    ToolStatus.TIMEOUT: pb.TOOL_STATUS_TIMEOUT,
    ToolStatus.CANCELLED: pb.TOOL_STATUS_CANCELLED,
}
STATUS_FROM_PB: Final = {v: k for k, v in STATUS_TO_PB.items()}
STATE_TO_PB: Final = {
    EpisodeState.RUNNING: pb.EPISODE_STATE_RUNNING,
    EpisodeState.FINISHED: pb.EPISODE_STATE_FINISHED,
    EpisodeState.TRUNCATED: pb.EPISODE_STATE_TRUNCATED,
}
STATE_FROM_PB: Final = {v: k for k, v in STATE_TO_PB.items()}


def _known(table: Mapping[E, K], value: E, what: str) -> K:
    """Raises: TaskError: a number that this version of the protocol does not define."""
    try:
        return table[value]
    except KeyError:
        raise TaskError(f"{what} {value} is not defined by envs.v1") from None


# --- options ---------------------------------------------------------------------------------------------------------


def options_to_pb(options: SessionOptions) -> pb.Options:
    """Return the message of the options."""
    return pb.Options(
        image_format=FORMAT_TO_PB[options.image_format],
        image_quality=options.image_quality,
        max_pixels=options.max_pixels or 0,
        multiple_px=options.multiple_px,
        without_image=not options.with_image,
        with_tree=options.with_tree,
        coordinates=FRAME_TO_PB[options.coordinates],
        max_turns=options.max_turns or 0,
        lease_s=options.lease_s,
        step_timeout_s=options.step_timeout_s,
        group=options.group,
    )


def options_from_pb(message: pb.Options) -> SessionOptions:
    """Return the options, with the defaults of `SessionOptions` for what is unset.

    Raises: TaskError: an enumerator that is not defined.
    """
    defaults = SessionOptions()
    return SessionOptions(
        image_format=_known(FORMAT_FROM_PB, message.image_format, "image_format"),
        image_quality=message.image_quality or defaults.image_quality,
        max_pixels=message.max_pixels or None,
        multiple_px=message.multiple_px or 1,
        with_image=not message.without_image,
        with_tree=message.with_tree,
        coordinates=_known(FRAME_FROM_PB, message.coordinates, "coordinates"),
        max_turns=message.max_turns or None,
        lease_s=message.lease_s or defaults.lease_s,
        step_timeout_s=message.step_timeout_s or defaults.step_timeout_s,
        group=message.group,
    )


def split_from_pb(text: str) -> Split:
    """Return the split; "" stands for train. Raises: TaskError: no such split."""
    splits: tuple[Split, ...] = get_args(Split)
    for split in splits:
        if text == split:
            return split
    if not text:
        return "train"
    raise TaskError(f"no split {text!r}; there are: {', '.join(splits)}")


# --- tasks and tools -------------------------------------------------------------------------------------------------


def task_to_pb(info: TaskInfo) -> pb.Task:
    """Return the message of a task's description."""
    return pb.Task(
        name=info.name,
        suite=info.suite,
        description=info.description,
        apps=info.apps,
        splits=info.splits,
        max_turns=info.max_turns,
        tools=info.tools,
    )


def task_from_pb(message: pb.Task) -> TaskInfo:
    """Return a task's description."""
    return TaskInfo(
        name=message.name,
        suite=message.suite,
        description=message.description,
        apps=tuple(message.apps),
        splits=tuple(split_from_pb(split) for split in message.splits),
        max_turns=message.max_turns,
        tools=tuple(message.tools),
    )


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


def call_to_pb(call: ToolCall) -> pb.ToolCall:
    """Return the message of a call."""
    return pb.ToolCall(id=call.id, name=call.name, arguments_json=json.dumps(call.arguments))


def calls_from_pb(messages: Iterable[pb.ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls; an empty id becomes the call's index.

    Raises: TaskError: arguments that are no JSON object, or two calls of the same id.
    """
    calls = tuple(
        ToolCall(id=message.id or str(index), name=message.name, arguments=_json_object(message.arguments_json))
        for index, message in enumerate(messages)
    )
    if len({call.id for call in calls}) < len(calls):
        raise TaskError(f"call ids must differ within a step, got {', '.join(call.id for call in calls)}")
    return calls


def _json_object(text: str) -> Mapping[str, JSON]:
    """Raises: TaskError: not a JSON object."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise TaskError(f"arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise TaskError(f"arguments must be a JSON object, got {type(value).__name__}")
    return value


def result_to_pb(result: ToolResult) -> pb.ToolResult:
    """Return the message of a call's result."""
    return pb.ToolResult(
        call_id=result.call_id,
        name=result.name,
        status=STATUS_TO_PB[result.status],
        text=result.text,
        duration_s=result.duration_s,
    )


def result_from_pb(message: pb.ToolResult) -> ToolResult:
    """Return a call's result."""
    return ToolResult(
        call_id=message.call_id,
        name=message.name,
        status=_known(STATUS_FROM_PB, message.status, "tool status"),
        text=message.text,
        duration_s=message.duration_s,
    )


# --- observations ----------------------------------------------------------------------------------------------------


def observation_to_pb(observation: Observation, *, with_bytes: bool = True) -> pb.Observation:
    """Return the message of an observation; without the image's bytes when the client holds them already."""
    image = observation.image
    return pb.Observation(
        sequence=observation.sequence,
        image=None
        if image is None
        else pb.Image(
            data=image.data if with_bytes else b"",
            format=FORMAT_TO_PB[image.format],
            width_px=image.width_px,
            height_px=image.height_px,
            digest=image.digest,
        ),
        tree_xml=observation.tree_xml,
        activity=observation.activity,
        width_px=observation.width_px,
        height_px=observation.height_px,
        text=observation.text,
    )


def observation_from_pb(message: pb.Observation) -> Observation:
    """Return the observation; an image whose bytes were left out has `data == b""`."""
    image = None
    if message.HasField("image"):
        image = ImageRef(
            data=message.image.data,
            format=_known(FORMAT_FROM_PB, message.image.format, "image_format"),
            width_px=message.image.width_px,
            height_px=message.image.height_px,
            digest=message.image.digest,
        )
    return Observation(
        sequence=message.sequence,
        image=image,
        tree_xml=message.tree_xml,
        activity=message.activity,
        width_px=message.width_px,
        height_px=message.height_px,
        text=message.text,
    )


# --- sessions and steps ----------------------------------------------------------------------------------------------


def reset_to_pb(result: ResetResult) -> pb.ResetResponse:
    """Return the message of a new session, image bytes included."""
    return pb.ResetResponse(
        session=result.session,
        goal=result.goal,
        tools=[schema_to_pb(schema) for schema in result.tools],
        observation=observation_to_pb(result.observation),
        max_turns=result.max_turns,
        lease_expiry_s=result.lease_expiry_s,
        state_hash=result.state_hash,
    )


def reset_from_pb(message: pb.ResetResponse) -> ResetResult:
    """Return a new session."""
    return ResetResult(
        session=message.session,
        goal=message.goal,
        tools=tuple(schema_from_pb(schema) for schema in message.tools),
        observation=observation_from_pb(message.observation),
        max_turns=message.max_turns,
        lease_expiry_s=message.lease_expiry_s,
        state_hash=message.state_hash,
    )


def step_to_pb(result: StepResult, *, lease_expiry_s: float, with_bytes: bool) -> pb.StepResponse:
    """Return the message of a step."""
    reward, timing = result.reward, result.timing
    return pb.StepResponse(
        results=[result_to_pb(each) for each in result.results],
        observation=observation_to_pb(result.observation, with_bytes=with_bytes),
        reward=pb.Reward(
            total=reward.total,
            parts=reward.parts,
            progress=reward.progress,
            success=reward.success,
            side_effects=reward.side_effects,
        ),
        state=STATE_TO_PB[result.state],
        timing=pb.Timing(
            act_s=timing.act_s,
            settle_s=timing.settle_s,
            observe_s=timing.observe_s,
            judge_s=timing.judge_s,
            total_s=timing.total_s,
        ),
        lease_expiry_s=lease_expiry_s,
    )


def step_from_pb(message: pb.StepResponse) -> StepResult:
    """Return a step's result; its lease is read apart."""
    reward, timing = message.reward, message.timing
    return StepResult(
        results=tuple(result_from_pb(each) for each in message.results),
        observation=observation_from_pb(message.observation),
        reward=Reward(
            total=reward.total,
            parts=dict(reward.parts),
            progress=reward.progress,
            success=reward.success,
            side_effects=tuple(reward.side_effects),
        ),
        state=_known(STATE_FROM_PB, message.state, "episode state"),
        timing=StepTiming(
            act_s=timing.act_s,
            settle_s=timing.settle_s,
            observe_s=timing.observe_s,
            judge_s=timing.judge_s,
            total_s=timing.total_s,
        ),
    )
