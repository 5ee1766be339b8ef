"""Where a search tool gets its passages: an index in this process, or a retrieval server that speaks Search-R1."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

import httpx

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.search.passages import Hit, Passage, SearchMode

if TYPE_CHECKING:
    from rlfactory.envs.tools.search.index import SearchIndex


class Retriever(Protocol):
    """Finds passages."""

    @property
    def identity(self) -> str:
        """What its answers depend on beside the questions; retrievers of one identity answer alike."""
        ...

    async def retrieve(self, queries: Sequence[str], *, top_k: int, timeout_s: float) -> list[tuple[Hit, ...]]:
        """Return for each query its best passages, best first.

        Raises: InfrastructureError: there was no answer, or none in time. Asking again is harmless.
        """
        ...


class LocalRetriever:
    """Searches an index in this process, in threads: tantivy lets go of the interpreter while it works."""

    def __init__(self, index: SearchIndex, mode: SearchMode = SearchMode.BM25) -> None:
        self.identity = f"{mode} over {index.identity}"
        self._index = index
        self._mode = mode

    async def retrieve(self, queries: Sequence[str], *, top_k: int, timeout_s: float) -> list[tuple[Hit, ...]]:
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.to_thread(self._index.search, queries, top_k=top_k, mode=self._mode)
        except TimeoutError:
            raise InfrastructureError(f"the search took longer than {timeout_s:g} s") from None


class RemoteRetriever:
    """Asks a server at `POST URL/retrieve`. Use `async with`, or let the first question open the connection."""

    def __init__(self, url: str) -> None:
        self._url = self.identity = f"{url.rstrip('/')}/retrieve"
        self._http = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=2), trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def retrieve(self, queries: Sequence[str], *, top_k: int, timeout_s: float) -> list[tuple[Hit, ...]]:
        body = {"queries": list(queries), "topk": top_k, "return_scores": True}
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._http.post(self._url, json=body, timeout=timeout_s)
            response.raise_for_status()
            return read_answer(response.json(), asked=len(queries))
        except TimeoutError:
            raise InfrastructureError(f"{self._url} gave no answer within {timeout_s:g} s") from None
        except (httpx.HTTPError, ValueError) as error:
            raise InfrastructureError(f"{self._url}: {type(error).__name__}: {error}") from error


def read_answer(answer: JSON, *, asked: int) -> list[tuple[Hit, ...]]:
    """Return the hits in a server's answer. Raises: ValueError: it is not what Search-R1's protocol says."""
    match answer:
        case {"result": list(rows)} if len(rows) == asked:
            return [tuple(_hit(each) for each in row) if isinstance(row, list) else _bad(row) for row in rows]
        case _:
            return _bad(answer)


def _hit(value: Any) -> Hit:
    match value:
        case {"document": {"contents": str(contents)} as document, "score": int() | float() as score}:
            head, _, text = contents.partition("\n")
            passage = Passage(id=str(document.get("id", "")), title=head.strip().strip('"'), text=text)
            return Hit(passage=passage, score=float(score))
        case _:
            return _bad(value)


def _bad(value: object) -> NoReturn:
    raise ValueError(f"not an answer of a retrieval server: {str(value)[:120]}")
