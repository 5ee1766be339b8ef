"""The versions of `envs.v1` that client and service speak, and how they agree on one before anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlfactory.envs.api.errors import ProtocolMismatch
from rlfactory.envs.wire.v1 import env_pb2 as pb

OLDEST: Final = 2
"""Version 1 named splits, states and kinds of events by text, and had no Handshake."""
NEWEST: Final = 2


def asked() -> pb.HandshakeRequest:
    """Return what a client of ours says first: it can make do with every service that speaks its version."""
    return pb.HandshakeRequest(oldest_protocol=OLDEST, newest_protocol=NEWEST)


def answered(request: pb.HandshakeRequest, capabilities: Iterable[str], *, version: str) -> pb.HandshakeResponse:
    """Return the newest protocol that both speak, and what the service can do.

    Raises: ProtocolMismatch: there is no common version, or the client needs what the service cannot do.
    """
    common = min(request.newest_protocol, NEWEST)
    if common < max(request.oldest_protocol, OLDEST):
        theirs, ours = f"{request.oldest_protocol} to {request.newest_protocol}", f"{OLDEST} to {NEWEST}"
        raise ProtocolMismatch(f"the client speaks versions {theirs} of envs.v1, the service {ours}")
    offered = sorted(capabilities)
    if missing := sorted(set(request.needs).difference(offered)):
        raise ProtocolMismatch(f"this service has not: {', '.join(missing)}; it has: {', '.join(offered)}")
    return pb.HandshakeResponse(protocol=common, version=version, capabilities=offered)
