"""Tools of an MCP server: stdio, streamable HTTP or SSE, by the official SDK.

A connection is held by a task of its own. When it breaks, calls under way fail: whether they were done is unknown, so
they are repeated only where their policy allows it. The next call waits while the connection is made anew. What the
server says of changes in its list of tools reaches the sessions that begin afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final, Self

import mcp_types as types
from mcp import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tools.function import NAME
from rlfactory.envs.tools.mcp.transport import McpConfig, Transport
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError, ToolFactory

MAX_PAGES: Final = 100
"""Of a list of tools."""
MCP_POLICY: Final = ToolPolicy(timeout_s=60, breaker_failures=8)
"""A server's promises are its own; `policy` in the configuration says what may be relied on."""
SESSION_GONE: Final = "Session terminated"
"""How the SDK puts it that an HTTP server knows nothing of our session: then nothing was done."""


class McpUnreachable(Exception):
    """The server cannot be reached; the message says why."""


class McpServer:
    """One server and its connection. An async context manager; entering it connects, and so tells mistakes at once."""

    def __init__(self, config: McpConfig) -> None:
        self.config = config
        self.connections = 0
        """Made so far: more than one means that it was lost."""
        self.listed = 0
        """How often the list of tools was read."""
        self._tools: dict[str, types.Tool] = {}
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._lost: asyncio.Event | None = None
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Raises: McpUnreachable: it cannot be reached, or speaks no MCP."""
        await self._connected()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._let_go()

    @property
    def names(self) -> tuple[str, ...]:
        """The tools it offers now, as models call them."""
        return tuple(self._tools)

    def factories(self) -> dict[str, ToolFactory]:
        """Return the factory of each tool that it offers now."""
        return {name: self._factory(name, tool) for name, tool in self._tools.items()}

    def _factory(self, name: str, tool: types.Tool) -> ToolFactory:
        schema = ToolSchema(name=name, description=tool.description or tool.title or "", parameters=tool.input_schema)
        return lambda context: McpTool(self, tool.name, schema, self.config.policy or MCP_POLICY)

    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> str:
        """Call a tool by the server's name for it.

        Raises:
            Rejected: the server did not take the arguments.
            ToolError: the tool failed, or the connection did.
        """
        try:
            result = await self._call_once_more(tool, dict(arguments))
        except McpUnreachable as error:
            raise ToolError(str(error)) from None
        except MCPError as error:
            if error.code == types.INVALID_PARAMS:
                raise Rejected(error.message) from None
            if error.code == types.CONNECTION_CLOSED:
                raise ToolError(
                    "the connection to the tool broke; whether the call was carried out is not known"
                ) from None
            raise ToolError(f"the tool's server failed: {error.message}") from None
        text = read_result(result)
        if result.is_error:
            raise ToolError(text or "the tool failed, and does not say why")
        return text

    async def _call_once_more(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call; a second time only if the first was refused by a server that had forgotten our session."""
        client = await self._connected()
        try:
            return await client.call_tool(tool, arguments)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or error.message == SESSION_GONE:
                self._lose(client)
            if error.message != SESSION_GONE:
                raise
        return await (await self._connected()).call_tool(tool, arguments)

    # --- the connection ----------------------------------------------------------------------------------------------

    async def _connected(self) -> Client:
        """Return a client that is connected, as far as can be known without calling."""
        if self._client is not None:
            return self._client
        async with self._connecting:
            if self._client is not None:
                return self._client
            await self._let_go()
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._lost = asyncio.Event()
            self._holder = asyncio.create_task(self._hold(ready, self._lost), name=f"mcp {self.config.name}")
            try:
                async with asyncio.timeout(self.config.connect_timeout_s):
                    self._client = await ready
            except TimeoutError:
                await self._let_go()
                raise McpUnreachable(
                    f"MCP server {self.config.name!r} did not answer within {self.config.connect_timeout_s:g} seconds"
                ) from None
            self.connections += 1
            return self._client

    async def _hold(self, ready: asyncio.Future[Client], lost: asyncio.Event) -> None:
        """Keep one connection until it is lost or let go: the SDK wants to be entered and left by one task."""
        transport = Transport(self.config, lost)
        client: Client | None = None
        try:
            async with Client(transport, message_handler=self._heard, cache=None) as client:
                await self._list(client)
                ready.set_result(client)
                await self._listen(client, lost)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it was, the connection is gone; told if anybody waits
            if not ready.done():
                ready.set_exception(McpUnreachable(transport.why(error)))
        finally:
            lost.set()
            if self._client is client:
                self._client = None
            if ready.done() and not ready.cancelled():
                ready.exception()

    async def _listen(self, client: Client, lost: asyncio.Event) -> None:
        """Wait until the connection is lost, reading the list of tools again whenever it changes."""
        waiting = asyncio.create_task(lost.wait())
        listening = asyncio.create_task(self._changes(client))
        try:
            await asyncio.wait((waiting,))
        finally:
            for task in (waiting, listening):
                task.cancel()
            await asyncio.gather(waiting, listening, return_exceptions=True)

    async def _changes(self, client: Client) -> None:
        """Follow the changes on servers of the protocol of 2026; older ones send notifications, see `_heard`."""
        with contextlib.suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as changes:
                await self._list(client)  # what changed since the first list was told to nobody
                async for _ in changes:
                    await self._list(client)

    async def _heard(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification) and self._client is not None:
            asyncio.get_running_loop().create_task(self._relist(self._client))

    async def _relist(self, client: Client) -> None:
        with contextlib.suppress(MCPError):
            await self._list(client)

    async def _list(self, client: Client) -> None:
        found: dict[str, types.Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            found |= {self._called(tool.name): tool for tool in page.tools if self._wanted(tool.name)}
            cursor = page.next_cursor
            if not cursor:
                break
        self._tools = found
        self.listed += 1

    def _wanted(self, name: str) -> bool:
        return self.config.tools is None or name in self.config.tools

    def _called(self, name: str) -> str:
        """Return the name that models use: with the prefix, and of letters that every model family takes."""
        called = re.sub(r"[^A-Za-z0-9_-]", "_", self.config.prefix + name)[:64]
        return called if NAME.fullmatch(called) else f"_{called}"[:64]

    def _lose(self, client: Client) -> None:
        if self._client is client:
            self._client = None
            if self._lost is not None:
                self._lost.set()

    async def _let_go(self) -> None:
        holder, self._holder, self._client = self._holder, None, None
        if holder is None:
            return
        if self._lost is not None:
            self._lost.set()
        done, _ = await asyncio.wait((holder,), timeout=self.config.close_timeout_s)
        if not done:
            holder.cancel()
            await asyncio.wait((holder,), timeout=self.config.close_timeout_s)


class McpTool(Tool):
    """One tool of a server. Its state, if it has any, is the server's; sessions share it."""

    lives_on = True

    def __init__(self, server: McpServer, name: str, schema: ToolSchema, policy: ToolPolicy) -> None:
        self.schema = schema
        self.policy = policy
        self.acts_outside = not (policy.pure or policy.idempotent)
        self.identity = server.config.name
        self._server = server
        self._name = name

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        return await self._server.call(self._name, arguments)

    def fork(self, context: ToolContext) -> Tool:
        return self


def read_result(result: types.CallToolResult) -> str:
    """Return what a model reads of a result: its texts; of what is no text, that it was there."""
    parts = [_read(block) for block in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _read(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4} bytes, not shown]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.EmbeddedResource():
            return f"[{block.resource.uri}, not shown]"
        case types.ResourceLink():
            return f"[{block.name}: {block.uri}]"
