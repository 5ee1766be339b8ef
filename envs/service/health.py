"""Health: how strangers ask for it, and how a service answers them.

`python -m rlfactory.envs.service.health HOST:PORT` exits 0 when the service serves. Containers run it. The service's
side is bounded, holds no place of other calls, and waits for nobody who does not read: those who ask carry no token.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rlfactory.envs.api.errors import LimitExceeded, RLFactoryError
from rlfactory.envs.wire.convert import parsed
from rlfactory.envs.wire.faults import to_status

TIMEOUT_S: Final = 5.0
SERVICE_NAME: Final = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
MAX_CALLS: Final = 64
"""At a time, watchers among them: they carry no token."""
REQUEST_WITHIN_S: Final = 5.0
"""A call that has not said by then what it asks is ended."""

Context = Any
STATUS: Final = health_pb2.HealthCheckResponse.ServingStatus
Status = int
"""One of `STATUS`."""


def problem_of(address: str, *, timeout_s: float = TIMEOUT_S) -> str:
    """Return what is wrong with the service, "" when it serves.

    A service that speaks TLS is healthy when it completes a handshake or asks for a certificate that we do not have:
    the check runs beside it and knows no secrets.
    """
    with grpc.insecure_channel(address) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
        except grpc.RpcError as error:
            return "" if _speaks_tls(address, timeout_s=timeout_s) else str(error.code())
    serving = health_pb2.HealthCheckResponse.SERVING
    return "" if answer.status == serving else health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


def _speaks_tls(address: str, *, timeout_s: float) -> bool:
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        with socket.create_connection((host, int(port)), timeout=timeout_s) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False


class HealthChecks:
    """The service `grpc.health.v1.Health`."""

    def __init__(self) -> None:
        self._statuses: dict[str, Status] = {}
        self._changed = asyncio.Event()
        self._calls = 0

    def set(self, names: tuple[str, ...], status: Status) -> None:
        """Say what the services' status is, and tell watchers. Waits for nobody."""
        self._statuses.update(dict.fromkeys(names, status))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def handlers(self) -> grpc.GenericRpcHandler:
        """How it is served: both methods begin before a request has come, so that none can wait for it for ever."""
        methods = {name: grpc.stream_stream_rpc_method_handler(self._bounded(name)) for name in ("Check", "Watch")}
        return grpc.method_handlers_generic_handler(SERVICE_NAME, methods)

    def _bounded(self, name: str) -> Any:
        answer = self._check if name == "Check" else self._watch

        async def call(requests: AsyncIterator[bytes], context: Context) -> None:
            if self._calls >= MAX_CALLS:
                await context.abort(*to_status(LimitExceeded(f"{self._calls} health checks are under way")))
            self._calls += 1
            try:
                async with asyncio.timeout(REQUEST_WITHIN_S):
                    request = parsed(health_pb2.HealthCheckRequest, await anext(aiter(requests)))
                await answer(request.service, context)
            except (StopAsyncIteration, TimeoutError):
                await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "no request came")
            except RLFactoryError as error:
                await context.abort(*to_status(error))
            finally:
                self._calls -= 1

        return call

    async def _check(self, service: str, context: Context) -> None:
        if service not in self._statuses:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        await context.write(_said(self._statuses[service]))

    async def _watch(self, service: str, context: Context) -> None:
        told = None
        while True:
            changed, status = self._changed, self._statuses.get(service, STATUS.Value("SERVICE_UNKNOWN"))
            if status != told:
                await context.write(_said(status))
                told = status
            else:
                await changed.wait()


def _said(status: Status) -> bytes:
    return bytes(health_pb2.HealthCheckResponse(status=status).SerializeToString())


if __name__ == "__main__":
    if problem := problem_of(sys.argv[1]):
        sys.exit(f"error: {problem}")
