"""A phone on which a task is set up, and the verdict on whatever is done with it: no service, no pixels."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import Final

from benchmarks.trust.plans import Act, do
from rlfactory.emulators.device.state import DeviceState
from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.sources.direct import DirectDevice
from rlfactory.envs.rewards.rubric import Judge, Verdict
from rlfactory.envs.tasks.task import Outcome, Task

SETUP_TIMEOUT_S: Final = 30.0
_GOLDEN: Final = GoldenImages()


class Stage:
    """One task on one phone, on which sequences of acts are played, each from where the task begins."""

    def __init__(self, task: Task, *, height_px: int = 1200) -> None:
        self.task = task
        self.phone = Phone(PhoneConfig(width_px=540, height_px=height_px), golden=_GOLDEN)
        with ThreadPoolExecutor(max_workers=1) as executor:
            self._device = DirectDevice(self.phone, executor=executor, snapshots=SnapshotStore())
            asyncio.run(task.setup(self._device, timeout_s=SETUP_TIMEOUT_S))
        self.initial = self.state()
        self._judge = Judge(task)
        self._known: list[Act] = []
        self._after = [self.phone.snapshot()]
        """The phone after so many acts of `_known`."""

    def rehearse(self, acts: Sequence[Act]) -> bool:
        """Play acts, and have whatever begins like them go on from there; tell whether that was possible."""
        for act in acts:
            if not self.play([*self._known, act]):
                return False
            self._known.append(act)
            self._after.append(self.phone.snapshot())
        return True

    def play(self, acts: Sequence[Act]) -> bool:
        """Carry out acts from where the task begins; tell whether that was possible."""
        alike = zip(acts, self._known, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], alike))
        self.phone.restore(self._after[shared])
        return do(acts[shared:], self.phone)

    def state(self) -> DeviceState:
        return self._device.read_state()

    def verdict(self, *, answer: str = "", foreground: str = "") -> Verdict:
        """Return the verdict on the phone as it is, had the agent finished now with `foreground` in front."""
        state = self.state()
        if foreground:
            state = {**state, "foreground": foreground}
        outcome = Outcome(
            state=state, initial=self.initial, finished=True, claimed_success=True, answer=answer, turns=1
        )
        return self._judge.verdict(outcome)
