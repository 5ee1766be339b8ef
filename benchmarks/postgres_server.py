"""A PostgreSQL server for the time of a block, where its programs are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlfactory.processes.child import tied

NOBODY: Final = 65534
START_TIMEOUT_S: Final = 110
STARTS: Final = 3
SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    # Little memory, and in files: other servers of the machine may have all that is shared.
    "dynamic_shared_memory_type": "mmap",
    "shared_buffers": "16MB",
    "max_connections": "20",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """Two roles: `owner`, who may do anything, and `reader`, who may read."""

    owner: str
    """DSN."""
    reader: str
    """DSN."""


def programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`; None: PostgreSQL is not installed."""
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)]
    on_path = shutil.which("initdb")
    if on_path:
        found.append(Path(on_path))
    return found[0].parent if found else None


@contextmanager
def postgres() -> Iterator[Server]:
    """Run a server with its data in a folder of its own. Not as root: it refuses to, so root becomes nobody for it.

    Raises: FileNotFoundError: PostgreSQL is not installed. CalledProcessError: it can't be set up or stopped.
        RuntimeError: it does not start; with the last lines of its log.
    """
    place = programs()
    if place is None:
        raise FileNotFoundError("PostgreSQL is not installed: no initdb")
    with tempfile.TemporaryDirectory(prefix="rlfactory-postgres-") as folder:
        yield from _serve(place, Path(folder))


def _serve(place: Path, home: Path) -> Iterator[Server]:
    user = NOBODY if os.geteuid() == 0 else None
    if user is not None:
        os.chown(home, NOBODY, NOBODY)

    # setpriv, not subprocess's user=: that forks, which a process full of gRPC's threads may not survive.
    identity = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    environment = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}

    def run(*command: str) -> None:
        subprocess.run(
            [*identity, str(place / command[0]), *command[1:]],
            check=True,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=START_TIMEOUT_S,
            env=environment,
        )

    data = str(home / "data")
    run("initdb", "-D", data, "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(port: int) -> subprocess.Popen[bytes]:
        settings = [f"--{name}={value}" for name, value in (SETTINGS | {"port": str(port)}).items()]
        with (home / "log").open("wb") as log:
            command = tied(*identity, str(place / "postgres"), "-D", data, *settings)  # it ends with us, however we end
            pipe = subprocess.PIPE
            return subprocess.Popen(
                command, cwd=home, stdin=pipe, stdout=log, stderr=log, env=environment, start_new_session=True
            )

    for left in reversed(range(STARTS)):
        port = _free_port()  # that somebody may take first
        server = start(port)
        if _is_ready(server, Path(data, "postmaster.pid")):
            break
        server.communicate()
        if not left:
            words = (home / "log").read_text().splitlines()[-10:]
            raise RuntimeError("PostgreSQL does not start:\n" + "\n".join(words))
    try:
        place_of = "host=127.0.0.1 port={} dbname=postgres user={}"
        yield Server(owner=place_of.format(port, "owner"), reader=place_of.format(port, "reader"))
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        server.communicate()


def _is_ready(server: subprocess.Popen[bytes], state: Path) -> bool:
    """Wait until a server serves, as `pg_ctl -w` does; False: it has ended instead, or takes too long."""
    end_s = time.monotonic() + START_TIMEOUT_S
    while server.poll() is None and time.monotonic() < end_s:
        if state.exists() and state.read_text().splitlines()[7:8] == ["ready   "]:
            return True
        time.sleep(0.02)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
