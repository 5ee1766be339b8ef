"""Sessions on simulated phones: reset contract, void episodes, replacement, forks, oracles."""

from __future__ import annotations

import asyncio
import random
import threading
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import ClassVar

import pytest

from benchmarks.slow_phones import Waiting
from rlfactory.emulators.device.device import Device
from rlfactory.emulators.device.errors import CommandFailed
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError, LimitExceeded, TaskError
from rlfactory.envs.api.types import CoordinateFrame, EpisodeState, SessionOptions, ToolCall, ToolStatus
from rlfactory.envs.client import EnvClient
from rlfactory.envs.conformance.__main__ import conform
from rlfactory.envs.conformance.checks import BEHAVIOURS, Target, examine
from rlfactory.envs.service.limits import Limits
from rlfactory.envs.service.server import EnvServer, ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.task import Check, Outcome

TREE = SessionOptions(with_tree=True)
SETTINGS = "com.android.settings"


class Notes(Waiting):
    """A file has to exist, and nothing else may change."""

    name = "bench.file"
    max_turns = 6

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await device.push("/sdcard/Download/start.txt", b"here", timeout_s=timeout_s)

    def checks(self, outcome: Outcome) -> Sequence[Check]:
        return (Check(name="there", holds="files/Download/done.txt" in outcome.state),)

    def allowed(self) -> Sequence[str]:
        return ("foreground", "files/Download/done.txt")


class NeverTheSame(Notes):
    name = "bench.never_the_same"

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await device.push("/sdcard/Download/start.txt", uuid.uuid4().bytes, timeout_s=timeout_s)


class FailingCommand(Notes):
    name = "bench.failing_command"

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        raise CommandFailed("content insert", 1, "no such table")


class BuggySetup(Notes):
    name = "bench.buggy_setup"
    tried: ClassVar[list[str]] = []

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        self.tried.append(device.info.serial)
        raise IndexError("list index out of range")


class TooFast(Notes):
    """Each phone but the first fails in setup."""

    name = "bench.second_phone_works"

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        if device.info.serial.endswith("-1"):
            await device.close()
        await super().setup(device, timeout_s=timeout_s)


BENCH_TASKS = (Notes, NeverTheSame, FailingCommand, BuggySetup, TooFast)


@asynccontextmanager
async def phones(count: int = 2, **limits: float) -> AsyncIterator[tuple[EnvServer, EnvClient]]:
    """Run a service with small simulated phones, and a client of it."""
    config = ServerConfig(drain_s=0.5, limits=Limits(**limits))  # type: ignore[arg-type]
    source = DirectSource(PhoneConfig(width_px=540, height_px=1200))
    tasks = TaskRegistry((*default_registry(), *BENCH_TASKS))
    pool = PoolConfig(phones=count, backoff_s=0.01)
    async with serving(config, phones=source, pool=pool, tasks=tasks) as server, EnvClient(server.address) as client:
        yield server, client


def act(action: str, *, id: str = "0", **arguments: object) -> ToolCall:  # noqa: A002
    return ToolCall(id=id, name="phone", arguments={"action": action, **arguments})  # type: ignore[dict-item]


def phone_of(server: EnvServer, session: str):
    """Return the device of a session, to break it."""
    return server.manager._open[session].session.phone.device


async def settled(server: EnvServer, client: EnvClient, state: str = "ready") -> None:
    """Return when every phone is in this state; the test's timeout is the bound."""
    while any(phone.state != state for phone in (await client.status()).phones):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_side_effects_spoil_success_and_are_named():
    async with phones(1) as (server, client), client.session("bench.file", seed=0) as session:
        device = phone_of(server, session.id)
        await device.shell("touch /sdcard/Download/done.txt", timeout_s=5)
        halfway = await session.step([act("key", key="HOME")])
        assert (halfway.reward.progress, halfway.reward.total) == (1.0, 0.0)
        await device.shell("rm /sdcard/Download/start.txt", timeout_s=5)
        result = await session.step([ToolCall(id="0", name="finish", arguments={})])
        assert (result.reward.total, result.reward.progress, result.reward.success) == (0.0, 1.0, False)
        assert result.reward.parts["no_side_effects"] == 0.0
        assert [line.partition(":")[0] for line in result.reward.side_effects] == ["files/Download/start.txt"]


async def test_a_phone_that_dies_in_a_step_voids_the_episode_and_is_replaced():
    async with phones(1) as (server, client), client.watch() as events:
        async with client.session("bench.file", seed=0) as session:
            await phone_of(server, session.id).close()
            with pytest.raises(InfrastructureError) as caught:
                await session.step([act("key", key="HOME")])
            assert (caught.value.reason, caught.value.retryable) == ("DEVICE_LOST", True)
            with pytest.raises(InfrastructureError):
                await session.step([ToolCall(id="0", name="finish", arguments={})])
        kinds = [(await anext(events)).kind for _ in range(4)]
        assert kinds == ["reset", "phone", "failure", "close"]
        async with client.session("bench.file", seed=0) as session:
            assert (await session.step([act("key", key="HOME")])).state is EpisodeState.RUNNING
        status = await client.status()
        assert status.counters["void_episodes"] == 1
        assert [phone.failures for phone in status.phones] == [1]


async def test_a_phone_that_hangs_ends_the_step_at_its_limit_as_infrastructure():
    options = SessionOptions(step_timeout_s=0.4)
    async with phones(1) as (server, client), client.session("bench.file", seed=0, options=options) as session:
        phone = phone_of(server, session.id).phone
        release = threading.Event()

        def hold() -> None:
            with phone.lock:
                release.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        try:
            with pytest.raises(InfrastructureError) as caught:
                await session.step([act("key", key="HOME")])
            assert caught.value.reason == "DEVICE_TIMEOUT"
        finally:
            release.set()
            thread.join()


async def test_a_reset_that_fails_on_one_phone_goes_on_with_another():
    async with phones(2) as (_, client), client.session("bench.second_phone_works", seed=0) as session:
        assert session.state_hash
        status = await client.status()
        assert status.counters.get("reset_retries", 0) <= 1
        assert sum(phone.failures for phone in status.phones) == status.counters.get("reset_retries", 0)


async def test_the_reset_contract_quarantines_phones_that_miss_the_golden_state():
    async with phones(2, reset_attempts=2) as (_, client):
        async with client.session("bench.never_the_same", seed=0):
            pass
        with pytest.raises(InfrastructureError, match="not the one that this episode began with"):
            await client.reset("bench.never_the_same", seed=0)
        status = await client.status()
        assert status.counters["golden_mismatches"] == 2
        assert status.counters["quarantined"] == 2
        assert status.sessions == 0


@pytest.mark.parametrize("task", ["bench.failing_command", "bench.buggy_setup"])
async def test_a_broken_setup_is_the_tasks_fault_and_keeps_no_phone(task):
    async with phones(1, reset_attempts=2) as (server, client):
        with pytest.raises(EnvironmentFault, match=f"setup of {task}"):
            await client.reset(task, seed=0)
        await settled(server, client)
        assert [phone.failures for phone in (await client.status()).phones] == [0]


async def test_no_phone_free_is_a_limit_and_none_at_all_a_bad_request():
    async with phones(1, phone_wait_s=0.1) as (server, client):
        async with client.session("bench.file", seed=0):
            with pytest.raises(LimitExceeded, match="no phone became free"):
                await client.reset("bench.file", seed=1)
        await settled(server, client)
    config = ServerConfig(drain_s=0.1)
    async with serving(config, tasks=TaskRegistry((Notes,))) as server, EnvClient(server.address) as client:
        with pytest.raises(TaskError, match="needs a phone"):
            await client.reset("bench.file", seed=0)


async def test_a_fork_that_lacks_phones_makes_none_and_keeps_none():
    async with phones(3, phone_wait_s=0.2) as (server, client), client.session("bench.file", seed=0) as session:
        with pytest.raises(LimitExceeded, match="need 4 phones; phones is 3"):
            await session.fork(3)
        async with client.session("bench.file", seed=1):
            with pytest.raises(LimitExceeded, match="no 2 phones became free"):
                await session.fork(2)
            assert server.manager.sessions == 2
        children = await session.fork(2)
        assert server.manager.sessions == 3
        await asyncio.gather(*(child.aclose() for child in children))
        assert (await session.step([])).state is EpisodeState.RUNNING


async def test_a_fork_of_a_dead_phone_is_infrastructure():
    async with phones(2) as (server, client), client.session("bench.file", seed=0) as session:
        await phone_of(server, session.id).close()
        with pytest.raises(InfrastructureError, match="snapshot for a fork"):
            await session.fork(1)


async def test_a_fork_survives_a_phone_that_dies_while_it_is_made(eventually):
    async with phones(2) as (server, client), client.session("bench.file", seed=0) as session:
        keepers = server.manager.pool._keepers
        await eventually(lambda: all(keeper.slot.device is not None for keeper in keepers))
        devices = (keeper.slot.device for keeper in keepers)
        await next(device for device in devices if device is not phone_of(server, session.id)).close()
        (child,) = await session.fork(1)
        async with child:
            assert child.state_hash == session.state_hash


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_is_cancelled_no_phone_and_no_session_is_lost(seed, eventually):
    rng = random.Random(seed)
    options = SessionOptions(lease_s=0.3)
    known: list[str] = []

    async def reset(client: EnvClient) -> None:
        known.append((await client.reset("bench.file", seed=rng.randrange(3), options=options)).session)

    async def fork(client: EnvClient) -> None:
        known.extend(begun.session for begun in await client.fork(rng.choice(known), 1))

    async def step(client: EnvClient) -> None:
        await client.step(rng.choice(known), rng.randrange(1, 4), [act("key", key="HOME")])

    async def close(client: EnvClient) -> None:
        await client.close(rng.choice(known))

    async with phones(3, orphan_grace_s=0.01, phone_wait_s=0.5) as (server, client):
        await reset(client)
        for _ in range(40):
            call = asyncio.create_task(rng.choice((reset, fork, step, close))(client))
            await asyncio.sleep(rng.choice((0.0, 0.001, 0.002, 0.004, 0.008, 0.016)))
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        await eventually(lambda: server.manager.sessions == 0)
        await settled(server, client)
        assert (await client.status()).counters.get("golden_mismatches", 0) == 0


async def test_waiting_longer_than_the_step_is_refused_not_a_failure():
    options = SessionOptions(step_timeout_s=2.0)
    async with phones(1) as (_, client), client.session("bench.file", seed=0, options=options) as session:
        (result,) = (await session.step([act("wait", seconds=5)])).results
        assert result.status is ToolStatus.REJECTED
        assert "left for this turn" in result.text


async def test_a_step_without_calls_changes_nothing_and_costs_a_turn():
    async with phones(1) as (_, client), client.session("bench.file", seed=0) as session:
        result = await session.step([])
        assert result.observation.image == session.begun.observation.image
        assert result.observation.sequence == session.begun.observation.sequence + 1


async def test_options_shape_the_observation():
    options = SessionOptions(with_image=False, with_tree=True)
    async with phones(1) as (_, client):
        async with client.session("bench.file", seed=0, options=options) as session:
            assert session.observation.image is None
            assert session.observation.tree_xml
        options = SessionOptions(max_pixels=100_000, multiple_px=28)
        async with client.session("bench.file", seed=0, options=options) as session:
            image = session.observation.image
            assert image.width_px % 28 == image.height_px % 28 == 0
            assert image.width_px * image.height_px <= 100_000
            assert (session.observation.width_px, session.observation.height_px) == (540, 1200)
            assert session.observation.tree_xml == ""
        options = replace(options, with_image=False, coordinates=CoordinateFrame.IMAGE_PX)
        async with client.session("bench.file", seed=0, options=options) as session:
            inside = await session.step([act("tap", coordinate=[image.width_px - 1, image.height_px - 1])])
            outside = await session.step([act("tap", coordinate=[image.width_px, 0])])
        assert inside.results[0].status is ToolStatus.OK
        assert outside.results[0].status is ToolStatus.REJECTED


async def test_conformance_over_adb():
    source = phone_source(PhonesConfig(kind=SourceKind.ADB, width_px=540, height_px=1200))
    config = ServerConfig(drain_s=0.5)
    async with (
        serving(config, phones=source, pool=PoolConfig(phones=2)) as server,
        EnvClient(server.address) as client,
    ):
        findings = await examine(Target(client=client, task="settings.wifi_on"))
        assert [finding for finding in findings if finding.problem] == []


async def test_an_examination_from_the_command_line(capsys):
    async with phones(2) as (server, _):
        assert await conform(server.address, "settings.wifi_on", as_json=False) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(BEHAVIOURS)
        assert all(line.startswith("ok  ") for line in lines)


async def test_a_session_that_a_restarted_service_has_forgotten_is_lost_to_infrastructure():
    async with phones(1) as (server, client), client.session("bench.file", seed=0) as session:
        await server.manager.close(session.id)  # as a new process would: it knows nothing of the session
        with pytest.raises(InfrastructureError, match="has forgotten session"):
            await session.step([act("key", key="HOME")])
