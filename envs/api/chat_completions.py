"""A client of `POST URL/chat/completions`, as OpenAI, vLLM and many others serve it: for judges, tools and policies.

An attempt has a deadline, the body included. What may pass is asked again after a growing wait or the one that the
endpoint names: no connection, a deadline, 408, 409, 425, 429, 5xx, a body that is no completion, an answer that its
reader cannot use. Any other status is told at once. Asking again changes nothing at the endpoint.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Self, TypeVar

import httpx

from rlfactory.envs.api.types import ImageRef

MAX_REPLY_BYTES: Final = 4 << 20
PASSING: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
"""Worth another attempt, as every 5xx is."""

T = TypeVar("T")


class NoCompletion(Exception):
    """There is no usable answer after every attempt; `problem` is the last one's, without the address."""

    def __init__(self, message: str, problem: str) -> None:
        super().__init__(f"{message}: {problem}")
        self.problem = problem


class Refused(NoCompletion):
    """The endpoint refuses for good: an unknown model, a bad key."""


class Unusable(Exception):
    """What came is no answer to what was asked; the message says why. It is asked for again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatConfig:
    """Which model, and how patiently it is asked."""

    url: str
    """Of the API, up to and with its version: http://127.0.0.1:8000/v1."""
    model: str
    key: str = field(default="", repr=False)
    """Sent as a bearer token."""
    temperature: float = 0.0
    max_tokens: int = 512
    attempts: int = 4
    attempt_timeout_s: float = 120.0
    backoff_s: float = 0.5
    """Before the second attempt; doubled before each one after it."""
    max_wait_s: float = 20.0
    """Longest wait, also of those that an endpoint asks for by Retry-After."""
    concurrency: int = 256
    """Requests at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What the model said."""

    text: str
    """"" where it said nothing."""
    cut: bool
    """It ended for its length."""


class ChatClient:
    """One model behind an endpoint. Close it, or use `async with`."""

    def __init__(self, config: ChatConfig) -> None:
        self.config = config
        self.counters: Counter[str] = Counter()
        """asked, failed_requests, malformed"""
        self._was_reached = False
        self._url = f"{config.url.rstrip('/')}/chat/completions"
        self._places = asyncio.Semaphore(config.concurrency)
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], read: Callable[[Completion], T], *, seed: int | None = None
    ) -> T:
        """Return what `read` makes of the model's answer; it may raise `Unusable` to have another one.

        Args:
            seed: of the first attempt; each further one adds 1.

        Raises:
            Refused: the endpoint refuses the request for good.
            NoCompletion: no usable answer after every attempt, or nobody ever listened there.
        """
        config = self.config
        body = {"model": config.model, "messages": list(messages), "max_tokens": config.max_tokens}
        body["temperature"] = config.temperature
        problem, wait_s = "", config.backoff_s
        for attempt in range(config.attempts):
            if attempt:
                await asyncio.sleep(min(wait_s, config.max_wait_s))
                wait_s *= 2
            self.counters["asked"] += 1
            try:
                response = await self._post(body if seed is None else {**body, "seed": seed + attempt})
                if response.status_code == HTTPStatus.OK:
                    return read(_completion(response.content))
            except Unusable as error:
                self.counters["malformed"] += 1
                problem = str(error)
                continue
            except (httpx.HTTPError, TimeoutError) as error:
                self.counters["failed_requests"] += 1
                problem = f"{type(error).__name__}: {error}".rstrip(": ")
                if isinstance(error, httpx.ConnectError) and not self._was_reached:
                    raise NoCompletion(f"no answer from {self._url}; is it started?", problem) from None
                continue
            self.counters["failed_requests"] += 1
            problem = f"HTTP {response.status_code}: {response.text[:200]}"
            if response.status_code not in PASSING and response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Refused(f"the endpoint {self._url} refuses", problem)
            wait_s = _retry_after_s(response, default=wait_s)
        raise NoCompletion(f"no answer from {self._url} in {config.attempts} attempts; last", problem)

    async def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        """Send a request; the whole exchange, and not only each read, is under the deadline."""
        if self._http is None:
            headers = {"Authorization": f"Bearer {self.config.key}"} if self.config.key else {}
            limits = httpx.Limits(max_connections=self.config.concurrency)
            self._http = httpx.AsyncClient(timeout=None, limits=limits, headers=headers, trust_env=False)
        received = bytearray()
        async with (
            self._places,
            asyncio.timeout(self.config.attempt_timeout_s),
            self._http.stream("POST", self._url, json=body) as response,
        ):
            self._was_reached = True
            async for piece in response.aiter_bytes():
                received += piece
                if len(received) > MAX_REPLY_BYTES:
                    raise Unusable(f"an answer of more than {MAX_REPLY_BYTES} bytes")
        # Its body is decoded already.
        kept = {name: value for name, value in response.headers.items() if name == "retry-after"}
        return httpx.Response(response.status_code, headers=kept, content=bytes(received))


def data_uri(image: ImageRef) -> str:
    """Return a picture as an endpoint takes it."""
    return f"data:image/{image.format.value};base64,{base64.b64encode(image.data).decode()}"


def _completion(data: bytes) -> Completion:
    """Raises: Unusable: the body is no chat completion."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise Unusable(f"the endpoint did not answer JSON: {data[:80]!r}") from None
    match body:
        case {"choices": [{"message": {"content": str() as text}} as choice, *_]}:
            said = text
        case {"choices": [{"message": {"content": list() as pieces}} as choice, *_]}:
            texts = [piece.get("text") for piece in pieces if isinstance(piece, dict)]
            said = "".join(text for text in texts if isinstance(text, str))
        case {"choices": [{"message": {"role": "assistant"}} as choice, *_]}:
            said = ""
        case _:
            raise Unusable(f"the endpoint answered no completion: {data[:80]!r}")
    return Completion(text=said, cut=choice.get("finish_reason") == "length")


def _retry_after_s(response: httpx.Response, *, default: float) -> float:
    try:
        return max(0.0, float(response.headers.get("retry-after", default)))
    except ValueError:
        return default
