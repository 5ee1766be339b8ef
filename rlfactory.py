"""The front door: one command line that mounts emulators, envs and trainer."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    raise SystemExit("not built yet")
