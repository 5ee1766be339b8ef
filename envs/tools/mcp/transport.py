"""How an MCP server is reached, and how it is noticed that it no longer is."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, TextIO, cast

import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from rlfactory.envs.tools.runtime.policy import ToolPolicy

KEPT_IDLE_S: Final = 2.0
"""A connection without a request is kept for so long. Servers close theirs after 5 s and more; who keeps them as long
as the server does sends requests into connections that are being closed."""
MAX_STDERR: Final = 500
"""Characters of a server's last words that an error shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class McpConfig:
    """One server: a command to run, or an address."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Beside the few variables that the SDK passes on; nothing else of ours reaches the server."""
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request. Never shown."""
    transport: Literal["stdio", "http", "sse"] | None = None
    """None: stdio for a command, streamable HTTP for an address."""
    tools: tuple[str, ...] | None = None
    """Which of its tools to offer, by its names; None: all."""
    prefix: str = ""
    """Put before the name of each tool."""
    policy: ToolPolicy | None = None
    """Of all its tools; None: `MCP_POLICY`."""
    connect_timeout_s: float = 30.0
    close_timeout_s: float = 5.0

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("an MCP server needs either a command or a url")
        if self.kind not in ("stdio", "http", "sse"):
            raise ValueError(f"transport must be stdio, http or sse, got {self.kind!r}")
        if (self.kind == "stdio") != bool(self.command):
            raise ValueError(f"transport {self.kind} does not go with {'a command' if self.command else 'a url'}")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://, got {self.url!r}")

    @property
    def kind(self) -> str:
        return self.transport or ("stdio" if self.command else "http")

    def __repr__(self) -> str:
        return f"McpConfig(name={self.name!r}, {self.command or self.url!r})"


class _Watched:
    """A stream of messages from the server that tells when it has ended."""

    def __init__(self, stream: Any, lost: asyncio.Event) -> None:
        self._stream = stream
        self._lost = lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> Any:
        try:
            return await self._stream.receive()
        except BaseException:
            self._lost.set()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._lost.set()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._stream.__aexit__(*exception)


class Transport:
    """One connection, for the SDK's client to enter once. Sets `lost` when no more messages can come."""

    def __init__(self, config: McpConfig, lost: asyncio.Event) -> None:
        self._config = config
        self._lost = lost
        self._stack = AsyncExitStack()
        self._said = ""

    async def __aenter__(self) -> tuple[Any, Any]:
        async with AsyncExitStack() as stack:
            read, write = await self._enter(stack)
            self._stack = stack.pop_all()
        return _Watched(read, self._lost), write

    async def __aexit__(self, *exception: Any) -> bool | None:
        return await self._stack.__aexit__(*exception)

    async def _enter(self, stack: AsyncExitStack) -> tuple[Any, Any]:
        config = self._config
        match config.kind:
            case "stdio":
                errors = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))  # noqa: SIM115
                stack.callback(self._keep_words, cast("TextIO", errors))
                command = StdioServerParameters(
                    command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
                )
                return await stack.enter_async_context(stdio_client(command, errlog=cast("TextIO", errors)))
            case "sse":
                return await stack.enter_async_context(sse_client(config.url, headers=dict(config.headers)))
            case _:
                client = httpx2.AsyncClient(
                    headers=dict(config.headers),
                    timeout=httpx2.Timeout(30, read=None),  # a call's own deadline is kept by who makes it
                    limits=httpx2.Limits(max_keepalive_connections=64, keepalive_expiry=KEPT_IDLE_S),
                )
                await stack.enter_async_context(client)
                return await stack.enter_async_context(streamable_http_client(config.url, http_client=client))

    def _keep_words(self, errors: TextIO) -> None:
        errors.seek(0)
        self._said = " ".join(errors.read()[-MAX_STDERR:].split())

    def why(self, error: BaseException) -> str:
        """Return why the connection could not be made, with the server's own last words."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        reason = str(error) or type(error).__name__
        said = f"; it said: {self._said}" if self._said else ""
        return f"MCP server {self._config.name!r} cannot be reached: {reason}{said}"
