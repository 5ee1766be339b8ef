"""Reaching the Docker engine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import docker
import requests
from docker.errors import APIError, DockerException

from rlfactory.processes.errors import EngineError, EngineUnavailable

DEFAULT_URL: Final = "unix:///var/run/docker.sock"
_UNIX: Final = "unix://"
_CONNECTIONS: Final = 32


def connect(url: str, *, timeout_s: float) -> docker.DockerClient:
    """Return a client of an engine that answers. Raises: EngineUnavailable."""
    try:
        _knock(url, timeout_s=timeout_s)
        return docker.DockerClient(base_url=url, version="auto", timeout=timeout_s, max_pool_size=_CONNECTIONS)
    except PermissionError:
        raise EngineUnavailable(
            f"this user may not use the Docker engine on {url}: sudo usermod -aG docker $USER, and log in again"
        ) from None
    except (DockerException, requests.RequestException, OSError):
        raise EngineUnavailable(
            f"no Docker engine answers on {url}; start it, or install it (on Debian and Ubuntu: apt install docker.io)"
        ) from None


def _knock(url: str, *, timeout_s: float) -> None:
    """Connect to a Unix socket and hang up: the SDK forgets to close one that refuses. Raises: OSError."""
    if url.startswith(_UNIX):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(timeout_s)
            probe.connect(url.removeprefix(_UNIX))


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn what the SDK raises into `EngineError`."""
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise EngineError(f"{what}: {brief(error)}") from error


def brief(error: Exception) -> str:
    """Return what an engine's answer says, in a line."""
    text = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    return " ".join(str(text).split())[:300]
