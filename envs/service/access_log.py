"""Who was refused what, and why: one line each, and no flood of them."""

from __future__ import annotations

import logging
import time
from typing import Final

log = logging.getLogger("rlfactory.access")

LINES_PER_S: Final = 10
MAX_CHARS: Final = 300


class _Pace:
    """So many lines in a second; what is left out is counted, and told by the next line."""

    def __init__(self) -> None:
        self._second = 0
        self._lines = 0
        self._left_out = 0

    def admit(self) -> int | None:
        """Return how many lines were left out before this one; None: it is left out, too."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        if self._lines >= LINES_PER_S:
            self._left_out += 1
            return None
        self._lines += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


_pace = _Pace()


def refused(method: str, peer: str, code: str, why: str, *, tenant: str = "", session: str = "") -> None:
    """Log that a call was refused. Values of clients are cut and quoted: they may hold anything."""
    left_out = _pace.admit()
    if left_out is None:
        return
    whom = "".join(f" {name}={value[:80]!r}" for name, value in (("tenant", tenant), ("session", session)) if value)
    more = f" ({left_out} more were refused before)" if left_out else ""
    log.warning("refused %s %.100r from %s%s: %s%s", code, method, peer, whom, repr(why[:MAX_CHARS])[1:-1], more)
