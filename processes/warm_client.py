"""Run a Python program in a fork of a warm process: `python -IS warm_client.py SOCKET PYTHON PROGRAMS ARGUMENTS...`.

ARGUMENTS are those of Python. Programs that are not among PROGRAMS (names with commas between), and all where there is
no warm process, are run by PYTHON. This process stands for its fork: it forwards signals and ends as the fork ends.
Started often, so it imports next to nothing, and nothing of ours.
"""

import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    """Run the program; return its exit code. Does not return where PYTHON takes over."""
    path, python, programs, *words = arguments
    if program_of(words) in programs.split(","):
        status = run_forked(path, words)
        if status is not None:
            return as_ended(status)
    os.execv(python, [python, *words])
    raise AssertionError("execv does not return")


def program_of(words: list[str]) -> str:
    """Return the module after -m, or the name of the script's file; "" for anything else that Python can be told."""
    rest = [word for word in words if word != "-u"]
    if rest[:1] == ["-m"]:
        return rest[1]
    return rest[0].rpartition("/")[2] if rest and rest[0].endswith(".py") else ""


def run_forked(path: str, words: list[str]) -> int | None:
    """Return how the fork ended, as `Popen.returncode` says it; None when there was no fork."""
    program = [word for word in words if word != "-u"]
    request = {"words": program, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109 - slow to import
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as warm:
        try:
            warm.connect(path)
            socket.send_fds(warm, [json.dumps(request).encode()], [0, 1, 2])
            pid = int(warm.recv(32) or b"0")
        except OSError:
            pid = 0
        if not pid:
            return None
        for number in FORWARDED:
            signal.signal(number, lambda got, _frame: os.kill(pid, got))
        return int(warm.recv(32) or b"1")  # nothing: the warm process is gone, and what became of its fork is not known


def as_ended(status: int) -> int:
    """Return the exit code, or end by the signal that ended the fork."""
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
