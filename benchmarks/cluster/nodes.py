"""Ray nodes on one machine, each in a network namespace with an address of its own: no way leads over loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SWITCH: Final = "rlf-switch"
"""A namespace of its own for what joins them: rules of this machine's firewall, as Docker sets them, are not its."""
SUBNET: Final = "10.77.0"
HEAD_PORT: Final = 6379
RAY: Final = {
    "RAY_AUTH_MODE": "disabled",  # nobody else reaches these addresses
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_memory_monitor_refresh_ms": "0",  # all share one machine's memory: each would end workers for what others take
}
OBJECT_STORE_BYTES: Final = 200_000_000
TRIES: Final = 3
"""To start Ray, which gives itself 30 s: on a busy machine that may be too few."""


def namespace(node: int) -> str:
    return f"rlf-node{node}"


def address(node: int) -> str:
    """Return the address of a node; 0 is the head."""
    return f"{SUBNET}.{10 + node}"


def head() -> str:
    """Return the address of the cluster."""
    return f"{address(0)}:{HEAD_PORT}"


def within(node: int, *command: str) -> tuple[str, ...]:
    """Return the command that runs a command on a node."""
    return ("ip", "netns", "exec", namespace(node), *command)


def start(node: int, *, cpus: int = 2, slots: int = 0) -> None:
    """Start Ray on a node; it runs until it is killed. Args: slots: of verl's workers, which it asks for as GPUs."""
    ray = str(Path(sys.executable).with_name("ray"))
    alone = ("--head", "--port", str(HEAD_PORT), "--disable-usage-stats", "--include-dashboard=false")
    joins = ("--address", head()) if node else alone
    size = ("--num-cpus", str(cpus), "--num-gpus", str(slots), "--object-store-memory", str(OBJECT_STORE_BYTES))
    command = within(node, ray, "start", *joins, "--node-ip-address", address(node), *size)
    for _ in range(TRIES):
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **RAY})
        if not done.returncode:
            return
        kill(node)
    sys.exit(f"error: Ray did not start on node {node}: {(done.stderr or done.stdout).strip()}")


def kill(node: int) -> None:
    """End everything on a node at once, as if its host had lost power."""
    found = subprocess.run(("ip", "netns", "pids", namespace(node)), capture_output=True, text=True, check=False)
    for pid in found.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@contextlib.contextmanager
def machines(number: int) -> Iterator[None]:
    """Make namespaces that reach each other, and Ray on none of them yet; afterwards all that runs there is ended."""
    _remove(number)
    try:
        _ip("netns", "add", SWITCH)
        _ip("-n", SWITCH, "link", "add", "bridge", "type", "bridge")
        _ip("-n", SWITCH, "link", "set", "bridge", "up")
        for node in range(number):
            name, inside, outside = namespace(node), f"rlf-in{node}", f"rlf-out{node}"
            _ip("netns", "add", name)
            _ip("link", "add", outside, "netns", SWITCH, "type", "veth", "peer", "name", inside, "netns", name)
            _ip("-n", SWITCH, "link", "set", outside, "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"{address(node)}/24", "dev", inside)
            _ip("-n", name, "link", "set", inside, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        _remove(number)


def _remove(number: int) -> None:
    for node in range(number):
        kill(node)
        subprocess.run(("ip", "netns", "del", namespace(node)), capture_output=True, check=False)
    subprocess.run(("ip", "netns", "del", SWITCH), capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True)
