"""What sessions, tools, tasks and the trainer exchange. Plain frozen values; protobuf stays in `convert.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, get_args

from rlfactory.envs.api.errors import TaskError

MAX_CALLS: Final = 32
"""That a step may have; services may be set to take others."""
JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


def split_named(text: str) -> Split:
    """Return the split of this name. Raises: TaskError: there is none."""
    for split in SPLITS:
        if text == split:
            return split
    raise TaskError(f"no split {text!r}; there are: {', '.join(SPLITS)}")


class CoordinateFrame(StrEnum):
    """What the coordinates in phone calls mean."""

    DEVICE_PX = "device_px"
    IMAGE_PX = "image_px"
    """Pixels of the image as delivered (after resizing)."""
    PERMILLE_999 = "permille_999"
    """0..999 on both axes: px = round(v / 999 * side)."""
    PERMILLE_1000 = "permille_1000"


class ImageFormat(StrEnum):
    JPEG = "jpeg"
    PNG = "png"
    WEBP = "webp"


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionOptions:
    """How a client wants its session."""

    image_format: ImageFormat = ImageFormat.JPEG
    image_quality: int = 80
    max_pixels: int | None = None
    """Pixel budget of a screenshot; None keeps the device's size."""
    multiple_px: int = 1
    """Image sides become multiples of this (the model's patch size x merge size)."""
    with_image: bool = True
    with_tree: bool = False
    coordinates: CoordinateFrame = CoordinateFrame.DEVICE_PX
    max_turns: int | None = None
    """Fewer turns than the task's own limit; None keeps the task's."""
    lease_s: float = 60.0
    """The session is closed when no call has arrived for this long."""
    step_timeout_s: float = 30.0
    group: str = ""
    """Free label of the group (GRPO siblings), for logs and `Watch`."""
    perturb: str = ""
    """Perturbations of the phone by name, with a strength or without: "popup,rotation:0.5"; "" takes the service's."""
    phone_wait_s: float | None = None
    """How long to wait for a free phone, 0 not at all; None: as long as the service lets one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInfo:
    name: str
    suite: str
    description: str
    apps: tuple[str, ...]
    splits: tuple[Split, ...]
    max_turns: int
    tools: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSchema:
    """A tool as models are told of it: JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, JSON]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, JSON]
    unreadable: str = ""
    """Why its arguments could not be read, if they could not: such a call is rejected, the model's mistake."""


class ToolStatus(StrEnum):
    OK = "ok"
    REJECTED = "rejected"
    """The call was malformed or made no sense; nothing was done. The model's mistake."""
    ERROR = "error"
    """The tool failed. The tool's mistake."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    call_id: str
    name: str
    status: ToolStatus
    text: str = ""
    """What the model reads; never says "succeeded" for a failure."""
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRef:
    """A screenshot. On the wire the bytes are sent once per session and digest; the client fills them in again."""

    data: bytes
    format: ImageFormat
    width_px: int
    height_px: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """One moment of the environment; picture, tree and activity belong together."""

    sequence: int
    image: ImageRef | None = None
    tree_xml: str = ""
    """uiautomator XML, "" when not asked for."""
    activity: str = ""
    width_px: int = 0
    """Of the device, in its current orientation; 0 in text-only tasks."""
    height_px: int = 0
    text: str = ""
    """What a text-only environment says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reward:
    """The verdict so far. `total` is what GRPO sees at the end; parts are for reports and shaping."""

    total: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    progress: float = 0.0
    """Share of the task's sub-goals that hold now, 0..1."""
    success: bool = False
    side_effects: tuple[str, ...] = ()
    """Everything that changed beyond what the task allows, one line each."""


class EpisodeState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    """The agent said so (`finish`)."""
    TRUNCATED = "truncated"
    """The turn limit was reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTiming:
    """Seconds a step spent where, on the server."""

    act_s: float = 0.0
    settle_s: float = 0.0
    observe_s: float = 0.0
    judge_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ResetResult:
    session: str
    goal: str
    tools: tuple[ToolSchema, ...]
    observation: Observation
    max_turns: int
    lease_expiry_s: float
    """Unix time."""
    state_hash: str
    """Of the device and tools after reset; siblings of one (task, seed) have equal ones. "" for text-only tasks."""
    build: str = ""
    """Version of the service, and the commit where it runs from a checkout."""
    task_digest: str = ""
    """Of the task's code."""
    perturb: str = ""
    """Perturbations in force."""
    progress: float = 0.0
    """Share of the sub-goals that hold as the session begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    results: tuple[ToolResult, ...]
    """One per call, in the order of the calls."""
    observation: Observation
    reward: Reward
    state: EpisodeState
    timing: StepTiming
    state_hash: str = ""
    """Of the phone after this step; "" in text-only tasks."""
