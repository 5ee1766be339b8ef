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
import math
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

import grpc
from opentelemetry.trace import SpanKind

from rlfactory.envs.api import tracing
from rlfactory.envs.api.errors import (
    InfrastructureError,
    LimitExceeded,
    RLFactoryError,
    SessionNotFound,
    TaskError,
)
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
from rlfactory.envs.client.addresses import Addresses, addresses_of
from rlfactory.envs.client.config import ClientConfig, RetryPolicy
from rlfactory.envs.client.connection import Connection, NoAnswer, closing_is_failure
from rlfactory.envs.client.hosts import Hosts
from rlfactory.envs.client.ray_cluster import SCHEME, RayAddresses
from rlfactory.envs.client.session import Session
from rlfactory.envs.client.status import PhoneStatus, ServiceStatus, status_of, together
from rlfactory.envs.client.steps import failure
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.crowds import MOST_CALLS
from rlfactory.envs.wire.faults import WATCHING
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.envs.wire.v1 import env_pb2 as pb

__all__ = ["ClientConfig", "EnvClient", "PhoneStatus", "RetryPolicy", "ServiceStatus", "Session", "WatchEvent"]

CLOSE_PATIENCE_S: Final = 3.0
"""A service that is gone has no session to keep."""
ELSEWHERE_S: Final = 0.5
"""How long to ask a service again that does not answer, where others can begin the session."""
DEADLINE_SLACK_S: Final = 5.0
"""What a step's gRPC deadline allows beyond the step's own: the server is to end it and to say why."""


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


_EVENT_FIELDS: Final = tuple(each.name for each in fields(WatchEvent) if each.name != "kind")


class EnvClient:
    """A client of one environment service, or of several; safe for many tasks of one event loop at once."""

    def __init__(
        self,
        address: str | Sequence[str] | Addresses,
        *,
        config: ClientConfig | None = None,
        trust: ClientTrust | None = None,
    ) -> None:
        """Prepare a client of the service at `host:port`; nothing is connected before `async with`.

        Several addresses (a list, or one text with commas), all that `dns:///host:port` names, and the nodes of a Ray
        cluster (`ray://`) are several services: sessions begin where phones are free, and elsewhere when a service
        drains or dies.
        """
        source: Addresses
        if isinstance(address, str) and address.startswith(SCHEME):
            source = RayAddresses(address)
        else:
            source = addresses_of(address) if isinstance(address, str | Sequence) else address
        self.address = address if isinstance(address, str) else str(address)
        self.config = config or ClientConfig()
        self.trust = trust or ClientTrust()
        self._source = source
        self._hosts = Hosts(source, self._connection)
        self._images: dict[str, dict[str, bytes]] = {}
        self._dropping: set[asyncio.Task[None]] = set()

    def _connection(self, address: str) -> Connection:
        return Connection(address, config=self.config, trust=self.known_trust)

    @property
    def load(self) -> Load:
        """How busy the service is, as of its last answer; of several, the first that answers."""
        return self._hosts.any().load

    async def __aenter__(self) -> Self:
        """Connect; to at least one of several services.

        Raises:
            InfrastructureError: nobody answers at the address within `connect_timeout_s`, or not whom we trust.
            ProtocolMismatch: who answers speaks another version of the protocol.
            Unauthenticated: the service wants a token, or another one.
            TaskError: the token would cross a network in plain text.
        """
        try:
            await self._hosts.open()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.aclose())

    async def aclose(self) -> None:
        """Close the connection; sessions left open end with their leases. Idempotent."""
        await asyncio.gather(*self._dropping, return_exceptions=True)
        await self._hosts.aclose()
        self._images.clear()

    # --- the calls ---------------------------------------------------------------------------------------------------

    async def list_tasks(self, *, suite: str = "", split: Split | None = None) -> tuple[TaskInfo, ...]:
        """Return the tasks on offer, sorted by name; by default of every suite and split."""
        request = pb.ListTasksRequest(suite=suite, split=convert.SPLIT_TO_PB[split] if split else None)
        response = await self._hosts.any().call("ListTasks", request)
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

        async def begin(home: Connection, phone_wait_s: float | None) -> ResetResult:
            if phone_wait_s is not None:
                request.options.phone_wait_s = phone_wait_s
            response = await self._named(home, "Reset", request)
            return self._begun(home, convert.reset_from_pb(response))

        return await self._hosts.begun(begin, timeout_s=self.config.reset_timeout_s)

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
        if len(calls) > MOST_CALLS:
            raise LimitExceeded(f"a step of {len(calls)} calls; no service takes more than {MOST_CALLS}")
        request = pb.StepRequest(session=session, seq=seq, calls=convert.calls_to_pb(calls))
        with tracing.part("envs.v1.EnvService/Step", kind=SpanKind.CLIENT, rpc__system="grpc") as span:
            if span is not None:
                request.traceparent = tracing.carried()
            home = self._hosts.of(session)
            response = await home.call(
                home.steps,
                request,
                attempt_s=timeout_s + DEADLINE_SLACK_S,
                total_s=math.inf,
                patience_s=max(patience_s, self.config.retry.patience_s),
            )
        result = convert.step_from_pb(response)
        observation = self._with_bytes(session, result.observation)
        return result if observation is result.observation else replace(result, observation=observation)

    async def fork(self, session: str, n: int) -> tuple[ResetResult, ...]:
        """Make n sessions in the present state of this one; their seq continues after the parent's.

        Raises:
            SessionNotFound, EpisodeOver: there is nothing to fork.
            LimitExceeded: more than the service may hold.
            InfrastructureError: a phone could not be brought to the state.
        """
        request = pb.ForkRequest(session=session, n=n)
        home = self._hosts.of(session)
        response = await self._named(home, "Fork", request)
        return tuple(self._begun(home, convert.reset_from_pb(each)) for each in response.sessions)

    async def close(self, session: str) -> None:
        """End a session and give its phone back. Idempotent."""
        self._images.pop(session, None)
        try:
            home = self._hosts.of(session)
        except SessionNotFound:
            return  # its service is gone, or it is closed
        self._hosts.forget(session)
        await home.call("CloseSession", pb.CloseSessionRequest(session=session), patience_s=CLOSE_PATIENCE_S)

    async def renew(self, session: str) -> float:
        """Renew the lease and return its new end (Unix time). Raises: SessionNotFound."""
        response = await self._hosts.of(session).call("Renew", pb.RenewRequest(session=session))
        return float(response.lease_expiry_s)

    @property
    def known_trust(self) -> ClientTrust:
        """How the services are known: as this client was told, or as their cluster says."""
        return self._source.trust or self.trust

    def home(self, session: str) -> str:
        """Return the address of the service that a session is at. Raises: SessionNotFound, InfrastructureError."""
        return self._hosts.of(session).address

    @property
    def services(self) -> tuple[str, ...]:
        """The addresses of the services that sessions may begin at just now."""
        return tuple(each.address for each in self._hosts.open_ones())

    @property
    def phones(self) -> int:
        """How many phones the services have at which sessions may begin just now, as they said last; 0: of none."""
        return self._hosts.phones

    async def status(self) -> ServiceStatus:
        """Return the state of the service; of several services together, those that answer."""
        return together(tuple((await self.statuses()).values()))

    async def statuses(self) -> Mapping[str, ServiceStatus]:
        """Return the state of each service that answers, by its address."""
        asked = self._hosts.open_ones()
        answers = await asyncio.gather(
            *(each.call("Status", pb.StatusRequest()) for each in asked), return_exceptions=self._hosts.several
        )
        return {
            home.address: status_of(answer, draining=bool(home.load.draining))
            for home, answer in zip(asked, answers, strict=True)
            if not isinstance(answer, BaseException)
        }

    @asynccontextmanager
    async def watch(self, session: str = "") -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Watch one session, or all of one service: `async with client.watch() as events: async for event in events`.

        Nothing that happens inside the block is missed, but for what `WatchEvent.dropped` counts.

        Raises: LimitExceeded: too many clients watch.
        """

        if self._hosts.several and not session:
            raise TaskError("several services are connected: watch one session, or connect to one service")
        home = self._hosts.of(session) if session else self._hosts.any()

        async def begin(request: pb.WatchRequest, *, timeout: float, metadata: Any) -> Any:
            stream = home.stub().Watch(request, metadata=metadata)
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

        stream = await home.call(begin, pb.WatchRequest(session=session))
        try:
            yield self._events(home, stream)
        except grpc.aio.AioRpcError as error:
            raise home.ours(error) from None
        finally:
            stream.cancel()

    async def _events(self, home: Connection, stream: Any) -> AsyncIterator[WatchEvent]:
        try:
            while True:
                with closing_is_failure():
                    event = await stream.read()
                if event is grpc.aio.EOF:
                    return
                yield WatchEvent(
                    **convert.same(event, _EVENT_FIELDS), kind=convert.enumerator(pb.EventKind, event.kind)
                )
        except grpc.aio.AioRpcError as error:
            raise home.ours(error) from None

    def session(
        self, task: str, *, seed: int, split: Split = "train", options: SessionOptions | None = None
    ) -> Session:
        """Return a session that begins with `async with` and is closed at its end."""
        return Session(self, task=task, seed=seed, split=split, options=options or SessionOptions())

    # --- below the calls ---------------------------------------------------------------------------------------------

    async def _named(self, home: Connection, method: str, request: Any) -> Any:
        """Make a call that begins sessions, under a name of its own: repeated, it begins no others."""
        request.request_id = secrets.token_hex(16)
        timeout_s = self.config.reset_timeout_s
        patience_s = ELSEWHERE_S if method == "Reset" and self._hosts.several else None
        try:
            return await home.call(method, request, attempt_s=timeout_s, total_s=timeout_s, patience_s=patience_s)
        except (asyncio.CancelledError, NoAnswer):
            dropping = asyncio.create_task(self._drop(home, request.request_id))
            self._dropping.add(dropping)
            dropping.add_done_callback(self._dropping.discard)
            raise

    async def _drop(self, home: Connection, request_id: str) -> None:
        """Have what a request began closed: its answer may be under way to nobody."""
        with contextlib.suppress(RLFactoryError):
            request = pb.CloseSessionRequest(request_id=request_id)
            await home.call("CloseSession", request, patience_s=CLOSE_PATIENCE_S)

    def _begun(self, home: Connection, result: ResetResult) -> ResetResult:
        self._hosts.keep(result.session, home)
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
