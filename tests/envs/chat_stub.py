"""A chat endpoint that behaves, or misbehaves, as its model's name says. Run as a process; prints its port.

good          presses Home, then finishes        text-parts     the same, content as a list of parts
malformed     prose without a call               silent         an assistant message without content
flaky         500 twice, then good               limited        429 with Retry-After, then good
not-json      a proxy's page, with 200           no-choices     200 with an empty list
huge          an endless body                    stall          headers, then nothing
hang-up       closes the connection              refuse         401
error         500                                cut            finish_reason "length"
echo          what it was asked, as JSON         blank          white space alone

As a judge: right, wrong (a verdict), fenced (a verdict after thinking, in a fence), prose, out-of-range (a score of 7),
truth (a score of true), two (two verdicts), split (0, then 1, and so on), wavering (500, then prose, then right).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Final

CALLS: Final = (
    '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "system_button", "button": "Home"}}\n</tool_call>',
    '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "terminate", "status": "success"}}\n</tool_call>',
)
RIGHT: Final = '{"score": 1, "reason": "same"}'
REPLIES: Final = {
    "blank": "  ",
    "malformed": "I would tap the switch.",
    "cut": '{"score": 1',
    "right": RIGHT,
    "wrong": '{"score": 0.0, "reason": "other"}',
    "fenced": f'<think>Is {{"score": 0}} fair?</think>\n```json\n{RIGHT}\n```',
    "prose": "I think it is right. Score: 1",
    "out-of-range": '{"score": 7}',
    "truth": '{"score": true}',
    "two": f"{RIGHT}\n{RIGHT}",
}
SEEN: Final[Counter[str]] = Counter()
LOCK: Final = Lock()


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
            case "error":
                self.answer(500, b"down")
            case "flaky" if times <= 2:
                self.answer(500, b"down for a moment")
            case "wavering" if times == 1:
                self.answer(500, b"down for a moment")
            case "limited" if times == 1:
                self.answer(429, b"slow down", {"Retry-After": "0.05"})
            case "refuse":
                self.answer(401, b"no such key")
            case "not-json":
                self.answer(200, b"<html>a proxy's page</html>")
            case "no-choices":
                self.answer(200, b'{"choices": []}')
            case "hang-up":
                self.close_connection = True
            case "echo":
                heard = {
                    "path": self.path,
                    "authorization": self.headers["Authorization"],
                    "messages": body["messages"],
                }
                self.answer(200, json.dumps({"choices": [{"message": {"content": json.dumps(heard)}}]}).encode())
            case "huge":
                self.endless()
            case "stall":
                self.stall()
            case _:
                self.answer(200, json.dumps(completion(model, times, body["messages"])).encode())

    def answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
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

    def stall(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        time.sleep(30)  # longer than any deadline of the tests: this is the fault itself

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing: the port is the only output."""


def completion(model: str, times: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    turns = sum(message["role"] == "assistant" for message in messages)
    text: Any = REPLIES.get(model, CALLS[min(turns, 1)])
    match model:
        case "text-parts":
            text = [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]
        case "split":
            text = f'{{"score": {times % 2}}}'
        case "wavering":
            text = "hm, right" if times == 2 else RIGHT
    message = {"role": "assistant"} if model == "silent" else {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "length" if model == "cut" else "stop"}]}


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
