"""What a step cannot do without: the same screens drawn by Skia, as JPEG, sent by gRPC. For `benchmarks.phones`.

Run as a program it is the server that sends back what it gets; it ends with its input.
"""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import numpy as np
import psutil

from benchmarks.figures import Spread, spread
from benchmarks.phones.process import PHONES, tour
from rlfactory.emulators.device.device import DeviceAction, ImageSpec, OpenApp, PressKey, Swipe, Tap, TypeText
from rlfactory.emulators.device.pixels import encode
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.view.drawing.canvas import draw, surface_on
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.types import JSON, SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient

TASK = "compound.note_to_alarm"
TURNS = 30
"""Of that task: as many as a tour has actions."""
UNCHANGED_SESSIONS = 12
METHOD = "/floor.Echo/Echo"
OPTIONS = (("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20))


@dataclass(kw_only=True, slots=True)
class FloorFigures:
    """A single client on screens that no cache has; milliseconds."""

    floor_ms: Spread
    tour_ms: Spread
    """Steps of a session over the same screens."""
    over_floor: float
    """Median over median."""


@dataclass(slots=True)
class _Screens:
    """Seconds for each screen that was new."""

    floor_s: list[float] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)


def arguments(action: DeviceAction) -> dict[str, JSON]:
    """Return the call of the tool `phone` that does this."""
    match action:
        case Tap(x, y):
            return {"action": "tap", "coordinate": [x, y]}
        case Swipe(x1, y1, x2, y2):
            return {"action": "swipe", "coordinate": [x1, y1], "coordinate2": [x2, y2]}
        case TypeText(text):
            return {"action": "type", "text": text}
        case PressKey(key):
            return {"action": "key", "key": key}
        case OpenApp(name):
            return {"action": "open_app", "app": name}
        case _:
            raise TypeError(f"no tour does {action}")


async def floor(address: str, width_px: int, height_px: int) -> FloorFigures:
    """Walk through the same screens in a session of the service, and without any of it."""
    screens = _Screens()
    tours = [tour(width_px, height_px, number) for number in range(PHONES)]
    async with EnvClient(address) as client:
        for actions in tours:
            await _by_service(client, actions, screens)
    device = await DirectSource(PhoneConfig(width_px=width_px, height_px=height_px), threads=1).start()
    pixels = np.zeros((height_px, width_px, 4), np.uint8)
    canvas, seen = surface_on(pixels).getCanvas(), set[str]()
    async with _echo() as echo:
        for actions in tours:
            await device.act(PressKey("HOME"), timeout_s=10)
            for action in actions:
                await device.act(action, timeout_s=10)
                scene = device.phone.scene()
                if scene.digest in seen:
                    continue
                seen.add(scene.digest)
                started_s = time.perf_counter()
                draw(canvas, scene.display_list)
                await echo(encode(pixels, ImageSpec()).data)
                screens.floor_s.append(time.perf_counter() - started_s)
    floor_ms, tour_ms = spread(screens.floor_s), spread(screens.step_s)
    return FloorFigures(floor_ms=floor_ms, tour_ms=tour_ms, over_floor=round(tour_ms.p50 / floor_ms.p50, 2))


async def _by_service(client: EnvClient, actions: list[DeviceAction], screens: _Screens) -> None:
    seen: set[str] = set()
    async with client.session(TASK, seed=0, options=SessionOptions(with_tree=True)) as session:
        for number, action in enumerate(actions):
            started_s = time.perf_counter()
            result = await session.step([ToolCall(id=f"{number}", name="phone", arguments=arguments(action))])
            spent_s, image = time.perf_counter() - started_s, result.observation.image
            if image is not None and image.digest not in seen:
                seen.add(image.digest)
                screens.step_s.append(spent_s)


async def unchanged_steps_per_s(address: str, pid: int) -> float:
    """Return steps that leave the screen as it was, of one client, for each second of the server's CPU time."""
    server, spent_s = psutil.Process(pid), 0.0
    async with EnvClient(address) as client:
        for _ in range(UNCHANGED_SESSIONS):
            async with client.session(TASK, seed=0, options=SessionOptions(with_tree=True)) as session:
                before_s = cpu_s(server)
                for number in range(TURNS - 1):
                    await session.step(
                        [ToolCall(id=f"{number}", name="phone", arguments={"action": "key", "key": "HOME"})]
                    )
                spent_s += cpu_s(server) - before_s
    return round(UNCHANGED_SESSIONS * (TURNS - 1) / spent_s, 1)


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@asynccontextmanager
async def _echo() -> AsyncIterator[grpc.aio.UnaryUnaryMultiCallable]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.phones.floor", stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS) as channel:
            yield channel.unary_unary(METHOD)
    finally:
        process.stdin.close()
        await process.wait()


async def _serve() -> None:
    async def answer(request: bytes, context: object) -> bytes:
        return request

    server = grpc.aio.server(options=OPTIONS)
    handler = grpc.method_handlers_generic_handler("floor.Echo", {"Echo": grpc.unary_unary_rpc_method_handler(answer)})
    server.add_generic_rpc_handlers((handler,))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    asyncio.run(_serve())
