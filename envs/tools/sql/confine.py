"""Takes from a worker process what it does not need: files, sockets, children, privileges."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PR_SET_NO_NEW_PRIVS: Final = 38
STANDARD_STREAMS: Final = 3
OPENING_FILES: Final = 64


def confine(max_process_bytes: int) -> None:
    """Give up, for good: writing files, core dumps, children, new privileges, the terminal, more memory than this."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.umask(0o777)
    os.chdir("/")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (max_process_bytes, max_process_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (STANDARD_STREAMS, OPENING_FILES))


@contextmanager
def may_open() -> Iterator[None]:
    """Let files be opened for the block. Outside of it none can be, nor a socket: every number for one is refused."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPENING_FILES, OPENING_FILES))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (STANDARD_STREAMS, OPENING_FILES))
