"""The tools of a file, opened: connections are made, and every tool has its factory."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import assert_never

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.registry import Registry
from rlfactory.envs.client import EnvClient
from rlfactory.envs.tools.config import FunctionSource, ToolEntry, ToolsConfig
from rlfactory.envs.tools.environment import EnvironmentConfig, EnvironmentTool
from rlfactory.envs.tools.function import tool_of
from rlfactory.envs.tools.mcp.client import McpServer, McpUnreachable
from rlfactory.envs.tools.model import MODEL_POLICY, ModelConfig, ModelTool
from rlfactory.envs.tools.qwen_agent import qwen_tool
from rlfactory.envs.tools.registry import ToolRegistry
from rlfactory.envs.tools.runtime.policy import DEFAULT_POLICY
from rlfactory.envs.tools.tool import ToolFactory
from rlfactory.user_code import line_of


class Toolset(Registry[ToolFactory]):
    """A registry that also holds what MCP servers offer at the moment. Names of its own win."""

    def __init__(self, base: ToolRegistry, servers: Sequence[McpServer]) -> None:
        super().__init__("tool", ((name, base.get(name)) for name in base))
        self._servers = servers

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        names = {*super().__iter__(), *(name for server in self._servers for name in server.names)}
        return iter(sorted(names))

    def is_own(self, name: str) -> bool:
        """Tell whether a tool is of the file or of the base, and of no server."""
        return name in self._entries

    def get(self, name: str) -> ToolFactory:
        if self.is_own(name):
            return self._entries[name]
        for server in self._servers:
            factory = server.factories().get(name)
            if factory is not None:
                return factory
        raise UnknownName.of("tool", name, self)


@asynccontextmanager
async def open_tools(config: ToolsConfig, base: ToolRegistry) -> AsyncIterator[Toolset]:
    """Offer the tools of a file beside those of `base` for the block.

    Raises:
        TaskError: a tool makes no sense, two have the same name, or an MCP server cannot be reached.
        InfrastructureError: an environment cannot be reached.
    """
    async with AsyncExitStack() as stack:
        servers = [await _server(stack, McpServer(each)) for each in config.servers]
        toolset = Toolset(base, servers)
        for entry in config.tools:
            factory = await _factory(stack, entry)
            try:
                toolset.add(entry.name, factory)
            except ValueError:
                raise TaskError(f"there is a tool {entry.name!r} already; give that of the file another name") from None
        _refuse_duplicates(toolset, servers)
        yield toolset


async def _server(stack: AsyncExitStack, server: McpServer) -> McpServer:
    try:
        return await stack.enter_async_context(server)
    except McpUnreachable as error:
        raise TaskError(str(error)) from None


async def _factory(stack: AsyncExitStack, entry: ToolEntry) -> ToolFactory:
    name, source = entry.name, entry.source
    match source:
        case FunctionSource():
            return _of_function(entry, source)
        case ModelConfig():
            tool = ModelTool(name, source, entry.policy or MODEL_POLICY)
            stack.push_async_callback(tool.disconnect)
            return lambda context: tool
        case EnvironmentConfig():
            environment = await stack.enter_async_context(EnvClient(source.address))
            return lambda context: EnvironmentTool(name, source, environment)
        case _:
            assert_never(source)


def _of_function(entry: ToolEntry, source: FunctionSource) -> ToolFactory:
    policy = entry.policy or DEFAULT_POLICY
    try:
        if source.qwen_agent:
            return qwen_tool(source.subject, name=entry.name, policy=policy, options=source.options)
        return tool_of(
            source.subject,
            name=entry.name,
            description=entry.description,
            policy=policy,
            options=source.options,
        )
    except ValueError as error:
        where = f" ({line_of(source.subject)})" if inspect.isfunction(source.subject) else ""
        raise TaskError(f"tool {entry.name!r}: {error}{where}") from None


def _refuse_duplicates(toolset: Toolset, servers: Sequence[McpServer]) -> None:
    """Raises: TaskError: two sources offer a tool of one name; `prefix` tells them apart."""
    owners: dict[str, str] = {}
    for server in servers:
        for name in server.names:
            other = owners.setdefault(name, server.config.name)
            if other != server.config.name or toolset.is_own(name):
                raise TaskError(f"MCP server {server.config.name!r}: there is another tool {name!r}; give it a prefix")
