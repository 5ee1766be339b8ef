"""An MCP server that offers an environment: any MCP client plays episodes with the phone and the other tools.

The tools `tasks` and `begin` are always there; an episode's own tools join them when it has begun, and the client is
told that the list has changed. A call is one turn: it answers with what the tool said, with the screen as a picture,
and in the end with the reward. There is one episode at a time, for all clients of the server together.
"""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Self

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged

from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.envs.api.types import (
    EpisodeState,
    Observation,
    SessionOptions,
    StepResult,
    ToolCall,
    ToolSchema,
    ToolStatus,
    split_named,
)
from rlfactory.envs.client import EnvClient, Session

NAME: Final = "rlfactory"
TASKS: Final = types.Tool(
    name="tasks",
    description="List the tasks there are: name, suite, what is to be done.",
    input_schema={
        "type": "object",
        "properties": {"suite": {"type": "string", "description": "Only this suite."}},
        "additionalProperties": False,
    },
)
BEGIN: Final = types.Tool(
    name="begin",
    description="Begin an episode of a task; one that is under way is given up. Then its tools are there.",
    input_schema={
        "type": "object",
        "properties": {
            "task": {"type": "string"},
            "seed": {"type": "integer", "minimum": 0, "description": "Default: 0."},
            "split": {"type": "string", "enum": ["train", "validation", "test"], "description": "Default: train."},
        },
        "required": ["task"],
        "additionalProperties": False,
    },
)

Context = ServerRequestContext[Any, Any]


class EnvironmentServer:
    """The server and its episode. An async context manager that gives the episode up at its end."""

    def __init__(self, client: EnvClient, *, options: SessionOptions | None = None) -> None:
        """`client` is open; `options` are those of every episode."""
        self.session: Session | None = None
        self._client = client
        self._options = options or SessionOptions(max_pixels=500_000)
        self._lock = asyncio.Lock()
        self._bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            NAME,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._give_up()

    async def serve_stdio(self) -> None:
        """Serve one client on this process's standard input and output, until it goes."""
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())

    async def serve_http(self, listener: socket.socket) -> None:
        """Serve any number of clients over streamable HTTP at /mcp of a socket that listens, until cancelled.

        They share the episode.
        """
        import uvicorn

        app = self.server.streamable_http_app(host=listener.getsockname()[0])
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])

    async def begin(self, task: str, *, seed: int = 0, split: str = "train") -> Session:
        """Begin an episode. Raises: RLFactoryError."""
        await self._give_up()
        session = self._client.session(task, seed=seed, split=split_named(split), options=self._options)
        self.session = await session.__aenter__()
        return self.session

    async def _give_up(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            await asyncio.shield(session.aclose())

    # --- what clients ask --------------------------------------------------------------------------------------------

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        own = [_tool(schema) for schema in self.session.tools] if self.session is not None else []
        return types.ListToolsResult(tools=[TASKS, BEGIN, *own])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        try:
            async with self._lock:
                match params.name:
                    case TASKS.name:
                        return await self._tasks(arguments)
                    case BEGIN.name:
                        return await self._begin(context, arguments)
                    case name:
                        return await self._play(name, arguments)
        except RLFactoryError as error:
            return _failed(f"{error.reason}: {error}")

    async def _tasks(self, arguments: Mapping[str, Any]) -> types.CallToolResult:
        tasks = await self._client.list_tasks(suite=str(arguments.get("suite", "")))
        return _said(
            "\n".join(f"{task.name} ({task.suite}): {task.description}" for task in tasks) or "There are none."
        )

    async def _begin(self, context: Context, arguments: Mapping[str, Any]) -> types.CallToolResult:
        task, seed = arguments.get("task"), arguments.get("seed", 0)
        if not isinstance(task, str) or not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise TaskError("'task' must be a name, and 'seed' a whole number from 0")
        session = await self.begin(task, seed=seed, split=str(arguments.get("split", "train")))
        await self._bus.publish(ToolsListChanged())
        with suppress(MCPError):  # a client that listens to the bus has no use for the notification
            await context.session.send_tool_list_changed()
        tools = ", ".join(schema.name for schema in session.tools)
        goal = f"Goal: {session.goal}\nYou have {session.max_turns} turns, and these tools: {tools}."
        return _said(goal, *_shown(session.observation))

    async def _play(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        session = self.session
        if session is None:
            return _failed(f"no episode has begun: call {BEGIN.name!r}; {TASKS.name!r} lists the tasks")
        if session.over:
            return _failed(f"the episode is {session.state}; call {BEGIN.name!r} for another")
        result = await session.step([ToolCall(id="0", name=name, arguments=dict(arguments))])
        return _played(result)


def _tool(schema: ToolSchema) -> types.Tool:
    return types.Tool(name=schema.name, description=schema.description, input_schema=dict(schema.parameters))


def _played(result: StepResult) -> types.CallToolResult:
    (inner,) = result.results
    text = inner.text if inner.status is ToolStatus.OK else f"{inner.status}: {inner.text}"
    if result.state is not EpisodeState.RUNNING:
        text += f"\nThe episode is {result.state}. Reward {result.reward.total:g}, success {result.reward.success}."
    return types.CallToolResult(
        content=[types.TextContent(text=text), *_shown(result.observation)], is_error=inner.status is not ToolStatus.OK
    )


def _shown(observation: Observation) -> list[types.ContentBlock]:
    """Return what there is to see, as blocks."""
    blocks: list[types.ContentBlock] = []
    if observation.text:
        blocks.append(types.TextContent(text=observation.text))
    if observation.image is not None:
        image = observation.image
        data = base64.b64encode(image.data).decode()
        blocks.append(types.ImageContent(data=data, mime_type=f"image/{image.format.value}"))
    return blocks


def _said(text: str, *more: types.ContentBlock) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text), *more])


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
