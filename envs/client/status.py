"""The state of a service, and of several together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.v1 import env_pb2 as pb


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneStatus:
    """One phone of the service."""

    serial: str
    state: str
    session: str
    age_s: float
    resets: int
    failures: int
    recycled: int
    memory_bytes: int
    last_error: str
    host: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceStatus:
    """The state of the service."""

    version: str
    uptime_s: float
    sessions: int
    max_sessions: int
    phones: tuple[PhoneStatus, ...]
    counters: Mapping[str, float]
    waiting: int
    """Calls that wait for a phone."""
    starts_paused_s: float
    """Until phones may be started again; above 0 when the host could not start the last ones."""
    draining: bool = False
    """It begins no more sessions."""


_PHONE_FIELDS: Final = tuple(each.name for each in fields(PhoneStatus) if each.name != "state")


def status_of(message: pb.StatusResponse, *, draining: bool = False) -> ServiceStatus:
    """Return what a service answered."""
    return ServiceStatus(
        **convert.same(message, ("version", "uptime_s", "sessions", "max_sessions", "waiting", "starts_paused_s")),
        phones=tuple(
            PhoneStatus(**convert.same(phone, _PHONE_FIELDS), state=convert.enumerator(pb.PhoneState, phone.state))
            for phone in message.phones
        ),
        counters=dict(message.counters),
        draining=draining,
    )


def together(each: Sequence[ServiceStatus]) -> ServiceStatus:
    """Return the state of several services as one; that of one as it is. Raises: InfrastructureError: of none."""
    if not each:
        raise InfrastructureError("none of the environment services answers")
    counters: Counter[str] = Counter()
    for status in each:
        counters.update(status.counters)
    return ServiceStatus(
        version=", ".join(sorted({status.version for status in each})),
        uptime_s=min(status.uptime_s for status in each),
        sessions=sum(status.sessions for status in each),
        max_sessions=sum(status.max_sessions for status in each),
        phones=tuple(phone for status in each for phone in status.phones),
        counters=dict(counters),
        waiting=sum(status.waiting for status in each),
        starts_paused_s=max(status.starts_paused_s for status in each),
        draining=all(status.draining for status in each),
    )
