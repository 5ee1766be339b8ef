"""An MCP server for tests, by the SDK: `python mcp_example.py stdio|http|sse [port]`."""

from __future__ import annotations

import os
import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("example")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def echo(text: str, delay_s: float = 0.0) -> str:
    """Say it again, after a while."""
    await anyio.sleep(delay_s)
    return text


@server.tool(name="fail.loudly")
def fail_loudly() -> str:
    """Fail."""
    raise RuntimeError("the well is dry")


@server.tool()
def pid() -> int:
    """Say which process this is."""
    return os.getpid()


@server.tool()
def variable(name: str) -> str:
    """Say what the server's environment holds."""
    return os.environ.get(name, "(none)")


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@server.tool()
async def learn(word: str, ctx: Context) -> str:
    """Learn a word: a new tool."""

    def say() -> str:
        return word

    server.add_tool(say, name=f"say_{word}", description=f"Say {word}.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "learnt"


if __name__ == "__main__":
    kind = sys.argv[1]
    if kind == "stdio":
        server.run("stdio")
    elif kind == "http":
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("sse", port=int(sys.argv[2]))
