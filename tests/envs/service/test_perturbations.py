"""A phone that fights back: seeded, no damage of the agent's, beaten by who looks and not by who does not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from benchmarks.trust.perturbed import blind
from rlfactory.emulators.device.device import DeviceInfo
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.perturb import PERTURBATIONS, Plan, plan

PLAIN = SessionOptions(with_tree=True, with_image=False)


@pytest.fixture
async def client() -> AsyncIterator[EnvClient]:
    phones = DirectSource(PhoneConfig(width_px=540, height_px=1200))
    service = serving(ServerConfig(), phones=phones, pool=PoolConfig(phones=1, spares=0))
    async with service as server, EnvClient(server.address) as client:
        yield client


def troubled(spec: str) -> SessionOptions:
    return SessionOptions(with_tree=True, with_image=False, perturb=spec)


async def test_who_looks_solves_what_who_does_not_look_loses(client: EnvClient) -> None:
    untroubled = await play(client, "clock.start_timer", seed=3, options=PLAIN)
    won = []
    for name in PERTURBATIONS:
        options = troubled(f"{name}:1")
        record = await play(client, "clock.start_timer", seed=3, options=options)
        assert (record.reward.success, record.reward.side_effects, record.stuck) == (True, (), ""), name
        won.append(await blind(client, untroubled, options))
    assert sum(won) <= len(won) / 2
    assert len(won) >= 12


async def test_a_tool_without_network_is_asked_again(client: EnvClient) -> None:
    record = await play(client, "mixed.changed_number", seed=1, options=troubled("network:1"))
    said = [result.text for step in record.steps for result in step.result.results]
    assert "the network does not answer; try again" in said
    assert record.reward.success


async def test_the_seed_says_what_happens(client: EnvClient) -> None:
    sizes = []
    for seed in (1, 1, 2):
        async with client.session("settings.wifi_on", seed=seed, options=troubled("size")) as session:
            assert session.begun.perturb == "size"
            sizes.append((session.observation.width_px, session.observation.height_px))
    assert sizes[0] == sizes[1] != sizes[2]


INFO = DeviceInfo(serial="", width_px=540, height_px=1200, density_dpi=210, model="", sdk=33, simulated=True)


def planned(seed: int, spec: str = "all:1", allowed: tuple[str, ...] = ()) -> Plan:
    return plan(spec, f"t/train/{seed}", PERTURBATIONS, allowed=allowed, info=INFO)


def test_strength_and_seed_are_drawn_alike_everywhere() -> None:
    assert planned(1) == planned(1)
    assert planned(1) != planned(2)
    assert len(planned(1, "popup:1").after_turn) > len(planned(1, "popup:0").after_turn) == 1


def test_what_the_task_is_about_is_left_alone() -> None:
    about = ("settings/secure/ui_night_mode",)
    assert planned(1, "dark_theme").at_start == ("cmd uimode night yes",)
    assert planned(1, "dark_theme", about).at_start == ()


def test_an_unknown_name_or_strength_is_one_line() -> None:
    with pytest.raises(UnknownName, match=r"no perturbation 'popups'; close: popup"):
        planned(1, "popups")
    with pytest.raises(TaskError, match=r"a number from 0 to 1, as in popup:0\.5; got '2'"):
        planned(1, "popup:2")
    with pytest.raises(TaskError, match="at most 2000 characters"):
        planned(1, "popup," * 1000)
