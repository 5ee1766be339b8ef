"""The stage of an evaluated episode: between a policy and its session, where turns are recorded and sight is ablated.

A policy steps it as it would a session, and never learns whether the screenshots it gets are blanked.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from rlfactory.envs.api.coordinates import ScreenSize, to_device
from rlfactory.envs.api.types import (
    JSON,
    CoordinateFrame,
    ImageRef,
    Observation,
    Reward,
    SessionOptions,
    StepResult,
    ToolCall,
    ToolSchema,
)
from rlfactory.trainer.record.runlog import CallRecord, ImageLink, Point, RunLog, TurnRecord

if TYPE_CHECKING:
    from rlfactory.envs.client import Session
    from rlfactory.trainer.episode.rollout import Turn

BLANK_GREY = 128

STEP_PARTS = ("generate", "act", "settle", "observe", "judge", "wire")
"""Where a step's time goes; `wire` is what the client waited beyond the server's own total."""


class Ablation(StrEnum):
    """What is taken from the policy to see whether it needs it."""

    IMAGE = "image"
    """Screenshots become plain grey pictures of the same size."""


@dataclass(slots=True)
class StageTimes:
    """Seconds that the steps of an episode took, in sum."""

    steps: int = 0
    parts_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STEP_PARTS, 0.0))

    def add(self, **seconds: float) -> None:
        self.steps += 1
        for name, value in seconds.items():
            self.parts_s[name] += value


class Stage:
    """One episode as its policy sees it. An oracle's hand plays on it as on a session."""

    def __init__(self, session: Session, *, ablation: Ablation | None = None, log: RunLog | None = None) -> None:
        self.session = session
        self.turns: list[TurnRecord] = []
        self.times = StageTimes()
        self._ablation = ablation
        self._log = log

    @property
    def observation(self) -> Observation:
        """The latest, as the policy may see it."""
        observation = self.session.observation
        if self._ablation is Ablation.IMAGE and observation.image is not None:
            return replace(observation, image=blanked(observation.image))
        return observation

    @property
    def reward(self) -> Reward:
        return self.session.reward

    @property
    def options(self) -> SessionOptions:
        return self.session.options

    @property
    def goal(self) -> str:
        return self.session.goal

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        return self.session.tools

    @property
    def over(self) -> bool:
        return self.session.over

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        """Step the session and record the turn; see `rlfactory.envs.client.Session.step`."""
        before = self.observation
        started_s = time.monotonic()
        result = await self.session.step(calls, timeout_s=timeout_s)
        env_s = time.monotonic() - started_s
        timing = result.timing
        self.times.add(
            act=timing.act_s,
            settle=timing.settle_s,
            observe=timing.observe_s,
            judge=timing.judge_s,
            wire=max(0.0, env_s - timing.total_s),
        )
        self.turns.append(self._turn(before, calls, result, env_s))
        return result

    def spoken(self, turns: Sequence[Turn]) -> None:
        """Add what a model wrote to the turns that were recorded."""
        self.turns = [
            replace(
                record,
                context_text=turn.reply.context_text,
                model_text=turn.reply.model_text,
                token_ids=turn.reply.token_ids,
                log_probs=turn.reply.log_probs,
                loss_span=turn.reply.loss_span,
                thought=turn.parsed.thought if turn.parsed else "",
                parse_error=turn.parse_error,
                generate_s=turn.generate_s,
            )
            for record, turn in zip(self.turns, turns, strict=True)
        ]
        self.times.parts_s["generate"] += sum(turn.generate_s for turn in turns)

    def link(self, observation: Observation) -> ImageLink | None:
        """Store a screenshot in the run's folder; None without a folder or a picture."""
        if self._log is None or observation.image is None:
            return None
        return self._log.add_image(observation.image)

    def _turn(self, before: Observation, calls: Sequence[ToolCall], result: StepResult, env_s: float) -> TurnRecord:
        frame = self.options.coordinates
        return TurnRecord(
            image=self.link(before),
            context_text="",
            model_text="",
            token_ids=(),
            log_probs=(),
            loss_span=(0, 0),
            calls=tuple(
                CallRecord(
                    name=call.name,
                    arguments=call.arguments,
                    status=answer.status,
                    text=answer.text,
                    points=touched(call.arguments, before, frame),
                )
                for call, answer in zip(calls, result.results, strict=True)
            ),
            reward_total=result.reward.total,
            progress=result.reward.progress,
            env_s=env_s,
            act_s=result.timing.act_s,
            settle_s=result.timing.settle_s,
            observe_s=result.timing.observe_s,
        )


def touched(arguments: Mapping[str, JSON], seen: Observation, frame: CoordinateFrame) -> tuple[Point, ...]:
    """Return where a phone call touches, as fractions of the screen; empty for what touches nothing or is malformed."""
    if not seen.width_px or not seen.height_px:
        return ()
    size = screen_size(seen)
    points: list[Point] = []
    for name in ("coordinate", "coordinate2"):
        match arguments.get(name):
            case [int() | float() as x, int() | float() as y]:
                x_px, y_px = to_device(frame, size, x, y)
                points.append((x_px / seen.width_px, y_px / seen.height_px))
    return tuple(points)


def screen_size(seen: Observation) -> ScreenSize:
    image = seen.image
    return ScreenSize(
        width_px=seen.width_px,
        height_px=seen.height_px,
        image_width_px=image.width_px if image else seen.width_px,
        image_height_px=image.height_px if image else seen.height_px,
    )


def blanked(image: ImageRef) -> ImageRef:
    """Return a plain grey picture of the same size and format."""
    from PIL import Image

    buffer = io.BytesIO()
    grey = Image.new("RGB", (image.width_px, image.height_px), (BLANK_GREY,) * 3)
    grey.save(buffer, image.format.value.upper(), quality=80)
    data = buffer.getvalue()
    return replace(image, data=data, digest=hashlib.blake2b(data, digest_size=16).hexdigest())
