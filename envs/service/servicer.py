"""The gRPC face of a `SessionManager`: converts, calls, and says errors as the protocol does."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import asdict
from functools import partial, wraps
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.pool import PhoneState, PhoneStatus
from rlfactory.envs.api import tracing
from rlfactory.envs.api.errors import Blame, InfrastructureError, LimitExceeded, RLFactoryError, TaskError
from rlfactory.envs.service import access_log
from rlfactory.envs.service.access_log import MAX_NAME_CHARS
from rlfactory.envs.service.limits import Quotas
from rlfactory.envs.service.manager import SessionManager
from rlfactory.envs.service.services import TENANT
from rlfactory.envs.service.step_stream import LargePace, Pace, StepStream, UnderWay, Unwritten, Writer
from rlfactory.envs.wire import convert, handshake
from rlfactory.envs.wire.convert import Answer, parsed, serialized
from rlfactory.envs.wire.faults import WATCHING, device_failure, to_bytes, to_status
from rlfactory.envs.wire.load import Load, load_out
from rlfactory.envs.wire.stub import SERVICE
from rlfactory.envs.wire.v1 import env_pb2 as pb

log = logging.getLogger(__name__)

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Request = TypeVar("Request")
Response = TypeVar("Response")
Method = Callable[["EnvService", Request, "Context"], Awaitable[Response]]

REQUEST_WITHIN_S: Final = 10.0
"""A call that has not said by then what it asks is ended."""

METHODS: Final = SERVICE.methods_by_name
STEP: Final = f"{SERVICE.full_name}/Step"

PHONE_STATES: Final = {
    PhoneState.STARTING: pb.PHONE_STATE_STARTING,
    PhoneState.FREE: pb.PHONE_STATE_READY,
    PhoneState.PROBED: pb.PHONE_STATE_PROBED,
    PhoneState.LEASED: pb.PHONE_STATE_LEASED,
    PhoneState.RESETTING: pb.PHONE_STATE_RESETTING,
    PhoneState.QUARANTINED: pb.PHONE_STATE_QUARANTINED,
}
ENDED: Final[ContextVar[str]] = ContextVar("ended", default="CANCELLED")
"""The code that the call has ended with; unless it says otherwise, its client has given it up."""
CAPABILITIES: Final = ("fork", "request_id", "steps", "watch")


def _answers(method: Method[Request, Response]) -> Method[bytes, Response]:
    """Read a method's request, and turn what it raises into a gRPC status with an ErrorInfo."""
    kind = GetMessageClass(METHODS[method.__name__].input_type)

    @wraps(method)
    async def answering(self: EnvService, data: bytes, context: Context) -> Response:
        try:
            answer = method(self, parsed(kind, data), context)
            data = b""
            return await answer
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller is told
            failure, data = _ours(error, method.__name__), b""
        return await _abort(context, method.__name__, failure)

    return answering


def _ours(error: Exception, doing: str) -> RLFactoryError:
    """Return what to tell the caller of a method that raised this; where it was raised is forgotten.

    The frames there hold the request, and may hold the error: all of it would stay until the garbage is collected.
    """
    if isinstance(error, RLFactoryError):
        failure = error
    elif isinstance(error, DeviceError):
        failure = device_failure(error, doing)
    else:
        log.error("%s failed", doing, exc_info=error)
        failure = InfrastructureError(f"{doing}: the service failed: {type(error).__name__}: {error}")
        failure.retryable = False
    known: BaseException | None = error
    while known is not None:
        known.__traceback__ = known.__context__ = None
        known = known.__cause__
    return failure


async def _abort(context: Context, method: str, error: RLFactoryError) -> NoReturn:
    code, message, metadata = to_status(error)
    if error.blame is Blame.CLIENT:
        access_log.refused(method, context.peer(), code.name, message, reason=error.reason)
    ENDED.set(code.name)
    await context.abort(code, message, metadata)
    raise AssertionError("unreachable: abort raises")


async def _received(context: Context) -> bytes | None:
    """Return the next message of a call, None after the last one."""
    data = await context.read()
    return None if data is grpc.aio.EOF else bytes(data)


async def _request(context: Context, method: str) -> bytes:
    """Return what a call asks. It is kept nowhere: a watcher stays for hours."""
    data = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(REQUEST_WITHIN_S):
            data = await _received(context)
    if data is None:
        await _abort(context, method, TaskError("no request came"))
    return data


def _traceparent(name: str, context: Context) -> str:
    """Return the span of the caller, if it traces; a step carries its own, which may come by a stream."""
    if name in ("Step", "Watch"):
        return ""
    sent = dict(context.invocation_metadata() or ()).get(tracing.TRACEPARENT, "")
    return sent if isinstance(sent, str) else ""


class EnvService:
    """Serves the sessions of one manager. Holds no state of its own but the streams that are open."""

    def __init__(self, manager: SessionManager, *, max_calls: int, quotas: Quotas, tenants: int) -> None:
        """Args: max_calls: of one tenant at a time. tenants: that share the service."""
        self._manager = manager
        self._max_calls = max_calls
        self._max_streams = quotas.streams or max_calls
        self._max_unwritten_bytes = quotas.unwritten_bytes or manager.limits.max_unwritten_bytes
        max_under_way_bytes = manager.limits.max_under_way_bytes
        max_of_tenant = quotas.part("under_way_bytes", max_under_way_bytes, tenants)
        self._under_way = UnderWay(max_under_way_bytes, max_of_tenant)
        self._calls: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        """Of steps, by tenant; they are calls, too."""
        self._started_s = time.monotonic()
        self._steps_played = manager.metrics.calls.labels("Step", "OK")
        self._step_streams: set[StepStream] = set()
        self._listings: dict[tuple[str, str], bytes] = {}
        """Of the tasks of a suite and split, serialized once."""
        self._unwritten_of: dict[str, Unwritten] = {}
        """By tenant: who does not read holds up no others."""
        self._paces: defaultdict[str, Pace] = defaultdict(partial(Pace, LargePace()))
        limits = {
            "calls": max_calls,
            "streams": self._max_streams,
            "under_way_bytes": max_of_tenant,
            "unwritten_bytes": self._max_unwritten_bytes,
            **manager.quotas_limits(),
        }
        manager.metrics.watch_use(limits, self._use)

    def _use(self) -> Iterator[tuple[str, str, float]]:
        """Yield how much of its quotas each tenant uses."""
        yield from ((tenant, "calls", number) for tenant, number in tuple(self._calls.items()))
        yield from ((tenant, "streams", number) for tenant, number in tuple(self._streams.items()))
        yield from self._manager.quotas_used()
        yield from ((tenant, "under_way_bytes", number) for tenant, number in tuple(self._under_way.bytes.items()))
        yield from ((tenant, "unwritten_bytes", each.bytes) for tenant, each in tuple(self._unwritten_of.items()))

    @property
    def _unwritten(self) -> Unwritten:
        tenant = TENANT.get()
        if tenant not in self._unwritten_of:
            self._unwritten_of[tenant] = Unwritten(self._max_unwritten_bytes)
        return self._unwritten_of[tenant]

    @property
    def handlers(self) -> grpc.GenericRpcHandler:
        """How it is served: each method as a stream, which begins before its request and sees its answer off."""
        serve = grpc.stream_stream_rpc_method_handler
        methods = {name: serve(self._admitting(name), response_serializer=serialized) for name in METHODS}
        return grpc.method_handlers_generic_handler(SERVICE.full_name, methods)

    def _admitting(self, name: str) -> Callable[[AsyncIterator[bytes], Context], Awaitable[None]]:
        """Return the method, for no more calls of a tenant than are its own, and for requests that come soon."""

        async def call(_: AsyncIterator[bytes], context: Context) -> None:
            tenant = TENANT.get()
            if self._calls[tenant] >= self._max_calls:
                own = f"this tenant has {self._calls[tenant]} calls under way; its quota of calls is {self._max_calls}"
                await _abort(context, name, LimitExceeded(own))
            if name == "Steps" and self._streams[tenant] >= self._max_streams:
                own = f"this tenant has {self._streams[tenant]} streams; its quota of streams is {self._max_streams}"
                await _abort(context, name, LimitExceeded(own))
            self._calls[tenant] += 1
            self._streams[tenant] += name == "Steps"
            try:
                if name == "Steps":
                    await self.Steps(context)
                    ENDED.set("OK")
                    return
                with tracing.served(f"{SERVICE.full_name}/{name}", _traceparent(name, context), rpc__method=name):
                    answer = await self._answered(name, context)
                if answer is not None:
                    context.set_trailing_metadata((load_out(self._load()),))
                    await self._write(context, serialized(answer))
                ENDED.set("OK")
            finally:
                self._calls[tenant] -= 1
                self._streams[tenant] -= name == "Steps"
                self._manager.metrics.calls.labels(name, ENDED.get()).inc()

        return call

    async def _answered(self, name: str, context: Context) -> Message | bytes | None:
        method: Callable[[bytes, Context], Awaitable[Message | bytes | None]] = getattr(self, name)
        if name == "Watch":  # keeps nothing of its request
            return await method(await _request(context, name), context)
        data = await _request(context, name)
        with self._under_way.hold(len(data)) as held:
            if held.refusal is not None:
                del data
                await _abort(context, name, held.refusal)
            await self._paces[TENANT.get()].turn(len(data))
            answer = method(data, context)
            del data  # who fails keeps alive what is known here
            return await answer

    def _is_about(self, **names: str) -> None:
        access_log.ABOUT.set({name: value[:MAX_NAME_CHARS] for name, value in names.items()})

    def _load(self) -> Load:
        manager = self._manager
        sessions, draining = manager.sessions, int(manager.draining)
        room = 0 if draining else manager.limits.max_sessions - sessions
        if manager.pool is None:
            return Load(free=room, sessions=sessions, draining=draining)
        lending, phones = manager.pool.lending, manager.pool.config.phones
        free = min(lending.free, room)
        return Load(phones, free, lending.waiting, sessions, draining)

    async def _write(self, context: Context, data: bytes) -> None:
        try:
            async with Writer(context.write, self._unwritten) as writer:
                await writer.write(len(data), lambda: data)
        except LimitExceeded as error:
            await _abort(context, "answer", error)

    def end_step_streams(self) -> None:
        """Begin no more steps of streams; each stream ends after those under way."""
        for stream in self._step_streams:
            stream.end()

    @_answers
    async def Handshake(self, request: pb.HandshakeRequest, context: object) -> pb.HandshakeResponse:  # noqa: N802
        phones = () if self._manager.pool is None else ("phones",)
        return handshake.answered(request, (*CAPABILITIES, *phones), version=_version())

    @_answers
    async def ListTasks(self, request: pb.ListTasksRequest, context: object) -> bytes:  # noqa: N802
        split = convert.split_from_pb(request.split) or ""
        infos = self._manager.tasks.infos(suite=request.suite, split=split)
        if not infos:
            return b""
        if (request.suite, split) not in self._listings:
            listing = pb.ListTasksResponse(tasks=[convert.task_to_pb(info) for info in infos])
            self._listings[request.suite, split] = listing.SerializeToString()
        return self._listings[request.suite, split]

    @_answers
    async def Reset(self, request: pb.ResetRequest, context: Context) -> pb.ResetResponse:  # noqa: N802
        self._is_about(task=request.task, request_id=request.request_id)
        result = await self._manager.reset(
            request.task,
            seed=request.seed,
            split=convert.split_from_pb(request.split) or "train",
            options=convert.options_from_pb(request.options),
            client=TENANT.get() or context.peer(),
            request_id=request.request_id,
        )
        return convert.reset_to_pb(result)

    @_answers
    async def Step(self, request: pb.StepRequest, context: Context) -> None:  # noqa: N802
        self._is_about(session=request.session)
        answer = await self._step(request)
        async with Writer(context.write, self._unwritten) as writer:
            await writer.write(answer.size_bytes, lambda: b"".join(answer.parts))  # repeats share bytes until then

    async def _step(self, request: pb.StepRequest) -> Answer:
        limit = self._manager.limits.max_calls_per_step
        if len(request.calls) > limit:  # before they are read: that takes its time, on the event loop
            raise LimitExceeded(f"{len(request.calls)} calls in one step; max_calls_per_step is {limit}")
        calls = convert.calls_from_pb(request.calls)
        session, seq = request.session, request.seq
        shown = session[:MAX_NAME_CHARS]
        with tracing.served(STEP, request.traceparent, rpc__method="Step", rl__session=shown, rl__step=seq):
            stored, lease_expiry_s = await self._manager.step(session, seq, calls)
        data = stored.serialized or convert.step_to_pb(stored.result, with_bytes=stored.with_bytes).SerializeToString()
        if stored.answered:
            stored.serialized = data
        stored.answered = True
        lease = convert.lease_bytes(lease_expiry_s)
        return Answer((data, lease), len(data) + len(lease), failed=False)

    async def Steps(self, context: Context) -> None:  # noqa: N802
        limits = self._manager.limits
        stream = StepStream(
            partial(self._step_or_status, context.peer()),
            max_under_way=limits.max_sessions,
            max_request_bytes=limits.max_request_bytes,
            under_way=self._under_way,
            unwritten=self._unwritten,
            pace=self._paces[TENANT.get()],
            outage_grace_s=limits.outage_grace_s,
            load=self._load,
        )
        self._step_streams.add(stream)
        try:
            await stream.serve(partial(_received, context), context.write)
        except RLFactoryError as error:
            await _abort(context, "Steps", error)
        finally:
            self._step_streams.discard(stream)

    async def _step_or_status(self, peer: str, request: pb.StepRequest) -> Answer:
        try:
            answer = await self._step(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller is told
            self._is_about(session=request.session)
            failure = _ours(error, "Step")
            code, message, _ = to_status(failure)
            if failure.blame is Blame.CLIENT:
                access_log.refused("Steps", peer, code.name, message, reason=failure.reason)
            self._manager.metrics.calls.labels("Step", code.name).inc()
            return Answer.of(to_bytes(failure), failed=True)
        self._steps_played.inc()
        return answer

    @_answers
    async def Fork(self, request: pb.ForkRequest, context: object) -> pb.ForkResponse:  # noqa: N802
        self._is_about(session=request.session, request_id=request.request_id)
        results = await self._manager.fork(request.session, request.n, request_id=request.request_id)
        return pb.ForkResponse(sessions=[convert.reset_to_pb(result) for result in results])

    @_answers
    async def CloseSession(  # noqa: N802
        self, request: pb.CloseSessionRequest, context: object
    ) -> pb.CloseSessionResponse:
        if request.request_id:
            self._manager.drop_request(request.request_id)
        else:
            await self._manager.close_own(request.session)
        return pb.CloseSessionResponse()

    @_answers
    async def Renew(self, request: pb.RenewRequest, context: object) -> pb.RenewResponse:  # noqa: N802
        return pb.RenewResponse(lease_expiry_s=self._manager.renew(request.session))

    @_answers
    async def Status(self, request: pb.StatusRequest, context: object) -> pb.StatusResponse:  # noqa: N802
        manager = self._manager
        holders = manager.phone_holders()
        phones = manager.pool.status() if manager.pool is not None else ()
        pool = manager.pool.summary() if manager.pool is not None else None
        return pb.StatusResponse(
            version=_version(),
            uptime_s=time.monotonic() - self._started_s,
            sessions=manager.sessions,
            max_sessions=manager.limits.max_sessions,
            phones=[_phone_to_pb(phone, holders.get(phone.serial, "")) for phone in phones],
            counters=dict(manager.counters),
            waiting=pool.waiting if pool else 0,
            starts_paused_s=pool.starts_paused_s if pool else 0.0,
        )

    async def Watch(self, data: bytes, context: Context) -> None:  # noqa: N802
        try:
            session: str = parsed(pb.WatchRequest, data).session[:MAX_NAME_CHARS]
            events = self._manager.events.watch(session, tenant=TENANT.get())
        except RLFactoryError as error:
            await _abort(context, "Watch", error)
        del data
        await context.send_initial_metadata((WATCHING,))  # tells the client that it misses nothing from here on
        async for event in events:
            kind = pb.EventKind.Value(f"EVENT_KIND_{event.kind.upper()}")
            await context.write(pb.WatchResponse(**asdict(event) | {"kind": kind}))


def _phone_to_pb(phone: PhoneStatus, session: str) -> pb.Phone:
    names = ("serial", "age_s", "resets", "failures", "recycled", "last_error", "host")
    return pb.Phone(
        **convert.same(phone, names),
        memory_bytes=phone.memory_bytes or None,
        state=PHONE_STATES[phone.state],
        session=session,
    )


def _version() -> str:
    try:
        return importlib.metadata.version("rlfactory")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
