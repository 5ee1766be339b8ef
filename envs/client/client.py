"""The client of the environment service.

    async with EnvClient("127.0.0.1:7000") as client:
        async with client.session("settings.wifi_on", seed=7) as session:
            print(session.goal)
            result = await session.step([ToolCall(id="0", name="phone", arguments={"action": "key", "key": "HOME"})])

Errors are those of `envs.api.errors`, whatever gRPC calls them. A client belongs to the event loop it was opened in.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self, TypeVar

import grpc
from opentelemetry.trace import SpanKind

from rlfactory.envs.api import tracing
from rlfactory.envs.api.errors import InfrastructureError, ProtocolMismatch, RLFactoryError, TaskError
from rlfactory.envs.api.types import (
    Observation,
    ResetResult,
    SessionOptions,
    Split,
    StepResult,
    TaskInfo,
    ToolCall,
    split_named,
)
from rlfactory.envs.client.session import Session
from rlfactory.envs.client.steps import StepCalls, failure
from rlfactory.envs.wire import convert, handshake
from rlfactory.envs.wire.faults import WATCHING, from_metadata
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.envs.wire.v1 import env_pb2 as pb

Message = TypeVar("Message")

__all__ = ["ClientConfig", "EnvClient", "PhoneStatus", "RetryPolicy", "ServiceStatus", "Session", "WatchEvent"]

KEEPALIVE: Final = (
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
)
"""A connection on which nobody answers any more is given up within 10 s; the next call makes another."""
CONNECT_PATIENCE_MS: Final = 3_000
"""For a new connection; one that is swallowed as it is made would be waited for 20 s."""
NOT_ANSWERED: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,  # by gRPC itself, before the service has seen the call
)
NOT_ANSWERED_WORDS: Final = ("Concurrent RPC limit", "Internal error from Core")
"""What gRPC says of a service with too many calls under way, and when a connection breaks as something is written."""
CLOSE_PATIENCE_S: Final = 3.0
"""A service that is gone has no session to keep."""
DEADLINE_SLACK_S: Final = 5.0
"""What a step's gRPC deadline allows beyond the step's own: the server is to end it and to say why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How a call that is safe to repeat is repeated, after failures of transport only.

    An answer of the server is final, an error included; so a step (at most once by its seq) may be retried.
    """

    patience_s: float = 10.0
    """A call is repeated for so long after its first failure; a step as long as its lease, if that is more."""
    attempts: int | None = None
    """At most so many; None: as many as there is time for."""
    backoff_s: float = 0.05
    """Before the second attempt; doubled before each further one."""
    max_backoff_s: float = 0.5

    def __post_init__(self) -> None:
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts}")
        if min(self.patience_s, self.backoff_s, self.max_backoff_s) < 0:
            raise ValueError("patience_s, backoff_s and max_backoff_s must not be below 0")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientConfig:
    """Deadlines in seconds, and sizes."""

    connect_timeout_s: float = 10.0
    call_timeout_s: float = 10.0
    """Of each attempt at a call that only reads or renews."""
    reset_timeout_s: float = 120.0
    """Of Reset and Fork, which may wait for a phone."""
    total_timeout_s: float = 60.0
    """Over all attempts at an idempotent call other than a step."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    max_message_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        for name in ("connect_timeout_s", "call_timeout_s", "reset_timeout_s", "total_timeout_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneStatus:
    """One phone of the service."""

    serial: str
    state: str
    session: str
    age_s: float
    resets: int
    failures: int
    recycled: int
    memory_bytes: int
    last_error: str
    host: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceStatus:
    """The state of the service."""

    version: str
    uptime_s: float
    sessions: int
    max_sessions: int
    phones: tuple[PhoneStatus, ...]
    counters: Mapping[str, float]
    waiting: int
    """Calls that wait for a phone."""
    starts_paused_s: float
    """Until phones may be started again; above 0 when the host could not start the last ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchEvent:
    """Something that happened in the service."""

    time_s: float
    """Unix time."""
    session: str
    kind: str
    message: str
    dropped: int
    """Events lost before this one, because the watcher read too slowly."""


_PHONE_FIELDS: Final = tuple(each.name for each in fields(PhoneStatus) if each.name != "state")
_EVENT_FIELDS: Final = tuple(each.name for each in fields(WatchEvent) if each.name != "kind")


class EnvClient:
    """A connection to one environment service; safe for many tasks of one event loop at once."""

    def __init__(self, address: str, *, config: ClientConfig | None = None, trust: ClientTrust | None = None) -> None:
        """Prepare a client of the service at `host:port`; nothing is connected before `async with`."""
        self.address = address
        self.config = config or ClientConfig()
        self.trust = trust or ClientTrust()
        self._metadata = self.trust.metadata
        self._channel: grpc.aio.Channel | None = None
        self._stub: Any = None
        self._step_calls = StepCalls(self._open_stub)
        self._images: dict[str, dict[str, bytes]] = {}
        self._dropping: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            InfrastructureError: nobody answers at the address within `connect_timeout_s`, or not whom we trust.
            ProtocolMismatch: who answers speaks another version of the protocol.
            Unauthenticated: the service wants a token, or another one.
            TaskError: the token would cross a network in plain text.
        """
        self._channel = self.trust.channel(
            self.address,
            options=(
                ("grpc.max_receive_message_length", self.config.max_message_bytes),
                ("grpc.max_send_message_length", self.config.max_message_bytes),
                ("grpc.enable_retries", 0),
                ("grpc.initial_reconnect_backoff_ms", 100),
                ("grpc.max_reconnect_backoff_ms", 300),
                ("grpc.min_reconnect_backoff_ms", CONNECT_PATIENCE_MS),
                *KEEPALIVE,
            ),
        )
        try:
            async with asyncio.timeout(self.config.connect_timeout_s):
                await self._channel.channel_ready()
            self._stub = EnvServiceStub(self._channel)
            await self._repeatable(lambda: self._open_stub().Handshake, handshake.asked())
        except TimeoutError:
            why = await self._why_not()
            await self.aclose()
            raise InfrastructureError(f"no environment service at {self.address}{why}") from None
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.aclose())

    async def _why_not(self) -> str:
        """Return what stands between us and the service, as gRPC tells it to a call; "" when it tells nothing new."""
        stub = EnvServiceStub(self._channel)
        try:
            await stub.Status(pb.StatusRequest(), timeout=1.0)
        except grpc.aio.AioRpcError as error:
            details = error.details() or ""
        else:
            details = ""
        if "handshak" in details.lower() or "ssl" in details.lower():
            return f": the TLS handshake failed ({details})"
        if "socket closed" in details.lower():
            return ": it closed the connection (does it speak TLS?)"
        return ""

    async def aclose(self) -> None:
        """Close the connection; sessions left open end with their leases. Idempotent."""
        await asyncio.gather(*self._dropping, return_exceptions=True)
        await self._step_calls.aclose()
        channel, self._channel, self._stub = self._channel, None, None
        self._images.clear()
        if channel is not None:
            await channel.close()

    # --- the calls ---------------------------------------------------------------------------------------------------

    async def list_tasks(self, *, suite: str = "", split: Split | None = None) -> tuple[TaskInfo, ...]:
        """Return the tasks on offer, sorted by name; by default of every suite and split."""
        request = pb.ListTasksRequest(suite=suite, split=convert.SPLIT_TO_PB[split] if split else None)
        response = await self._repeatable(lambda: self._open_stub().ListTasks, request)
        return tuple(convert.task_from_pb(task) for task in response.tasks)

    async def reset(
        self, task: str, *, seed: int, split: Split = "train", options: SessionOptions | None = None
    ) -> ResetResult:
        """Begin an episode, once, however often its answer is lost on the way.

        Raises:
            UnknownName, TaskError: no such task or split, or a bad option.
            LimitExceeded: the service holds as many sessions as it may.
            InfrastructureError: no phone could be brought to the task's state.
            EnvironmentFault: the task's own setup failed.
        """
        options = options or SessionOptions()
        try:
            request = pb.ResetRequest(
                task=task,
                seed=seed,
                split=convert.SPLIT_TO_PB[split_named(split)],
                options=convert.options_to_pb(options),
            )
        except (ValueError, TypeError) as error:
            raise TaskError(f"no such task, seed or option can be asked for: {error}") from None
        response = await self._named(lambda: self._open_stub().Reset, request)
        return self._begun(convert.reset_from_pb(response))

    async def step(
        self,
        session: str,
        seq: int,
        calls: Sequence[ToolCall],
        *,
        timeout_s: float = 30.0,
        patience_s: float = 0.0,
    ) -> StepResult:
        """Carry out the calls of one turn, at most once per (session, seq), within about `timeout_s`.

        Args: patience_s: how long to ask again for a service that does not answer, if that is more than the policy's.

        Raises:
            SessionNotFound, OutOfOrder, EpisodeOver, LimitExceeded: the session's use was wrong.
            InfrastructureError, EnvironmentFault, JudgeError: the episode is void.
        """
        request = pb.StepRequest(session=session, seq=seq, calls=convert.calls_to_pb(calls))
        with tracing.part("envs.v1.EnvService/Step", kind=SpanKind.CLIENT, rpc__system="grpc"):
            request.traceparent = tracing.carried()
            response = await self._repeatable(
                lambda: self._step_calls,
                request,
                attempt_s=timeout_s + DEADLINE_SLACK_S,
                total_s=math.inf,
                patience_s=max(patience_s, self.config.retry.patience_s),
            )
        result = convert.step_from_pb(response)
        return replace(result, observation=self._with_bytes(session, result.observation))

    async def fork(self, session: str, n: int) -> tuple[ResetResult, ...]:
        """Make n sessions in the present state of this one; their seq continues after the parent's.

        Raises:
            SessionNotFound, EpisodeOver: there is nothing to fork.
            LimitExceeded: more than the service may hold.
            InfrastructureError: a phone could not be brought to the state.
        """
        request = pb.ForkRequest(session=session, n=n)
        response = await self._named(lambda: self._open_stub().Fork, request)
        return tuple(self._begun(convert.reset_from_pb(each)) for each in response.sessions)

    async def close(self, session: str) -> None:
        """End a session and give its phone back. Idempotent."""
        self._images.pop(session, None)
        request = pb.CloseSessionRequest(session=session)
        await self._repeatable(lambda: self._open_stub().CloseSession, request, patience_s=CLOSE_PATIENCE_S)

    async def renew(self, session: str) -> float:
        """Renew the lease and return its new end (Unix time). Raises: SessionNotFound."""
        response = await self._repeatable(lambda: self._open_stub().Renew, pb.RenewRequest(session=session))
        return float(response.lease_expiry_s)

    async def status(self) -> ServiceStatus:
        """Return the state of the service."""
        message = await self._repeatable(lambda: self._open_stub().Status, pb.StatusRequest())
        return ServiceStatus(
            **convert.same(message, ("version", "uptime_s", "sessions", "max_sessions", "waiting", "starts_paused_s")),
            phones=tuple(
                PhoneStatus(**convert.same(phone, _PHONE_FIELDS), state=convert.enumerator(pb.PhoneState, phone.state))
                for phone in message.phones
            ),
            counters=dict(message.counters),
        )

    @asynccontextmanager
    async def watch(self, session: str = "") -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Watch one session, or all: `async with client.watch() as events: async for event in events: ...`.

        Nothing that happens inside the block is missed, but for what `WatchEvent.dropped` counts.

        Raises: LimitExceeded: too many clients watch.
        """

        async def begin(request: pb.WatchRequest, *, timeout: float, metadata: Any) -> Any:
            stream = self._open_stub().Watch(request, metadata=metadata)
            try:
                async with asyncio.timeout(timeout):
                    if WATCHING not in tuple(await stream.initial_metadata() or ()):
                        await stream.read()  # raises what the server refused with
            except TimeoutError:
                stream.cancel()
                raise failure(grpc.StatusCode.DEADLINE_EXCEEDED, "Watch was not answered") from None
            except BaseException:
                stream.cancel()
                raise
            return stream

        stream = await self._repeatable(lambda: begin, pb.WatchRequest(session=session))
        try:
            yield self._events(stream)
        except grpc.aio.AioRpcError as error:
            raise _ours(error, self.address) from None
        finally:
            stream.cancel()

    async def _events(self, stream: Any) -> AsyncIterator[WatchEvent]:
        try:
            async for event in stream:
                yield WatchEvent(
                    **convert.same(event, _EVENT_FIELDS), kind=convert.enumerator(pb.EventKind, event.kind)
                )
        except grpc.aio.AioRpcError as error:
            raise _ours(error, self.address) from None

    def session(
        self, task: str, *, seed: int, split: Split = "train", options: SessionOptions | None = None
    ) -> Session:
        """Return a session that begins with `async with` and is closed at its end."""
        return Session(self, task=task, seed=seed, split=split, options=options or SessionOptions())

    # --- below the calls ---------------------------------------------------------------------------------------------

    def _open_stub(self) -> Any:
        if self._stub is None:
            raise InfrastructureError("the client is not open: use `async with EnvClient(...)`")
        return self._stub

    async def _named(self, method: Callable[[], Callable[..., Awaitable[Any]]], request: Any) -> Any:
        """Make a call that begins sessions, under a name of its own: repeated, it begins no others."""
        request.request_id = secrets.token_hex(16)
        timeout_s = self.config.reset_timeout_s
        try:
            return await self._repeatable(method, request, attempt_s=timeout_s, total_s=timeout_s)
        except asyncio.CancelledError:
            dropping = asyncio.create_task(self._drop(request.request_id))
            self._dropping.add(dropping)
            dropping.add_done_callback(self._dropping.discard)
            raise

    async def _drop(self, request_id: str) -> None:
        """Have what a request began closed: its answer may be under way to nobody."""
        with contextlib.suppress(RLFactoryError):
            request = pb.CloseSessionRequest(request_id=request_id)
            await self._repeatable(lambda: self._open_stub().CloseSession, request, patience_s=CLOSE_PATIENCE_S)

    async def _repeatable(
        self,
        method: Callable[[], Callable[..., Awaitable[Any]]],
        request: object,
        *,
        attempt_s: float | None = None,
        total_s: float | None = None,
        patience_s: float | None = None,
    ) -> Any:
        """Make a call that is safe to repeat; repeat it after failures of transport, within the policy."""
        retry = self.config.retry
        attempt_s = attempt_s or self.config.call_timeout_s
        end_s = time.monotonic() + (total_s or self.config.total_timeout_s)
        patience_s = retry.patience_s if patience_s is None else patience_s
        backoff_s = retry.backoff_s
        for attempt in itertools.count(1):
            try:
                timeout_s = min(attempt_s, end_s - time.monotonic())
                return await method()(request, timeout=timeout_s, metadata=self._traced())
            except grpc.aio.AioRpcError as error:
                if attempt == 1:
                    end_s = min(end_s, time.monotonic() + patience_s)
                late = time.monotonic() + backoff_s >= end_s
                if attempt == retry.attempts or late or not _is_transport_failure(error):
                    raise _ours(error, self.address) from None
            await asyncio.sleep(backoff_s * random.uniform(0.5, 1.0))  # so that clients do not come back all at once
            backoff_s = min(2 * backoff_s, retry.max_backoff_s)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _traced(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of a call: who we are, and what it is a part of."""
        span = tracing.carried()
        return (*self._metadata, (tracing.TRACEPARENT, span)) if span else tuple(self._metadata)

    def _begun(self, result: ResetResult) -> ResetResult:
        image = result.observation.image
        self._images[result.session] = {} if image is None else {image.digest: image.data}
        return result

    def _with_bytes(self, session: str, observation: Observation) -> Observation:
        """Fill in the image's bytes if the server left them out because this session has sent them before."""
        image = observation.image
        if image is None:
            return observation
        held = self._images.setdefault(session, {})
        if image.data:
            held[image.digest] = image.data
            return observation
        if image.digest not in held:
            raise InfrastructureError(f"session {session}: the server left out an image that was never received")
        return replace(observation, image=replace(image, data=held[image.digest]))


def _is_transport_failure(error: grpc.aio.AioRpcError) -> bool:
    """Tell whether no server answered: such a call may be repeated if it is idempotent."""
    if from_metadata("", _metadata(error)) is not None:
        return False
    details = error.details() or ""
    return error.code() in NOT_ANSWERED or any(words in details for words in NOT_ANSWERED_WORDS)


def _metadata(error: grpc.aio.AioRpcError) -> list[tuple[str, str | bytes]]:
    return [(key, value) for key, value in error.trailing_metadata() or ()]


def _ours(error: grpc.aio.AioRpcError, address: str) -> RLFactoryError:
    """Return the class of `rlfactory.envs.api.errors` that a gRPC error stands for."""
    message = error.details() or error.code().name
    ours = from_metadata(message, _metadata(error))
    if ours is not None:
        return ours
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return ProtocolMismatch(f"environment service at {address} speaks another version of envs.v1: {message}")
    return InfrastructureError(f"environment service at {address}: {error.code().name}: {message}")
