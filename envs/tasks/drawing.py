"""Tasks are drawn beside the event loop: in a thread, and what takes long in a process of its own.

A thread that draws has the interpreter, and everybody's turns wait for it again and again. A process has not, and can
be ended. Which templates take long is measured: the first draw of each is made in a thread.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, assert_never

from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError
from rlfactory.envs.api.types import Split
from rlfactory.envs.service.services import TENANT
from rlfactory.envs.tasks.drawing_worker import LENGTH, Answer, Drawn, Failed, NotHere, Unpickler, draw_whole
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tools.runtime.fair_places import FairPlaces
from rlfactory.envs.tools.runtime.threads import in_thread
from rlfactory.processes.child import Child
from rlfactory.processes.errors import ProcessError, ProgramEnded

log = logging.getLogger(__name__)

THREADS: Final = 3
THREADS_OF_TENANT: Final = 2
"""There is always a place for another; so it is with processes."""
SLOW_S: Final = 0.002
"""Of a processor, on average: less is quicker done in a thread than asked of a process."""
WEIGHT: Final = 0.2
"""Of the latest draw in that average."""
START_TIMEOUT_S: Final = 60.0
GIVES_WAY: Final = 5
"""Processes that draw leave the processors to the service first (`nice`), once they have come up."""
_PROGRAM: Final = "from rlfactory.envs.tasks.drawing_worker import main; main()"
"""Not by `-m`: answers have to be of that module, and not of `__main__`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawingConfig:
    """Where the tasks of a service are drawn."""

    processes: int = 0
    """At most; 0: threads draw all. Started when they are first needed."""
    processes_of_tenant: int = 1
    files: tuple[Path, ...] = ()
    """Of tasks beside those that ship and that are installed."""
    timeout_s: float = 30.0
    """For a draw in a process, which is ended then."""

    def __post_init__(self) -> None:
        if self.processes < 0 or self.processes_of_tenant < 1:
            raise ValueError("processes must be at least 0, processes_of_tenant at least 1")
        if self.timeout_s <= 0:
            raise ValueError(f"timeout_s must be above 0, got {self.timeout_s}")


class Drawing:
    """Draws the tasks of a service, fairly for its tenants. A `SharedService`."""

    def __init__(self, config: DrawingConfig | None = None) -> None:
        self._config = config or DrawingConfig()
        self._threads = FairPlaces(THREADS, most_of_one=THREADS_OF_TENANT)
        self._places = FairPlaces(self._config.processes, most_of_one=self._config.processes_of_tenant)
        self._took_s: dict[str, float] = {}
        """On average, by template."""
        self._stay: set[str] = set()
        """Templates that only threads can draw."""
        self._alive: set[_Process] = set()
        self._idle: list[_Process] = []
        self._asking: set[asyncio.Task[Answer]] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(each.kill() for each in self._alive))
        await asyncio.gather(*self._asking, return_exceptions=True)
        await asyncio.gather(*(each.kill() for each in self._alive))  # who was being started

    async def draw(self, tasks: TaskRegistry, name: str, *, seed: int, split: Split, alone: bool = False) -> Task:
        """Return a task with its goal made.

        Args:
            alone: nobody is held up, so a thread draws it: a process would have to start first.

        Raises:
            UnknownName, TaskError: see `TaskRegistry.draw`.
            EnvironmentFault: the template is broken, or takes too long.
            InfrastructureError: two processes ended in a row.
        """
        while True:
            if self._slow(name) and not alone:
                answer = await self._in_process(tasks, name, seed, split)
            else:
                async with self._threads.place(TENANT.get()):
                    if self._slow(name) and not alone:  # as those before have told
                        continue
                    answer = await in_thread(lambda: draw_whole(tasks, name, seed=seed, split=split))
            match answer:
                case Drawn(task=task, took_s=took_s):
                    before_s = self._took_s.get(name, took_s)
                    self._took_s[name] = before_s + WEIGHT * (took_s - before_s)
                    return task
                case Failed(error=error):
                    raise error
                case NotHere(why=why):
                    log.warning("task %s is drawn in a thread, which holds others up: %s", name, why)
                    self._stay.add(name)
                case _:
                    assert_never(answer)

    def _slow(self, name: str) -> bool:
        return bool(self._config.processes) and name not in self._stay and self._took_s.get(name, 0.0) > SLOW_S

    async def _in_process(self, tasks: TaskRegistry, name: str, seed: int, split: Split) -> Answer:
        """Return what a process answers. It is left to, if nobody waits any more: to start another takes longer."""
        tenant = TENANT.get()
        begun_s = await self._places.take(tenant)
        request = json.dumps({"name": name, "seed": seed, "split": split}).encode() + b"\n"
        asking = asyncio.create_task(self._asked(request, tasks, name))
        self._asking.add(asking)

        def over(_: object) -> None:
            self._asking.discard(asking)
            self._places.free(begun_s, tenant)
            if not asking.cancelled():
                asking.exception()  # which is nobody's, perhaps

        asking.add_done_callback(over)
        return await asyncio.shield(asking)

    async def _asked(self, request: bytes, tasks: TaskRegistry, name: str) -> Answer:
        """Put a request to a process; once more to a fresh one if that ended."""
        ended = ""
        for _ in range(2):
            if self._closed:
                raise InfrastructureError("the service stops")
            try:
                process = self._idle.pop() if self._idle else await self._started()
            except (ProcessError, TimeoutError) as error:
                return NotHere(why=f"no process for it starts: {error or 'no answer'}")
            try:
                async with asyncio.timeout(self._config.timeout_s):
                    data = await process.ask(request)
            except TimeoutError:
                await self._end(process)
                raise EnvironmentFault(f"task {name!r} took more than {self._config.timeout_s:g} s to draw") from None
            except ProgramEnded as error:
                await self._end(process)
                ended = str(error)
                continue
            self._idle.append(process)
            answer = Unpickler(data, tasks)
            return await in_thread(answer.load)
        raise InfrastructureError(f"two processes ended while they drew task {name!r}: {ended}")

    async def _started(self) -> _Process:
        """Raises: ProcessError, TimeoutError: it does not start."""
        words = (sys.executable, "-c", _PROGRAM, *map(str, self._config.files))
        process = _Process(await Child.start(*words, name="draw"))
        self._alive.add(process)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await process.receive()
        except (ProgramEnded, TimeoutError):
            await self._end(process)
            raise
        process.child.give_way(GIVES_WAY)
        return process

    async def _end(self, process: _Process) -> None:
        self._alive.discard(process)
        await process.kill()


class _Process:
    def __init__(self, child: Child) -> None:
        self.child = child

    async def ask(self, request: bytes) -> bytes:
        """Raises: ProgramEnded."""
        await self.child.send(request)
        return await self.receive()

    async def receive(self) -> bytes:
        """Raises: ProgramEnded."""
        try:
            (length,) = LENGTH.unpack(await self.child.stdout.readexactly(LENGTH.size))
            return await self.child.stdout.readexactly(length)
        except asyncio.IncompleteReadError:
            raise ProgramEnded(f"exit status {await self.child.process.wait()}") from None

    async def kill(self) -> None:
        await self.child.stop(patience_s=0)
