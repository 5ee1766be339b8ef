"""Authentication: who calls, and that calls without a valid token go no further."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import grpc

from rlfactory.envs.api.errors import Unauthenticated
from rlfactory.envs.service import access_log, health
from rlfactory.envs.service.services import TENANT
from rlfactory.envs.wire.faults import to_status
from rlfactory.envs.wire.trust import AUTHORIZATION

OPEN_TO_ALL: Final = (f"/{health.SERVICE_NAME}/Check", f"/{health.SERVICE_NAME}/Watch")
"""Health checks tell no more than that somebody serves, and those who make them often cannot send a token."""
_SCHEME: Final = "bearer "


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Lets calls through that carry one of the tokens as `authorization: Bearer TOKEN`."""

    def __init__(self, tokens: tuple[str, ...], tenants: Mapping[str, str]) -> None:
        """Args: tenants: whose a token is, where it is not everybody's."""
        self._tokens = tuple((token.encode(), tenants.get(token, "")) for token in tokens)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method in OPEN_TO_ALL:
            return handler
        problem = self._problem(dict(handler_call_details.invocation_metadata or ()))
        return _refuse(handler_call_details.method, problem) if problem else handler

    def _problem(self, metadata: dict[str, str | bytes]) -> str:
        """Return why the call may not pass; "" when it may, and `TENANT` is set."""
        shown = metadata.get(AUTHORIZATION, "")
        if not isinstance(shown, str) or not shown.lower().startswith(_SCHEME):
            return "this service wants a token, and the call carries none"
        token = shown[len(_SCHEME) :].encode()
        # Every token is compared, in constant time: how long it takes tells nothing.
        matches = [tenant for known, tenant in self._tokens if hmac.compare_digest(token, known)]
        if matches:
            TENANT.set(matches[0])
        return "" if matches else "the token is not one that this service knows"


def _refuse(method: str, problem: str) -> grpc.RpcMethodHandler:
    """Return a handler that ends each call with UNAUTHENTICATED at once.

    It is that of a stream, whatever the method is: others wait for a request first, which a stranger may never send.
    """
    status = to_status(Unauthenticated(problem))

    async def refuse(_requests: object, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        access_log.refused(method, context.peer(), status[0].name, problem, reason=Unauthenticated.reason)
        await context.abort(*status)

    return grpc.stream_stream_rpc_method_handler(refuse)
