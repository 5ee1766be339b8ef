"""Connections to a service that break, never come about, or are not open: what a client says and does then."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager

import pytest

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.api.types import ImageFormat, ImageRef, Observation
from rlfactory.envs.client import ClientConfig, EnvClient, RetryPolicy


async def test_a_step_outlives_a_broken_connection_for_a_moment(serve, call, bench):
    async with serve(orphan_grace_s=30) as (server, client):
        begun = await client.reset("bench.talk", seed=0)
        calls = [call("free", do="wait", text="kept")]
        async with EnvClient(server.address) as lost:
            step = asyncio.create_task(lost.step(begun.session, 1, calls))
            await bench.until(lambda: bool(bench.log))
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
        again = asyncio.create_task(client.step(begun.session, 1, calls))
        bench.gate.set()
        assert (await again).results[0].text == "kept 1"
        assert bench.log == ["begin kept", "kept"]


async def test_nobody_at_the_address():
    with pytest.raises(InfrastructureError, match=r"no environment service at 127\.0\.0\.1:1"):
        async with EnvClient("127.0.0.1:1", config=ClientConfig(connect_timeout_s=0.3)):
            pass


async def test_a_client_that_is_not_open_says_so():
    with pytest.raises(InfrastructureError, match="async with"):
        await EnvClient("127.0.0.1:1").status()


async def test_a_retry_after_a_broken_connection_gets_the_step_that_was_done(serve, call, bench):
    async with serve() as (server, client):
        begun = await client.reset("bench.talk", seed=0)
        async with relay(server.address) as (address, cut), EnvClient(address) as far:
            step = asyncio.create_task(far.step(begun.session, 1, [call("free", do="wait", text="once")]))
            await bench.until(lambda: bench.log == ["begin once"])
            cut()
            bench.gate.set()
            assert (await step).results[0].text == "once 1"
        assert bench.log == ["begin once", "once"]


async def test_a_service_that_stays_away_is_infrastructure(serve):
    async with serve() as (server, _), relay(server.address) as (address, cut):
        config = ClientConfig(total_timeout_s=2.0, call_timeout_s=1.0)
        async with EnvClient(address, config=config) as client:
            begun = await client.reset("bench.talk", seed=0)
            cut(for_good=True)
            with pytest.raises(InfrastructureError, match=f"environment service at {address}"):
                await client.renew(begun.session)


async def test_a_picture_that_was_never_received_cannot_be_left_out(serve):
    async with serve() as (_, client):
        image = ImageRef(data=b"", format=ImageFormat.JPEG, width_px=1, height_px=1, digest="d")
        with pytest.raises(InfrastructureError, match="never received"):
            client._with_bytes("s", Observation(sequence=1, image=image))


@pytest.mark.parametrize(
    "make", [lambda: RetryPolicy(attempts=0), lambda: ClientConfig(call_timeout_s=0)], ids=["attempts", "timeout"]
)
def test_a_client_config_is_checked_once(make):
    with pytest.raises(ValueError, match="must be"):
        make()


@asynccontextmanager
async def relay(address: str):
    """Pass bytes to the address; `cut()` breaks the connections there are, `cut(for_good=True)` those to come too."""
    host, _, port = address.rpartition(":")
    writers: set[asyncio.StreamWriter] = set()
    pumps: set[asyncio.Task[None]] = set()

    async def pump(reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader, writer):
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writers.update((writer, far_writer))
        for each in (pump(reader, far_writer), pump(far_reader, writer)):
            pumps.add(asyncio.create_task(each))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)

    def cut(*, for_good: bool = False) -> None:
        if for_good:
            server.close()
        for writer in writers:
            writer.transport.abort()
        writers.clear()

    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", cut
    finally:
        cut(for_good=True)
        await asyncio.gather(*pumps, return_exceptions=True)
