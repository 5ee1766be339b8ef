"""How short the way of one tap is: through how much of our code it goes on the service's event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from types import FrameType

import rlfactory
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.types import ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving

MOST_FILES = 18
MOST_LAYERS = 3
OURS = f"{Path(rlfactory.__file__).parent}/"
RUNTIME = f"{OURS}envs/tools/runtime/runtime.py"


def tap(y_px: int) -> ToolCall:
    return ToolCall(id="0", name="phone", arguments={"action": "tap", "coordinate": [500, y_px]})


async def test_a_tap_over_grpc_crosses_few_files_and_three_layers_of_the_tool_runtime():
    loop = asyncio.get_running_loop()
    ready, tapped = asyncio.Event(), asyncio.Event()
    traced = threading.Event()
    files: dict[str, set[str]] = {}
    layers: set[str] = set()

    async def play(address: str) -> None:
        async with EnvClient(address) as client, client.session("settings.wifi_on", seed=1) as session:
            await session.step([tap(900)])  # what is made on first use
            loop.call_soon_threadsafe(ready.set)
            await asyncio.to_thread(traced.wait)
            await session.step([tap(1200)])
            loop.call_soon_threadsafe(tapped.set)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(OURS):
            files.setdefault(path.removeprefix(OURS), set()).add(frame.f_code.co_qualname)
            caller: FrameType | None = frame
            while path.endswith("tools/phone.py") and caller is not None:
                if caller.f_code.co_filename == RUNTIME:
                    layers.add(caller.f_code.co_qualname)
                caller = caller.f_back

    phones = phone_source(PhonesConfig(phones=1, spares=0))
    async with serving(ServerConfig(port=0), phones=phones, pool=PoolConfig(phones=1, spares=0)) as server:
        player = threading.Thread(target=lambda: asyncio.run(play(server.address)), daemon=True)
        player.start()
        await ready.wait()
        sys.setprofile(note)  # of this thread, and so of the event loop, alone
        try:
            traced.set()
            await tapped.wait()
        finally:
            sys.setprofile(None)
        await asyncio.to_thread(player.join)
    files.pop("envs/service/watchdog.py", None)  # it beats by itself, whoever taps
    crossed = "".join(f"\n  {path}: {', '.join(sorted(names))}" for path, names in sorted(files.items()))
    assert "envs/service/session.py" in files, "the tap was not seen"
    assert 0 < len(layers) <= MOST_LAYERS, layers
    assert len(files) <= MOST_FILES, f"{len(files)} files{crossed}"
