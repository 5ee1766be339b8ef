"""Which command lines wait for their input."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.shell.stdin_use import reads_stdin


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("cat", True),
        ("cat /f", False),
        ("cat < /f", False),
        ("cat > /f", True),
        ("cat - /f", True),
        ("echo x | cat", False),
        ("echo x; md5sum", True),
        ("head -n 5", True),
        ("head -n 5 /f", False),
        ("grep x", True),
        ("grep x /f", False),
        ("tee /f", True),
        ("sh", True),
        ("sh -c 'echo'", False),
        ("sh /f", False),
        ("toybox md5sum /f", False),
        ("dd of=/f", True),
        ("dd if=/f", False),
        ("cmd package install -S 10", True),
        ("cmd package list packages", False),
        ("if true; then cat; fi", True),
        ("while read line; do echo; done", True),
        ("for f in a; do cat /f; done", False),
        ("case x in x) cat;; esac", True),
        ("( cat )", True),
        ("{ cat; } < /f", False),
        ("ls", False),
        ("echo 'unterminated", False),
        ("", False),
    ],
)
def test_only_readers_wait_for_input(command: str, reads: bool) -> None:
    assert reads_stdin(command) is reads
