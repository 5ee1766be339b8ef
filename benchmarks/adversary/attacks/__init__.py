"""The attacks, by what they go for. Importing this package enters them all into the list."""

from benchmarks.adversary.attacks import (
    auth,
    calls,
    code,
    crowds,
    forks,
    malformed,
    mcp,
    memory,
    openenv,
    retries,
    sql,
    streams,
    tenants,
    transport,
)

__all__ = [
    "auth",
    "calls",
    "code",
    "crowds",
    "forks",
    "malformed",
    "mcp",
    "memory",
    "openenv",
    "retries",
    "sql",
    "streams",
    "tenants",
    "transport",
]
