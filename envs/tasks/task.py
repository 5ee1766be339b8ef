"""What a task is: a goal drawn from a seed, a way to set the phone up, a verdict, and an oracle that solves it.

A task touches a phone only through `Device` and judges only by what adb can see, so the same task runs on a simulated
and on a real phone. Its oracle plays through the public session API, by taps and typing, as an agent would. A text-only
task (`needs_device = False`) has no phone: it is judged by its answer, the calls played, and what `verify` finds out.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, TypeVar

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.state import DeviceState
from rlfactory.envs.api.types import Split, ToolCall, ToolResult

if TYPE_CHECKING:
    from rlfactory.envs.rewards.rubric import Rubric
    from rlfactory.envs.service.services import Services
    from rlfactory.envs.tasks.ui_driver import UiDriver
    from rlfactory.envs.tools.tool import ToolFactory


class PlayedCall(NamedTuple):
    """One call of the agent, and what came of it."""

    turn: int
    """The first is 1."""
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a verdict is formed from."""

    state: DeviceState
    """Now."""
    initial: DeviceState
    """After setup."""
    finished: bool
    """The agent called `finish`."""
    claimed_success: bool
    """With status success."""
    answer: str
    turns: int = 0
    """Played so far."""
    calls: Sequence[PlayedCall] = ()
    """All calls so far, in order."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What `Task.verify` found out."""
    device: Device | None = None
    """The phone, for a `Task.verify` that has to ask it; None in text-only tasks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One sub-goal and whether it holds."""

    name: str
    holds: bool


class Task(ABC):
    """One template with its parameters drawn. Instances are immutable."""

    name: ClassVar[str]
    """`<area>.<what>`, as in "settings.wifi_on"."""
    suite: ClassVar[str] = "phone"
    description: ClassVar[str]
    """The template in one line."""
    apps: ClassVar[tuple[str, ...]] = ()
    splits: ClassVar[tuple[Split, ...]] = ("train", "validation", "test")
    max_turns: ClassVar[int] = 15
    tools: ClassVar[tuple[str, ...]] = ("phone", "finish")
    needs_device: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def sample(cls, rng: random.Random, split: Split) -> Task:
        """Draw the parameters; splits differ in their values."""

    def elsewhere(self, rng: random.Random) -> Self:
        """Return the same goal in another world: drawn anew is all that only a look can tell. By default nothing is."""
        return self

    @property
    @abstractmethod
    def goal(self) -> str:
        """What the agent is told."""

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        """Bring a freshly reset phone to the initial state (shell, push, intents; no taps needed)."""
        return

    def own_tools(self) -> Mapping[str, ToolFactory]:
        """Return tools made for this task (a tool bound to its database, say), by name.

        They come before the service's tools of the same name; `tools` still says which ones the agent has.
        """
        return {}

    async def verify(self, outcome: Outcome, *, services: Services, timeout_s: float) -> Mapping[str, float]:
        """Return named scores, 0..1, that take work to find out: a query executed, a judge model asked.

        `services` are those of the session's tools.

        Called after each turn, before `checks` and the rubric, which read them in `outcome.scores`.

        Raises: JudgeError, InfrastructureError: there is no verdict; the episode is void, never a reward of 0.
        """
        return {}

    def rubric(self) -> Rubric | None:
        """Return how this task is rewarded; None: as the service rewards all tasks."""
        return None

    @abstractmethod
    def checks(self, outcome: Outcome) -> Sequence[Check]:
        """Return the sub-goals; the task succeeds when all hold, nothing else changed, and the agent finished."""

    def allowed(self) -> Sequence[str]:
        """Return fnmatch patterns of the state keys that may change without being a side effect."""
        return ()

    @abstractmethod
    async def solve(self, ui: UiDriver) -> None:
        """Play the task: the oracle. The driver ends the episode by `ui.finish`."""


T = TypeVar("T", bound=Task)


def variant(base: type[T], name: str, **values: object) -> type[T]:
    """Return the template of this name that differs from its base in these class variables alone."""
    return type(name, (base,), {"name": name, "__module__": base.__module__, **values})
