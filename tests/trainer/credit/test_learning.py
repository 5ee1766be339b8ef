"""The benchmark of credit: what it remembers of phones is what phones do, and a step of learning goes the right way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import numpy as np
import pytest

from benchmarks.learning import credit, world
from benchmarks.learning.world import Choose, World
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.client import EnvClient

TASK = "steps.turns4_decisions2"


@pytest.fixture(autouse=True)
def few_demonstrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for every action to be known; how well they are cloned is not looked at here."""
    monkeypatch.setattr(credit, "DEMONSTRATIONS", 8)


def following(actions: Sequence[int]) -> Choose:
    """Choose these actions, one after the other."""
    waiting = iter(actions)
    return lambda *_: next(waiting)


async def test_what_is_remembered_is_what_a_phone_does(
    client_of: Callable[..., AbstractAsyncContextManager[EnvClient]],
) -> None:
    async with client_of(phones=DirectSource(PhoneConfig(width_px=480, height_px=800))) as client:
        first, second = World(client), World(client)
        policy = await credit.start_policy(first, {TASK: 0.75}, 0, rounds=5)
        prompt = await first.prompt(TASK, 3)
        played = await first.play(prompt, policy.choose)
        on_phones = first.on_phones
        assert on_phones == len(played.actions)

        again = await first.play(prompt, following(played.actions))
        assert all(one is other for one, other in zip(again.moments, played.moments, strict=True))
        assert first.on_phones == on_phones  # all of it remembered
        # A phone that catches up from the middle comes to the same places as one that played every turn.
        second.calls = first.calls
        anew = await second.prompt(TASK, 3)
        other = await second.play(anew, following(played.actions))
        assert [each.place for each in other.moments] == [each.place for each in played.moments]
        last = played.moments[-1]
        kept = last.after.pop(played.actions[-1])
        caught_up = await first.play(prompt, following(played.actions[-1:]), begin=played.actions[:-1])
        assert caught_up.success == played.success
        assert last.after[played.actions[-1]].place == kept.place


async def test_what_got_credit_becomes_likelier(
    client_of: Callable[..., AbstractAsyncContextManager[EnvClient]],
) -> None:
    async with client_of(phones=DirectSource(PhoneConfig(width_px=480, height_px=800))) as client:
        phones = World(client)
        policy = await credit.start_policy(phones, {TASK: 0.75}, 0, rounds=5)
        trace = await phones.play(await phones.prompt(TASK, 1), policy.choose)

        def chance() -> float:
            return float(policy.chances(trace.prompt.words, trace.moments[0].screen)[trace.actions[0]])

        before, advantages = chance(), np.zeros(len(trace.actions))
        advantages[0] = 1.0
        policy.learn([trace], [advantages], rate=0.5)
        assert chance() > before
        assert world.words_of("Make sure: a on, b off.") == ("a on", "b off")
