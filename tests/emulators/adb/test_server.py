"""The adb server of a service: watched for weeks, it leaves nothing behind in the watching."""

from __future__ import annotations

import asyncio
import gc

from rlfactory.emulators.adb import server as adb_server
from rlfactory.emulators.adb.server import AdbServer
from rlfactory.emulators.device.deadline import within


async def test_watching_a_server_that_is_well_costs_no_memory(monkeypatch, eventually):
    monkeypatch.setattr(adb_server, "_PING_INTERVAL_S", 0.005)
    pings = 0

    def counted(timeout_s: float, what: str):
        nonlocal pings
        pings += what == "its answer"
        return within(timeout_s, what)

    monkeypatch.setattr(adb_server, "within", counted)

    async def back(_: object) -> None:
        raise AssertionError("it was replaced though it was well")

    server = AdbServer(on_back=back)
    client = await server.start()
    try:
        await eventually(lambda: pings > 10)
        first = _futures()
        await eventually(lambda: pings > 60)
        assert _futures() - first < 10
        assert await client.command("host:version")
    finally:
        await server.close()


def _futures() -> int:
    gc.collect()
    return sum(issubclass(type(each), asyncio.Future) for each in gc.get_objects())  # asks no object, only its type
