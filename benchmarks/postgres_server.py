"""A PostgreSQL server for the time of a block, where its programs are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NOBODY: Final = 65534
START_TIMEOUT_S: Final = 110


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
def postgres(folder: Path) -> Iterator[Server]:
    """Run a server with its data below this folder. Not as root: it refuses to, so root becomes nobody for it.

    Raises: FileNotFoundError: PostgreSQL is not installed. CalledProcessError: it does not start.
    """
    place = programs()
    if place is None:
        raise FileNotFoundError("PostgreSQL is not installed: no initdb")
    home = folder / "postgres"
    home.mkdir()
    user = NOBODY if os.geteuid() == 0 else None
    if user is not None:
        os.chown(home, NOBODY, NOBODY)
        for parent in (folder, *folder.parents):
            if not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)

    def run(*command: str) -> None:
        # setpriv, not subprocess's user=: that forks, which a process full of gRPC's threads may not survive.
        identity = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        subprocess.run(
            [*identity, str(place / command[0]), *command[1:]],
            check=True,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=START_TIMEOUT_S,
            env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
        )

    port = _free_port()
    data = str(home / "data")
    run("initdb", "-D", data, "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    run("pg_ctl", "-D", data, "-w", "-l", str(home / "log"), "-o", options, "start")
    try:
        place_of = "host=127.0.0.1 port={} dbname=postgres user={}"
        yield Server(owner=place_of.format(port, "owner"), reader=place_of.format(port, "reader"))
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
