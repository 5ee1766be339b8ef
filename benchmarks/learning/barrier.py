"""What waiting for the slowest costs: training steps where environments are heavy-tailed and some hang.

verl's order of a step, its code that plays groups, our replay buffers and our episode loop with its deadlines are the
real ones; engine, learner and environments only take time. All of it runs by a clock of its own, which jumps to
whatever happens next: hours pass in seconds, and a busy machine changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import selectors
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from verl.trainer.ppo.v1 import agent_loop_tq
from verl.trainer.ppo.v1 import replay_buffer as verl_buffers
from verl.utils.import_utils import load_extern_object

from rlfactory.envs.api.types import EpisodeState, Observation, ResetResult, Reward, SessionOptions
from rlfactory.trainer.episode.rollout import Dropped, RolloutConfig, play
from rlfactory.trainer.episode.session import EpisodeSpec, RecordedSession
from rlfactory.trainer.run.recipe import compose_recipe
from rlfactory.trainer.verl.agent_loop import phones_of

TURN_S: Final = 0.05
"""Of the engine, for each of `SLOTS` turns at once."""
SLOTS: Final = 4
LEARNING_S: Final = 6.0
"""Of a step: about what the engine takes for its turns."""
STEP_P50_S, STEP_P99_S = 0.1, 5.0
"""Of the environment, log-normal."""
HANGING: Final = 0.05
"""Episodes that hang in one of their turns."""
TURNS: Final = (4, 16)
STEPS: Final = 40
SAMPLER: Final = "trainer.v1.sampler.sampler_kwargs"
POLL_S: Final = 0.25
"""Between two looks at the queue; the recipe's would take most of the simulation."""
SETTLED: Final = 10
"""Steps before the end after which a prompt may still be under way."""
SIGMA: Final = 2.326
"""Deviations of the 99th percentile."""

_Worker: Any = agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: what would be waited for is added to the clock."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now_s += timeout or 0.0
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop by a clock of its own."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


@dataclass
class Queue:
    """What verl's buffers and workers use of TransferQueue, without its processes."""

    tags: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: {"train": {}})

    def kv_list(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {name: dict(items) for name, items in self.tags.items()}

    def kv_clear(self, *, partition_id: str, keys: Sequence[str]) -> None:
        for key in keys:
            self.tags[partition_id].pop(key, None)

    async def async_kv_put(self, *, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.tags[partition_id].setdefault(key, {}).update(tag)


class HeavySession:
    """An episode whose steps take what heavy-tailed environments take."""

    options = SessionOptions(step_timeout_s=15.0)
    observation = Observation(sequence=0)
    goal, tools, reward = "", (), Reward()
    begun = ResetResult(
        session="", goal="", tools=(), observation=observation, max_turns=99, lease_expiry_s=0.0, state_hash=""
    )

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._left = rng.randint(*TURNS)
        self.hangs_at = rng.randint(1, self._left) if rng.random() < HANGING else None
        """With so many turns left; None: it does not."""

    @property
    def over(self) -> bool:
        return not self._left

    @property
    def state(self) -> EpisodeState:
        return EpisodeState.FINISHED

    async def step(self, calls: Any, *, timeout_s: float | None = None) -> Any:
        if self._left == self.hangs_at:
            await asyncio.Event().wait()
        self._left -= 1
        await asyncio.sleep(STEP_P50_S * (STEP_P99_S / STEP_P50_S) ** (self._rng.gauss() / SIGMA))
        return None


class Engine:
    """Answers so many turns at once; between steps it can be paused, and what it writes is written by one policy."""

    def __init__(self) -> None:
        self.version = 0
        self.busy_s = 0.0
        self._slots = asyncio.Semaphore(SLOTS)
        self._open = asyncio.Event()
        self._open.set()

    async def turn(self) -> int:
        """Return the version of the policy that wrote it."""
        async with self._slots:
            while not self._open.is_set():
                await self._open.wait()
            version = self.version
            await asyncio.sleep(TURN_S)
            self.busy_s += TURN_S
            return version

    def pause(self) -> None:
        self._open.clear()

    def go_on(self, version: int) -> None:
        self.version = version
        self._open.set()


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """A training of so many steps."""

    wall_s: float
    idle: float
    """Share of time that neither the learner nor the engine's slots used; they take turns on one machine."""
    staleness: int
    """At most, of an episode's first turn: updates since."""
    lost: int
    """Episodes that a deadline ended, though they did not hang."""
    left_behind: int
    """Episodes with a verdict that were not learnt from, though begun long before the end."""


class Training:
    """verl's trainer in a recipe's mode, without a model."""

    def __init__(self, mode: str, *, seed: int) -> None:
        config = compose_recipe("tiny_phone", [f"mode={mode}", f"{SAMPLER}.poll_interval_s={POLL_S}"])
        limits, self._config, self._seed = config.rlfactory.deadlines, config, seed
        self._deadlines = RolloutConfig(**{name: limits[name] for name in limits})
        self._loop, self._queue, self._step, self._prompts = JumpingLoop(), Queue(), 0, count()
        self._engine = Engine()
        self._phones = asyncio.Semaphore(phones_of(config))
        self._tasks: list[asyncio.Task[None]] = []
        self._lost = 0
        self._wrote: dict[str, int] = {}
        """By row of each episode with a verdict: the version that wrote its first turn."""

    def train(self, steps: int) -> Trained:
        """Train so many steps, in the order of verl's trainers."""
        config, mode = self._config, self._config.trainer.v1.trainer_mode
        groups, sampler, stale = config.data.train_batch_size, config.trainer.v1.sampler, 0
        clock = SimpleNamespace(sleep=self._wait, time=self._loop.time)
        asyncio.set_event_loop(self._loop)
        with (
            patch.object(agent_loop_tq, "tq", self._queue),
            patch.object(verl_buffers, "tq", self._queue),
            patch.object(verl_buffers, "time", clock),
        ):
            make = load_extern_object(sampler.custom_sampler.path, sampler.custom_sampler.name)
            buffer = make(
                trainer_mode=mode,
                trainer_config={},
                max_off_policy_threshold=sampler.max_off_policy_threshold,
                max_off_policy_strategy=sampler.max_off_policy_strategy,
                sampler_kwargs=sampler.sampler_kwargs,
                refill_fn=self._feed,
            )
            if mode != "sync":
                self._feed(int(config.trainer.v1[mode].num_warmup_batches * groups))
            rows: set[str] = set()
            for self._step in range(steps):
                self._feed(groups)
                batch, _ = buffer.sample(self._step + 1, "train", groups)
                rows.update(batch.keys)
                stale = max(stale, *(self._step - self._wrote[key] for key in batch.keys))
                self._engine.pause()
                self._wait(LEARNING_S)
                self._engine.go_on(self._step + 1)
            wall_s = self._loop.time()
            self._end()
        return Trained(
            wall_s=wall_s,
            idle=1 - (steps * LEARNING_S + self._engine.busy_s / SLOTS) / wall_s,
            staleness=stale,
            lost=self._lost,
            left_behind=self._left_behind(rows, prompts=groups * (steps - SETTLED)),
        )

    def _wait(self, seconds: float) -> None:
        self._loop.run_until_complete(asyncio.sleep(seconds))

    def _feed(self, prompts: int) -> None:
        worker = SimpleNamespace(config=self._config, _run_agent_loop=self._episode)
        for uid in (f"p{next(self._prompts)}" for _ in range(prompts)):
            self._queue.tags["train"][uid] = {"is_prompt": True, "status": "pending", "global_steps": self._step + 1}
            group = _Worker._run_prompt(worker, {"uid": uid}, {}, {"validate": False})
            self._tasks.append(self._loop.create_task(group))

    async def _episode(self, _: Any, *, session_id: int, uid: str, **__: Any) -> None:
        opens = HeavySession(random.Random(f"{self._seed} {uid} {session_id}"))

        @contextlib.asynccontextmanager
        async def opened(_: EpisodeSpec) -> AsyncIterator[Any]:
            yield opens

        async def player(session: RecordedSession) -> int:
            versions = []
            while not session.over:
                versions.append(await self._engine.turn())
                await session.step(())
            return versions[0]

        spec = EpisodeSpec(id=uid, task="", seed=0, split="train")
        async with self._phones:
            played = await play(spec, player, open_session=opened, config=self._deadlines)
        if isinstance(played, Dropped):
            self._lost += opens.hangs_at is None
        else:
            key = f"{uid}_{session_id}_0"
            self._queue.tags["train"][key], self._wrote[key] = {"status": "success"}, played[1]

    def _left_behind(self, rows: set[str], *, prompts: int) -> int:
        begun_early = {f"p{prompt}" for prompt in range(prompts)}
        return sum(key.partition("_")[0] in begun_early and key not in rows for key in self._wrote)

    def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()


def measure(*, seeds: int) -> dict[str, Any]:
    """Train in both modes."""
    runs = {mode: [Training(mode, seed=seed).train(STEPS) for seed in range(seeds)] for mode in ("sync", "streaming")}
    spent_s = {mode: sum(own.wall_s for own in each) for mode, each in runs.items()}
    ratios = [sync.wall_s / own.wall_s for sync, own in zip(runs["sync"], runs["streaming"], strict=True)]
    return {
        "idle": round(max(own.idle for own in runs["streaming"]), 3),
        "idle_sync": round(min(own.idle for own in runs["sync"]), 3),
        "speedup": round(min(ratios), 2),
        "steps_per_hour": {mode: round(3600 * STEPS * seeds / spent) for mode, spent in spent_s.items()},
        "staleness": max(own.staleness for own in runs["streaming"]),
        "lost": {mode: sum(own.lost for own in each) for mode, each in runs.items()},
        "left_behind": sum(own.left_behind for own in runs["streaming"]),
    }
