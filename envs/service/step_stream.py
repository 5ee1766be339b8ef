"""The server's side of `Steps`: the steps of many sessions, over one stream.

Outcomes that are ready at the same time travel in one message. That is what makes a stream cheap: a call of gRPC costs
more than most steps.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from rlfactory.envs.api.errors import InfrastructureError, LimitExceeded
from rlfactory.envs.service.services import TENANT
from rlfactory.envs.wire.convert import Answer, outcomes, parsed
from rlfactory.envs.wire.crowds import SMALL_BYTES, pieces
from rlfactory.envs.wire.faults import to_bytes
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.v1 import env_pb2 as pb

Receive = Callable[[], Awaitable[bytes | None]]
"""Returns the next message of a call; None: there are no more. An iterator of messages would keep the last one."""
LEAST_OUTCOMES: Final = 16
"""That one message takes, if there are so many, and a quarter of those that wait where that is more. All at once would
save little, and sessions that travel together wait for each other from then on; too few, and they queue up here."""
MAX_MESSAGE_BYTES: Final = 8 << 20
"""Of outcomes in one message; a single one may be larger."""
MAX_WAITING_BYTES: Final = 16 << 20
"""Of outcomes that wait to be written: beyond that, nothing more is read."""

PART_OF_LARGE: Final = 0.75
"""Of the bytes under way: large requests leave the rest to small ones."""
LARGE_BYTES_PER_S: Final = 8 << 20
"""Of requests above `SMALL_BYTES` that begin, of all tenants: a megabyte takes some 10 ms of the event loop's time."""
AT_ONCE_S: Final = 0.004
"""So much of that may have been saved up."""
STEPS_IN_ROUND: Final = 16
BYTES_OF_STEP: Final = 2 << 10
"""That one of these has; a larger one counts for several, for reading it takes its time."""
READ_WITHIN_S: Final = 60.0
"""A client that takes nothing of an answer for so long is given up."""

AnswerStep = Callable[[pb.StepRequest], Coroutine[Any, Any, Answer]]
"""Carries out a step."""


class Unwritten:
    """Answers on their way to clients: their bytes are counted until the transport has taken them.

    So many at a time; who waits longest is next. One answer is let through however large it is.
    """

    def __init__(self, max_bytes: int) -> None:
        self.bytes = 0
        self._max_bytes = max_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def held(self, size_bytes: int) -> bool:
        """Count so many bytes until `release`, if there is room for them at once; tell whether there is."""
        if self._waiting or not self._fits(size_bytes):
            return False
        self.bytes += size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """Count them no more: they are written, or never will be."""
        self.bytes -= size_bytes
        if self._waiting:
            self._let_in()

    def _fits(self, size_bytes: int) -> bool:
        return not self.bytes or self.bytes + size_bytes <= self._max_bytes

    async def wait(self, size_bytes: int) -> None:
        """Wait for room, and count them until `release`. Raises: LimitExceeded: others are not read."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, turn))
        try:
            async with asyncio.timeout(READ_WITHIN_S):
                await asyncio.shield(turn)
        except BaseException as error:
            if turn.done():  # it was let in in the same moment
                self.bytes -= size_bytes
            turn.cancel()
            self._let_in()
            if isinstance(error, TimeoutError):
                raise LimitExceeded(f"{self.bytes} bytes of answers wait to be read (max_unwritten_bytes)") from None
            raise

    def _let_in(self) -> None:
        while self._waiting:
            size_bytes, turn = self._waiting[0]
            if turn.done():
                self._waiting.popleft()
            elif self._fits(size_bytes):
                self._waiting.popleft()
                self.bytes += size_bytes
                turn.set_result(None)
            else:
                return


class UnderWay:
    """Requests that are carried out: their bytes are counted until then, of the service and of each tenant.

    Large ones are refused before small ones: who says little is not held up by who says much.
    """

    def __init__(self, max_bytes: int, max_of_tenant: int) -> None:
        self.bytes: Counter[str] = Counter()
        """By tenant."""
        self._total = 0
        self._max_bytes = max_bytes
        self._max_of_tenant = max_of_tenant

    def hold(self, size_bytes: int) -> Held:
        """Count a request of so many bytes until its block ends, unless there are too many."""
        tenant = TENANT.get()
        part = PART_OF_LARGE if size_bytes > SMALL_BYTES else 1
        refusal = None
        if self.bytes[tenant] + size_bytes > part * self._max_of_tenant:
            refusal = LimitExceeded(
                f"{self.bytes[tenant]} bytes of requests are under way, and this one has {size_bytes}; "
                f"this tenant's quota of under_way_bytes is {self._max_of_tenant}"
            )
        elif self._total + size_bytes > part * self._max_bytes:
            refusal = LimitExceeded(
                f"{self._total} bytes of requests are under way, and this one has {size_bytes}; "
                f"max_under_way_bytes is {self._max_bytes}"
            )
        if refusal is not None:
            size_bytes = 0
        self.bytes[tenant] += size_bytes
        self._total += size_bytes
        return Held(self, tenant, size_bytes, refusal)

    def let_go(self, tenant: str, size_bytes: int) -> None:
        self.bytes[tenant] -= size_bytes
        self._total -= size_bytes


class Held:
    """A request that is counted until a block and all of its steps have ended: each of them begins and ends."""

    def __init__(self, under_way: UnderWay, tenant: str, size_bytes: int, refusal: LimitExceeded | None) -> None:
        self.refusal = refusal
        """Why nothing of it may be carried out; it is not counted then."""
        self._under_way = under_way
        self._tenant = tenant
        self._size_bytes = size_bytes
        self._users = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        self._users += 1

    def end(self) -> None:
        self._users -= 1
        if not self._users:
            self._under_way.let_go(self._tenant, self._size_bytes)


class LargePace:
    """Lets large requests begin one after the other, so many bytes a second: small ones have the rest of the time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._next_s = 0.0
        """By the loop's clock."""

    async def turn(self, size_bytes: int) -> None:
        """Wait until those before have had their time; who waits longest is next."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            await asyncio.sleep(self._next_s - loop.time())
            self._next_s = max(self._next_s, loop.time() - AT_ONCE_S) + size_bytes / LARGE_BYTES_PER_S


class Pace:
    """Lets a tenant's calls begin a few steps in one round of the event loop: others have their turn in between."""

    def __init__(self, large: LargePace) -> None:
        """Args: large: of all tenants, which take turns: only one large request of each waits there."""
        self._begun = 0
        self._next = asyncio.Lock()
        self._next_large = asyncio.Lock()
        self._large = large

    async def turn(self, size_bytes: int = 0, *, refused: bool = False) -> None:
        """Wait for the next round if this one is full. Args: size_bytes: of the step, where it is not small."""
        if size_bytes > SMALL_BYTES and not refused:
            async with self._next_large:
                await self._large.turn(size_bytes)
        cost = 1 + size_bytes // BYTES_OF_STEP
        self._begun += cost
        if self._begun > STEPS_IN_ROUND:
            async with self._next:
                await asyncio.sleep(0)
                self._begun = cost


class Writer:
    """Writes the answers of one call. An async context manager that gives up a client that takes nothing.

    One timer watches all that is written: one for each answer would cost as much as the answer does.
    """

    def __init__(self, write: Callable[[Any], Awaitable[None]], unwritten: Unwritten) -> None:
        self._write = write
        self._unwritten = unwritten
        self._began_s: float | None = None
        """When the transport was given what it has not taken yet, by the loop's clock."""
        self._patience = asyncio.timeout(None)
        self._time = asyncio.get_running_loop().time

    async def __aenter__(self) -> Self:
        await self._patience.__aenter__()
        self._look_at(asyncio.get_running_loop().time())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._looking.cancel()
        try:
            await self._patience.__aexit__(kind, error, trace)
        except TimeoutError:
            raise LimitExceeded(f"nothing was read for {READ_WITHIN_S:g} seconds") from None

    async def write(self, size_bytes: int, answer: Callable[[], Any]) -> None:
        """Write an answer of so many bytes when there is room for it. Raises: LimitExceeded: others do not read."""
        if not self._unwritten.held(size_bytes):
            await self._unwritten.wait(size_bytes)
        try:
            self._began_s = self._time()
            await self._write(answer())
            self._began_s = None
        finally:
            self._unwritten.release(size_bytes)

    def _look_at(self, began_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._looking = loop.call_at(began_s + READ_WITHIN_S, self._look)

    def _look(self) -> None:
        now_s = asyncio.get_running_loop().time()
        began_s = now_s if self._began_s is None else self._began_s
        if now_s >= began_s + READ_WITHIN_S:
            self._patience.reschedule(now_s)
        else:
            self._look_at(began_s)


class StepStream:
    """One stream of steps. Those whose outcomes are not written yet are bounded: beyond that, nothing more is read."""

    def __init__(
        self,
        answer: AnswerStep,
        *,
        max_under_way: int,
        max_request_bytes: int,
        under_way: UnderWay,
        unwritten: Unwritten,
        pace: Pace,
        outage_grace_s: float,
        load: Callable[[], Load],
    ) -> None:
        """Args: outage_grace_s: how long steps go on when the stream has broken. load: of the service, just now."""
        self._answer = answer
        self._load = load
        self._places = max_under_way
        """That are free: a step has one until its outcome is written."""
        self._max_request_bytes = max_request_bytes
        self._under_way = under_way
        self._unwritten = unwritten
        self._pace = pace
        self._outage_grace_s = outage_grace_s
        self._tasks: dict[asyncio.Task[Answer], int] = {}
        """With their numbers; without those that the client has given up."""
        self._answers: deque[tuple[int, Answer]] = deque()
        self._bytes = 0
        """Of `_answers`."""
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        """There is some, perhaps, for one more step."""
        self._reading: asyncio.Task[None] | None = None

    def end(self) -> None:
        """Begin no more steps; the stream ends when those under way have ended."""
        if self._reading is not None:
            self._reading.cancel()

    async def serve(self, receive: Receive, write: Callable[[Any], Awaitable[None]]) -> None:
        """Carry out what is asked for until the client asks no more; when it breaks, steps under way go on for a while.

        Raises: TaskError: the client sent what is no message. LimitExceeded: it does not read.
        """
        self._reading = asyncio.create_task(self._read(receive), name="steps: read")
        self._reading.add_done_callback(lambda _: self._changed.set())
        try:
            async with Writer(write, self._unwritten) as writer:
                while self._tasks or self._answers or not self._reading.done():
                    await self._changed.wait()
                    self._changed.clear()
                    while self._answers:
                        batch, size_bytes = self._next_batch()
                        self._room.set()
                        await writer.write(size_bytes, partial(outcomes, batch, self._load()))
                        self._places += len(batch)
                        self._room.set()
            if not self._reading.cancelled():
                self._reading.result()
        finally:
            self._reading.cancel()
            loop = asyncio.get_running_loop()
            for task in self._tasks:
                loop.call_later(self._outage_grace_s, task.cancel)

    async def _read(self, receive: Receive) -> None:
        while await self._take_next(receive):
            pass

    async def _take_next(self, receive: Receive) -> bool:
        """Begin the steps of the next message, of which nothing is kept; False: there are no more."""
        message = await receive()
        if message is None:
            return False
        with self._under_way.hold(len(message)) as held:
            for piece in (message,) if len(message) <= SMALL_BYTES else pieces(message):
                request: pb.StepsRequest = parsed(pb.StepsRequest, piece)
                if request.given_up:
                    await self._pace.turn()
                    given_up = set(request.given_up)
                    for task in [task for task, number in self._tasks.items() if number in given_up]:
                        del self._tasks[task]
                        task.cancel()
                for each in request.steps:
                    size_bytes = each.ByteSize() if len(piece) > SMALL_BYTES else 0
                    refusal = held.refusal or (self._too_large(size_bytes) if size_bytes else None)
                    await self._pace.turn(size_bytes, refused=refusal is not None)
                    while not self._places or self._bytes > MAX_WAITING_BYTES:
                        self._room.clear()
                        await self._room.wait()
                    self._begin(each, held, refusal)
        return True

    def _begin(self, numbered: pb.NumberedStep, held: Held, refusal: LimitExceeded | None) -> None:
        self._places -= 1
        step = self._answer(numbered.step) if refusal is None else _refused(refusal)
        task = asyncio.create_task(step, name="step of a stream")
        self._tasks[task] = numbered.number
        held.begin()
        task.add_done_callback(partial(self._ended, held))

    def _too_large(self, size_bytes: int) -> LimitExceeded | None:
        if size_bytes <= self._max_request_bytes:
            return None
        return LimitExceeded(f"the step has {size_bytes} bytes; max_request_bytes is {self._max_request_bytes}")

    def _ended(self, held: Held, task: asyncio.Task[Answer]) -> None:
        held.end()
        number = self._tasks.pop(task, None)
        if number is None:
            self._places += 1
            self._room.set()
            return
        answer = (
            _failed(InfrastructureError("the step was cancelled in the service")) if task.cancelled() else task.result()
        )
        self._answers.append((number, answer))
        self._bytes += answer.size_bytes
        self._changed.set()

    def _next_batch(self) -> tuple[list[tuple[int, Answer]], int]:
        """Take outcomes that make one message of bounded size, at least one; return them with their size in bytes."""
        batch: list[tuple[int, Answer]] = []
        size = 0
        for _ in range(max(LEAST_OUTCOMES, len(self._answers) // 4)):
            if not self._answers or (batch and size + self._answers[0][1].size_bytes > MAX_MESSAGE_BYTES):
                break
            batch.append(self._answers.popleft())
            size += batch[-1][1].size_bytes
        self._bytes -= size
        return batch, size


async def _refused(error: LimitExceeded) -> Answer:
    return _failed(error)


def _failed(error: InfrastructureError | LimitExceeded) -> Answer:
    return Answer.of(to_bytes(error), failed=True)
