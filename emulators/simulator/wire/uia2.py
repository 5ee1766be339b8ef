"""uiautomator2's server on the phone: HTTP with JSON-RPC, reached through adbd's `tcp:` service."""

from __future__ import annotations

import json
import logging
import re
from typing import Any, Final

from rlfactory.emulators.simulator.wire.adbd import ServiceMisused, Stream, StreamClosed
from rlfactory.emulators.simulator.wire.gate import PhoneGate
from rlfactory.emulators.simulator.wire.uia2_methods import RpcError, Uia2Methods

log = logging.getLogger(__name__)

DEFAULT_PORT: Final = 9008
MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 16 * 1024 * 1024
_LAUNCH = re.compile(r"app_process\s+/\s+com\.wetest\.uia2\.Main(?:\s+-p\s+(\d+))?")


class Uia2Server:
    """One phone's server: runs from `start` to `stop`, as the process that adb starts does."""

    def __init__(self, gate: PhoneGate) -> None:
        self._methods = Uia2Methods(gate)
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
        """Serve the requests of one connection."""
        connection = _Connection(stream)
        try:
            while (request := await connection.next_request()) is not None:
                method, path, body, keep = request
                await stream.write(_response(*await self._answer(method, path, body), keep=keep))
                if not keep:
                    return
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


def _response(status: int, kind: str, body: bytes, *, keep: bool) -> bytes:
    reason = "OK" if status == 200 else "Not Found"
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nConnection: {'keep-alive' if keep else 'close'}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection:
    """Requests read off a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._buffer = bytearray()

    async def next_request(self) -> tuple[str, str, bytes, bool] | None:
        """Return method, path, body, and whether the connection stays; None at the end of the stream.

        Raises: ServiceMisused: no HTTP, or too much of it.
        """
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise ServiceMisused("HTTP head too long")
            if not await self._more():
                return None
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise ServiceMisused(f"not HTTP: {lines[0][:80]!r}")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length_text = headers.get("content-length", "0")
        length = int(length_text) if length_text.isdecimal() and len(length_text) < 12 else MAX_BODY + 1
        if length > MAX_BODY:
            raise ServiceMisused(f"HTTP body of {length_text!r} bytes")
        while len(self._buffer) < length:
            if not await self._more():
                return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return words[0], words[1], body, headers.get("connection", "").lower() != "close"

    async def _more(self) -> bool:
        data = await self._stream.read()
        self._buffer += data
        return bool(data)
