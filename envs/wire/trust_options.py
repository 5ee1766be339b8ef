"""The options of the command line that name tokens and certificates; a token itself never stands on a command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

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
Authority = Annotated[
    Path | None, typer.Option("--tls-ca", envvar="RLFACTORY_TLS_CA", help="Speak TLS to a service certified by it.")
]
ClientCertificate = Annotated[Path | None, typer.Option("--tls-cert", help="Mutual TLS: our certificate.")]
ClientKey = Annotated[Path | None, typer.Option("--tls-key", help="The key of --tls-cert.")]
ServerName = Annotated[str, typer.Option("--tls-server-name", help="The name in its certificate; empty: the host.")]
ClientPlaintext = Annotated[
    bool, typer.Option("--plaintext", help="Send the token without TLS: the network is private.")
]


def token_from_environment() -> str:
    """Return the token that the environment holds; "" for none."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()
