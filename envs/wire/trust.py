"""Who may speak to a service, and how a service proves that it is the right one: tokens, TLS, mutual TLS.

A service on loopback needs none of this. Anywhere else it wants to know its clients (a token, or certificates signed by
its own authority) and to keep the wire from being read (TLS): `ServerTrust.require_safe` refuses to listen otherwise.
Certificates and keys are PEM. `scripts/credentials.sh` makes a set of them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import grpc

from rlfactory.envs.api.errors import TaskError

MIN_TOKEN_CHARS: Final = 16
AUTHORIZATION: Final = "authorization"
"""The metadata key of `Bearer TOKEN`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTrust:
    """Whom a service lets in, and what it shows them. All empty: anyone who can reach the port."""

    tokens: tuple[str, ...] = field(default=(), repr=False)
    """Each of them is accepted, so that a token can be replaced without an outage."""
    tenants: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Whose a token is: sessions belong to a tenant, and others do not see them. Other tokens share a tenant."""
    certificate: bytes = b""
    """The service's certificate chain; with it the service speaks TLS."""
    key: bytes = field(default=b"", repr=False)
    client_ca: bytes = b""
    """Mutual TLS: only clients whose certificate is signed by this authority."""
    plaintext: bool = False
    """Listen off loopback without TLS all the same: the network between is vouched for by whoever sets this."""

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.key):
            raise TaskError("a TLS certificate and its key are given together")
        if self.client_ca and not self.certificate:
            raise TaskError("client certificates can only be asked for over TLS: give the service's certificate, too")
        for token in self.tokens:
            _check_token(token)

    @property
    def parties(self) -> int:
        """How many tenants there are, those without a name as one."""
        return max(1, len({self.tenants.get(token, "") for token in self.tokens}))

    def require_safe(self, host: str) -> None:
        """Raises: TaskError: a service on this address would be open to strangers; the message says what it needs."""
        if is_loopback(host):
            return
        missing = []
        if not self.tokens and not self.client_ca:
            missing.append("--token-file or --tls-client-ca (who may call)")
        if not self.certificate and not self.plaintext:
            missing.append("--tls-cert and --tls-key, or --plaintext on a private network (who may listen in)")
        if missing:
            raise TaskError(f"{host} is not loopback: listening there needs {'; '.join(missing)}")

    def credentials(self) -> grpc.ServerCredentials | None:
        """Return the TLS side for a gRPC server; None for plain text."""
        if not self.certificate:
            return None
        return grpc.ssl_server_credentials(
            ((self.key, self.certificate),), self.client_ca or None, require_client_auth=bool(self.client_ca)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientTrust:
    """What a client shows a service, and how it knows the service. All empty: plain text, no token."""

    token: str = field(default="", repr=False)
    ca: bytes = b""
    """The authority that signed the service's certificate; with it the client speaks TLS, and only TLS."""
    certificate: bytes = b""
    """The client's own certificate chain, for mutual TLS."""
    key: bytes = field(default=b"", repr=False)
    server_name: str = ""
    """The name that the service's certificate must carry; "": the host of the address."""
    plaintext: bool = False
    """Send the token off loopback without TLS all the same."""

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.key):
            raise TaskError("a client certificate and its key are given together")
        if (self.certificate or self.server_name) and not self.ca:
            raise TaskError("a client certificate or server name means TLS: give the authority (--tls-ca), too")
        if self.token:
            _check_token(self.token)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call."""
        return ((AUTHORIZATION, f"Bearer {self.token}"),) if self.token else ()

    def channel(self, address: str, options: tuple[tuple[str, str | int], ...] = ()) -> grpc.aio.Channel:
        """Return a channel to the service.

        Raises: TaskError: the token would cross a network in plain text.
        """
        if not self.ca:
            if self.token and not self.plaintext and not is_loopback(host_of(address)):
                raise TaskError(
                    f"{address} is not loopback: a token goes there over TLS (--tls-ca), or with --plaintext"
                )
            return grpc.aio.insecure_channel(address, options=options)
        credentials = grpc.ssl_channel_credentials(self.ca, self.key or None, self.certificate or None)
        if self.server_name:
            options = (*options, ("grpc.ssl_target_name_override", self.server_name))
        return grpc.aio.secure_channel(address, credentials, options=options)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(address: str) -> str:
    """Return the host of `host:port`, an IPv6 address without its brackets."""
    return address.rpartition(":")[0].strip("[]")


def _check_token(token: str) -> None:
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise TaskError(f"a token is one word of at least {MIN_TOKEN_CHARS} printable ASCII characters")
