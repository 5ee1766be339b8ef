"""A server that OpenEnv's clients drive: every task of an environment service as an OpenEnv environment.

    WS   /ws        {"type": "reset" | "step" | "state" | "close", "data": {..}}; an episode for each connection
    POST /reset, /step, GET /state    the same over HTTP, an episode for each `episode_id`
    GET  /health, /schema, /metadata

Actions are OpenEnv's own `call_tool` and `list_tools`, and `turn` for several calls at once. The reward of a step is
what the total rose by; a failure of infrastructure is an error with code EXECUTION_ERROR, never a reward. The package
`openenv-core` is not needed here: only its clients need it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib import metadata
from typing import Annotated, Any, Final, Literal, Self

from fastapi import Body, FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from rlfactory.envs.adapters import openenv_wire as wire
from rlfactory.envs.adapters.guard import MAX_BODY_BYTES, Guard
from rlfactory.envs.api.errors import Blame, EpisodeOver, LimitExceeded, RLFactoryError, TaskError
from rlfactory.envs.api.types import SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.wire.trust import is_loopback

MAX_SEED: Final = 2**31
WEBSOCKETS: Final[Literal["wsproto"]] = "wsproto"
"""Which library uvicorn speaks WebSocket by."""
BODIES: Final = {
    "/step": 'The body of a step is {"action": {"tool_name": "phone", "arguments": {"action": "wait", "seconds": 1}}}',
    "/reset": 'The body of a reset is {"task": "settings.wifi_on", "seed": 7}',
}
"""What is told to who sent another one."""
STATUS_CODES: Final = {
    "VALIDATION_ERROR": 422,
    "CAPACITY_REACHED": 503,
    "SESSION_ERROR": 409,
    "EXECUTION_ERROR": 503,
}


class OpenEnvEpisode:
    """One episode of one client; its requests are answered one after the other."""

    def __init__(self, session: Session, episode_id: str) -> None:
        self.id = episode_id or session.id
        self.lock = asyncio.Lock()
        self._session = session

    def first(self) -> dict[str, Any]:
        session = self._session
        tools = wire.tools_told(session.tools)
        begun = wire.seen(session.observation, episode_id=self.id, goal=session.goal, tools=tools)
        return wire.answered(begun, reward=None, done=False)

    async def step(self, action: wire.Action, *, timeout_s: float | None = None) -> dict[str, Any]:
        """Play a turn, or list the tools. Raises: RLFactoryError: the episode is over, or void."""
        session = self._session
        if isinstance(action, wire.ListTools):
            tools = wire.tools_told(session.tools)
            return wire.answered(wire.Seen(tools=tools), reward=None, done=session.over)
        if session.over:
            raise EpisodeOver(f"the episode is {session.state}; reset for another")
        calls = [
            ToolCall(id=str(index), name=each.name, arguments=each.arguments) for index, each in enumerate(action.calls)
        ]
        result = await session.step(calls, timeout_s=timeout_s)
        return wire.answered(wire.played(action, result), reward=session.gained, done=session.over)

    def state(self) -> dict[str, Any]:
        session = self._session
        return wire.State(
            episode_id=self.id,
            step_count=session.seq,
            task=session.task,
            seed=session.seed,
            split=session.split,
            goal=session.goal,
            status=session.state,
            max_turns=session.max_turns,
            reward=session.reward.total,
            parts=dict(session.reward.parts),
            progress=session.reward.progress,
            success=session.reward.success,
            side_effects=list(session.reward.side_effects),
        ).model_dump(exclude_none=True)

    async def aclose(self) -> None:
        await asyncio.shield(self._session.aclose())


class OpenEnvServer:
    """The server's episodes and routes. An async context manager that gives all episodes up at its end."""

    def __init__(
        self,
        client: EnvClient,
        *,
        task: str = "",
        options: SessionOptions | None = None,
        max_sessions: int = 256,
        idle_s: float = 600.0,
        host: str = "127.0.0.1",
    ) -> None:
        """Args:
        client: open.
        task: of resets that name none.
        max_sessions: connections, and episodes over HTTP, at once.
        idle_s: after so long without a request an episode over HTTP is given up.
        host: where it listens; on loopback clients have to call it by a name of loopback.
        """
        self.app = FastAPI(title="RLFactory", docs_url=None, redoc_url=None)
        self._client = client
        self._task = task
        self._options = options or SessionOptions(max_pixels=500_000)
        self._max_sessions = max_sessions
        self._idle_s = idle_s
        self._connections = 0
        self._episodes: dict[str, OpenEnvEpisode] = {}
        """Over HTTP, by id."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._route()
        self.app.add_middleware(Guard, loopback_only=is_loopback(host))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for episode_id in tuple(self._episodes):
            self._forget(episode_id)
        await asyncio.gather(*self._closing)

    async def serve(self, listener: socket.socket) -> None:
        """Serve on a socket that listens, until a signal."""
        import uvicorn

        config = uvicorn.Config(self.app, log_level="warning", ws=WEBSOCKETS, ws_max_size=MAX_BODY_BYTES)
        await uvicorn.Server(config).serve(sockets=[listener])

    def _route(self) -> None:
        self.app.websocket("/ws")(self._connected)
        self.app.post("/reset")(self._reset)
        self.app.post("/step")(self._step)
        self.app.get("/state")(self._state)
        self.app.get("/health")(_health)
        self.app.get("/schema")(_schema)
        self.app.get("/metadata")(self._metadata)
        self.app.exception_handler(RLFactoryError)(_complain)
        self.app.exception_handler(RequestValidationError)(_misread)

    async def _begin(self, data: wire.Reset) -> OpenEnvEpisode:
        """Raises: RLFactoryError: no such task, no room, or no phone."""
        task = data.task or self._task
        if not task:
            raise TaskError("reset has to name a task: this server has none of its own")
        seed = data.seed if data.seed is not None else secrets.randbelow(MAX_SEED)
        options = replace(self._options, **data.options(self._options))
        session = self._client.session(task, seed=seed, split=data.split, options=options)
        return OpenEnvEpisode(await session.__aenter__(), data.episode_id or "")

    # --- over the WebSocket ------------------------------------------------------------------------------------------

    async def _connected(self, socket: WebSocket) -> None:
        await socket.accept()
        if self._connections >= self._max_sessions:
            full = LimitExceeded(f"{self._connections} connections are open; the limit is {self._max_sessions}")
            await socket.send_json({"type": "error", "data": wire.error_told(full)})
            await socket.close(1013)
            return
        self._connections += 1
        player = _Player(self._begin)
        try:
            async for text in socket.iter_text():
                answer = await player.answer(text)
                if answer is None:
                    await socket.close()
                    break
                await socket.send_json(answer)
        except WebSocketDisconnect:
            pass
        finally:
            self._connections -= 1
            await player.aclose()

    # --- over HTTP ---------------------------------------------------------------------------------------------------

    async def _reset(self, data: Annotated[wire.Reset | None, Body()] = None) -> JSONResponse:
        data = data or wire.Reset()
        self._forget(data.episode_id or "")
        if len(self._episodes) >= self._max_sessions:
            raise LimitExceeded(f"{len(self._episodes)} episodes are open; the limit is {self._max_sessions}")
        episode = await self._begin(data)
        self._episodes[episode.id] = episode
        self._touch(episode)
        return JSONResponse(episode.first())

    async def _step(self, request: wire.Step) -> JSONResponse:
        try:
            action = wire.read_action(request.action)
        except ValidationError as error:
            raise TaskError(_complaints(error)) from None
        episode = self._episode(request.episode_id)
        async with episode.lock:
            try:
                return JSONResponse(await episode.step(action, timeout_s=request.timeout_s))
            except RLFactoryError as error:
                if error.blame is not Blame.CLIENT:
                    self._forget(episode.id)
                raise
            finally:
                self._touch(episode)

    async def _state(self, episode_id: str | None = None) -> JSONResponse:
        if episode_id is None and not self._episodes:
            return JSONResponse(wire.State().model_dump(exclude_none=True))
        return JSONResponse(self._episode(episode_id).state())

    async def _metadata(self) -> JSONResponse:
        about = "Android phones and tools as environments; a task is named at reset."
        version = metadata.version("rlfactory")
        return JSONResponse({"name": f"rlfactory {self._task}".rstrip(), "description": about, "version": version})

    def _episode(self, episode_id: str | None) -> OpenEnvEpisode:
        """Return the one that is meant; without an id the only one there is. Raises: EpisodeOver, TaskError."""
        if episode_id is None and len(self._episodes) == 1:
            return next(iter(self._episodes.values()))
        if episode_id is None and self._episodes:
            raise TaskError(f"{len(self._episodes)} episodes are open: say which by episode_id")
        found = self._episodes.get(episode_id or "")
        if found is None:
            raise EpisodeOver("there is no such episode: reset first")
        return found

    def _touch(self, episode: OpenEnvEpisode) -> None:
        """Let the episode live on for `idle_s`."""
        timer = self._timers.pop(episode.id, None)
        if timer is not None:
            timer.cancel()
        if self._episodes.get(episode.id) is episode:
            loop = asyncio.get_running_loop()
            self._timers[episode.id] = loop.call_later(self._idle_s, self._forget, episode.id)

    def _forget(self, episode_id: str) -> None:
        timer = self._timers.pop(episode_id, None)
        if timer is not None:
            timer.cancel()
        episode = self._episodes.pop(episode_id, None)
        if episode is not None:
            task = asyncio.get_running_loop().create_task(episode.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


class _Player:
    """One connection and its episode."""

    def __init__(self, begin: Callable[[wire.Reset], Awaitable[OpenEnvEpisode]]) -> None:
        self._begin = begin
        self._episode: OpenEnvEpisode | None = None

    async def answer(self, text: str) -> dict[str, Any] | None:
        """Return the answer to a message; None: the client says goodbye."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            return _error("INVALID_JSON", f"Invalid JSON: {error}")
        try:
            return await self._carry_out(wire.Message.model_validate(content))
        except ValidationError as error:
            unknown = isinstance(content, dict) and error.errors()[0]["loc"] == ("type",)
            return _error("UNKNOWN_TYPE" if unknown else "VALIDATION_ERROR", _complaints(error))
        except RLFactoryError as error:
            if error.blame is not Blame.CLIENT:
                await self.aclose()
            return {"type": "error", "data": wire.error_told(error)}

    async def _carry_out(self, message: wire.Message) -> dict[str, Any] | None:
        match message.type:
            case "reset":
                return {"type": "observation", "data": await self._reset(wire.Reset.model_validate(message.data))}
            case "step":
                action = wire.read_action(message.data)
                return {"type": "observation", "data": await self._current().step(action)}
            case "state":
                state = self._episode.state() if self._episode else wire.State().model_dump(exclude_none=True)
                return {"type": "state", "data": state}
            case "close":
                return None

    async def _reset(self, data: wire.Reset) -> dict[str, Any]:
        await self.aclose()
        episode = self._episode = await self._begin(data)
        return episode.first()

    def _current(self) -> OpenEnvEpisode:
        if self._episode is None:
            raise EpisodeOver("no episode has begun: reset first")
        return self._episode

    async def aclose(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            await episode.aclose()


async def _health() -> JSONResponse:
    return JSONResponse({"status": "healthy"})


async def _schema() -> JSONResponse:
    return JSONResponse(wire.schemas())


async def _complain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RLFactoryError)
    told = wire.error_told(error)
    return JSONResponse({"detail": told["message"], **told}, STATUS_CODES[told["code"]])


async def _misread(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    told = TaskError(f"{_complaints(error)}. {BODIES.get(request.url.path, '')}".rstrip())
    return await _complain(request, told)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code}}


def _complaints(error: ValidationError | RequestValidationError) -> str:
    told = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
    return "; ".join(told)
