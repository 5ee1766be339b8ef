"""What goes wrong in `benchmarks.chaos`: each fault is done to real processes and containers, never pretended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import docker
from docker.errors import APIError, NotFound

from benchmarks.chaos_service import ServiceUnderFire
from rlfactory.processes.docker.spec import LABEL_CELL, LABEL_KIND, LABEL_OWNER

PAUSE_S: Final = 5.0
_FILL = "f=open('/tmp/fill','wb')\nwhile True: f.write(bytes(1<<20))"
_HOG = "import os\nheld=[]\nwhile True: held.append(bytearray(os.urandom(1<<20)))"


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of harm."""

    name: str
    strike: Callable[[], Awaitable[bool]]
    """Does it; False when there was nothing to do it to."""


class Containers:
    """The containers of one kind that the service has, through the engine's SDK."""

    def __init__(self, service: ServiceUnderFire, chance: random.Random, *, kind: str) -> None:
        self._client = docker.from_env()
        self._service = service
        self._chance = chance
        self._kind = kind

    def close(self) -> None:
        self._client.close()

    def _pick(self) -> Any:
        """Return a running container of the service, None when there is none."""
        found = [
            each
            for each in self._client.containers.list(filters={"label": f"{LABEL_KIND}={self._kind}"})
            if f":{self._service.pid}:" in each.labels.get(LABEL_OWNER, "") and each.status == "running"
        ]
        return self._chance.choice(found) if found else None

    async def _with_one(self, harm: Callable[[Any], object]) -> bool:
        def strike() -> bool:
            with contextlib.suppress(NotFound, APIError):
                container = self._pick()
                if container is not None:
                    harm(container)
                    return True
            return False

        return await asyncio.to_thread(strike)

    async def kill(self) -> bool:
        return await self._with_one(lambda container: container.kill())

    async def stop(self) -> bool:
        """The polite way."""
        return await self._with_one(lambda container: container.stop(timeout=1))

    async def pause(self) -> bool:
        """It stands still for a while, and then goes on as if nothing had been."""
        paused: list[Any] = []

        def harm(container: Any) -> None:
            container.pause()
            paused.append(container)

        if not await self._with_one(harm):
            return False
        await asyncio.sleep(PAUSE_S)
        with contextlib.suppress(NotFound, APIError):
            await asyncio.to_thread(paused[0].unpause)
        return True

    async def cut_off(self) -> bool:
        """Its network is taken away, for good."""

        def harm(container: Any) -> None:
            container.reload()
            for name in container.attrs["NetworkSettings"]["Networks"]:
                self._client.networks.get(name).disconnect(container, force=True)

        return await self._with_one(harm)

    async def fill_disk(self) -> bool:
        """All that it can write to is full."""
        return await self._with_one(lambda container: container.exec_run(["python3", "-c", _FILL]))

    async def fill_memory(self) -> bool:
        """Its memory is used up; the kernel ends what it likes in there."""
        return await self._with_one(lambda container: container.exec_run(["python3", "-c", _HOG]))

    def leftovers(self) -> int:
        """Count containers and networks that any service of ours has left."""
        marks = [f":{pid}:" for pid in self._service.pids]

        def ours(labels: dict[str, str]) -> bool:
            return any(mark in labels.get(LABEL_OWNER, "") for mark in marks)

        containers = self._client.containers.list(all=True, filters={"label": LABEL_CELL})
        networks = self._client.networks.list(filters={"label": LABEL_CELL})
        return sum(ours(each.labels) for each in containers) + sum(ours(each.attrs["Labels"]) for each in networks)


class Processes:
    """The processes of the service."""

    def __init__(self, service: ServiceUnderFire, chance: random.Random) -> None:
        self._service = service
        self._chance = chance

    async def kill_phones(self) -> bool:
        return self._signal_phones(signal.SIGKILL) is not None

    async def pause_phones(self) -> bool:
        pid = self._signal_phones(signal.SIGSTOP)
        if pid is None:
            return False
        await asyncio.sleep(PAUSE_S)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        return True

    def _signal_phones(self, number: signal.Signals) -> int | None:
        workers = self._service.workers()
        if not workers:
            return None
        worker = self._chance.choice(workers)
        os.kill(worker.pid, number)
        return worker.pid

    async def kill_adb(self) -> bool:
        return self._signal_adb(signal.SIGKILL)

    async def hang_adb(self) -> bool:
        return self._signal_adb(signal.SIGSTOP)

    def _signal_adb(self, number: signal.Signals) -> bool:
        adb = self._service.adb_server()
        if adb is None:
            return False
        adb.send_signal(number)
        return True

    async def kill_service(self) -> bool:
        self._service.kill()
        return True

    async def pause_service(self) -> bool:
        pid = self._service.pid
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(PAUSE_S / 2)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        return True


def faults(processes: Processes, phones: Containers | None, sandboxes: Containers | None) -> Sequence[Fault]:
    """Return every kind of harm, in the order in which it is done; None: no containers of this kind."""
    common = [
        Fault("adb server killed", processes.kill_adb),
        Fault("adb server hung", processes.hang_adb),
        Fault("service killed", processes.kill_service),
        Fault("service paused", processes.pause_service),
    ]
    if phones is None or sandboxes is None:
        return [
            Fault("phones killed", processes.kill_phones),
            Fault("phones paused", processes.pause_phones),
            *common,
        ]
    return [
        Fault("container killed", phones.kill),
        Fault("container paused", phones.pause),
        Fault("container cut off", phones.cut_off),
        Fault("container's disk filled", phones.fill_disk),
        Fault("container's memory filled", phones.fill_memory),
        Fault("container stopped", phones.stop),
        Fault("sandbox killed", sandboxes.kill),
        Fault("sandbox paused", sandboxes.pause),
        *common,
    ]
