"""What fills memory slowly."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, Final

import grpc

from benchmarks.adversary.arena import HONEST, SUMS, TEXT, Arena, call, goes_on, metadata
from benchmarks.adversary.attack import attack, require
from rlfactory.envs.api.errors import LimitExceeded, RLFactoryError
from rlfactory.envs.api.types import ResetResult, SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire.v1 import env_pb2 as pb

MANY: Final = 1000
"""Sessions; a tenant may have fewer."""


@attack("memory stays", limit_s=60)
async def kept_arguments(arena: Arena) -> str:
    """Play 24 sessions with 12 turns of 900 KB of arguments each."""
    async with arena.client() as client:

        async def play(seed: int) -> None:
            async with client.session(SUMS, seed=seed, options=TEXT) as session:
                for turn in range(12):
                    text = f"{seed}{turn}" + "k" * 29_000
                    await session.step([call("calculator", n, expression=text) for n in range(31)])
                held.append(1)
                if len(held) == 24:
                    all_held.set()
                await asyncio.wait_for(all_held.wait(), 30)

        held: list[int] = []
        all_held = asyncio.Event()
        await asyncio.gather(*(play(seed) for seed in range(24)))
    return "259 MB of arguments, in 288 turns"


@attack("refused when there are too many; memory stays", limit_s=60)
async def large_naps(arena: Arena) -> str:
    """Keep steps of 900 KB under way in 100 sessions."""
    large = [call("calculator", n, expression="k" * 29_000) for n in range(31)]
    async with arena.client() as client:
        begun = [await client.reset(SUMS, seed=n, options=TEXT) for n in range(100)]
        steps = [
            asyncio.create_task(client.step(each.session, 1, [*large, call("nap", 31, key="large", seconds=600)]))
            for each in begun
        ]
        done, napping = await asyncio.wait(steps, timeout=10 * arena.slowness)
        refused = sum(isinstance(step.exception(), LimitExceeded) for step in done)
        for step in napping:
            step.cancel()
        await asyncio.wait(steps)
        for each in begun:
            await client.close(each.session)
        require(refused == len(done) > 0, f"{refused} of {len(done)} were refused, and {len(napping)} carried out")
    return f"{refused} of {len(steps)} refused"


@attack("memory stays")
async def large_answers(arena: Arena) -> str:
    """Keep 60 sessions whose last step had an answer of 600 KB."""
    async with arena.client() as client:
        begun = [await client.reset(SUMS, seed=n, options=TEXT) for n in range(60)]
        for each in begun:
            await client.step(each.session, 1, [call("nap", n, key="l", chars=19_900) for n in range(30)])
        for each in begun:
            await client.close(each.session)
    return "36 MB of answers"


@attack("refused when they remember too much; memory stays", limit_s=120)
async def everything_kept(arena: Arena) -> str:
    """Say as much as it takes in as many sessions as there may be: long texts, long answers, and very many values."""
    said = (
        [call("calculator", 0, expression="k" * 900_000)],
        [call("nap", n, key="\U0001f600", chars=19_900) for n in range(32)],
        [call("calculator", 0, expression=[{} for _ in range(8_000)])],
    )
    refused = 0
    async with arena.client() as client:
        opened = await _open_all(client)
        for begin in range(0, len(opened), 8):
            some = [client.step(each, 1, said[n % 3]) for n, each in enumerate(opened[begin : begin + 8])]
            for each in await asyncio.gather(*some, return_exceptions=True):
                if isinstance(each, BaseException):
                    require(isinstance(each, LimitExceeded), f"a step failed: {each!r}")
                    refused += 1
        await _close_all(client, opened)
    require(refused > 0, f"{len(opened)} sessions remember all of it")
    return f"{refused} steps of {len(opened)} sessions refused"


@attack("memory stays", limit_s=120)
async def refused_steps(arena: Arena) -> str:
    """Have 320 steps of 900 KB refused, on a stream and by calls of Step: nothing of them may be kept."""
    large = pb.ToolCall(name="calculator", arguments_json=json.dumps({"expression": "k" * 900_000}))
    step = pb.StepRequest(session="nobody", seq=1, calls=[large])

    async def ask(stub: Any) -> None:
        stream = stub.Steps(metadata=metadata())
        for number in range(40):
            try:
                await stub.Step(step, metadata=metadata(), timeout=20)
            except grpc.aio.AioRpcError as error:
                require(error.code() is grpc.StatusCode.NOT_FOUND, f"{error.code()}: {error.details()}")
            await stream.write(pb.StepsRequest(steps=[pb.NumberedStep(number=number, step=step)]))
            await stream.read()
        stream.cancel()

    async with arena.stub() as one, arena.stub() as two, arena.stub() as three, arena.stub() as four:
        await asyncio.gather(*map(ask, (one, two, three, four)))
    return "320 refused"


@attack("memory stays", limit_s=60)
async def named_episodes(arena: Arena) -> str:
    """Begin episodes with a request_id on phones, with pictures and trees, and end them, for 15 s."""
    options = pb.Options(image_format=pb.IMAGE_FORMAT_PNG, with_tree=True, lease_s=30)
    begun = 0

    async def play(number: int, end_s: float) -> None:
        nonlocal begun
        async with arena.stub() as stub:
            while time.monotonic() < end_s:
                begun += 1
                request = pb.ResetRequest(
                    task="settings.wifi_on", seed=begun, request_id=f"{number}-{begun}", options=options
                )
                episode = await stub.Reset(request, metadata=metadata(), timeout=30)
                await stub.CloseSession(pb.CloseSessionRequest(session=episode.session), metadata=metadata())

    await asyncio.gather(*(play(number, time.monotonic() + 15) for number in range(4)))
    return f"{begun} begun"


@attack("the honest can still begin episodes", limit_s=60)
async def all_sessions(arena: Arena) -> str:
    """Open sessions until the service refuses, and keep them."""
    async with arena.client() as client:
        opened = await _open_all(client)
        try:
            require(len(opened) < MANY, f"{len(opened)} sessions were opened")
            try:
                async with arena.client(HONEST) as honest, honest.session(SUMS, seed=5, options=TEXT) as session:
                    await goes_on(session)
            except RLFactoryError as error:
                require(False, f"the honest are refused: {error}")
        finally:
            await _close_all(client, opened)
    return f"{len(opened)} opened, then refused"


async def _open_all(client: EnvClient) -> list[str]:
    """Return as many sessions as the client may have."""
    opened: list[str] = []
    while len(opened) < MANY:
        asked = [client.reset(SUMS, seed=n, options=TEXT) for n in range(50)]
        some = await asyncio.gather(*asked, return_exceptions=True)
        for each in some:
            if isinstance(each, BaseException) and not isinstance(each, LimitExceeded):
                raise each
        opened += (each.session for each in some if isinstance(each, ResetResult))
        if any(isinstance(each, LimitExceeded) for each in some):
            break
    return opened


async def _close_all(client: EnvClient, opened: Sequence[str]) -> None:
    for begin in range(0, len(opened), 50):
        await asyncio.gather(*(client.close(each) for each in opened[begin : begin + 50]))


@attack("the honest can still begin episodes on a phone", limit_s=60)
async def all_phones(arena: Arena) -> str:
    """Lease phones until there are none, and ask for forty more."""
    async with arena.client() as client:
        options = SessionOptions(with_image=False, lease_s=60)
        asking = [asyncio.create_task(client.reset("settings.wifi_on", seed=n, options=options)) for n in range(48)]
        await asyncio.sleep(3.0)
        try:
            begun_s = asyncio.get_running_loop().time()
            for each in asking[:1]:
                require(each.done(), "not even one phone was lent")
            async with arena.client(HONEST) as honest:
                waiting = asyncio.create_task(honest.reset("settings.wifi_on", seed=1, options=options))
                await asyncio.sleep(0.5)
                held = next(each for each in asking if each.done() and not each.exception())
                await client.close(held.result().session)
                async with asyncio.timeout(8):
                    begun = await waiting
                await honest.close(begun.session)
            took_s = asyncio.get_running_loop().time() - begun_s
        except (TimeoutError, RLFactoryError) as error:
            require(False, f"the honest got none of the phones that became free: {type(error).__name__} {error}")
        finally:
            for each in asking:
                each.cancel()
            ended = await asyncio.gather(*asking, return_exceptions=True)
            for session in ended:
                if not isinstance(session, BaseException):
                    await client.close(session.session)
    return f"the next phone that became free, after {took_s:.1f} s"


@attack("memory stays")
async def listings(arena: Arena) -> str:
    """Ask for all tasks and the status 1,500 times, 50 at a time."""
    async with arena.stub() as stub:
        for _ in range(15):
            await asyncio.gather(
                *(stub.ListTasks(pb.ListTasksRequest(), metadata=metadata(), timeout=20) for _ in range(50)),
                *(stub.Status(pb.StatusRequest(), metadata=metadata(), timeout=20) for _ in range(50)),
            )
    return "1,500 answers"


@attack("answered, and memory stays")
async def long_names(arena: Arena) -> str:
    """Ask for tasks, requests, sessions and groups with names of 900 KB, and read what comes back."""
    name = "settings.wifi" * 70_000
    longest = 0
    async with arena.stub(options=(("grpc.max_metadata_size", 8 << 20),)) as stub:
        requests = (
            (stub.Reset, pb.ResetRequest(task=name)), (stub.Reset, pb.ResetRequest(task=SUMS, request_id=name)),
            (stub.Step, pb.StepRequest(session=name, seq=1)),
            (stub.Reset, pb.ResetRequest(task=SUMS, options=pb.Options(group=name))),
            (stub.Fork, pb.ForkRequest(session=name, n=1)),
        )  # fmt: skip
        for method, request in requests:
            try:
                await method(request, metadata=metadata(), timeout=5)
            except grpc.aio.AioRpcError as error:
                longest = max(longest, len(error.details() or ""))
                fine = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)
                require(error.code() in fine, f"{error.code()}: {(error.details() or '')[:60]}")
                require(len(error.details() or "") < 5_000, f"the refusal has {len(error.details() or '')} characters")
            else:
                require(False, "a name of 900 KB was taken")
    return f"refused in at most {longest} characters"
