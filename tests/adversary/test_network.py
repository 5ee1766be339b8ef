"""Episodes through a network that breaks: a part of what `benchmarks.network` plays for minutes."""

import asyncio

import pytest

from benchmarks.adversary.scene import Sums
from benchmarks.network.__main__ import Seen, conform, play_text
from benchmarks.network.weather import weather
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry


@pytest.mark.parametrize("kind", ["refused", "reset", "slow", "half_closed", "reordered", "duplicated"])
async def test_every_episode_goes_on_and_no_act_is_done_twice(kind, monkeypatch):
    monkeypatch.setattr("benchmarks.network.__main__.ACT_S", 0.02)
    seen = Seen()
    async with (
        serving(ServerConfig(drain_s=0.1), tasks=TaskRegistry((Sums,))) as server,
        weather(server.address) as network,
        EnvClient(network.address) as client,
    ):
        playing = asyncio.gather(*(play_text(client, seed, seen) for seed in range(4)))
        await network.fault(kind, 0.3)
        await playing
        assert network.messages.duplicated > 0 or kind != "duplicated"
    assert (seen.twice, seen.wrong) == ([], [])


async def test_the_conformance_suite_holds_through_a_network_that_says_all_twice():
    source = DirectSource(PhoneConfig(width_px=320, height_px=480))
    async with serving(ServerConfig(drain_s=0.1), phones=source, pool=PoolConfig(phones=2)) as server:
        assert await conform(server.address, "duplicated", seed=0) == []
