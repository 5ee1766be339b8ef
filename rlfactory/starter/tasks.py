"""Two tasks: one on the phone, and one that asks a tool."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import run
from rlfactory.envs.tasks.task import Check, Outcome, Task
from rlfactory.envs.tasks.ui_driver import UiDriver

KEY = "settings/secure/notification_bubbles"
"""Where the switch stands in the state of a phone: `adb shell settings get secure notification_bubbles`."""


class Bubbles(Task):
    """A switch has to be on, or off; half the time it already is, so the agent has to look."""

    name: ClassVar[str] = "demo.bubbles"
    suite: ClassVar[str] = "demo"
    description: ClassVar[str] = "Bubbles of notifications on or off"
    apps: ClassVar[tuple[str, ...]] = ("com.android.settings",)
    max_turns: ClassVar[int] = 2

    def __init__(self, *, start: bool, wanted: bool) -> None:
        self.start, self.wanted = start, wanted

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(start=rng.random() < 0.5, wanted=rng.random() < 0.5)

    @property
    def goal(self) -> str:
        return f"Make sure that bubbles are {'on' if self.wanted else 'off'}."

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        page = "com.android.settings/.Settings\\$NotificationAppListActivity"
        put = f"settings put secure notification_bubbles {int(self.start)}"
        await run(device, (put, f"am start -n {page}"), timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        is_on = outcome.state.get(KEY) == "1"
        return (Check(name="bubbles", holds=is_on == self.wanted),)

    def allowed(self) -> Sequence[str]:
        """All else that changes is a side effect, and the task fails."""
        return (KEY,)

    async def solve(self, ui: UiDriver) -> None:
        if self.start != self.wanted:
            await ui.tap("Bubbles")
        await ui.finish()


class Stock(Task):
    """A question that only the tool of tools.yaml can answer."""

    name: ClassVar[str] = "demo.stock"
    suite: ClassVar[str] = "demo"
    description: ClassVar[str] = "How many of a fruit are in stock"
    max_turns: ClassVar[int] = 3
    tools: ClassVar[tuple[str, ...]] = ("stock", "finish")
    needs_device: ClassVar[bool] = False

    def __init__(self, fruit: str, count: int) -> None:
        self.fruit, self.count = fruit, count

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        return cls(*rng.choice(sorted({"apples": 12, "pears": 7, "plums": 31}.items())))

    @property
    def goal(self) -> str:
        return f"How many {self.fruit} are in stock? Answer with the number in digits."

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="count", holds=outcome.answer.strip() == str(self.count)),)

    async def solve(self, ui: UiDriver) -> None:
        await ui.finish(answer=await ui.call("stock", fruit=self.fruit))
