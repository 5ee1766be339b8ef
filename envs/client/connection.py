"""The connection to one environment service: opened, kept alive, and asked again where that is safe."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc

from rlfactory.envs.api import tracing
from rlfactory.envs.api.errors import InfrastructureError, ProtocolMismatch, RLFactoryError
from rlfactory.envs.client.config import ClientConfig
from rlfactory.envs.client.steps import StepCalls, failure
from rlfactory.envs.wire import handshake
from rlfactory.envs.wire.faults import from_metadata
from rlfactory.envs.wire.load import Load, load_in
from rlfactory.envs.wire.stub import EnvServiceStub
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.envs.wire.v1 import env_pb2 as pb

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


class Connection:
    """A channel to one service, and what it said last of its load."""

    def __init__(self, address: str, *, config: ClientConfig, trust: ClientTrust) -> None:
        """Prepare a connection to `host:port`; nothing is connected before `open`."""
        self.address = address
        self.load = Load()
        """As of the last answer, or as the directory of a cluster told later."""
        self.heard_s = -math.inf
        """When the service itself said its load last, by the monotonic clock."""
        self.begun = 0
        """Sessions of ours that were begun there."""
        self.beginning: set[int] = set()
        """Sessions of ours that are just being begun there, by the numbers of the calls before."""
        self.gone = ""
        """Why nobody will ever answer here again; "" while somebody may."""
        self._config = config
        self._trust = trust
        self._metadata = trust.metadata
        self._asked = 0
        self._answered = 0
        """The latest call, by its number, that was answered: the load has what was asked for before it."""
        self._channel: grpc.aio.Channel | None = None
        self._stub: Any = None
        self.steps = StepCalls(self.stub, self._heard)

    async def open(self) -> None:
        """Connect. Raises: what `EnvClient.__aenter__` does."""
        self._channel = self._trust.channel(
            self.address,
            options=(
                ("grpc.max_receive_message_length", self._config.max_message_bytes),
                ("grpc.max_send_message_length", self._config.max_message_bytes),
                ("grpc.enable_retries", 0),
                ("grpc.initial_reconnect_backoff_ms", 100),
                ("grpc.max_reconnect_backoff_ms", 300),
                ("grpc.min_reconnect_backoff_ms", CONNECT_PATIENCE_MS),
                *KEEPALIVE,
            ),
        )
        try:
            async with asyncio.timeout(self._config.connect_timeout_s):
                await self._channel.channel_ready()
            self._stub = EnvServiceStub(self._channel)
            await self.call("Handshake", handshake.asked())
        except TimeoutError:
            why = await self._why_not()
            await self.aclose()
            raise InfrastructureError(f"no environment service at {self.address}{why}") from None
        except BaseException:
            await self.aclose()
            raise

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

    @property
    def free(self) -> int:
        """How many more sessions would find a phone there at once."""
        return self.load.free - self._unheard

    @property
    def room(self) -> int:
        """How many more sessions fit: phones that are just given back count, too; below 0 while some wait."""
        load = self.load
        return (load.phones - load.sessions if load.phones else load.free) - load.waiting - self._unheard

    @property
    def _unheard(self) -> int:
        """How many sessions are being begun that the load does not know yet."""
        return sum(number >= self._answered for number in self.beginning) if self.beginning else 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a session that is being begun, for those that choose meanwhile."""
        number = self._asked = self._asked + 1
        self.beginning.add(number)
        try:
            yield
            self.begun += 1
        finally:
            self.beginning.discard(number)

    def _heard(self, load: Load) -> None:
        self.load, self.heard_s = load, time.monotonic()

    async def aclose(self, *, gone: str = "") -> None:
        """Close the connection, for good where it is said why. Idempotent."""
        self.gone = self.gone or gone
        await self.steps.aclose()
        channel, self._channel, self._stub = self._channel, None, None
        if channel is not None:
            await channel.close()

    def stub(self) -> Any:
        """Return the calls of the service. Raises: InfrastructureError: it is not open, or gone."""
        if self._stub is None:
            raise InfrastructureError(self.gone or "the client is not open: use `async with EnvClient(...)`")
        return self._stub

    async def call(
        self,
        method: str | Callable[..., Awaitable[Any]],
        request: object,
        *,
        attempt_s: float | None = None,
        total_s: float | None = None,
        patience_s: float | None = None,
    ) -> Any:
        """Make a call that is safe to repeat; repeat it after failures of transport, within the policy.

        Args: patience_s: how long to ask again for a service that does not answer; None: as the policy says.

        Raises:
            RLFactoryError: the service refused it, or failed.
            NoAnswer: the service did not answer.
        """
        retry = self._config.retry
        attempt_s = attempt_s or self._config.call_timeout_s
        end_s = time.monotonic() + (total_s or self._config.total_timeout_s)
        patience_s = retry.patience_s if patience_s is None else patience_s
        backoff_s = retry.backoff_s
        for attempt in itertools.count(1):
            try:
                timeout_s = min(attempt_s, end_s - time.monotonic())
                return await self._attempt(method, request, timeout_s)
            except grpc.aio.AioRpcError as error:
                if attempt == 1:
                    end_s = min(end_s, time.monotonic() + patience_s)
                late = self.gone or time.monotonic() + backoff_s >= end_s
                if attempt == retry.attempts or late or not _is_transport_failure(error):
                    raise self.ours(error) from None
            await asyncio.sleep(backoff_s * random.uniform(0.5, 1.0))  # so that clients do not come back all at once
            backoff_s = min(2 * backoff_s, retry.max_backoff_s)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _attempt(self, method: str | Callable[..., Awaitable[Any]], request: object, timeout_s: float) -> Any:
        begin = getattr(self.stub(), method) if isinstance(method, str) else method
        number = self._asked = self._asked + 1
        call = begin(request, timeout=timeout_s, metadata=self._traced())
        with closing_is_failure():
            answer = await call
        if isinstance(call, grpc.aio.UnaryUnaryCall) and (load := load_in(await call.trailing_metadata())):
            self._heard(load)
        self._answered = max(self._answered, number)
        return answer

    def _traced(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of a call: who we are, and what it is a part of."""
        span = tracing.carried()
        return (*self._metadata, (tracing.TRACEPARENT, span)) if span else tuple(self._metadata)

    def ours(self, error: grpc.aio.AioRpcError) -> RLFactoryError:
        """Return the class of `rlfactory.envs.api.errors` that a gRPC error stands for."""
        message = error.details() or error.code().name
        ours = from_metadata(message, _metadata(error))
        if ours is not None:
            return ours
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            return ProtocolMismatch(
                f"environment service at {self.address} speaks another version of envs.v1: {message}"
            )
        return NoAnswer(self.gone or f"environment service at {self.address}: {error.code().name}: {message}")


@contextmanager
def closing_is_failure() -> Iterator[None]:
    """Raise AioRpcError where gRPC raises CancelledError of a call whose channel was closed: the caller goes on."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise failure(grpc.StatusCode.CANCELLED, "the connection was closed") from None


class NoAnswer(InfrastructureError):
    """Nobody answered, as far as this side can tell; what was asked for may have been done."""


def _is_transport_failure(error: grpc.aio.AioRpcError) -> bool:
    """Tell whether no server answered: such a call may be repeated if it is idempotent."""
    if from_metadata("", _metadata(error)) is not None:
        return False
    details = error.details() or ""
    return error.code() in NOT_ANSWERED or any(words in details for words in NOT_ANSWERED_WORDS)


def _metadata(error: grpc.aio.AioRpcError) -> list[tuple[str, str | bytes]]:
    return [(key, value) for key, value in error.trailing_metadata() or ()]
