"""A proxy of gRPC's messages, for what no proxy of bytes can do: they arrive twice, or in another order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Self

import grpc

from rlfactory.envs.service.server import CONNECTIONS

STEPS: Final = "/Steps"
"""How the name of the one method ends whose requests are a stream of independent messages."""
MAX_HELD_S: Final = 0.05
"""What is reordered is held back for up to so long, each message for itself."""
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
        for each in self._again:
            each.cancel()  # a watch that was asked for twice ends by itself no more than the first
        await asyncio.gather(*self._again, return_exceptions=True)
        await self._channel.close()

    async def _pass_on(self, method: str, requests: AsyncIterator[bytes], context: Any) -> None:
        call = self._call(method, context)
        asking = asyncio.create_task(self._ask(method, call, requests, context))
        failure = None
        try:
            await context.send_initial_metadata(tuple(await call.initial_metadata() or ()))
            async with _Messages(context.write, self._holds(method)) as answers:
                async for data in call:
                    await answers.pass_on(data)
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
        async with _Messages(call.write, self._holds(method)) as asked:
            async for data in requests:
                await asked.pass_on(data)
                if self.duplicate:
                    self.duplicated += 1
                    if method.endswith(STEPS):
                        await asked.pass_on(data)
                    else:
                        self._ask_again(method, data, context)
        await call.done_writing()

    def _holds(self, method: str) -> Callable[[], float]:
        """Return what tells for how long the next message of a call is held back, in seconds."""
        return lambda: self._rng.uniform(0, MAX_HELD_S) if self.reorder and method.endswith(STEPS) else 0.0

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


class _Messages:
    """One direction of a call: passes messages on, or has that done in a moment while others overtake them."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]], holds: Callable[[], float]) -> None:
        self._write = write
        self._holds = holds
        self._one_at_a_time = asyncio.Lock()
        """gRPC refuses a second write while one is under way."""
        self._held = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._held.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._held.__aexit__(*raised)

    async def pass_on(self, data: bytes) -> None:
        if held_s := self._holds():
            self._held.create_task(self._after(held_s, data))
        else:
            await self._after(0.0, data)

    async def _after(self, seconds: float, data: bytes) -> None:
        await asyncio.sleep(seconds)
        async with self._one_at_a_time:
            await self._write(data)


class _Anything(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, pass_on: Any) -> None:
        self._pass_on = pass_on

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = handler_call_details.method

        async def call(requests: AsyncIterator[bytes], context: Any) -> None:
            await self._pass_on(method, requests, context)

        return grpc.stream_stream_rpc_method_handler(call)
