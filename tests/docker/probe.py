"""What is reached from inside a container: connections that are tried there."""

from __future__ import annotations

import json
import subprocess

from tests.commands import run

PROBE = """
import json, socket, sys
found = {}
for target in sys.argv[1:]:
    host, _, port = target.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
        found[target] = "reached"
    except OSError as error:
        found[target] = type(error).__name__
print(json.dumps(found))
"""


def inside(container: str, *command: str) -> subprocess.CompletedProcess[str]:
    return run("docker", "exec", container, *command, timeout_s=60)


def reached(container: str, *targets: str) -> set[str]:
    """Return the targets (host:port) that a connection from inside the container reaches."""
    answer = inside(container, "python3", "-c", PROBE, *targets)
    assert answer.returncode == 0, answer.stderr
    return {target for target, what in json.loads(answer.stdout).items() if what == "reached"}
