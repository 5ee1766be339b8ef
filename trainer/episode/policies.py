"""What a policy is, and those that need nothing but the session: the oracle, chance, and any model with a dialect."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rlfactory.envs.api.coordinates import ScreenSize, frame_sides
from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import JSON, ImageFormat, SessionOptions, ToolCall
from rlfactory.envs.client.oracle import OracleStuck, solve, tasks_with
from rlfactory.trainer.dialects import Dialect
from rlfactory.trainer.episode.rollout import Conversation, converse
from rlfactory.trainer.episode.session import RecordedSession

GENERATE_TIMEOUT_S: Final = 600.0
"""Of one turn, an endpoint's retries included."""
UNSEEN: Final = SessionOptions(image_format=ImageFormat.WEBP, image_quality=60, max_pixels=500_000, multiple_px=2)
"""Screenshots that no model sees, only people in the report: as small as they are shown there."""
DEFAULT_PATCHES: Final = 640
"""Of a screenshot where nothing bounds its pixels: 592 tokens for a tall phone."""


class Policy(ABC):
    """Plays episodes; safe for several at once."""

    name: str
    options: SessionOptions
    """How its sessions are to be made."""
    screen_px: tuple[int, int] | None = None
    """Width and height of the phones it learnt on; None: it plays on any."""
    dialect: str = ""
    """How it writes actions; "": it writes no text."""

    async def open(self) -> None:  # noqa: B027 - some are ready as they are made
        """Get ready. Raises: TaskError: the policy cannot be had as named."""

    @abstractmethod
    async def play(self, session: RecordedSession) -> None:
        """Play until `session.over`, or give up by returning.

        Raises:
            InfrastructureError: phone, service or engine failed; the episode is void.
            TaskError: the policy cannot play at all.
        """

    async def close(self) -> None:  # noqa: B027 - some hold nothing
        """Let go of everything. Never raises."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyConfig:
    """What the command line says of a policy beyond its name."""

    dialect: str = "qwen2_5_vl"
    """How an endpoint's model writes actions."""
    max_pixels: int | None = None
    """Pixel budget of a screenshot; None: what the policy was trained with, 640 patches for an endpoint, and what a
    report shows where no model sees any."""
    temperature: float = 0.0
    api_key: str = ""
    request_timeout_s: float = 120.0
    max_tokens: int = 512
    task_files: tuple[Path, ...] = ()
    """Where the oracles of tasks are that do not ship with RLFactory."""


def _unseen(max_pixels: int | None) -> SessionOptions:
    """Return how sessions show screens that no model sees: small, or as models of this budget would see them."""
    return UNSEEN if max_pixels is None else SessionOptions(max_pixels=max_pixels)


class OraclePolicy(Policy):
    """The task's own solution, found among the tasks that ship with RLFactory and those of `task_files`."""

    name = "oracle"

    def __init__(self, task_files: Sequence[Path] = (), *, max_pixels: int | None = None) -> None:
        """Raises: TaskError: a file cannot be imported, or defines no task."""
        self._tasks = tasks_with(task_files)
        self.options = replace(_unseen(max_pixels), with_tree=True)

    async def play(self, session: RecordedSession) -> None:
        spec = session.spec
        try:
            await solve(session, task=spec.task, seed=spec.seed, split=spec.split, registry=self._tasks)
        except UnknownName:
            raise TaskError(
                f"the oracle of {spec.task!r} is not known here: the service has the task from a file of its own; "
                "name that file, too: --tasks-file FILE"
            ) from None
        except OracleStuck as error:
            session.failure = f"oracle stuck: {error}"


class RandomPolicy(Policy):
    """Chance: uniform over the kinds of phone action, and over their places."""

    name = "random"
    texts = ("", "a", "42", "hello world", "Wi-Fi")
    keys = ("HOME", "BACK", "ENTER", "DEL", "APP_SWITCH", "MENU", "VOLUME_UP")
    kinds = ("tap", "double_tap", "long_press", "swipe", "drag", "type", "key", "wait", "finish")

    def __init__(self, *, max_pixels: int | None = None) -> None:
        self.options = _unseen(max_pixels)

    async def play(self, session: RecordedSession) -> None:
        rng = random.Random(session.spec.id)
        while not session.over:
            await session.step([self.draw(rng, session)])

    def draw(self, rng: random.Random, session: RecordedSession) -> ToolCall:
        """Return a call drawn uniformly."""
        kind = rng.choice(self.kinds)
        if kind == "finish" or session.observation.width_px == 0:  # a task of tools alone has no places
            return ToolCall(id="0", name="finish", arguments={"status": rng.choice(("success", "failure"))})
        side_x, side_y = frame_sides(session.options.coordinates, ScreenSize.of(session.observation))

        def point() -> JSON:
            return [rng.randrange(side_x), rng.randrange(side_y)]

        arguments: dict[str, JSON] = {"action": kind}
        if kind in ("tap", "double_tap", "long_press", "swipe", "drag"):
            arguments["coordinate"] = point()
        if kind in ("swipe", "drag"):
            arguments["coordinate2"] = point()
        if kind == "type":
            arguments["text"] = rng.choice(self.texts)
        if kind == "key":
            arguments["key"] = rng.choice(self.keys)
        if kind == "wait":
            arguments["seconds"] = 1
        return ToolCall(id="0", name="phone", arguments=arguments)


class ModelPolicy(Policy):
    """A model that writes text in a dialect; the episode loop is the one that training uses."""

    def __init__(
        self, *, name: str, dialect: Dialect, options: SessionOptions, screen_px: tuple[int, int] | None = None
    ) -> None:
        self.name = name
        self.options = options
        self.screen_px = screen_px
        self.dialect = dialect.name
        self._dialect = dialect

    @abstractmethod
    def begin(self, episode: str) -> Conversation:
        """Return the model's side of an episode that begins."""

    async def play(self, session: RecordedSession) -> None:
        conversation = self.begin(session.spec.id)
        await converse(session, conversation, self._dialect, generate_timeout_s=GENERATE_TIMEOUT_S)
