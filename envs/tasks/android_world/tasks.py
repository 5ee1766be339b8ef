"""AndroidWorld's tasks as ours: `android_world.<Task>`, set up and judged by its own code."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from rlfactory.emulators.device.device import Device, Snapshot
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.android_world.checkout import AndroidWorld
from rlfactory.envs.tasks.android_world.oracles import ORACLES
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver

log = logging.getLogger(__name__)

SUITE: Final = "android_world"
VERSION: Final = "d9c569f"
"""Of AndroidWorld: what the apps and the oracles are made for."""
TURNS_PER_COMPLEXITY: Final = 10
"""As AndroidWorld counts them."""
LEAST_TURNS: Final = 30


@dataclass(frozen=True, kw_only=True)
class AndroidWorldTask(Task):
    """One of AndroidWorld's tasks with its parameters drawn by AndroidWorld."""

    suite: ClassVar[str] = SUITE
    world: ClassVar[AndroidWorld]
    prepared: ClassVar[dict[str, Snapshot]]
    """By serial: phones whose apps have had their first runs."""
    task: ClassVar[str]
    """AndroidWorld's name for it."""

    seed: int
    facts: dict[str, Any] = field(compare=False)
    """Goal (reworded when the phone is set up), parameters, and what is expected of a question."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> AndroidWorldTask:
        seed = rng.getrandbits(32)
        return cls(seed=seed, facts=cls.world.draw(cls.task, seed))

    @property
    def goal(self) -> str:
        return str(self.facts["goal"])

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await self._prepare(device, timeout_s)
        self.facts.update(await self._ask("initialize", device, timeout_s))
        await device.shell("input keyevent KEYCODE_HOME", timeout_s=timeout_s)

    async def _prepare(self, device: Device, timeout_s: float) -> None:
        """Take the apps through their first runs, once for each phone; then their snapshot stands in."""
        ready = self.prepared.get(device.info.serial)
        if ready is not None:
            try:
                await device.load_snapshot(ready, timeout_s=timeout_s)
            except DeviceError:
                del self.prepared[device.info.serial]  # another phone of that name
            else:
                return
        await self.world.on(device, {"do": "setup"}, timeout_s=timeout_s)
        self.prepared[device.info.serial] = await device.save_snapshot(timeout_s=timeout_s)

    async def _ask(self, do: str, device: Device, timeout_s: float, **details: str) -> dict[str, Any]:
        request = {"do": do, "task": self.task, "seed": self.seed, **details}
        return await self.world.on(device, request, timeout_s=timeout_s)

    async def verify(self, outcome: Outcome, *, services: object, timeout_s: float) -> Mapping[str, float]:
        """Ask AndroidWorld, once the agent has finished: its verifiers may leave the screen they judge."""
        if not outcome.finished or outcome.device is None:
            return {"score": 0.0}
        return await self._ask("judge", outcome.device, timeout_s, answer=outcome.answer)

    async def tear_down(self, device: Device, *, timeout_s: float) -> None:
        """Let AndroidWorld clean up. A session needs it not: its phone is put back as a whole."""
        await self._ask("tear_down", device, timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="AndroidWorld's verifier", holds=outcome.scores.get("score", 0.0) >= 1.0),)

    def allowed(self) -> Sequence[str]:
        """AndroidWorld's verifiers alone say what may change."""
        return ("*",)

    async def solve(self, ui: UiDriver) -> None:
        oracle = ORACLES.get(self.task)
        if oracle is None:
            raise OracleStuck(f"there is no oracle of {self.task} yet")
        answer = await oracle(ui, {**self.facts["params"], "expected": self.facts["expected"], "goal": self.goal})
        await ui.finish(answer=answer or "")


def android_world_tasks(world: AndroidWorld) -> tuple[type[AndroidWorldTask], ...]:
    """Return the tasks of a checkout. Raises: TaskError: its code does not start, or has no such tasks."""
    listed = world.list()
    if not listed:
        raise TaskError(f"{world.checkout} has no tasks")
    if missing := sorted(ORACLES.keys() - listed):
        known = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
        log.warning("%s is another version of AndroidWorld than %s: it has no %s", world.checkout, VERSION, known)
    prepared: dict[str, Snapshot] = {}
    return tuple(_template(world, prepared, name, facts) for name, facts in listed.items())


def _template(
    world: AndroidWorld, prepared: dict[str, Snapshot], name: str, facts: Mapping[str, Any]
) -> type[AndroidWorldTask]:
    values: dict[str, Any] = {
        "name": f"{SUITE}.{name}",
        "task": name,
        "world": world,
        "prepared": prepared,
        "description": " ".join(facts["template"].split())[:200],
        "apps": tuple(facts["apps"]),
        "max_turns": max(LEAST_TURNS, int(TURNS_PER_COMPLEXITY * facts["complexity"])),
        "__module__": __name__,
    }
    return type(name, (AndroidWorldTask,), values)
