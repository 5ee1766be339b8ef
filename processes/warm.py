"""A warm process: it has imported what many Python programs need, and runs each of them in a fork of itself.

A fork begins in milliseconds where imports take seconds, and shares the memory of what was imported. `warm_python`
yields a command that stands for Python (`warm_client.py`): what is started by it, Ray's workers among them, is forked.
Not for what has begun threads or holds a device (CUDA) when it has imported: a fork of that does not work.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shlex
import signal
import socket
import stat
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlfactory.processes import warm_client
from rlfactory.processes.child import Child

MAX_REQUEST_BYTES: Final = 1 << 20
SUPPORTED: Final = hasattr(os, "pidfd_open")
"""Linux since 5.3."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WarmPython:
    executable: str
    """Takes Python's own arguments."""
    pid: int
    """Of the warm process, the parent of every fork."""


@asynccontextmanager
async def warm_python(
    modules: Sequence[str], programs: Sequence[str], *, begin: str, environment: Mapping[str, str], log_path: Path
) -> AsyncIterator[WarmPython]:
    """Have these modules imported, in the background, for programs that are started in the block.

    Raises: ProgramEnded: it did not start.

    Args:
        programs: what is run in forks, by the name of its module (after -m) or file; all else is run by Python itself.
        begin: MODULE:FUNCTION, called in each fork once it has its own environment.
        environment: added to ours while it imports; a fork has the environment of whoever started it.
    """
    with tempfile.TemporaryDirectory(prefix="rlfactory-warm-") as folder:
        executable, path = Path(folder, "python"), Path(folder, "socket")
        words = (sys.executable, "-IS", warm_client.__file__, str(path), sys.executable, ",".join(programs))
        _write_program(executable, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        with log_path.open("ab") as log:
            child = await Child.start(
                *(sys.executable, "-W", "ignore", "-m", __name__, str(path), str(executable), begin, *modules),
                name="warm",
                stderr=log,
                environment={**os.environ, **environment},
            )
        try:
            await child.receive()  # it listens
            yield WarmPython(executable=str(executable), pid=child.pid)
        finally:
            await child.stop()


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(stat.S_IRWXU)


def main(arguments: list[str]) -> None:
    """Be the warm process until standard input ends and the last fork has ended."""
    path, executable, begin, *modules = arguments
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(64)  # who comes while we import waits
        print("listening", flush=True)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for name in modules:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001 - the program that needs it will say so
                traceback.print_exc()
        gc.collect()
        gc.freeze()  # so that collections in forks leave the shared pages alone
        program = _serve(listener)
    if program is not None:
        sys.executable = executable
        _run(program, begin)


def _serve(listener: socket.socket) -> dict[str, Any] | None:
    """Fork whatever is asked for; return the request in the fork, None when all is done."""
    forks: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as watched:
        watched.register(listener, selectors.EVENT_READ)
        watched.register(sys.stdin.fileno(), selectors.EVENT_READ)
        asked_to_end = False
        while forks or not asked_to_end:
            for key, _ in watched.select():
                match key.data:
                    case None if key.fileobj is listener:
                        request = _fork(listener, watched, forks)
                        if request is not None:
                            return request
                    case None:
                        watched.unregister(key.fileobj)
                        asked_to_end = True
                    case int(pid) if isinstance(key.fileobj, int):
                        watched.unregister(key.fileobj)
                        os.close(key.fileobj)
                        _ended(pid, watched, forks)
                    case int(pid) if pid in forks:  # whoever stands for it is gone
                        watched.unregister(key.fileobj)
                        os.kill(pid, signal.SIGKILL)
    return None


def _fork(
    listener: socket.socket, watched: selectors.BaseSelector, forks: dict[int, socket.socket]
) -> dict[str, Any] | None:
    """Return the request in the fork; None in the warm process."""
    asker, _ = listener.accept()
    message, streams, _, _ = socket.recv_fds(asker, MAX_REQUEST_BYTES, 3)
    if len(streams) != 3:
        asker.close()
        return None
    pid = os.fork()
    if pid == 0:
        for other in (asker, *forks.values()):
            other.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.setsid()
        request: dict[str, Any] = json.loads(message)
        return request
    for stream in streams:
        os.close(stream)
    forks[pid] = asker
    watched.register(asker, selectors.EVENT_READ, pid)
    watched.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
    with contextlib.suppress(OSError):
        asker.send(str(pid).encode())
    return None


def _ended(pid: int, watched: selectors.BaseSelector, forks: dict[int, socket.socket]) -> None:
    _, status = os.waitpid(pid, 0)
    with forks.pop(pid) as asker, contextlib.suppress(OSError, KeyError):
        watched.unregister(asker)
        asker.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(request: Mapping[str, Any], begin: str) -> None:
    """Run the program as Python would."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    module, _, function = begin.partition(":")
    getattr(importlib.import_module(module), function)()
    kind, *words = request["words"]
    if kind == "-m":
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [kind, *words]
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
