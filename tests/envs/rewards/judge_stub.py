"""A judge's endpoint that behaves, or misbehaves, as its model's name says. Run as a process; prints its port.

right, wrong     a verdict                       fenced         a verdict after thinking, in a fence
prose            "I think it is right."          out-of-range   a score of 7
truth            a score of true                 two            two verdicts
cut              finish_reason "length"          not-json       a proxy's page, with 200
no-choices       an empty list                   huge           an endless body
stall            headers, then nothing           error          500
flaky            500, then prose, then right     split          0, then 1, and so on
"""

from __future__ import annotations

import json
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Final

SEEN: Final[Counter[str]] = Counter()
LOCK: Final = Lock()
RIGHT: Final = '{"score": 1, "reason": "same"}'
REPLIES: Final = {
    "right": RIGHT,
    "wrong": '{"score": 0.0, "reason": "other"}',
    "fenced": f'<think>Is {{"score": 0}} fair?</think>\n```json\n{RIGHT}\n```',
    "prose": "I think it is right. Score: 1",
    "out-of-range": '{"score": 7}',
    "truth": '{"score": true}',
    "two": f"{RIGHT}\n{RIGHT}",
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Tell how often each model was asked."""
        self.answer(200, json.dumps(SEEN).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = body["model"]
        with LOCK:
            SEEN[model] += 1
            times = SEEN[model]
        match model:
            case "not-json":
                self.answer(200, b"<html>a proxy's page</html>")
            case "no-choices":
                self.answer(200, b'{"choices": []}')
            case "error":
                self.answer(500, b"down")
            case "flaky" if times == 1:
                self.answer(500, b"down for a moment")
            case "huge":
                self.endless()
            case "stall":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                time.sleep(30)  # longer than any deadline of the tests: this is the fault itself
            case "cut":
                self.complete('{"score": 1', finish="length")
            case "flaky" if times == 2:
                self.complete("hm, right")
            case "flaky":
                self.complete(RIGHT)
            case "split":
                self.complete(f'{{"score": {times % 2}}}')
            case _:
                self.complete(REPLIES[model])

    def complete(self, text: str, *, finish: str = "stop") -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        self.answer(200, json.dumps({"choices": [choice]}).encode())

    def answer(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b" " * 65536)
        except OSError:
            return

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing: the port is the only output."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
