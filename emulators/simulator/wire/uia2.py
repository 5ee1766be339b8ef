"""uiautomator2's server on the phone: HTTP with JSON-RPC, reached through adbd's `tcp:` service."""

from __future__ import annotations

import json
import logging
import re
from typing import Any, Final

import h11

from rlfactory.emulators.simulator.wire.adbd import ServiceMisused, Stream, StreamClosed
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread
from rlfactory.emulators.simulator.wire.uia2_methods import RpcError, Uia2Methods

log = logging.getLogger(__name__)

DEFAULT_PORT: Final = 9008
MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 16 * 1024 * 1024
_LAUNCH = re.compile(r"app_process\s+/\s+com\.wetest\.uia2\.Main(?:\s+-p\s+(\d+))?")


class Uia2Server:
    """One phone's server: runs from `start` to `stop`, as the process that adb starts does."""

    def __init__(self, thread: PhoneThread) -> None:
        self._methods = Uia2Methods(thread)
        self._port: int | None = None

    @staticmethod
    def launch_port(command: str) -> int | None:
        """Return the port if a shell command starts the server, else None."""
        launch = _LAUNCH.search(command)
        return int(launch[1] or DEFAULT_PORT) if launch else None

    def listens(self, port: int) -> bool:
        return port == self._port

    def start(self, port: int) -> bool:
        """Begin to listen; False when it runs already."""
        if self._port is not None:
            return False
        self._port = port
        return True

    def stop(self) -> None:
        self._port = None

    async def serve(self, stream: Stream) -> None:
        """Serve the requests of one connection. Raises: ServiceMisused: no HTTP, or too much of it."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        try:
            while http.our_state is not h11.MUST_CLOSE:
                request = await _next_request(http, stream)
                if request is None:
                    return
                status, kind, answer = await self._answer(*request)
                headers = [("Content-Type", kind), ("Content-Length", str(len(answer)))]
                reply = (h11.Response(status_code=status, headers=headers), h11.Data(data=answer), h11.EndOfMessage())
                await stream.write(b"".join(http.send(event) or b"" for event in reply))
                if http.our_state is h11.DONE:
                    http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            raise ServiceMisused(f"not HTTP: {error}") from error
        except StreamClosed:
            return

    async def _answer(self, method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        if path == "/ping":
            return 200, "text/plain", b"pong"
        if method == "POST" and path.startswith("/jsonrpc/"):
            return 200, "application/json", json.dumps(await self._call(body)).encode()
        return 404, "text/plain", b"not found"

    async def _call(self, body: bytes) -> dict[str, Any]:
        """Return the JSON-RPC reply to a request."""
        try:
            request = json.loads(body)
            number, method, params = request.get("id"), str(request["method"]), request.get("params") or []
        except (ValueError, KeyError, AttributeError, RecursionError) as error:
            return _error(None, RpcError(-32700, f"Parse error: {error!r}"))
        try:
            if not isinstance(params, list):
                raise RpcError(-32602, "params must be a list")
            return {"jsonrpc": "2.0", "id": number, "result": await self._methods.call(method, params)}
        except RpcError as error:
            return _error(number, error)
        except Exception as error:
            log.exception("%s failed", method)
            return _error(number, RpcError(-32001, f"java.lang.IllegalStateException: {error!r}"))


def _error(number: object, error: RpcError) -> dict[str, Any]:
    detail = {"code": error.code, "message": str(error), "data": f"{error}\n\tat com.wetest.uia2.Main"}
    return {"jsonrpc": "2.0", "id": number, "error": detail}


async def _next_request(http: h11.Connection, stream: Stream) -> tuple[str, str, bytes] | None:
    """Return method, path and body; None at the end of the stream. Raises: ServiceMisused; h11.RemoteProtocolError."""
    request: h11.Request | None = None
    body = bytearray()
    length = 0
    while max(length, len(body)) <= MAX_BODY:
        match http.next_event():
            case h11.NEED_DATA:
                http.receive_data(await stream.read())
            case h11.Request() as request:
                length = int(dict(request.headers).get(b"content-length", b"0"))
            case h11.Data(data=data):
                body += data
            case h11.EndOfMessage() if request is not None:
                return request.method.decode(), request.target.decode(), bytes(body)
            case _:
                return None
    raise ServiceMisused(f"HTTP body of more than {MAX_BODY} bytes")
