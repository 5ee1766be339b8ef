"""Where tokens and certificates are kept, as options; a token itself never stands on a command line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlfactory.envs.api.errors import TaskError

if TYPE_CHECKING:
    from rlfactory.envs.wire.trust import ClientTrust, ServerTrust

TOKEN_VARIABLE: Final = "RLFACTORY_TOKEN"
"""Holds a token where a file is unhandy."""
VARIABLES: Final = (TOKEN_VARIABLE, "RLFACTORY_TOKEN_FILE", "RLFACTORY_TLS_CA")

TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="RLFACTORY_TOKEN_FILE", help=f"Tokens, one a line; or set {TOKEN_VARIABLE}."),
]
ServerCertificate = Annotated[Path | None, typer.Option("--tls-cert", help="Speak TLS: the service's certificate.")]
ServerKey = Annotated[Path | None, typer.Option("--tls-key", help="The key of --tls-cert.")]
ClientAuthority = Annotated[
    Path | None, typer.Option("--tls-client-ca", help="Mutual TLS: admit clients certified by this authority.")
]
ServerPlaintext = Annotated[bool, typer.Option(help="Listen off loopback without TLS: the network is private.")]


def token_from_environment() -> str:
    """Return the token that the environment holds; "" for none."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTrustFiles:
    """Where a `ServerTrust` is kept."""

    token_file: Path | None = None
    """One token a line, or a tenant's name and a token; blank lines and lines that begin with # mean nothing."""
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    plaintext: bool = False

    def load(self, *, token: str = "") -> ServerTrust:
        """Read the files; `token` is accepted beside those of the file. Raises: TaskError: a file cannot be read."""
        from rlfactory.envs.wire.trust import ServerTrust

        tokens = _read_tokens(self.token_file)
        return ServerTrust(
            tokens=((token,) if token else ()) + tuple(tokens),
            tenants={each: tenant for each, tenant in tokens.items() if tenant},
            certificate=_read(self.certificate),
            key=_read(self.key),
            client_ca=_read(self.client_ca),
            plaintext=self.plaintext,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientTrustFiles:
    """Where a `ClientTrust` is kept."""

    token_file: TokenFile = None
    """Its first token is used."""
    ca: Annotated[
        Path | None,
        typer.Option("--tls-ca", envvar="RLFACTORY_TLS_CA", help="Speak TLS to a service certified by it."),
    ] = None
    certificate: Annotated[Path | None, typer.Option("--tls-cert", help="Mutual TLS: our certificate.")] = None
    key: Annotated[Path | None, typer.Option("--tls-key", help="The key of --tls-cert.")] = None
    server_name: Annotated[
        str, typer.Option("--tls-server-name", help="The name in its certificate; empty: the host.")
    ] = ""
    plaintext: Annotated[
        bool, typer.Option("--plaintext", help="Send the token without TLS: the network is private.")
    ] = False

    def load(self, *, token: str = "") -> ClientTrust:
        """Read the files; `token`, if given, goes before that of the file. Raises: TaskError: a file cannot be read."""
        from rlfactory.envs.wire.trust import ClientTrust

        return ClientTrust(
            token=token or next(iter(_read_tokens(self.token_file)), ""),
            ca=_read(self.ca),
            certificate=_read(self.certificate),
            key=_read(self.key),
            server_name=self.server_name,
            plaintext=self.plaintext,
        )


def _read_tokens(path: Path | None) -> dict[str, str]:
    """Return the tokens of a file in their order, with the tenants they belong to ("" for none)."""
    if path is None:
        return {}
    lines = (line.strip() for line in _read(path).decode("utf-8", "replace").splitlines())
    words = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    tokens = {each[-1]: each[0] if len(each) == 2 else "" for each in words}
    if not tokens:
        raise TaskError(f"{path} holds no token")
    return tokens


def _read(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror or error}") from None
    if not data.strip():
        raise TaskError(f"{path} is empty")
    return data
