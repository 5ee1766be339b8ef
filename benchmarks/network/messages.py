"""A proxy of gRPC's messages, for what no proxy of bytes can do: they arrive twice, or in another order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, Self

import grpc

from rlfactory.envs.service.server import CONNECTIONS

STEPS: Final = "/Steps"
"""How the name of the one method ends whose requests are a stream of independent messages."""
MAX_HELD_S: Final = 0.05
"""What is reordered is held back for up to so long, each message for itself."""
PassOn = Callable[[], Awaitable[None]]
OPTIONS: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), *CONNECTIONS)
"""As the service's: clients ask as often whether it is there."""


class MessageProxy:
    """Passes on the calls of any service. An async context manager."""

    def __init__(self, target: str, *, rng: random.Random) -> None:
        self.address = ""
        self.duplicate = False
        """Send each request twice; the second answer of a call is thrown away."""
        self.reorder = False
        """Pass on messages of a stream in another order, requests as well as answers."""
        self.duplicated = 0
        self._rng = rng
        self._channel = grpc.aio.insecure_channel(target, options=OPTIONS)
        self._server = grpc.aio.server(options=OPTIONS)
        self._again: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server.add_generic_rpc_handlers((_Anything(self._pass_on),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(0)
        await asyncio.gather(*self._again, return_exceptions=True)
        await self._channel.close()

    async def _pass_on(self, method: str, requests: AsyncIterator[bytes], context: Any) -> None:
        call = self._call(method, context)
        asking = asyncio.create_task(self._ask(method, call, requests, context))
        failure = None
        try:
            await context.send_initial_metadata(tuple(await call.initial_metadata() or ()))
            async with asyncio.TaskGroup() as answers:
                async for data in call:
                    await self._hold(partial(context.write, data), method, answers)
            await call.code()
        except* grpc.aio.AioRpcError as errors:
            failure = _first(errors)
        finally:
            asking.cancel()
            call.cancel()
        if failure is not None:
            context.set_trailing_metadata(tuple(failure.trailing_metadata() or ()))
            await context.abort(failure.code(), failure.details() or "")

    def _call(self, method: str, context: Any) -> Any:
        left_s = context.time_remaining()
        return self._channel.stream_stream(method)(metadata=context.invocation_metadata(), timeout=left_s)

    async def _ask(self, method: str, call: Any, requests: AsyncIterator[bytes], context: Any) -> None:
        async with asyncio.TaskGroup() as group:
            async for data in requests:
                await self._hold(partial(call.write, data), method, group)
                if self.duplicate:
                    self.duplicated += 1
                    if method.endswith(STEPS):
                        await self._hold(partial(call.write, data), method, group)
                    else:
                        self._ask_again(method, data, context)
        await call.done_writing()

    async def _hold(self, pass_on: PassOn, method: str, group: asyncio.TaskGroup) -> None:
        """Pass a message on, or have that done in a moment while others overtake it."""
        if self.reorder and method.endswith(STEPS):
            group.create_task(_later(self._rng.uniform(0, MAX_HELD_S), pass_on))
        else:
            await pass_on()

    def _ask_again(self, method: str, data: bytes, context: Any) -> None:
        again = self._call(method, context)

        async def ask() -> None:
            await again.write(data)
            await again.done_writing()
            async for _ in again:
                pass

        task = asyncio.create_task(ask())
        self._again.add(task)
        task.add_done_callback(self._again.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


def _first(errors: BaseExceptionGroup[Any]) -> grpc.aio.AioRpcError:
    error: Any = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _later(seconds: float, pass_on: PassOn) -> None:
    await asyncio.sleep(seconds)
    await pass_on()


class _Anything(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, pass_on: Any) -> None:
        self._pass_on = pass_on

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = handler_call_details.method

        async def call(requests: AsyncIterator[bytes], context: Any) -> None:
            await self._pass_on(method, requests, context)

        return grpc.stream_stream_rpc_method_handler(call)
