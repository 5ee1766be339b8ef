"""Authentication: calls without a valid token go no further."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
from grpc_health.v1 import health

from rlfactory.envs.api.errors import Unauthenticated
from rlfactory.envs.wire.faults import to_status
from rlfactory.envs.wire.trust import AUTHORIZATION

OPEN_TO_ALL: Final = (f"/{health.SERVICE_NAME}/Check", f"/{health.SERVICE_NAME}/Watch")
"""Health checks tell no more than that somebody serves, and those who make them often cannot send a token."""
_SCHEME: Final = "bearer "


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Lets calls through that carry one of the tokens as `authorization: Bearer TOKEN`."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method in OPEN_TO_ALL:
            return handler
        problem = self._problem(dict(handler_call_details.invocation_metadata or ()))
        return _refuse(handler, problem) if problem else handler

    def _problem(self, metadata: dict[str, str | bytes]) -> str:
        """Return why the call may not pass; "" when it may."""
        shown = metadata.get(AUTHORIZATION, "")
        if not isinstance(shown, str) or not shown.lower().startswith(_SCHEME):
            return "this service wants a token, and the call carries none"
        token = shown[len(_SCHEME) :].encode()
        # Every token is compared, in constant time: how long it takes tells nothing.
        matches = [hmac.compare_digest(token, known) for known in self._tokens]
        return "" if any(matches) else "the token is not one that this service knows"


def _refuse(handler: grpc.RpcMethodHandler, problem: str) -> grpc.RpcMethodHandler:
    """Return a handler of the same kind that ends each call with UNAUTHENTICATED."""
    status = to_status(Unauthenticated(problem))

    async def once(_request: object, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await context.abort(*status)

    async def stream(_request: object, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        await context.abort(*status)
        yield

    kinds = {
        (False, False): (grpc.unary_unary_rpc_method_handler, once),
        (False, True): (grpc.unary_stream_rpc_method_handler, stream),
        (True, False): (grpc.stream_unary_rpc_method_handler, once),
        (True, True): (grpc.stream_stream_rpc_method_handler, stream),
    }
    make, refusal = kinds[handler.request_streaming, handler.response_streaming]
    return make(refusal, handler.request_deserializer, handler.response_serializer)
