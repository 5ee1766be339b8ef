"""Keeps web pages of others, and bodies without end, from a server that has no token.

A browser sends requests to loopback for any page that asks it to; it says which page by `Origin`. A name of the page's
own may point to loopback, too; it is told by `Host`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from rlfactory.envs.wire.trust import is_loopback

MAX_BODY_BYTES: Final = 4 << 20

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Guard:
    """An ASGI application before another."""

    def __init__(self, app: App, *, loopback_only: bool = True) -> None:
        """Args: loopback_only: clients have to call us by a name of this machine's loopback."""
        self._app = app
        self._loopback_only = loopback_only

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status, problem = self._problem(headers)
        if not problem:
            return await self._app(scope, _bounded(receive), send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008, "reason": problem})
        body = [(b"content-type", b"text/plain"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": status, "headers": body})
        await send({"type": "http.response.body", "body": problem.encode()})
        return None

    def _problem(self, headers: dict[str, str]) -> tuple[int, str]:
        host = headers.get("host", "")
        if self._loopback_only and not is_loopback(_split(f"//{host}").hostname or ""):
            return 421, "this server is called by another name"
        origin = headers.get("origin", "")
        if origin and _split(origin).netloc != host:
            return 403, "pages of others may not call this server"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MAX_BODY_BYTES:
            return 413, f"a body has at most {MAX_BODY_BYTES} bytes"
        return 0, ""


def _split(url: str) -> SplitResult:
    """Return the parts of an address; nothing of one that is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _bounded(receive: Receive) -> Receive:
    """Return what receives no more of a body than is allowed; who sends more is taken to have gone."""
    received = 0

    async def some() -> Message:
        nonlocal received
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                return {"type": "http.disconnect"}
        return message

    return some
