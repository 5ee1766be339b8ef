"""One episode: a task on a phone, played by tool calls.

A session runs until it is finished or truncated; or it becomes void when its phone or its task fails, and then every
further step raises that failure: a void episode has no reward.
"""

from __future__ import annotations

import asyncio
import hashlib
import marshal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.state import DeviceState, compared, digest
from rlfactory.envs.api.errors import (
    EnvironmentFault,
    EpisodeOver,
    InfrastructureError,
    JudgeError,
    RLFactoryError,
    UnknownName,
)
from rlfactory.envs.api.types import (
    EpisodeState,
    Observation,
    Reward,
    SessionOptions,
    StepResult,
    StepTiming,
    ToolCall,
    ToolResult,
    ToolSchema,
    ToolStatus,
)
from rlfactory.envs.perturb.catalogue import PERTURBATIONS
from rlfactory.envs.perturb.perturbation import disturb, plan, rebased
from rlfactory.envs.rewards.rubric import Judge, Rubric
from rlfactory.envs.service.idempotency import AtMostOnce, Memory, Remembered, held_bytes
from rlfactory.envs.service.limits import Limits
from rlfactory.envs.service.observer import PhoneObserver, SentImages
from rlfactory.envs.service.phones import EpisodeKey, HeldPhone
from rlfactory.envs.service.restart.journal import Journal, SavedSession, SavedTurn
from rlfactory.envs.service.services import SESSION, Services
from rlfactory.envs.tasks.task import Outcome, PlayedCall, Task
from rlfactory.envs.tools.registry import ToolRegistry
from rlfactory.envs.tools.runtime.executor import Executor
from rlfactory.envs.tools.runtime.runtime import ToolRuntime
from rlfactory.envs.tools.tool import NO_SCREEN, PhoneClock, Tool, ToolContext, TurnNotes
from rlfactory.envs.wire.faults import device_failure
from rlfactory.user_code import told_with_line

OBSERVE_SHARE: Final = 0.25
"""Of a step's time, kept for observing and judging."""
LEAST_TIMEOUT_S: Final = 0.001
MAX_KEPT_BYTES: Final = 2_000_000
"""Of arguments and results that a session remembers whole."""
SHORT_CHARS: Final = 200
CALL_BYTES: Final = 1_000
"""What a call takes beside its arguments and texts."""
ALWAYS_THERE: Final = ("phone", "finish")
"""Tools that need no network."""
OFFLINE: Final = ToolResult(call_id="", name="", status=ToolStatus.ERROR, text="the network does not answer; try again")


@dataclass(kw_only=True, slots=True)
class StoredStep:
    """One step as it is stored for callers that ask again."""

    result: StepResult
    with_bytes: bool
    """The client has not had this image before."""
    answered: bool = False
    serialized: bytes = b""
    """Its answer on the wire, once it has been asked for again: all who ask are given the same bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeScope:
    """What a session and its forks have in common."""

    key: EpisodeKey
    client: str
    """Who plays it; phones are shared out evenly between clients."""
    task: Task
    options: SessionOptions
    """Its `perturb` is what is in force."""
    max_turns: int
    limits: Limits
    rubric: Rubric
    runtime: ToolRuntime
    """Shared by all sessions of a service: carries out their calls."""
    services: Services
    """Shared, too: what tools and verdicts stand on."""
    journal: Journal
    """Where turns are written down before their callers are told of them."""
    remembered: Remembered
    """Shared, too: how much sessions may keep of what is said."""


class Listener(Protocol):
    """Who is told what becomes of a session."""

    def turn_played(self, session_id: str, result: StepResult) -> None:
        """A new turn is over (told once, however often its result is asked for)."""
        ...

    def went_void(self, session_id: str, error: RLFactoryError, *, task: str, tool: str) -> None:
        """The episode failed, and counts for nothing; `tool` is whose call it was, "" for none."""
        ...


class Session:
    """One episode. Make it, then `begin` or `begin_as_fork`; its owner ends it by `close`."""

    def __init__(
        self, session_id: str, episode: EpisodeScope, phone: HeldPhone | None, *, listener: Listener, turns: int = 0
    ) -> None:
        """`phone` is None in text-only tasks; `turns` were played before a fork."""
        self.id = session_id
        self.episode = episode
        self.phone = phone
        self.state = EpisodeState.RUNNING
        self.turns = turns
        self.void: RLFactoryError | None = None
        """Why the episode counts for nothing, if it does."""
        self._observer = PhoneObserver(phone.device, episode.options, episode.limits) if phone else None
        self.reward = Reward()
        self._initial: DeviceState = {}
        self._now: DeviceState = {}
        self._hashed: tuple[DeviceState | None, DeviceState, str] = (None, {}, "")
        """The state that was hashed last, what of it makes a difference, and its hash."""
        self._plan = plan(
            episode.options.perturb,
            f"{episode.key.task}/{episode.key.split}/{episode.key.seed}",
            PERTURBATIONS,
            allowed=episode.task.allowed(),
            info=phone.device.info if phone else None,
        )
        self._judge = Judge(episode.task)
        self._rubric = episode.task.rubric() or episode.rubric
        self._calls: list[PlayedCall] = []
        self._memory = Memory(episode.remembered)
        """Of `_calls`, and of the last answer."""
        self._said_much = True
        """In the step that runs; of little, nothing is counted but the calls."""
        self._tools: dict[str, Tool] = {}
        self._notes = TurnNotes()
        self._executor = Executor(
            self._tools, max_output_chars=episode.limits.max_output_chars, runtime=episode.runtime
        )
        self._once: AtMostOnce[StoredStep] = AtMostOnce(done=turns, grace_s=episode.limits.orphan_grace_s)
        self._sent = SentImages()
        self._listener = listener
        self._closing = False
        self.lock = asyncio.Lock()
        """Held while the phone is used: by a step, by a fork."""

    # --- beginning ---------------------------------------------------------------------------------------------------

    async def begin(self, tools: ToolRegistry) -> None:
        """Bring the phone to the task's first state and observe it.

        Raises:
            DeviceError: the phone failed, or a setup command did.
            EnvironmentFault: the task's setup or verdict is broken.
            JudgeError: a judge gave no verdict on the first state.
        """
        timeout_s = self.episode.limits.setup_timeout_s
        if self.phone is not None:
            device = self.phone.device
            with _blaming_task(self.episode, "setup"):
                await self.episode.task.setup(device, timeout_s=timeout_s)
            await self._disturb(self._plan.at_start, timeout_s)
            await device.settle(timeout_s=timeout_s)
            self._initial = self._now = await device.state(timeout_s=timeout_s)
        await self._look(timeout_s)
        await self._judge_now(timeout_s)
        self._sent.is_new(self.observation)
        with _blaming_task(self.episode, "tools"):
            self._make_tools(tools)

    async def begin_as_fork(self, parent: Session) -> None:
        """Take over the parent's state, which this session's phone has loaded.

        Raises: DeviceError: the phone failed, or it is not in the parent's state.
        """
        self._initial, self._now, self.reward = parent._initial, parent._now, parent.reward
        self._calls = list(parent._calls)
        self._memory.add(parent._memory.bytes)
        self._plan = parent._plan
        if self.phone is not None and self._observer is not None and parent._observer is not None:
            self._now = await self.phone.device.state(timeout_s=self.episode.limits.setup_timeout_s)
            if self.state_hash != parent.state_hash:
                raise DeviceError(f"{self.phone.device.info.serial} is not in the state of the phone it forks")
            self._observer.continue_from(parent._observer)
        self._sent.is_new(self.observation)
        context = self._tool_context()
        self._tools.update({name: tool.fork(context) for name, tool in parent._tools.items()})

    async def resume(self, tools: ToolRegistry, turns: Iterable[SavedTurn]) -> None:
        """Be as after these turns, which another process has played.

        Raises: InfrastructureError: what the last one did is unknown. RLFactoryError: as `begin`.
        """
        await self.begin(tools)
        last: SavedTurn | None = None
        played: dict[str, list[tuple[ToolCall, ToolResult]]] = {}
        for last in turns:
            if last.result is None:
                raise InfrastructureError(f"step {self.turns + 1} was under way when the service ended")
            self.turns += 1
            self._keep_calls(last.calls, last.result.results)
            for call, result in zip(last.calls, last.result.results, strict=True):
                played.setdefault(call.name, []).append((call, result))
        for name, calls in played.items():
            if name in self._tools:
                self._tools[name].recall(calls)
        if last is not None and last.result is not None:
            self.reward, self.state = last.result.reward, last.result.state
            stored = StoredStep(result=last.result, with_bytes=False)
            self._once = AtMostOnce(done=self.turns - 1, grace_s=self.episode.limits.orphan_grace_s)
            await self._once.run(self.turns, last.fingerprint, lambda: _told_again(stored))

    def saved(self, tenant: str) -> SavedSession:
        """Return what another process needs to go on with it, beside its turns."""
        episode = self.episode
        return SavedSession(
            id=self.id,
            tenant=tenant,
            client=episode.client,
            task=episode.key.task,
            seed=episode.key.seed,
            split=episode.key.split,
            options=episode.options,
            lives_on=not self.phone and self.void is None and all(tool.lives_on for tool in self._tools.values()),
        )

    def _make_tools(self, tools: ToolRegistry) -> None:
        context = self._tool_context()
        own = self.episode.task.own_tools()
        try:
            for name in self.episode.task.tools:
                factory = own[name] if name in own else tools.get(name)
                self._tools[name] = factory(context)
        except UnknownName as error:
            hint = "tools of a file come by --tools-file FILE, or serve --tools FILE"
            raise EnvironmentFault(f"task {self.episode.key.task}: {error} ({hint})") from error

    async def _disturb(self, commands: Sequence[str], timeout_s: float) -> None:
        """Let something happen to the phone. What it changes is no damage: the episode began with it."""
        if self.phone is not None and commands:
            happened = await disturb(self.phone.device, commands, timeout_s=timeout_s)
            self._initial, self._now = rebased(self._initial, *happened), happened[1]

    def _tool_context(self) -> ToolContext:
        return ToolContext(
            session=self.id,
            device=self.phone.device if self.phone else None,
            coordinates=self.episode.options.coordinates,
            screen=self._observer.screen_size if self._observer else lambda: NO_SCREEN,
            services=self.episode.services,
            notes=self._notes,
        )

    # --- being looked at ---------------------------------------------------------------------------------------------

    @property
    def observation(self) -> Observation:
        """The latest."""
        return self._observer.latest if self._observer else Observation(sequence=self.turns + 1)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(tool.schema for tool in self._tools.values())

    @property
    def state_hash(self) -> str:
        """Of the phone's state when it was last read; "" in text-only tasks."""
        if self.phone is None:
            return ""
        hashed, different, said = self._hashed
        if hashed is not self._now:
            now = compared(self._now)
            said = said if said and now == different else digest(now)
            self._hashed = self._now, now, said
        return said

    @property
    def busy(self) -> bool:
        """A step or a fork is under way."""
        return self._once.running or self.lock.locked()

    # --- playing -----------------------------------------------------------------------------------------------------

    async def step(self, seq: int, calls: Sequence[ToolCall]) -> StoredStep:
        """Carry out one turn, at most once for each seq.

        Raises:
            OutOfOrder: seq is neither the last nor the next one.
            EpisodeOver: nothing was done, and seq is not used up.
            InfrastructureError, EnvironmentFault, JudgeError: the episode is void.
        """
        self._require_valid()
        is_new = self._once.is_new(seq)
        if is_new:
            self.require_running()
        # As it is written: Python takes 1, 1.0 and True for equal. As a digest where that is large. The second version
        # of marshal writes what is equal alike, and copies texts where `repr` looks at each character.
        said = marshal.dumps(
            [(each.id, each.name, sorted(each.arguments.items()), each.unreadable) for each in calls], 2
        )
        fingerprint = said if len(said) <= CALL_BYTES else hashlib.blake2b(said).digest()
        if is_new:
            self._said_much = len(said) > CALL_BYTES
            self._memory.require_room(len(said) + len(calls) * self.episode.limits.max_output_chars)
        return await self._once.run(seq, fingerprint, lambda: self._play_or_void(seq, calls, fingerprint))

    def _keep_calls(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """Remember what was played, for verdicts; of what goes beyond a session's share, the beginning."""
        answer = sum(map(sys.getsizeof, [result.text for result in results]))
        kept = CALL_BYTES * len(calls) + answer
        if self._said_much:
            kept += sum(held_bytes([call.id, call.name, call.arguments]) for call in calls)
        if self._memory.bytes + kept > MAX_KEPT_BYTES:
            calls = [replace(call, id=call.id[:SHORT_CHARS], arguments={}) for call in calls]
            results = [replace(result, call_id="", text=result.text[:SHORT_CHARS]) for result in results]
            kept, answer = CALL_BYTES * len(calls), 2 * answer
        self._memory.add(kept, answer=answer)  # as it is, and as it is sent to those who ask again
        for call, result in zip(calls, results, strict=True):
            self._calls.append(PlayedCall(self.turns, call, result))

    def require_running(self) -> None:
        """Raises: EpisodeOver: the episode has ended. RLFactoryError: it is void, for this reason."""
        self._require_valid()
        if self.state is not EpisodeState.RUNNING:
            raise EpisodeOver(f"session {self.id}: the episode was {self.state} after {self.turns} turns")

    def _require_valid(self) -> None:
        if self.void is not None:
            raise self.void.with_traceback(None)

    async def _play_or_void(self, seq: int, calls: Sequence[ToolCall], fingerprint: bytes) -> StoredStep:
        begun = False
        SESSION.set(self.id)
        try:
            async with self.lock:
                begun = True
                if self.phone is not None:  # it ends with the service
                    return await self._play(calls)
                if any(each.name in self._tools and self._tools[each.name].acts_outside for each in calls):
                    self.episode.journal.turn_begins(self.id, seq)
                stored = await self._play(calls)
                self.episode.journal.turn_played(self.id, seq, fingerprint, calls, stored.result)
                return stored
        except DeviceError as error:
            raise self.end_as_void(device_failure(error, f"step {seq}"), problem=str(error)) from error
        except asyncio.CancelledError:
            if not begun and not self._closing:
                raise  # nothing was done, and nothing is unknown
            reason = InfrastructureError(f"step {seq} was cancelled; what it did is unknown")
            raise self.end_as_void(reason) from None
        except RLFactoryError as error:
            raise self.end_as_void(error) from None

    async def _play(self, calls: Sequence[ToolCall]) -> StoredStep:
        started = time.perf_counter()
        timeout_s = self.episode.options.step_timeout_s
        clock = self._notes.clock = PhoneClock()
        carry_out = self._executor.run if self.turns + 1 not in self._plan.failing_turns else self._carry_out_offline
        results = await carry_out(calls, timeout_s=timeout_s * (1 - OBSERVE_SHARE))
        self.turns += 1
        if self._notes.ending is None and self.turns in self._plan.after_turn:
            await self._disturb(self._plan.after_turn[self.turns], timeout_s)
        ran = time.perf_counter()
        self._keep_calls(calls, results)
        if self._notes.ending is not None:
            self.state = EpisodeState.FINISHED
        elif self.turns >= self.episode.max_turns:
            self.state = EpisodeState.TRUNCATED
        await self._look(max(LEAST_TIMEOUT_S, started + timeout_s - ran))
        observed = time.perf_counter()
        if self.phone is not None and (clock.actions or self.state is not EpisodeState.RUNNING):
            self._now = await self.phone.device.state(timeout_s=max(LEAST_TIMEOUT_S, started + timeout_s - observed))
        await self._judge_now(max(LEAST_TIMEOUT_S, started + timeout_s - observed))
        judged = time.perf_counter()
        timing = StepTiming(
            act_s=ran - started - clock.settle_s,
            settle_s=clock.settle_s,
            observe_s=observed - ran,
            judge_s=judged - observed,
            total_s=judged - started,
        )
        return self._played(results, timing)

    async def _carry_out_offline(self, calls: Sequence[ToolCall], *, timeout_s: float) -> tuple[ToolResult, ...]:
        """Run the calls in a turn without network: those of tools beyond the phone do not get through."""
        through = [call for call in calls if call.name in ALWAYS_THERE]
        answers = iter(await self._executor.run(through, timeout_s=timeout_s))
        return tuple(
            next(answers) if call.name in ALWAYS_THERE else replace(OFFLINE, call_id=call.id, name=call.name)
            for call in calls
        )

    def _played(self, results: tuple[ToolResult, ...], timing: StepTiming) -> StoredStep:
        result = StepResult(
            results=results,
            observation=self.observation,
            reward=self.reward,
            state=self.state,
            timing=timing,
            state_hash=self.state_hash,
        )
        self._listener.turn_played(self.id, result)
        return StoredStep(result=result, with_bytes=self._sent.is_new(self.observation))

    async def _look(self, timeout_s: float) -> None:
        if self._observer is not None:
            await self._observer.look(timeout_s=timeout_s)

    async def _judge_now(self, timeout_s: float) -> None:
        """Raises: EnvironmentFault: the task's checks are broken. JudgeError: no verdict, or none in time."""
        ending = self._notes.ending
        outcome = Outcome(
            state=self._now,
            initial=self._initial,
            finished=ending is not None,
            claimed_success=ending is not None and ending.claimed_success,
            answer=ending.answer if ending else "",
            turns=self.turns,
            calls=self._calls,
            device=self.phone.device if self.phone else None,
        )
        with _blaming_task(self.episode, "verdict"):
            plain = type(self.episode.task).verify is Task.verify
            scores = {} if plain else await self._verified(outcome, timeout_s)
            judged = replace(outcome, scores=scores) if scores else outcome
            self.reward = self._rubric.reward(self._judge.verdict(judged))

    async def _verified(self, outcome: Outcome, timeout_s: float) -> Mapping[str, float]:
        try:
            async with asyncio.timeout(timeout_s):
                return await self.episode.task.verify(outcome, services=self.episode.services, timeout_s=timeout_s)
        except TimeoutError:
            raise JudgeError(f"no verdict on {self.episode.key.task} within {timeout_s:.1f} seconds") from None

    # --- ending ------------------------------------------------------------------------------------------------------

    def end_as_void(self, error: RLFactoryError, *, problem: str = "") -> RLFactoryError:
        """Let the episode count for nothing; each further step raises this error, which is returned."""
        self.void = error
        self._return_phone(problem)
        if not self._closing:
            self._listener.went_void(self.id, error, task=self.episode.key.task, tool=self._executor.failed)
        return error

    def _return_phone(self, problem: str) -> None:
        if self.phone is not None:
            self.phone.give_back(problem)

    async def close(self, *, problem: str = "") -> None:
        """Cancel what runs and give the phone back. Idempotent, never raises."""
        self._closing = True
        try:
            await self._once.cancel()
            async with self.lock:
                for tool in self._tools.values():
                    await tool.close()
        finally:
            self._memory.forget()
            self._return_phone(problem)


async def _told_again(stored: StoredStep) -> StoredStep:
    return stored


@contextmanager
def _blaming_task(episode: EpisodeScope, what: str) -> Iterator[None]:
    """Turn what a task's own code raises into `EnvironmentFault`; failures of phones and services pass."""
    try:
        yield
    except (DeviceError, RLFactoryError):
        raise
    except Exception as error:
        key = episode.key
        reason = f"{what} of {key.task} (seed {key.seed}, {key.split}): {told_with_line(error)}"
        raise EnvironmentFault(reason) from error
