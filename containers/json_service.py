"""A small HTTP service that answers JSON with JSON. The standard library alone, so that its image is small."""

from __future__ import annotations

import json
import signal
import threading
import urllib.request
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MAX_BODY_BYTES: Final = 4 << 20
IDLE_S: Final = 60.0
"""A connection on which nothing comes for so long is closed."""

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class BadRequest(Exception):
    """The caller's mistake; the message says which."""


class Busy(Exception):
    """Too much is going on already."""


class JsonServer(ThreadingHTTPServer):
    """Serves POST routes, and GET /health."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], *, routes: Mapping[str, Answer], health: Callable[[], dict[str, Any]]):
        super().__init__(address, _Handler)
        self.routes = routes
        self.health = health

    def serve_until_signal(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            # In a thread: `shutdown` waits for the loop that the handler interrupts.
            signal.signal(number, lambda *_: threading.Thread(target=self.shutdown).start())
        with self:
            self.serve_forever(poll_interval=0.1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    server: JsonServer

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(200, self.server.health())
        else:
            self._answer(404, {"error": f"no {self.path}; GET /health is what there is"})

    def do_POST(self) -> None:
        route = self.server.routes.get(self.path)
        try:
            request = self._body()
            if route is None:
                self._answer(404, {"error": f"no {self.path}; there are: {', '.join(self.server.routes)}"})
            else:
                self._answer(200, route(request))
        except BadRequest as error:
            self._answer(400, {"error": str(error)})
        except Busy as error:
            self._answer(503, {"error": str(error)})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: calls are logged by those who make them."""

    def _body(self) -> dict[str, Any]:
        """Raises: BadRequest: it is too large, or no JSON object."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            raise BadRequest(f"a body of at most {MAX_BODY_BYTES} bytes with its Content-Length is wanted")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise BadRequest(f"the body is no JSON: {error}") from None
        if not isinstance(body, dict):
            raise BadRequest("the body is no JSON object")
        return body

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def field(request: dict[str, Any], name: str, kind: type | tuple[type, ...], default: Any) -> Any:
    """Return a field of a request. Raises: BadRequest: it is of another kind."""
    value = request.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise BadRequest(f"{name} is {value!r:.80}, which is of the wrong kind")
    return value


def healthy(port: int, *, timeout_s: float = 3.0) -> bool:
    """Ask the service on this machine how it is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=timeout_s) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
