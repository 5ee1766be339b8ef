"""Who is to blame when an episode goes wrong.

    RLFactoryError
      TaskError            the user's: an unknown task, a bad option            INVALID_ARGUMENT / NOT_FOUND
        UnknownName        a registry miss; lists close names
      ProtocolMismatch     client and service speak no common version            FAILED_PRECONDITION
      Unauthenticated      the caller has no token, or a wrong one               UNAUTHENTICATED
      SessionError         the client's use of a session
        SessionNotFound    no such session: closed, or its lease ran out        NOT_FOUND
        OutOfOrder         a seq that is neither the last nor the next          FAILED_PRECONDITION
        EpisodeOver        a step after the end                                 FAILED_PRECONDITION
        LimitExceeded      too many sessions, calls, forks; names the limit     RESOURCE_EXHAUSTED
      InfrastructureError  phone, sandbox, service: the episode is void         UNAVAILABLE, DEADLINE_EXCEEDED
      EnvironmentFault     the task itself is broken (its setup or verdict)     INTERNAL
      JudgeError           a judge gave no verdict                              UNAVAILABLE

A mistake of the model or a failure of a tool is no exception but a `ToolResult` with that status: data for the model.
On the wire each of these is a gRPC status with an ErrorInfo of domain `rlfactory`, its `reason`, and metadata
`blame` and `retryable`; `rlfactory.envs.client` raises the same class again.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

MAX_NAME_CHARS: Final = 100
"""Of a name that does not exist: to look for close ones takes the square of its length."""


class Blame(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    ENVIRONMENT = "environment"
    INFRASTRUCTURE = "infrastructure"
    JUDGE = "judge"
    CLIENT = "client"
    """The caller of the service; never part of an episode's verdict."""


class RLFactoryError(Exception):
    blame = Blame.CLIENT
    reason = "ERROR"
    retryable = False


class TaskError(RLFactoryError):
    reason = "BAD_REQUEST"


class UnknownName(TaskError):
    reason = "UNKNOWN_NAME"

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownName:
        """Return the error for a miss, naming what is close, or else what there is."""
        names, name = sorted(known), name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}..."
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
        hint = f"close: {', '.join(close)}" if close else f"known: {', '.join(names[:8])}{', ...' if names[8:] else ''}"
        return cls(f"no {kind} {name!r}; {hint}")


class ProtocolMismatch(RLFactoryError):
    reason = "PROTOCOL_MISMATCH"


class Unauthenticated(RLFactoryError):
    reason = "UNAUTHENTICATED"


class SessionError(RLFactoryError):
    reason = "SESSION"


class SessionNotFound(SessionError):
    reason = "SESSION_NOT_FOUND"


class OutOfOrder(SessionError):
    reason = "OUT_OF_ORDER"


class EpisodeOver(SessionError):
    reason = "EPISODE_OVER"


class LimitExceeded(SessionError):
    reason = "LIMIT_EXCEEDED"
    retryable = True


class InfrastructureError(RLFactoryError):
    blame = Blame.INFRASTRUCTURE
    reason = "INFRASTRUCTURE"
    retryable = True


class EnvironmentFault(RLFactoryError):
    blame = Blame.ENVIRONMENT
    reason = "ENVIRONMENT"


class JudgeError(RLFactoryError):
    blame = Blame.JUDGE
    reason = "JUDGE"
    retryable = True
