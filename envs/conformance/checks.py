"""What any environment server must show, whatever phones are behind it:
`python -m rlfactory.envs.conformance ADDRESS`.

Each behaviour is one function of `BEHAVIOURS`; it opens sessions of its own and leaves none behind. The same functions
run in our tests against our server, and on a host of real emulators. A server needs two phones free.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from rlfactory.envs.api.errors import (
    EpisodeOver,
    InfrastructureError,
    LimitExceeded,
    OutOfOrder,
    RLFactoryError,
    SessionNotFound,
    TaskError,
    UnknownName,
)
from rlfactory.envs.api.types import JSON, EpisodeState, SessionOptions, ToolCall, ToolStatus
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.v1 import env_pb2 as pb

ASK_AGAIN: Final = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
)
"""What is asked past the client is asked again when a connection breaks, as the client does by itself."""


class NotConforming(Exception):
    """The server does not behave as the protocol says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The server under examination, and the phone task that is played on it."""

    client: EnvClient
    task: str
    seed: int = 11
    options: SessionOptions = field(default_factory=lambda: SessionOptions(with_tree=True))

    def channel(self) -> grpc.aio.Channel:
        return self.client.trust.channel(self.client.address, options=(("grpc.service_config", ASK_AGAIN),))


Refusal = TypeVar("Refusal", bound=RLFactoryError)
Behaviour = Callable[[Target], Coroutine[None, None, None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The outcome of one behaviour."""

    name: str
    problem: str
    """"" if the server conforms."""
    wall_s: float


def expect(holds: bool, words: str) -> None:
    """Raises: NotConforming: it does not hold."""
    if not holds:
        raise NotConforming(words)


def phone(action: str, **arguments: JSON) -> ToolCall:
    """Return a call of the phone."""
    return ToolCall(id="0", name="phone", arguments={"action": action, **arguments})


FINISH = ToolCall(id="0", name="finish", arguments={"status": "success"})
HOME = phone("key", key="HOME")


# --- behaviours ------------------------------------------------------------------------------------------------------


async def lists_its_tasks_sorted(target: Target) -> None:
    names = [info.name for info in await target.client.list_tasks()]
    expect(target.task in names, f"task {target.task} is not listed")
    expect(names == sorted(names), "tasks are not sorted by name")


async def same_task_and_seed_begin_alike(target: Target) -> None:
    async with _session(target) as first, _session(target) as second:
        expect(first.goal == second.goal, "goals differ")
        expect(bool(first.state_hash) and first.state_hash == second.state_hash, "state hashes differ")
        expect(first.observation.tree_xml == second.observation.tree_xml, "UI trees differ")
        expect(first.observation.image == second.observation.image, "images differ")


async def observes_atomically_and_in_order(target: Target) -> None:
    async with _session(target) as session:
        seen = [session.observation]
        for call in (HOME, phone("wait", seconds=0.1), phone("key", key="BACK")):
            seen.append((await session.step([call])).observation)
        sequences = [each.sequence for each in seen]
        expect(sequences == sorted(set(sequences)), f"sequence numbers do not rise: {sequences}")
        for each in seen:
            image = each.image
            expect(image is not None and len(image.data) > 0, "an observation has no image")
            expect(each.tree_xml.lstrip().startswith("<"), "an observation has no UI tree")
            expect("/" in each.activity, f"activity {each.activity!r} is not package/class")


async def repeats_a_stored_step(target: Target) -> None:
    async with _session(target) as session:
        first = await target.client.step(session.id, 1, [HOME])
        again = await target.client.step(session.id, 1, [HOME])
        expect(first == again, "a repeated seq returned something else")


async def runs_concurrent_duplicates_once(target: Target) -> None:
    async with _session(target) as session:
        steps = [target.client.step(session.id, 1, [HOME]) for _ in range(4)]
        results = await asyncio.gather(*steps)
        expect(all(result == results[0] for result in results), "duplicates of one seq returned different results")
        nxt = await target.client.step(session.id, 2, [])
        moved = nxt.observation.sequence - results[0].observation.sequence
        expect(moved == 1, f"four duplicates and one step observed {moved} times")


async def refuses_steps_out_of_order(target: Target) -> None:
    async with _session(target) as session:
        for seq in (0, 2):
            await _raises(OutOfOrder, target.client.step(session.id, seq, [HOME]), f"seq {seq} first")
        await target.client.step(session.id, 1, [HOME])
        await _raises(OutOfOrder, target.client.step(session.id, 1, [phone("key", key="BACK")]), "seq 1, other calls")


async def tells_the_model_its_mistakes(target: Target) -> None:
    mistakes = (
        phone("fly"),
        phone("tap"),
        phone("tap", coordinate=[-5, 5]),
        phone("tap", coordinate=[10**6, 5]),
        phone("tap", coordinate=[1, 1], text="x"),
        phone("key", key="NO_SUCH_KEY"),
        phone("open_app", app="no such app, surely"),
        ToolCall(id="0", name="telephone", arguments={}),
        ToolCall(id="0", name="finish", arguments={"status": "maybe"}),
    )
    calls = [replace(call, id=str(index)) for index, call in enumerate(mistakes)]
    async with _session(target) as session:
        result = await session.step(calls)
        for call, outcome in zip(calls, result.results, strict=True):
            expect(outcome.call_id == call.id, "results are not in call order")
            expect(outcome.status is ToolStatus.REJECTED, f"{call.arguments} was {outcome.status}")
            expect(bool(outcome.text), f"{call.arguments} was rejected without a word")
        expect(result.state is EpisodeState.RUNNING, "a mistake ended the episode")


async def sends_each_picture_once(target: Target) -> None:
    async with _session(target) as session:
        response = await _bare_step(target, pb.StepRequest(session=session.id, seq=1))
        image = session.observation.image
        expect(image is not None and response.observation.image.digest == image.digest, "a still screen changed")
        expect(not response.observation.image.data, "a picture was sent twice")


async def forks_into_equal_and_independent_sessions(target: Target) -> None:
    async with _session(target) as session:
        await session.step([HOME])
        (child,) = await session.fork(1)
        async with child:
            expect(child.goal == session.goal, "a fork has another goal")
            before, after = session.observation, child.observation
            expect(after.image is not None and after.image == before.image, "a fork shows another picture")
            again = (await child.step([])).observation
            expect(again.image == before.image, "a fork's phone shows another picture")
            expect(again.tree_xml == before.tree_xml, "a fork's phone shows another UI tree")
            left = await session.step([phone("open_app", app="com.android.settings")])
            still = await child.step([])
            expect(left.observation.image != before.image, "opening an app changed nothing")
            expect(still.observation.image == before.image, "a step of one session changed its fork")
            right = await child.step([phone("open_app", app="com.android.settings")])
            expect(right.observation.image == left.observation.image, "the same step led to another picture")
            expect(right.reward == left.reward, "the same steps earned another reward")


async def an_empty_episode_earns_nothing(target: Target) -> None:
    async with _session(target) as session:
        result = await session.step([replace(FINISH, arguments={"status": "failure"})])
        expect(result.reward.total == 0 and not result.reward.success, f"it earned {result.reward}")
        expect(not result.reward.side_effects, f"it had side effects: {result.reward.side_effects}")


async def finishing_ends_the_episode(target: Target) -> None:
    async with _session(target) as session:
        result = await session.step([FINISH, replace(HOME, id="1")])
        expect(result.state is EpisodeState.FINISHED, f"the state is {result.state}")
        expect(result.results[1].status is ToolStatus.CANCELLED, "a call after finish was not cancelled")
        await _raises(EpisodeOver, session.step([HOME]), "a step after the end")


async def the_turn_limit_truncates(target: Target) -> None:
    async with _session(target, max_turns=2) as session:
        states = [(await session.step([])).state for _ in range(2)]
        expect(states == [EpisodeState.RUNNING, EpisodeState.TRUNCATED], f"the states are {states}")
        await _raises(EpisodeOver, session.step([]), "a step after the last turn")


async def a_lease_runs_out(target: Target) -> None:
    begun = await target.client.reset(target.task, seed=target.seed, options=replace(target.options, lease_s=0.2))
    await _until_gone(target, begun.session)
    await _raises(SessionNotFound, target.client.step(begun.session, 1, [HOME]), "a step after the lease")


async def renewing_keeps_a_session(target: Target) -> None:
    async with _session(target, lease_s=2.0) as session:  # a Session renews in the background
        await asyncio.sleep(2.5)
        expect((await session.step([])).state is EpisodeState.RUNNING, "a renewed session did not live")


async def closing_gives_the_phone_back(target: Target) -> None:
    begun = await target.client.reset(target.task, seed=target.seed, options=target.options)
    held = [each.session for each in (await target.client.status()).phones]
    expect(begun.session in held, "Status does not say which phone the session holds")
    await target.client.close(begun.session)
    await target.client.close(begun.session)
    held = [each.session for each in (await target.client.status()).phones]
    expect(begun.session not in held, "a closed session holds a phone")
    await _raises(SessionNotFound, target.client.renew(begun.session), "renewing what is closed")


async def a_cancelled_step_voids_at_most_its_episode(target: Target) -> None:
    async with _session(target) as session:
        step = asyncio.create_task(session.step([phone("wait", seconds=5), replace(HOME, id="1")]))
        await asyncio.sleep(0.01)
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)
        with contextlib.suppress(InfrastructureError, OutOfOrder):
            await target.client.step(session.id, 2, [])
    async with _session(target) as session:
        expect((await session.step([HOME])).state is EpisodeState.RUNNING, "the service did not go on")


async def errors_name_their_reason(target: Target) -> None:
    client = target.client
    error = await _raises(UnknownName, client.reset(f"{target.task}x", seed=0), "an unknown task")
    expect(target.task in str(error), "the error does not name the close task")
    await _raises(TaskError, client.reset(target.task, seed=0, options=SessionOptions(image_quality=999)), "quality")
    await _raises(SessionNotFound, client.step("nobody", 1, []), "an unknown session")
    async with _session(target) as session:
        calls = [replace(HOME, id=str(index)) for index in range(5000)]
        await _raises(LimitExceeded, client.step(session.id, 1, calls), "5000 calls in a step")
        await _raises(LimitExceeded, client.fork(session.id, 100_000), "100000 forks")
        bad = pb.StepRequest(session=session.id, seq=1, calls=[pb.ToolCall(name="phone", arguments_json="{")])
        status = (await _bare_step(target, bad)).results[0].status
        expect(status == pb.TOOL_STATUS_REJECTED, f"bad JSON is {pb.ToolStatus.Name(status)}")


async def tells_watchers_what_happens(target: Target) -> None:
    async with target.client.watch() as events:
        async with _session(target) as session:
            await session.step([HOME])
        kinds = []
        async with asyncio.timeout(10):
            async for event in events:
                if event.session == session.id:
                    kinds.append(event.kind)
                if kinds[-1:] == ["close"]:
                    break
        expect(kinds == ["reset", "step", "close"], f"a watcher heard {kinds}")


async def answers_health_checks(target: Target) -> None:
    async with target.channel() as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "envs.v1.EnvService"):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
            expect(answer.status == health_pb2.HealthCheckResponse.SERVING, f"health of {service!r} is not SERVING")


async def describes_itself_by_reflection(target: Target) -> None:
    question = reflection_pb2.ServerReflectionRequest(file_containing_symbol="envs.v1.EnvService")
    async with target.channel() as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = stub.ServerReflectionInfo(iter([question]), timeout=10, metadata=target.client.trust.metadata)
        answer = await answers.read()
    file = FileDescriptorProto.FromString(answer.file_descriptor_response.file_descriptor_proto[0])
    expect("Reset" in [method.name for method in file.service[0].method], "reflection does not know Reset")


BEHAVIOURS: tuple[Behaviour, ...] = (
    lists_its_tasks_sorted,
    same_task_and_seed_begin_alike,
    observes_atomically_and_in_order,
    repeats_a_stored_step,
    runs_concurrent_duplicates_once,
    refuses_steps_out_of_order,
    tells_the_model_its_mistakes,
    sends_each_picture_once,
    forks_into_equal_and_independent_sessions,
    an_empty_episode_earns_nothing,
    finishing_ends_the_episode,
    the_turn_limit_truncates,
    a_lease_runs_out,
    renewing_keeps_a_session,
    closing_gives_the_phone_back,
    a_cancelled_step_voids_at_most_its_episode,
    errors_name_their_reason,
    tells_watchers_what_happens,
    answers_health_checks,
    describes_itself_by_reflection,
)


# --- running them ----------------------------------------------------------------------------------------------------


def _session(target: Target, **options: float) -> Session:
    """Return a session of the target's task that begins with `async with`."""
    changed: SessionOptions = replace(target.options, **options)  # type: ignore[arg-type]
    return target.client.session(target.task, seed=target.seed, options=changed)


async def _raises(kind: type[Refusal], work: Awaitable[object], what: str) -> Refusal:
    """Return the error that the work is refused with. Raises: NotConforming: another one, or none."""
    try:
        await work
    except kind as error:
        return error
    except RLFactoryError as error:
        raise NotConforming(f"{what} was refused as {type(error).__name__}: {error}") from error
    raise NotConforming(f"{what} was not refused as {kind.__name__}")


async def _bare_step(target: Target, request: pb.StepRequest) -> pb.StepResponse:
    """Send a step past the client, which would neither send every request nor show all of an answer."""
    async with target.channel() as channel:
        stub = EnvServiceStub(channel)
        response: pb.StepResponse = await stub.Step(request, timeout=30, metadata=target.client.trust.metadata)
    return response


async def _until_gone(target: Target, session: str) -> None:
    """Return when no phone is held by the session. Raises: NotConforming: not within 10 s."""
    deadline = time.monotonic() + 10
    while any(phone.session == session for phone in (await target.client.status()).phones):
        expect(time.monotonic() < deadline, "a session outlived its lease")
        await asyncio.sleep(0.05)


async def examine(target: Target, behaviours: Sequence[Behaviour] = BEHAVIOURS) -> tuple[Finding, ...]:
    """Try the behaviours one after the other; a failure of one does not stop the rest."""
    findings = []
    for behaviour in behaviours:
        started = time.monotonic()
        problem = ""
        try:
            await behaviour(target)
        except (NotConforming, RLFactoryError, grpc.aio.AioRpcError, TimeoutError) as error:
            problem = f"{type(error).__name__}: {error}"
        findings.append(Finding(name=behaviour.__name__, problem=problem, wall_s=time.monotonic() - started))
    return tuple(findings)
