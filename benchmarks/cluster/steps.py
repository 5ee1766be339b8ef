"""Steps a second of two clients: one that finds a host by the directory, one that is told that host's address.

Each client is a process of its own, so that what Ray and the directory cost is spent where it belongs. They play
sessions of the same steps in turns, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import sys
import time
from typing import Any, Final

from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.processes.child import Child

TASK: Final = "settings.wifi_on"
OPTIONS: Final = SessionOptions(with_image=False, with_tree=True, lease_s=60.0)
GROUPS: Final = 15
SESSIONS: Final = 20
"""Of each client in a group: steps for about a second, in which the directory is read some times."""


async def overhead(client: EnvClient) -> float:
    """Return steps a second through the directory over those of who is told the address: the median of groups.

    Args: client: by which the cluster's hosts and how they are trusted are known.
    """
    trust = client.known_trust
    known = {"hosts": client.services, "token": trust.token, "ca": trust.ca.decode(), "name": trust.server_name}
    found = await _started({**known, "hosts": (client.address,)})
    told = await _started(known)
    ratios = []
    try:
        for _ in range(GROUPS):
            found_s = told_s = 0.0
            for _ in range(SESSIONS):
                one = await _played(found, client.address)
                other = await _played(told, one["host"])
                found_s, told_s = found_s + one["step_s"], told_s + other["step_s"]
            ratios.append(told_s / found_s)
    finally:
        await asyncio.gather(found.stop(), told.stop())
    return statistics.median(ratios)


async def _started(known: dict[str, Any]) -> Child:
    child = await Child.start(sys.executable, "-m", "benchmarks.cluster.steps", name="steps")
    await child.send(json.dumps(known).encode() + b"\n")
    return child


async def _played(child: Child, address: str) -> dict[str, Any]:
    await child.send(address.encode() + b"\n")
    played: dict[str, Any] = json.loads(await child.receive())
    return played


async def be_client() -> None:
    """Be one of the clients: play a session at each address that is read."""
    known = json.loads(sys.stdin.readline())
    trust = ClientTrust(token=known["token"], ca=known["ca"].encode(), server_name=known["name"])
    async with contextlib.AsyncExitStack() as stack:
        clients = {
            address: await stack.enter_async_context(EnvClient(address, trust=trust)) for address in known["hosts"]
        }
        while line := await asyncio.to_thread(sys.stdin.readline):
            client = clients[line.strip()]
            async with client.session(TASK, seed=0, options=OPTIONS) as session:
                began_s = time.perf_counter()
                for _ in range(session.max_turns - 1):
                    await session.step([])
                step_s = (time.perf_counter() - began_s) / (session.max_turns - 1)
                print(json.dumps({"host": client.home(session.id), "step_s": step_s}), flush=True)


if __name__ == "__main__":
    asyncio.run(be_client())
