"""AndroidWorld's own tasks and verifiers over a simulated phone: `python -m benchmarks.android_world CHECKOUT`.

Each task is set up by its own `initialize_task`, judged untouched and once its oracle has played it by taps, and torn
down. What is measured, and how, stands in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.progress import track

from rlfactory.emulators.device.device import Device
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.envs.api.types import Observation, Reward, SessionOptions, StepResult, ToolCall
from rlfactory.envs.rewards.rubric import Rubric
from rlfactory.envs.service.idempotency import Remembered
from rlfactory.envs.service.limits import Limits
from rlfactory.envs.service.phones import EpisodeKey, HeldPhone
from rlfactory.envs.service.restart.journal import Journal
from rlfactory.envs.service.services import Services
from rlfactory.envs.service.session import EpisodeScope, Session
from rlfactory.envs.tasks.android_world.checkout import AndroidWorld
from rlfactory.envs.tasks.android_world.tasks import AndroidWorldTask, android_world_tasks
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver
from rlfactory.envs.tools.registry import default_tools
from rlfactory.envs.tools.runtime.runtime import ToolRuntime

SEED = 30
TIMEOUT_S = 120.0
PIXELS = 524_288
"""Of a picture, as training asks for them."""
HARD = ("BrowserDraw", "BrowserMaze", "BrowserMultiply", "MarkorTranscribeVideo", "OsmAnd")
"""Beginnings of the names of tasks that want a script engine, a map or the frames of a video: nobody plays them yet."""
UNTOUCHED = ("Verify", "ClockStopWatchPaused")
"""Parts of the names of tasks whose first state is the wanted one, by AndroidWorld's own parameters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one task with one seed."""

    task: str
    seed: int
    initialised: bool = False
    solved: bool = False
    false_success: bool = False
    torn_down: bool = False
    wall_s: float = 0.0
    turns: int = 0
    frames: str = ""
    """Hash of all pictures of the episode."""
    problem: str = ""


@dataclass(slots=True)
class PlayedSession:
    """A session as its oracle sees it."""

    session: Session
    reward: Reward = field(default_factory=Reward)
    turns: int = 0
    pictures: list[str] = field(default_factory=list)

    @property
    def observation(self) -> Observation:
        return self.session.observation

    @property
    def options(self) -> SessionOptions:
        return self.session.episode.options

    async def step(self, calls: Sequence[ToolCall], *, timeout_s: float | None = None) -> StepResult:
        self.turns += 1
        result = (await self.session.step(self.turns, calls)).result
        self.reward = result.reward
        if result.observation.image is not None:
            self.pictures.append(result.observation.image.digest)
        return result


class _Listener:
    """Nobody is told."""

    def turn_played(self, session_id: str, result: StepResult) -> None: ...

    def went_void(self, session_id: str, error: RLFactoryError, *, task: str, tool: str) -> None: ...


def _session(task: AndroidWorldTask, device: Device) -> PlayedSession:
    options = SessionOptions(with_tree=True, step_timeout_s=TIMEOUT_S, max_pixels=PIXELS)
    episode = EpisodeScope(
        key=EpisodeKey(task.name, task.seed, "train"),
        client="",
        task=task,
        options=options,
        max_turns=task.max_turns,
        limits=Limits(),
        rubric=Rubric(),
        runtime=ToolRuntime(),
        services=Services(),
        journal=Journal(),
        remembered=Remembered(1 << 30, 1),
    )
    phone = HeldPhone(device=device, host="direct", give_back=lambda problem, *, fatal=False: None, renew=lambda: None)
    return PlayedSession(Session("benchmark", episode, phone, listener=_Listener()))


async def play(kind: type[AndroidWorldTask], seed: int, device: Device) -> Outcome:
    """Set a task up, judge it untouched, let its oracle play it, tear it down."""
    started_s = time.perf_counter()
    facts = kind.world.draw(kind.task, seed)
    task = kind(seed=seed, facts=facts)
    played = _session(task, device)
    result = Outcome(task=kind.task, seed=seed)

    def so_far(**news: object) -> Outcome:
        known = {**asdict(result), **news, "wall_s": time.perf_counter() - started_s}
        frames = hashlib.sha256("".join(played.pictures).encode()).hexdigest()[:16]
        return Outcome(**{**known, "turns": played.turns, "frames": frames})

    try:
        await played.session.begin(default_tools())
    except Exception as error:  # noqa: BLE001 - of any kind: it is what the benchmark tells
        return so_far(problem=f"initialise: {error}")
    result = so_far(initialised=True)
    first = await device.save_snapshot(timeout_s=TIMEOUT_S)
    try:
        verdict = await kind.world.on(
            device, {"do": "judge", "task": kind.task, "seed": seed, "answer": ""}, timeout_s=TIMEOUT_S
        )
        nothing_asked = facts["params"].get("row_objects") == []
        expected = nothing_asked or any(part in kind.task for part in UNTOUCHED)
        result = so_far(false_success=verdict["score"] >= 1 and not expected)
    except RLFactoryError as error:
        result = so_far(problem=f"judge: {error}")
    await device.load_snapshot(first, timeout_s=TIMEOUT_S)
    await device.delete_snapshot(first, timeout_s=TIMEOUT_S)
    try:
        await task.solve(UiDriver(played))
        result = so_far(solved=played.reward.success, problem="" if played.reward.success else "judged as not solved")
    except (OracleStuck, RLFactoryError, LookupError, ValueError) as error:
        result = so_far(problem=f"oracle: {type(error).__name__}: {error}")
    try:
        await task.tear_down(device, timeout_s=TIMEOUT_S)
        result = so_far(torn_down=True)
    except RLFactoryError as error:
        result = so_far(problem=f"tear down: {error}")
    await played.session.close()
    return result


async def measure(checkout: Path, interpreter: Path | None, seeds: Iterable[int], only: Sequence[str]) -> list[Outcome]:
    """Play every task with every seed on one phone."""
    world = AndroidWorld(checkout, interpreter=interpreter)
    source = DirectSource(PhoneConfig(), threads=1)
    try:
        kinds = [kind for kind in android_world_tasks(world) if not only or kind.task in only]
        device = await source.start()
        jobs = [(kind, seed) for seed in seeds for kind in kinds]
        shown = track(jobs, "playing", disable=not sys.stderr.isatty())
        return [await play(kind, seed, device) for kind, seed in shown]
    finally:
        world.close()
        await source.close()


def report(played: Sequence[Outcome], again: Sequence[Outcome]) -> dict[str, object]:
    """Return the figures; `again` is the first seed played a second time."""
    first = [each for each in played if each.seed == played[0].seed]
    twins = {each.task: each for each in again}
    wall_s = sum(each.wall_s for each in first)
    compared = [(each, twins[each.task]) for each in first if each.task in twins]
    return {
        "tasks": len(first),
        "seeds": sorted({each.seed for each in played}),
        "initialised": sum(each.initialised for each in first),
        "solved_by_taps": sum(each.solved for each in first),
        "solved_on_every_seed": len({e.task for e in played} - {e.task for e in played if not e.solved}),
        "false_success": sum(each.false_success for each in played),
        "falsely": sorted({f"{each.task}/{each.seed}" for each in played if each.false_success}),
        "torn_down": sum(each.torn_down for each in first),
        "tasks_per_min": round(60 * len(first) / wall_s, 1),
        "deterministic": all((a.frames, a.solved) == (b.frames, b.solved) for a, b in compared) if compared else None,
        "differ": [a.task for a, b in compared if (a.frames, a.solved) != (b.frames, b.solved)],
        "hard": [each.task for each in first if each.task.startswith(HARD)],
        "problems": {f"{each.task}/{each.seed}": each.problem for each in played if each.problem},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.android_world", description="Play AndroidWorld.")
    parser.add_argument("checkout", type=Path, help="a checkout of AndroidWorld")
    parser.add_argument("--python", type=Path, help="its interpreter; else .venv or venv in or beside the checkout")
    parser.add_argument("--seeds", type=int, nargs="+", default=[SEED], help=f"the first is {SEED} by default")
    parser.add_argument("--tasks", nargs="*", default=[], help="only these, by AndroidWorld's names")
    parser.add_argument("--once", action="store_true", help="leave out the second run that shows determinism")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        played = asyncio.run(measure(options.checkout, options.python, options.seeds, options.tasks))
        again = (
            []
            if options.once
            else asyncio.run(measure(options.checkout, options.python, options.seeds[:1], options.tasks))
        )
    except TaskError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    figures = report(played, again)
    if options.json:
        print(json.dumps(figures))
        return 0
    for name, value in figures.items():
        print(f"{name}: {json.dumps(value, indent=2) if isinstance(value, dict) else value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
