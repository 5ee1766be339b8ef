"""The gateway: an OpenAI-compatible endpoint before the rollout engine, for agents that nobody here wrote.

    POST /sessions                     {"id": "..."}, or nothing    -> {"session": ID}
    POST /v1/chat/completions          OpenAI's, with the session's ID as API key; `stream` and `tools`, too
    POST /sessions/ID/end              {"reward": 1.0}              -> the session's rows, as the learner wants them
    GET  /v1/models                    the model, and the digest of its chat template

The row of a session holds the ids that the engine was given and those that it sampled, with their log-probs: nothing
is encoded from text a second time. What agents ask of sampling (temperature, top_p) is not heard: training samples
every turn as it is configured.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse, Response, StreamingResponse

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.cpu.engine import BatchingEngine
from rlfactory.trainer.dialects import Dialect, get_dialect
from rlfactory.trainer.episode.conversation import PromptTooLong
from rlfactory.trainer.episode.harness import Answered, Asked, BadCall, HarnessSession, tool_calls
from rlfactory.trainer.episode.policies import PolicyConfig
from rlfactory.trainer.run.evaluation import make_policy
from rlfactory.trainer.verl.checkpoint import CheckpointPolicy

__all__ = ["Gateway", "PolicyConfig", "get_dialect", "open_gateway"]

MAX_SESSIONS: Final = 256
MAX_CALLS: Final = 1_000
"""Of a session."""
MAX_BODY_BYTES: Final = 64 << 20
"""A history of screenshots."""
LOOPBACK: Final = ("127.0.0.1", "localhost")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What the learner gets of one chain of calls."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    """1 on what the engine sampled."""
    response_log_probs: list[float]
    images: list[str]
    """Digests, in the order of their placeholders."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A session with its reward."""

    session: str
    reward: float
    template: str
    """Digest of the chat template that the rows were written by: a learner's has to be the same."""
    calls: int
    rows: list[Row] = field(default_factory=list)


class Gateway:
    """The sessions of one engine. `open()` comes first."""

    def __init__(self, policy: CheckpointPolicy, dialect: Dialect, *, out: Path | None = None) -> None:
        """`dialect`: of agents that send tools; `out`: a file that ended sessions are added to, one JSON a line."""
        self.app = FastAPI(title="RLFactory gateway", docs_url=None, redoc_url=None)
        # A browser calls loopback for any page, and by any name; agents are no pages, and know where they call.
        self.app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK))
        self._policy = policy
        self._dialect = dialect
        self._out = out
        self._sessions: dict[str, HarnessSession] = {}
        self.app.post("/sessions")(self._open_session)
        self.app.post("/v1/chat/completions")(self._complete)
        self.app.post("/sessions/{session}/end")(self._end_session)
        self.app.get("/v1/models")(self._models)
        self.app.exception_handler(BadCall)(_refused)
        self.app.exception_handler(PromptTooLong)(_refused)

    @property
    def engine(self) -> BatchingEngine:
        return self._policy.engine

    @property
    def template(self) -> str:
        return template_digest(str(self.engine.engine.tokenizer.chat_template))

    def begin(self, session: str = "") -> str:
        """Open a session and return its id. Raises: BadCall: there are too many, or one of this id."""
        name = session or secrets.token_urlsafe(12)
        if len(self._sessions) >= MAX_SESSIONS:
            raise BadCall(f"{MAX_SESSIONS} sessions are open; end one first: POST /sessions/ID/end")
        if name in self._sessions:
            raise BadCall(f"session {name!r} is open already")
        self._sessions[name] = HarnessSession(lambda: self._policy.begin_row(name), self._dialect)
        return name

    def session(self, name: str) -> HarnessSession:
        """Raises: BadCall: no such session is open."""
        if name not in self._sessions:
            raise BadCall(f"no session {name!r} is open")
        return self._sessions[name]

    def end(self, session: str, reward: float) -> Ended:
        """Close a session; return what the learner gets of it. Raises: BadCall: no such session is open."""
        played = self.session(session)
        del self._sessions[session]
        ended = Ended(
            session=session,
            reward=reward,
            template=self.template,
            calls=played.calls,
            rows=[
                Row(
                    prompt_ids=each.trajectory.prompt_ids,
                    response_ids=each.trajectory.response_ids,
                    response_mask=each.trajectory.response_mask,
                    response_log_probs=each.trajectory.response_log_probs,
                    images=[image.digest for image in each.images],
                )
                for each in played.rows
            ],
        )
        if self._out is not None:
            with self._out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(ended)) + "\n")
        return ended

    async def serve(self, listener: socket.socket) -> None:
        """Serve on a socket that listens, until a signal."""
        import uvicorn

        await uvicorn.Server(uvicorn.Config(self.app, log_level="warning")).serve(sockets=[listener])

    async def _open_session(self, request: Request) -> Any:
        return {"session": self.begin(str((await _body(request)).get("id") or ""))}

    async def _end_session(self, session: str, request: Request) -> Any:
        reward = (await _body(request)).get("reward")
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            raise BadCall('the end of a session says what it earned: {"reward": 1.0}')
        return asdict(self.end(session, float(reward)))

    async def _models(self) -> Any:
        return {"object": "list", "data": [{"id": self._policy.name, "object": "model", "template": self.template}]}

    async def _complete(self, request: Request) -> Response:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        session = self._sessions.get(key)
        if session is None:
            told = "a call without a session: open one by POST /sessions, and give the agent its id as API key"
            return _error(401, told, "invalid_api_key")
        if session.calls >= MAX_CALLS:
            return _error(429, f"session {key} has had {MAX_CALLS} calls; end it", "rate_limit_exceeded")
        body = await _body(request)
        answered = await session.ask(Asked.from_body(body))
        if body.get("stream"):
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            return StreamingResponse(self._streamed(answered, usage=usage), media_type="text/event-stream")
        return JSONResponse(self._told(answered, "message", answered.finish_reason) | {"usage": _usage(answered)})

    async def _streamed(self, answered: Answered, *, usage: bool) -> AsyncIterator[str]:
        """Tell the answer as a stream of one piece: an agent may ask for it that way."""
        pieces = [self._told(answered, "delta", None), self._told(answered, "delta", answered.finish_reason, end=True)]
        if usage:
            pieces.append(pieces[-1] | {"choices": [], "usage": _usage(answered)})
        for piece in pieces:
            yield f"data: {json.dumps(piece)}\n\n"
        yield "data: [DONE]\n\n"

    def _told(self, answered: Answered, part: str, reason: str | None, *, end: bool = False) -> dict[str, Any]:
        message: dict[str, Any] = {} if end else {"role": "assistant", "content": answered.content}
        if answered.calls and not end:
            message["tool_calls"] = tool_calls(answered)
        return {
            "id": f"chatcmpl-{secrets.token_hex(8)}",
            "object": "chat.completion" if part == "message" else "chat.completion.chunk",
            "created": int(time.time()),
            "model": self._policy.name,
            "choices": [{"index": 0, part: message, "finish_reason": reason}],
        }


def template_digest(template: str) -> str:
    """Return what a chat template is known by."""
    return hashlib.sha256(template.encode()).hexdigest()[:16]


async def open_gateway(folder: Path, *, dialect: Dialect, config: PolicyConfig, out: Path | None) -> Gateway:
    """Load a checkpoint and return its gateway. Raises: TaskError: no model, or nowhere to write."""
    if out is not None and not out.parent.is_dir():
        raise TaskError(f"no folder {out.parent} for {out.name}")
    policy = make_policy(f"checkpoint:{folder}", config)
    assert isinstance(policy, CheckpointPolicy)
    await policy.open()
    return Gateway(policy, dialect, out=out)


async def _body(request: Request) -> dict[str, Any]:
    if "origin" in request.headers:
        raise BadCall("pages may not call this server")
    read = bytearray()
    async for piece in request.stream():
        read += piece
        if len(read) > MAX_BODY_BYTES:
            raise BadCall(f"a body has at most {MAX_BODY_BYTES} bytes")
    try:
        body = json.loads(read) if read else {}
    except ValueError:
        raise BadCall("the body is not JSON") from None
    if not isinstance(body, dict):
        raise BadCall("the body must be a JSON object")
    return body


async def _refused(_request: Request, problem: Exception) -> JSONResponse:
    return _error(400, str(problem), "invalid_request_error")


def _error(status: int, message: str, code: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": code, "code": code}}, status_code=status)


def _usage(answered: Answered) -> dict[str, int]:
    start, end = answered.reply.loss_span
    return {"prompt_tokens": start, "completion_tokens": end - start, "total_tokens": end}
