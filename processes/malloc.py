"""Memory for screenshots: glibc gives a large block back to the kernel and asks for it anew at every frame.

Zeroing those fresh pages costs several times what drawing and copying the frame does (10 MB at 1080x2400). And it
keeps a heap for each thread: a frame's worth of memory for every phone that has a thread of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
KEPT_BYTES: Final = 32 * 1024 * 1024
"""The largest block that glibc lets a process keep; it takes no higher threshold."""


def keep_large_blocks(environment: Mapping[str, str]) -> bool:
    """Let this process keep the memory of its frames, in one heap. Call it before the process starts threads.

    False, and nothing is changed, where the environment tunes malloc already (mallopt(3): MALLOC_...), and where the C
    library is another than glibc.
    """
    if any(name.startswith("MALLOC_") for name in environment):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    settings = {
        _M_MMAP_THRESHOLD: KEPT_BYTES,
        _M_TRIM_THRESHOLD: 4 * KEPT_BYTES,
        _M_TOP_PAD: KEPT_BYTES // 2,
        _M_ARENA_MAX: 1,
    }
    return all(mallopt(option, value) for option, value in settings.items())
