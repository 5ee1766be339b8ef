"""Processes below this one, which may end while one looks at them."""

from __future__ import annotations

import contextlib

import psutil


def family(word: str = "") -> list[psutil.Process]:
    """Return what runs below this process: all of it, or what has this text in its command line."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            if lives(process) and word in " ".join(process.cmdline()):
                found.append(process)
    return found


def lives(process: psutil.Process) -> bool:
    """Tell whether it runs, and is not waiting for its parent to hear that it has ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(word: str) -> None:
    """Kill what has this text in its command line; killing one may end another."""
    for process in family(word):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
