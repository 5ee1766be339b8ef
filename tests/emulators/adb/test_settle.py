"""Settling: two equal looks, or the deadline."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from rlfactory.emulators.adb.settle import settle
from rlfactory.emulators.device.errors import DeviceLost


@pytest.mark.parametrize("shown", ["aaa", "abccc"])
async def test_a_screen_is_idle_once_it_looks_the_same_twice(shown: str) -> None:
    seen = iter(shown)

    async def look() -> str:
        return next(seen)

    assert (await settle(look, timeout_s=5)).reason == "idle"
    assert list(seen) == [shown[-1]], "it was not looked at again"


async def test_a_screen_that_never_rests_ends_at_the_deadline() -> None:
    frames = count()

    async def look() -> int:
        await asyncio.sleep(0.001)
        return next(frames)

    settled = await settle(look, timeout_s=0.05)
    assert settled.reason == "deadline"
    assert settled.waited_s == pytest.approx(0.05, abs=0.05)


async def test_a_lost_phone_is_not_a_settled_one() -> None:
    async def look() -> int:
        raise DeviceLost("gone")

    with pytest.raises(DeviceLost):
        await settle(look, timeout_s=1)
