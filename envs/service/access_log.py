"""A service's log: who was refused what and why, which episodes went void, and no flood of either.

Each line is for people as it is; as JSON (`json_lines`) it has the same as fields, with the session, tenant, task and
request that it is about.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, TextIO

from pythonjsonlogger.json import JsonFormatter

from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.service.services import SESSION, TENANT

log = logging.getLogger("rlfactory.access")

LINES_PER_S: Final = 10
MAX_CHARS: Final = 300
MAX_NAME_CHARS: Final = 80

ABOUT: Final[ContextVar[Mapping[str, str]]] = ContextVar("about", default={})  # noqa: B039 - never changed
"""What the call that is being answered names, shortened: session, task, request_id."""


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


_refusals, _voids = _Pace(), _Pace()


def refused(method: str, peer: str, code: str, why: str, *, reason: str = "") -> None:
    """Log that a call was refused. Values of clients are cut and quoted: they may hold anything."""
    fields = {"method": method[:MAX_NAME_CHARS], "peer": peer, "code": code, "reason": reason, "blame": "client"}
    named = "".join(f" {name}={value!r}" for name, value in _about().items())
    _say(_refusals, f"refused {code} {fields['method']!r} from {peer}{named}: {_quoted(why)}", fields)


def went_void(session: str, task: str, error: RLFactoryError, *, tool: str) -> None:
    """Log that an episode counts for nothing, and through what."""
    fields = {"session": session, "task": task, "reason": error.reason, "blame": error.blame.value, "tool": tool}
    by = f" by {tool!r}" if tool else ""
    _say(_voids, f"void {error.reason} {task} session={session!r}{by}: {_quoted(str(error))}", fields)


def _say(pace: _Pace, line: str, fields: Mapping[str, str]) -> None:
    left_out = pace.admit()
    if left_out is None:
        return
    more = f" ({left_out} more were left out before)" if left_out else ""
    log.warning("%s%s", line, more, extra={**_about(), **fields, "left_out": left_out})


def _quoted(text: str) -> str:
    return repr(text[:MAX_CHARS])[1:-1]


def _about() -> dict[str, str]:
    """Return what the present call is about; what it says not is left out."""
    known = {"tenant": TENANT.get(), "session": SESSION.get(), **ABOUT.get()}
    return {name: value for name, value in known.items() if value}


class _WithContext(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in _about().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


def json_lines(stream: TextIO) -> logging.Handler:
    """Return a handler that writes each record as a line of JSON: timestamp, level, logger, message and its fields."""
    handler = logging.StreamHandler(stream)
    names = {"levelname": "level", "name": "logger"}
    handler.setFormatter(JsonFormatter("%(levelname)s %(name)s %(message)s", rename_fields=names, timestamp=True))
    handler.addFilter(_WithContext())
    return handler
