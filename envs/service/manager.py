"""The sessions of a service: opened, forked, found, renewed, expired and closed. Knows nothing of the wire."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from rlfactory.emulators.device.device import Snapshot
from rlfactory.emulators.device.errors import CommandFailed, DeviceError
from rlfactory.emulators.pool import Pool
from rlfactory.envs.api.errors import (
    Blame,
    EnvironmentFault,
    InfrastructureError,
    LimitExceeded,
    RLFactoryError,
    SessionNotFound,
    TaskError,
)
from rlfactory.envs.api.types import ResetResult, SessionOptions, Split, StepResult, ToolCall
from rlfactory.envs.perturb.catalogue import turns_under
from rlfactory.envs.rewards.rubric import Rubric
from rlfactory.envs.service.concurrency import all_or_none, end_all, forget_snapshot, to_its_end
from rlfactory.envs.service.events import EventBus, EventKind
from rlfactory.envs.service.idempotency import NamedRequests, Remembered, checked_id
from rlfactory.envs.service.limits import Limits, Quotas, bounded
from rlfactory.envs.service.metrics import ServiceMetrics
from rlfactory.envs.service.phones import EpisodeKey, Goldens, HeldPhone, PhoneDesk
from rlfactory.envs.service.restart.journal import Journal
from rlfactory.envs.service.services import TENANT, Services
from rlfactory.envs.service.session import EpisodeScope, Session, StoredStep
from rlfactory.envs.tasks.drawing import Drawing
from rlfactory.envs.tasks.provenance import build, task_digest
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tools.registry import ToolRegistry
from rlfactory.envs.tools.runtime.runtime import ToolRuntime
from rlfactory.envs.wire.faults import device_failure

POOL_LEASE_MARGIN: Final = 3
"""Set-up times that a pool's lease outlasts a session's: sessions end first, the pool's lease is the backstop."""


@dataclass(eq=False)
class _OpenSession:
    """A session and the end of its lease."""

    session: Session
    tenant: str
    """Whose it is: others do not find it."""
    lease_s: float
    expires_at_s: float = 0.0
    """By the event loop's clock."""
    timer: asyncio.TimerHandle | None = None
    request_id: str = ""
    """Of the call that its client has it by."""


class SessionManager:
    """All sessions of a service. An async context manager that closes them at its end.

    A lease is renewed by every call about it. When it runs out the session is closed, its phone recycled.
    """

    def __init__(
        self,
        *,
        tasks: TaskRegistry,
        tools: ToolRegistry,
        pool: Pool | None,
        limits: Limits,
        rubric: Rubric | None = None,
        metrics: ServiceMetrics | None = None,
        runtime: ToolRuntime | None = None,
        services: Services | None = None,
        tenants: int = 1,
        quotas: Quotas | None = None,
        journal: Journal | None = None,
        perturb: str = "",
    ) -> None:
        """`pool` is None for a service without phones, which refuses tasks that need one.

        `perturb` is what happens to the phones of sessions that do not say so themselves.
        `tenants` share the service: none of them can take all of its sessions or watchers, nor more than `quotas`.
        `runtime`, `services` and `journal` are open, and closed by who opened them.
        """
        self.tasks = tasks
        self.pool = pool
        self.limits = limits
        self.counters: Counter[str] = Counter()
        self.events = EventBus(max_watchers=limits.max_watchers, queue=limits.watch_queue, tenants=tenants)
        self.metrics = metrics or ServiceMetrics()
        self.draining = False
        quotas = quotas or Quotas()
        self._max_of_tenant = quotas.part("sessions", limits.max_sessions, tenants)
        kept_bytes = quotas.part("kept_bytes", limits.max_kept_bytes * limits.max_sessions, tenants)
        self._remembered = Remembered(kept_bytes, self._max_of_tenant)
        self._desk = PhoneDesk(
            pool, quota=quotas.phones, wait_s=limits.phone_wait_s, counters=self.counters, events=self.events
        )
        self.tools = tools
        self._perturb = perturb
        self._rubric = rubric or Rubric()
        self._runtime = runtime or ToolRuntime()
        self._services = services or Services()
        self._journal = journal or Journal()
        self._goldens = Goldens(capacity=limits.max_goldens)
        self._open: dict[str, _OpenSession] = {}
        self._opening: Counter[str] = Counter()
        """By tenant."""
        self._closing: set[asyncio.Task[None]] = set()
        self._requests: NamedRequests[tuple[ResetResult, ...]] = NamedRequests(
            grace_s=limits.orphan_grace_s, undo=self._undo
        )

    async def __aenter__(self) -> Self:
        self.metrics.watch(lambda: self.sessions, lambda: dict(self.counters))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.draining = True
        self._journal.close()  # what is open now may go on in the next process
        await asyncio.gather(*(self.close(session_id, why="the service stops") for session_id in tuple(self._open)))
        await asyncio.gather(*self._closing)
        self.events.close()

    @property
    def sessions(self) -> int:
        return len(self._open)

    def phone_holders(self) -> dict[str, str]:
        """Return which session of this tenant's holds a phone, by serial."""
        sessions = (held.session for held in self._open.values() if held.tenant == TENANT.get())
        return {each.phone.device.info.serial: each.id for each in sessions if each.phone and each.void is None}

    def quotas_limits(self) -> dict[str, float]:
        """Return the most that a tenant may have of what is counted here."""
        kept_bytes = self._remembered.max_of_tenant
        return {"sessions": self._max_of_tenant, "phones": self._desk.most_of_tenant, "kept_bytes": kept_bytes}

    def quotas_used(self) -> Iterator[tuple[str, str, float]]:
        """Yield how much of that each tenant has."""
        sessions = Counter(held.tenant for held in tuple(self._open.values()))
        yield from ((tenant, "sessions", number) for tenant, number in sessions.items())
        yield from ((tenant, "phones", number) for tenant, number in self._desk.lent().items())
        yield from ((tenant, "kept_bytes", number) for tenant, number in tuple(self._remembered.bytes.items()))

    # --- opening -----------------------------------------------------------------------------------------------------

    async def reset(
        self, task: str, *, seed: int, split: Split, options: SessionOptions, client: str = "", request_id: str = ""
    ) -> ResetResult:
        """Begin an episode; with a `request_id` at most once. Phones are shared out evenly between clients.

        Raises:
            UnknownName, TaskError: no such task or split, a bad option, or a task that needs a phone without phones.
            LimitExceeded: `max_sessions`, or no phone became free.
            InfrastructureError: no phone reached the golden state.
            EnvironmentFault: the task's setup is broken.
        """

        async def begin() -> tuple[ResetResult, ...]:
            return (await self._reset(task, seed, split, options, client),)

        (result,) = await self._once(request_id, (task, seed, split, options), begin)
        return result

    async def _once(
        self, request_id: str, about: object, work: Callable[[], Coroutine[Any, Any, tuple[ResetResult, ...]]]
    ) -> tuple[ResetResult, ...]:
        if not request_id:
            return await work()
        results = await self._requests.run(TENANT.get(), checked_id(request_id), about, work)
        for each in results:
            if each.session in self._open:
                self._open[each.session].request_id = request_id
        return results

    async def _reset(self, task: str, seed: int, split: Split, options: SessionOptions, client: str) -> ResetResult:
        episode = await self.episode(task, seed, split, options, client)
        with self._room_for(1):
            session = await self._begin(episode)
            self.admit(session)
        self.counters["resets"] += 1
        self._emit("reset", session.id, f"{task} seed {seed} {split} {options.group}".rstrip())
        return self._introduce(session)

    async def episode(
        self, task: str, seed: int, split: Split, options: SessionOptions, client: str, *, alone: bool = False
    ) -> EpisodeScope:
        """Draw what a session is about. Args, Raises: see `Drawing.draw`; TaskError: a bad option, or no phones."""
        drawn = await self._services.of(Drawing).draw(self.tasks, task, seed=seed, split=split, alone=alone)
        if drawn.needs_device and self.pool is None:
            raise TaskError(f"task {task!r} needs a phone, and this service has none")
        perturb = options.perturb or self._perturb
        turns = turns_under(perturb, drawn.max_turns)
        return EpisodeScope(
            key=EpisodeKey(task, seed, split, perturb),
            client=client,
            task=drawn,
            options=replace(bounded(options, self.limits), perturb=perturb),
            max_turns=min(turns, options.max_turns or turns, self.limits.max_turns),
            limits=self.limits,
            rubric=self._rubric,
            runtime=self._runtime,
            services=self._services,
            journal=self._journal,
            remembered=self._remembered,
        )

    async def _begin(self, episode: EpisodeScope) -> Session:
        """Return a session in the golden state of its episode; a phone that does not get there is replaced."""
        failure: DeviceError | None = None
        for _ in range(self.limits.reset_attempts):
            (phone,) = await self._hold_phones(episode, 1)
            session = Session(_new_id(), episode, phone, listener=self)
            problem = ""
            try:
                await session.begin(self.tools)
                if self._goldens.agrees(episode.key, session.state_hash):
                    return session
                problem = "the state after setup is not the one that this episode began with before"
                failure = DeviceError(problem)
                self.counters["golden_mismatches"] += 1
                if session.phone is not None:
                    session.phone.give_back(problem, fatal=True)
            except CommandFailed as error:
                failure = error
            except DeviceError as error:
                failure, problem = error, str(error)
            except BaseException:
                await session.close()
                raise
            self.counters["reset_retries"] += 1
            await session.close(problem=problem)
        assert failure is not None
        if isinstance(failure, CommandFailed):
            raise EnvironmentFault(f"setup of {episode.key.task} on {self.limits.reset_attempts} phones: {failure}")
        self.counters["infra_failures"] += 1
        raise device_failure(failure, f"reset of {episode.key.task} on {self.limits.reset_attempts} phones")

    async def _hold_phones(
        self, episode: EpisodeScope, n: int, *, host: str | None = None
    ) -> Sequence[HeldPhone | None]:
        """Return n phones, all or none; None for each where the task needs none. Raises: see `PhoneDesk.lend`."""
        if not episode.task.needs_device:
            return [None] * n
        ttl_s = episode.options.lease_s + POOL_LEASE_MARGIN * self.limits.setup_timeout_s
        wait_s = None if host else episode.options.phone_wait_s  # forks can go nowhere else
        return await self._desk.lend(n, client=episode.client, ttl_s=ttl_s, host=host, wait_s=wait_s)

    # --- forking -----------------------------------------------------------------------------------------------------

    async def fork(self, session_id: str, n: int, *, request_id: str = "") -> tuple[ResetResult, ...]:
        """Make n sessions in the state of this one; all or none, and with a `request_id` at most once.

        Raises:
            SessionNotFound, EpisodeOver: there is nothing to fork.
            LimitExceeded: `max_fork`, `max_sessions`, or too few phones became free.
            InfrastructureError: a phone failed, or cannot be forked.
        """
        return await self._once(request_id, (session_id, n), lambda: self._fork(session_id, n))

    async def _fork(self, session_id: str, n: int) -> tuple[ResetResult, ...]:
        parent = self._find(session_id).session
        if not 1 <= n <= self.limits.max_fork:
            raise LimitExceeded(f"{n} forks asked for; from 1 to max_fork = {self.limits.max_fork} are made at once")
        if parent.phone is not None and self.pool is not None and n >= self.pool.config.phones:
            raise LimitExceeded(
                f"{n} forks beside their parent need {n + 1} phones; phones is {self.pool.config.phones}"
            )
        with self._room_for(n):
            children = await self._forked(parent, n)
            for child in children:
                self.admit(child, parent=session_id)
        self._touch(session_id)
        self.counters["forks"] += n
        self._emit("fork", session_id, f"into {', '.join(child.id for child in children)}")
        return tuple(self._introduce(child) for child in children)

    async def _forked(self, parent: Session, n: int) -> list[Session]:
        """Make the forks once all of their phones are there: until then the parent may play on."""
        parent.require_running()
        phones = await self._hold_phones(parent.episode, n, host=parent.phone.host if parent.phone else None)
        children: list[Session] = []
        try:
            async with parent.lock:
                parent.require_running()
                children += (
                    Session(_new_id(), parent.episode, phone, listener=self, turns=parent.turns) for phone in phones
                )
                return await self._fork_locked(parent, children)
        except BaseException:
            await asyncio.shield(self._keep(end_all(children, phones)))
            raise

    async def _fork_locked(self, parent: Session, children: Sequence[Session]) -> list[Session]:
        if parent.phone is None:
            return await all_or_none([self._child(parent, child, None) for child in children])
        device = parent.phone.device
        timeout_s = self.limits.setup_timeout_s
        saving = asyncio.create_task(device.save_snapshot(timeout_s=timeout_s))
        try:
            snapshot = await to_its_end(saving)
            return await all_or_none([self._child(parent, child, snapshot) for child in children])
        except DeviceError as error:
            raise device_failure(error, "snapshot for a fork") from error
        finally:
            self._keep(
                forget_snapshot(device, saving, timeout_s)
            )  # not awaited: a cancellation here would lose the children

    async def _child(self, parent: Session, child: Session, snapshot: Snapshot | None) -> Session:
        """Return one fork; a phone that does not reach the parent's state is replaced."""
        failure: DeviceError | None = None
        for attempt in range(self.limits.reset_attempts):
            if attempt:
                (phone,) = await self._hold_phones(parent.episode, 1, host=parent.phone.host if parent.phone else None)
                child = Session(_new_id(), parent.episode, phone, listener=self, turns=parent.turns)
            try:
                if child.phone is not None and snapshot is not None:
                    await child.phone.device.load_snapshot(snapshot, timeout_s=self.limits.setup_timeout_s)
                await child.begin_as_fork(parent)
            except DeviceError as error:
                failure = error
                await child.close(problem=str(error))
            except BaseException:
                await child.close()
                raise
            else:
                return child
        assert failure is not None
        self.counters["infra_failures"] += 1
        raise device_failure(failure, f"fork of session {parent.id}")

    # --- playing and ending ------------------------------------------------------------------------------------------

    async def step(self, session_id: str, seq: int, calls: Sequence[ToolCall]) -> tuple[StoredStep, float]:
        """Carry out one turn; see `Session.step`. Returns it with the new end of the lease (Unix time)."""
        session = self._find(session_id).session
        try:
            played = await session.step(seq, calls)
        finally:
            lease_expiry_s = self._touch(session_id)
        return played, lease_expiry_s

    def turn_played(self, session_id: str, result: StepResult) -> None:
        """See `rlfactory.envs.service.session.Listener`."""
        self.counters["steps"] += 1
        self.metrics.step_s.observe(result.timing.total_s)
        if self.events.watchers:
            reward = result.reward
            message = f"{result.state}, progress {reward.progress:g}, reward {reward.total:g}"
            self._emit("step", session_id, message)

    def went_void(self, session_id: str, error: RLFactoryError, *, task: str, tool: str) -> None:
        """See `rlfactory.envs.service.session.Listener`."""
        self.counters.update(void_episodes=1, infra_failures=error.blame is Blame.INFRASTRUCTURE)
        self._journal.lost(session_id)
        self.metrics.went_void(session_id, task, error, tool=tool)
        self._emit("failure", session_id, f"{error.reason}: {error}")

    def renew(self, session_id: str) -> float:
        """Renew the lease; return its end (Unix time). Raises: SessionNotFound."""
        self._find(session_id)
        return self._touch(session_id)

    async def close_own(self, session_id: str) -> None:
        """End a session of this tenant's. Idempotent: there may be none."""
        with suppress(SessionNotFound):
            self._find(session_id)
            await self.close(session_id)

    async def close(self, session_id: str, *, why: str = "closed by its client") -> None:
        """End a session and give its phone back. Idempotent."""
        held = self._open.pop(session_id, None)
        if held is None:
            return
        if held.timer is not None:
            held.timer.cancel()
        self._requests.forget(held.tenant, held.request_id)
        self.counters["closes"] += 1
        self._journal.closed(session_id)
        self.events.emit("close", session_id, why, tenant=held.tenant)
        await asyncio.shield(self._keep(held.session.close()))

    async def _undo(self, results: tuple[ResetResult, ...]) -> None:
        for result in results:
            await self.close(result.session, why="its client never fetched it")

    def drop_request(self, request_id: str) -> None:
        """Close the sessions that a request of this tenant's has begun, or is about to begin. Idempotent."""
        self._requests.drop(TENANT.get(), request_id)

    def _keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run to its end, whatever becomes of the caller; the host waits for it when it stops."""
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    # --- leases and room ---------------------------------------------------------------------------------------------

    def _find(self, session_id: str) -> _OpenSession:
        held = self._open.get(session_id)
        if held is None or held.tenant != TENANT.get():
            raise SessionNotFound(f"no session {session_id[:80]!r}: never begun, closed, or its lease ran out")
        return held

    def _emit(self, kind: EventKind, session_id: str, message: str) -> None:
        held = self._open.get(session_id)
        self.events.emit(kind, session_id, message, tenant=held.tenant if held else TENANT.get())

    @contextmanager
    def _room_for(self, n: int) -> Iterator[None]:
        """Count n sessions as open while they are being made. Raises: LimitExceeded, InfrastructureError (draining)."""
        if self.draining:
            raise InfrastructureError("the service is stopping: no new sessions")
        tenant = TENANT.get()
        open_now = len(self._open) + self._opening.total()
        if open_now + n > self.limits.max_sessions:
            raise LimitExceeded(f"{len(self._open)} sessions are open; max_sessions is {self.limits.max_sessions}")
        own = sum(held.tenant == tenant for held in self._open.values()) + self._opening[tenant]
        if own + n > self._max_of_tenant:
            raise LimitExceeded(f"this tenant has {own} sessions; its quota of sessions is {self._max_of_tenant}")
        self._opening[tenant] += n
        try:
            yield
        finally:
            self._opening[tenant] -= n

    def admit(self, session: Session, *, parent: str = "") -> None:
        """Let this tenant use a session that has begun."""
        lease_s = session.episode.options.lease_s
        self._open[session.id] = _OpenSession(session=session, tenant=TENANT.get(), lease_s=lease_s)
        self._journal.begun(session.saved(TENANT.get()), parent=parent)
        self._touch(session.id)

    def _touch(self, session_id: str) -> float:
        """Renew the lease, if the session still has one; return its end (Unix time)."""
        held = self._open.get(session_id)
        if held is None:
            return time.time()
        loop = asyncio.get_running_loop()
        held.expires_at_s = loop.time() + held.lease_s
        if held.timer is None:
            self._watch_lease(held)
        return time.time() + held.lease_s

    def _watch_lease(self, held: _OpenSession) -> None:
        """Look again when the lease ends; the phone's, which is longer, is renewed for so long."""
        if held.session.phone is not None:
            held.session.phone.renew()
        loop = asyncio.get_running_loop()
        held.timer = loop.call_at(held.expires_at_s, self._check_lease, held.session.id)

    def _check_lease(self, session_id: str) -> None:
        """Close the session if its lease has run out, else look again when it would."""
        held = self._open.get(session_id)
        if held is None:
            return
        loop = asyncio.get_running_loop()
        if held.session.busy:
            held.expires_at_s = loop.time() + held.lease_s
        if loop.time() < held.expires_at_s:
            self._watch_lease(held)
            return
        self.counters["leases_expired"] += 1
        self._emit("lease_expired", session_id, f"not renewed for {held.lease_s:g} s")
        self._keep(self.close(session_id, why="its lease ran out"))

    def _introduce(self, session: Session) -> ResetResult:
        return ResetResult(
            session=session.id,
            goal=session.episode.task.goal,
            tools=session.schemas,
            observation=session.observation,
            max_turns=session.episode.max_turns,
            lease_expiry_s=self._touch(session.id),
            state_hash=session.state_hash,
            build=build(),
            task_digest=task_digest(type(session.episode.task)),
            perturb=session.episode.options.perturb,
            progress=session.reward.progress,
        )


def _new_id() -> str:
    return secrets.token_hex(8)
