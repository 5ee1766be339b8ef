"""The retrieval server of Search-R1, over our index.

    POST /retrieve {"queries": ["who ..", ".."], "topk": 3, "return_scores": true}
      -> {"result": [[{"document": {"id": "17", "contents": "\\"Title\\"\\ntext"}, "score": 12.3}, ..], ..]}
    GET /health    -> {"status": "ok", "passages": 100000, "mode": "bm25"}

Without return_scores each result is the document alone. A query that matches nothing has an empty list.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Annotated, Final

from fastapi import FastAPI, HTTPException
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints

from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.search.index import SearchIndex
from rlfactory.envs.tools.search.passages import Hit, SearchMode

MAX_QUERIES: Final = 1_024
MAX_QUERY_CHARS: Final = 4_000
MAX_TOP_K: Final = 100
MAX_WAITING: Final = 256
"""Requests that may wait or run; a further one is answered 503."""


class RetrieveRequest(BaseModel):
    """What may be asked."""

    queries: list[Annotated[str, StringConstraints(max_length=MAX_QUERY_CHARS)]] = Field(max_length=MAX_QUERIES)
    topk: int | None = Field(default=None, ge=1, le=MAX_TOP_K)
    return_scores: bool = False


def retrieval_app(index: SearchIndex, *, mode: SearchMode, default_top_k: int = 3, threads: int = 2) -> FastAPI:
    """Return the application. `threads`: searches that run at once; more than there are cores only slow each other."""
    app = FastAPI(title="RLFactory retrieval", docs_url=None, redoc_url=None)
    running = asyncio.Semaphore(threads)
    waiting = 0

    @app.post("/retrieve")
    async def retrieve(request: RetrieveRequest) -> JSONResponse:
        nonlocal waiting
        if waiting >= MAX_WAITING:
            raise HTTPException(
                503, f"{waiting} requests are waiting; the limit is {MAX_WAITING}", {"Retry-After": "1"}
            )
        waiting += 1
        try:
            async with running:
                top_k = request.topk or default_top_k
                found = await asyncio.to_thread(index.search, request.queries, top_k=top_k, mode=mode)
        finally:
            waiting -= 1
        return JSONResponse({"result": [[_told(hit, scores=request.return_scores) for hit in hits] for hits in found]})

    @app.get("/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok", "passages": len(index), "mode": mode.value})

    return app


def serve(
    index: SearchIndex, *, mode: SearchMode, host: str, port: int, threads: int = 2, started: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT; `started` is told host:port, where one may connect at once. Port 0: a free one."""
    import uvicorn

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
        started(f"{host}:{listener.getsockname()[1]}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # uvicorn stops in order, then raises what stopped it once more
        application = retrieval_app(index, mode=mode, threads=threads)
        uvicorn.Server(uvicorn.Config(application, log_level="warning")).run(sockets=[listener])


def _told(hit: Hit, *, scores: bool) -> JSON:
    document: dict[str, JSON] = {"id": hit.passage.id, "contents": hit.passage.contents}
    return {"document": document, "score": hit.score} if scores else document
