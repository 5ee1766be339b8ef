"""From episodes as they were played to the records of a run."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rlfactory.envs.api.coordinates import ScreenSize, to_device
from rlfactory.envs.api.types import JSON, CoordinateFrame, ImageRef, Observation, ToolStatus
from rlfactory.trainer.credit.groups import grpo_advantages
from rlfactory.trainer.credit.turns import Credit, Estimator, Way, turn_advantages
from rlfactory.trainer.episode.rollout import Dropped, Episode
from rlfactory.trainer.episode.session import Turn
from rlfactory.trainer.record.runlog import (
    RECORD_FORMAT,
    CallRecord,
    EpisodeRecord,
    ImageLink,
    Origin,
    Phase,
    Point,
    RunLog,
    TurnRecord,
    append_line,
    read_lines,
    restored,
    write_lines,
)

PLAIN: Final = Credit(estimator=Estimator.GRPO)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One line of `rollouts.jsonl`: what is counted of every episode, recorded in full or not."""

    id: str
    phase: Phase
    step: int
    task: str
    group: str
    dropped: bool
    failure: str = ""
    success: bool = False
    reward: float = 0.0
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    progress: float = 0.0
    turns: int = 0
    malformed: int = 0
    tool_failures: int = 0
    """Calls that failed in the tool or ran out of time."""
    infra_retries: int = 0
    env_spans: tuple[tuple[float, float], ...] = ()
    """(start, end), Unix time."""
    generate_spans: tuple[tuple[float, float], ...] = ()


class Recorder:
    """Appends to a run's files, from whichever process plays the episodes."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._outcomes = log.folder / "rollouts.jsonl"

    def add(self, episode: Episode | Dropped, *, phase: Phase, step: int, in_full: bool) -> None:
        append_line(self._outcomes, asdict(outcome_of(episode, phase=phase, step=step)))
        if in_full and isinstance(episode, Episode):
            self._log.add_episode(self.record(episode, phase=phase, step=step))

    def fill_in_advantages(self, credit: Credit = PLAIN) -> None:
        """Write into the recorded training episodes what their groups make of their rewards, and of each turn."""
        groups: dict[str, dict[str, float]] = defaultdict(dict)
        for outcome in read_outcomes(self._log.folder):
            if outcome.phase == "train" and not outcome.dropped:
                groups[outcome.group][outcome.id] = outcome.reward
        advantages: dict[str, float] = {}
        for group, rewards in groups.items():
            advantages |= zip(rewards, grpo_advantages(list(rewards.values()), [group] * len(rewards)), strict=True)
        episodes = [replace(each, advantage=advantages.get(each.id)) for each in self._log.episodes()]
        siblings = Counter(each.group for each in episodes if each.phase == "train" and each.state is not None)
        whole = [each for each in episodes if each.id in advantages and siblings[each.group] == len(groups[each.group])]
        earned = turn_advantages([way_of(each) for each in whole], credit)
        turned = {
            each.id: tuple(replace(turn, advantage=float(value)) for turn, value in zip(each.turns, own, strict=True))
            for each, own in zip(whole, earned, strict=True)
        }
        self._log.replace_episodes(replace(each, turns=turned.get(each.id, each.turns)) for each in episodes)

    def forget_after(self, step: int, *, evaluated: bool = True) -> None:
        """Drop what was recorded of later steps, and of this one's evaluation unless it was `evaluated` to the end.

        They are going to be played again.
        """

        def stays(each: Outcome | EpisodeRecord) -> bool:
            return each.step < step or (each.step == step and (evaluated or each.phase == "train"))

        write_lines(self._outcomes, [asdict(each) for each in read_outcomes(self._log.folder) if stays(each)])
        self._log.replace_episodes(each for each in self._log.episodes() if stays(each))

    def record(self, episode: Episode | Dropped, *, phase: Phase, step: int) -> EpisodeRecord:
        """Return the record, its screenshots stored."""
        common: dict[str, Any] = {
            **asdict(episode.spec),
            "phase": phase,
            "step": step,
            "infra_retries": episode.infra_retries,
            "failure": episode.failure,
            "wall_s": episode.clock.wall_s,
        }
        if isinstance(episode, Dropped):
            return EpisodeRecord(
                goal="", turns=(), state=None, reward_total=0.0, reward_parts={}, success=False, **common
            )
        return EpisodeRecord(
            format=RECORD_FORMAT,
            origin=origin_of(episode),
            goal=episode.goal,
            turns=tuple(self._turn(turn) for turn in episode.turns),
            state=episode.state,
            reward_total=episode.reward.total,
            reward_parts=dict(episode.reward.parts),
            success=episode.reward.success,
            progress=episode.reward.progress,
            side_effects=episode.reward.side_effects,
            final_image=self._link(episode.final.image),
            row_tokens=max((turn.reply.loss_span[1] for turn in episode.turns), default=0),
            malformed=episode.malformed,
            **common,
        )

    def _turn(self, turn: Turn) -> TurnRecord:
        reply, timing = turn.reply, turn.result.timing
        return TurnRecord(
            image=self._link(turn.seen.image),
            context_text=reply.context_text,
            model_text=reply.model_text,
            token_ids=reply.token_ids,
            log_probs=reply.log_probs,
            loss_span=reply.loss_span,
            thought=turn.thought,
            calls=tuple(
                CallRecord(
                    name=call.name,
                    arguments=dict(call.arguments),
                    status=result.status,
                    text=result.text,
                    points=touched(call.arguments, turn.seen, turn.frame),
                )
                for call, result in zip(turn.calls, turn.result.results, strict=True)
            ),
            parse_error=turn.parse_error,
            reward_total=turn.result.reward.total,
            progress=turn.result.reward.progress,
            generate_s=turn.generate_s,
            env_s=turn.env_s,
            act_s=timing.act_s,
            settle_s=timing.settle_s,
            observe_s=timing.observe_s,
            state_hash=turn.result.state_hash,
            screen=screen_digest(turn.result.observation),
            seal=seal_of((call.name, call.arguments) for call in turn.calls),
        )

    def _link(self, image: ImageRef | None) -> ImageLink | None:
        return None if image is None else self._log.add_image(image)


def way_of(record: EpisodeRecord) -> Way:
    """Return what credit is given by, from a record; turns without a state are equal to no other."""
    first = record.origin
    states = [
        (first.state_hash, first.screen) if first else ("", ""),
        *((t.state_hash, t.screen) for t in record.turns),
    ]
    progress = [first.progress if first else 0.0, *(turn.progress for turn in record.turns)]
    return Way(
        group=record.group,
        total=record.reward_total,
        states=tuple(f"{state} {screen}" if state else "" for state, screen in states[:-1]),
        progress=tuple(progress[:-1]),
    )


def origin_of(episode: Episode) -> Origin:
    """Return what it takes to play the episode again, beside its actions."""
    begun = episode.begun
    return Origin(
        build=begun.build,
        task_digest=begun.task_digest,
        perturb=begun.perturb,
        options=asdict(episode.options),
        screen_px=(begun.observation.width_px, begun.observation.height_px),
        state_hash=begun.state_hash,
        screen=screen_digest(begun.observation),
        progress=begun.progress,
    )


def screen_digest(seen: Observation) -> str:
    return seen.image.digest if seen.image is not None else ""


def seal_of(calls: Iterable[tuple[str, Mapping[str, JSON]]]) -> str:
    """Return the digest (hex) of calls by name and arguments, in order."""
    text = json.dumps([[name, dict(arguments)] for name, arguments in calls], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def touched(arguments: Mapping[str, JSON], seen: Observation, frame: CoordinateFrame) -> tuple[Point, ...]:
    """Return where a phone call touches, as fractions of the screen; empty for what touches nothing or is malformed."""
    if not seen.width_px or not seen.height_px:
        return ()
    size = ScreenSize.of(seen)
    points: list[Point] = []
    for name in ("coordinate", "coordinate2"):
        match arguments.get(name):
            case [int() | float() as x, int() | float() as y]:
                x_px, y_px = to_device(frame, size, x, y)
                points.append((x_px / seen.width_px, y_px / seen.height_px))
    return tuple(points)


def outcome_of(episode: Episode | Dropped, *, phase: Phase, step: int) -> Outcome:
    common: dict[str, Any] = {
        "id": episode.spec.id,
        "phase": phase,
        "step": step,
        "task": episode.spec.task,
        "group": episode.spec.group,
        "infra_retries": episode.infra_retries,
        "env_spans": tuple(episode.clock.env),
        "generate_spans": tuple(episode.clock.generate),
    }
    if isinstance(episode, Dropped):
        return Outcome(dropped=True, failure=episode.failure, **common)
    return Outcome(
        dropped=False,
        success=episode.reward.success,
        reward=episode.reward.total,
        reward_parts=dict(episode.reward.parts),
        progress=episode.reward.progress,
        turns=len(episode.turns),
        malformed=episode.malformed,
        tool_failures=sum(
            result.status in (ToolStatus.ERROR, ToolStatus.TIMEOUT)
            for turn in episode.turns
            for result in turn.result.results
        ),
        **common,
    )


def read_outcomes(folder: Path) -> Iterator[Outcome]:
    """Yield what `Recorder` appended, oldest first."""
    for row in read_lines(folder / "rollouts.jsonl"):
        yield restored(Outcome, row)
