"""What a tool is. A session owns one instance of each of its tools; the executor runs their calls.

To add a tool: subclass `Tool`, give it a schema, and name its factory in `rlfactory.envs.tools.registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.coordinates import ScreenSize
from rlfactory.envs.api.types import JSON, CoordinateFrame, ToolCall, ToolResult, ToolSchema
from rlfactory.envs.service.services import Services
from rlfactory.envs.tools.runtime.policy import DEFAULT_POLICY, ToolPolicy


class Rejected(Exception):
    """The call was malformed or made no sense, and nothing was done. The message is what the model reads."""


class ToolError(Exception):
    """The tool failed; its mistake, not the model's. The message is what the model reads."""


NO_SCREEN: Final = ScreenSize(width_px=1, height_px=1, image_width_px=1, image_height_px=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """What the agent said at the end."""

    claimed_success: bool
    answer: str


@dataclass(kw_only=True, slots=True)
class PhoneClock:
    """Where the time of a turn's phone calls went, in seconds, and how many calls reached the phone."""

    settle_s: float = 0.0
    actions: int = 0
    slow_s: float = 0.0
    """What the phone took beyond what was asked of it, screens that never rest left out."""


@dataclass(kw_only=True, slots=True)
class TurnNotes:
    """What tools tell their session. It begins each turn with a new clock."""

    clock: PhoneClock = field(default_factory=PhoneClock)
    ending: Ending | None = None
    """Set by the tool that ended the episode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolContext:
    """What a tool may know of its session."""

    session: str = ""
    device: Device | None = None
    """None in text-only tasks."""
    coordinates: CoordinateFrame = CoordinateFrame.DEVICE_PX
    screen: Callable[[], ScreenSize] = lambda: NO_SCREEN
    """Returns the sizes of the latest observation: coordinates refer to what the model saw last."""
    services: Services = field(default_factory=Services)
    """Shared by all sessions of the service."""
    notes: TurnNotes = field(default_factory=TurnNotes)


@dataclass(frozen=True, kw_only=True, slots=True)
class CallContext:
    """What a tool is told about one call beside its arguments."""

    timeout_s: float
    """What is left for this call."""


class Tool(ABC):
    """A tool of one session. Calls reach it only through the executor."""

    schema: ToolSchema
    resource: str | None = None
    """Calls that name the same resource run one after another in call order; None runs beside anything."""
    ends_episode: bool = False
    """The call waits for all calls before it; once it succeeds, those after it are cancelled."""
    policy: ToolPolicy = DEFAULT_POLICY
    """What the runtime may do with calls: share, repeat, bound them."""
    identity: str = ""
    """What a pure tool's answers depend on beside its arguments (the digest of its corpus, say): calls of tools with
    different ones are never taken for equal."""
    lives_on: bool = False
    """When the service is started again, a new one stands in for it: it has no state but what `recall` brings back."""
    acts_outside: bool = True
    """Calls may change what outlives the service. One that was under way when it died is not made again."""
    keeps_deadline: bool = False
    """The tool ends by `timeout_s` itself. Otherwise the executor cancels it then, and the call's status is TIMEOUT."""

    @abstractmethod
    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        """Carry out one call and return what the model reads.

        Raises:
            Rejected: the arguments make no sense; nothing was done.
            ToolError: the tool failed.
            DeviceError, InfrastructureError: what the tool stands on failed; the episode is void.
        """

    def answer_for_lateness(self) -> None:
        """Called in place of a call for which the turn's time is used up.

        Raises: DeviceError: what the tool stands on was so slow that it used the time up, not the model.
        """
        return

    @abstractmethod
    def fork(self, context: ToolContext) -> Tool:
        """Return a tool in the same state for a forked session."""

    def recall(self, calls: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Be as after these calls, which another process has carried out (`lives_on`)."""
        return

    async def close(self) -> None:
        """Let go of what the tool holds. Never raises."""
        return


ToolFactory = Callable[[ToolContext], Tool]
