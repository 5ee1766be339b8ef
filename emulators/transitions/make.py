"""Transitions of a phone: screen, action, screen, what changed; several actions from one state, by forking it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.device.device import Device, DeviceAction, ImageSpec, OpenApp, Screen, Snapshot
from rlfactory.emulators.device.errors import ActionRejected
from rlfactory.emulators.device.state import Change, DeviceState, diff
from rlfactory.emulators.transitions.explore import APPS, actions

TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WalkConfig:
    """How phones are explored."""

    siblings: int = 4
    """Actions tried from one state; the walk goes on from one of them."""
    depth: int = 12
    """Steps of a walk; the next one begins with the phone as it was."""
    seed: int = 0
    image: ImageSpec = field(default_factory=ImageSpec)

    def __post_init__(self) -> None:
        for name in ("siblings", "depth"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """What one action did."""

    walk: int
    step: int
    sibling: int
    """Equal (walk, step) begin in the same state."""
    before: Screen
    action: DeviceAction
    after: Screen
    changes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Here:
    """The phone at one moment."""

    snapshot: Snapshot
    screen: Screen
    state: DeviceState


async def transitions(device: Device, config: WalkConfig) -> AsyncGenerator[Transition, None]:
    """Walk through the apps for ever; each walk begins with the phone as it is now. Equal seeds give equal walks."""
    start = await device.save_snapshot(timeout_s=TIMEOUT_S)
    walk = 0
    while True:
        rng = random.Random(f"{config.seed}/{walk}")
        await device.load_snapshot(start, timeout_s=TIMEOUT_S)
        await device.act(OpenApp(rng.choice(APPS)), timeout_s=TIMEOUT_S)
        here = await _look(device, config)
        for step in range(config.depth):
            chosen, ahead = rng.randrange(config.siblings), None
            for sibling, action in enumerate(actions(here.screen, rng)[: config.siblings]):
                if sibling:
                    await device.load_snapshot(here.snapshot, timeout_s=TIMEOUT_S)
                try:
                    await device.act(action, timeout_s=TIMEOUT_S)
                except ActionRejected:
                    continue
                await device.settle(timeout_s=TIMEOUT_S)
                there = await _look(device, config)
                yield Transition(
                    walk=walk,
                    step=step,
                    sibling=sibling,
                    before=here.screen,
                    action=action,
                    after=there.screen,
                    changes=diff(here.state, there.state),
                )
                if sibling <= chosen:
                    there, ahead = ahead or there, there
                if there is not ahead:
                    await device.delete_snapshot(there.snapshot, timeout_s=TIMEOUT_S)
            await device.delete_snapshot(here.snapshot, timeout_s=TIMEOUT_S)
            if ahead is None:
                break
            here = ahead
            await device.load_snapshot(here.snapshot, timeout_s=TIMEOUT_S)
        walk += 1


async def _look(device: Device, config: WalkConfig) -> _Here:
    return _Here(
        screen=await device.observe(config.image, with_tree=True, timeout_s=TIMEOUT_S),
        state=await device.state(timeout_s=TIMEOUT_S),
        snapshot=await device.save_snapshot(timeout_s=TIMEOUT_S),
    )
