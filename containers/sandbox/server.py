"""Runs code that a model wrote, and queries on databases: one process each, bounded in time, memory and output.

    POST /run  {"language": "python", "code": "print(1)", "stdin": "", "timeout_s": 10}
    POST /run  {"language": "sql", "database": "shop.db", "code": "SELECT 1", "timeout_s": 10}
    ->         {"status": "ok" | "error" | "timeout", "exit_code", "stdout", "stderr", "truncated", "wall_s"}

What a process may do at all is the container's affair: no network, a read-only file system, few processes, no
privileges (docs/emulators.md). Limits here keep one call from spoiling the next.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, Final

from containers.json_service import BadRequest, Busy, JsonServer, field, healthy

PORT: Final = 8000
MAX_RUNNING: Final = 8
MAX_TIMEOUT_S: Final = 60.0
MAX_OUTPUT_BYTES: Final = 64 << 10
"""Of each stream; head and tail are kept."""
MAX_ROWS: Final = 1000
MEMORY_BYTES: Final = 512 << 20
FILE_BYTES: Final = 16 << 20
_PIPE_CHUNK: Final = 64 << 10
LIMITS: Final = (
    "prlimit",
    f"--as={MEMORY_BYTES}",
    f"--fsize={FILE_BYTES}",
    f"--cpu={int(MAX_TIMEOUT_S) + 1}",
    *("--nofile=128", "--core=0", "--"),
)
"""Bounds the process that is about to begin (util-linux; a preexec_fn is not safe in a program with threads)."""


class Sandbox:
    """Runs what it is given, a few at a time."""

    def __init__(self, databases: Path) -> None:
        """Args: databases: the folder that queries name databases in."""
        self._databases = databases
        self._room = threading.BoundedSemaphore(MAX_RUNNING)
        self.runs = 0

    def health(self) -> dict[str, Any]:
        return {"status": "ok", "runs": self.runs}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer POST /run. Raises: BadRequest, Busy."""
        code = field(request, "code", str, "")
        timeout_s = float(field(request, "timeout_s", (int, float), 10.0))
        if not 0 < timeout_s <= MAX_TIMEOUT_S:
            raise BadRequest(f"timeout_s is {timeout_s:g}; it must be above 0 and at most {MAX_TIMEOUT_S:g}")
        match field(request, "language", str, "python"):
            case "python":
                command = [sys.executable, "-I", "-B", "-c", code]
            case "sql":
                database = self._database(field(request, "database", str, ""))
                command = [sys.executable, "-m", "containers.sandbox.server", "--query", str(database), code]
            case other:
                raise BadRequest(f"no language {other!r}; there are: python, sql")
        if "\0" in code:
            raise BadRequest("the code holds a NUL")
        if not self._room.acquire(blocking=False):
            raise Busy(f"{MAX_RUNNING} runs are under way already")
        try:
            self.runs += 1
            return execute(command, stdin=field(request, "stdin", str, ""), timeout_s=timeout_s)
        finally:
            self._room.release()

    def _database(self, name: str) -> Path:
        """Raises: BadRequest: there is none, or it lies elsewhere."""
        path = (self._databases / name).resolve()
        if not path.is_relative_to(self._databases.resolve()) or not path.is_file():
            raise BadRequest(f"no database {name!r}")
        return path


def execute(command: list[str], *, stdin: str, timeout_s: float) -> dict[str, Any]:
    """Run a command in an empty folder of its own, and end it and its children at the deadline."""
    folder = tempfile.mkdtemp(prefix="run-")
    started_s = time.monotonic()
    try:
        process = subprocess.Popen(
            [*LIMITS, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"HOME": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(Path.cwd())},
            start_new_session=True,
        )
        outputs = [_Capture(stream) for stream in (process.stdout, process.stderr) if stream]
        threading.Thread(target=_feed, args=(process.stdin, stdin.encode()), daemon=True).start()
        timed_out = False
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it left behind, too
        process.wait()
        for output in outputs:
            output.finish()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "status": "timeout" if timed_out else "error" if process.returncode else "ok",
        "exit_code": process.returncode,
        "stdout": outputs[0].text,
        "stderr": outputs[1].text,
        "truncated": any(output.truncated for output in outputs),
        "wall_s": round(time.monotonic() - started_s, 3),
    }


def _feed(pipe: IO[bytes] | None, data: bytes) -> None:
    with contextlib.suppress(OSError):
        assert pipe is not None
        with pipe:
            pipe.write(data)


class _Capture:
    """Reads a pipe to its end, so that nobody blocks on it, and keeps the head and the tail."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._head = b""
        self._tail = b""
        self._total = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        half = MAX_OUTPUT_BYTES // 2
        with contextlib.suppress(OSError, ValueError), self._pipe:
            while data := os.read(self._pipe.fileno(), _PIPE_CHUNK):
                self._total += len(data)
                room = half - len(self._head)
                self._head += data[:room]
                self._tail = (self._tail + data[room:])[-half:] if len(data) > room else self._tail

    def finish(self) -> None:
        """Wait for the end; a process that escaped and holds the pipe open is not waited for."""
        self._thread.join(1.0)

    @property
    def truncated(self) -> bool:
        return self._total > len(self._head) + len(self._tail)

    @property
    def text(self) -> str:
        cut = self._total - len(self._head) - len(self._tail)
        gap = f"\n[... {cut} bytes cut ...]\n".encode() if cut else b""
        return (self._head + gap + self._tail).decode("utf-8", "replace")


def query(database: str, statement: str) -> int:
    """Print the rows of a statement on a database that cannot be changed, as JSON; return the exit code."""
    connection = sqlite3.connect(f"{Path(database).as_uri()}?mode=ro&immutable=1", uri=True)
    connection.set_authorizer(_authorize)
    try:
        cursor = connection.execute(statement)
        rows = cursor.fetchmany(MAX_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    columns = [column[0] for column in cursor.description or ()]
    json.dump({"columns": columns, "rows": rows[:MAX_ROWS], "more": len(rows) > MAX_ROWS}, sys.stdout, default=str)
    return 0


def _authorize(action: int, _first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """Allow reading alone."""
    allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE) or (
        action == sqlite3.SQLITE_FUNCTION and second != "load_extension"
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def main() -> int:
    parser = argparse.ArgumentParser(prog="sandbox", description="Run code and queries.")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--host", default="0.0.0.0", help="the container's own address; nothing publishes it")
    parser.add_argument("--databases", type=Path, default=Path("/data"), help="the folder with SQLite files")
    parser.add_argument("--health", action="store_true", help="ask the running service; exit code 0 when it is well")
    parser.add_argument("--query", nargs=2, metavar=("DATABASE", "SQL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.query:
        return query(*options.query)
    if options.health:
        return 0 if healthy(options.port) else 1
    sandbox = Sandbox(options.databases)
    server = JsonServer((options.host, options.port), routes={"/run": sandbox.run}, health=sandbox.health)
    print(f"sandbox on port {server.server_address[1]}", flush=True)
    server.serve_until_signal()
    return 0


if __name__ == "__main__":
    sys.exit(main())
