"""A model behind an OpenAI-compatible endpoint: chat completions with screenshots as data URIs."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Self

import httpx

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ImageRef, SessionOptions
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.context import Message, keep_last_images
from rlfactory.trainer.episode.conversation import Reply
from rlfactory.trainer.episode.policies import DEFAULT_PATCHES, ModelPolicy, PolicyConfig
from rlfactory.trainer.episode.rollout import EngineFailed, session_options

MAX_REPLY_BYTES: Final = 1 << 20
PASSING: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
"""Worth another attempt, as every 5xx is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryRule:
    """How a request that got no answer is repeated; asking again changes nothing."""

    attempts: int = 4
    backoff_s: float = 0.5
    max_wait_s: float = 20.0
    """Longest obeyed Retry-After."""


class Refused(TaskError):
    """The endpoint refuses for good: an unknown model, a bad key."""


class Endpoint:
    """One `chat/completions` address with its retries and deadlines. Use `async with`."""

    def __init__(self, *, url: str, model: str, config: PolicyConfig, rule: RetryRule | None = None) -> None:
        self.url = f"{url.rstrip('/')}/chat/completions"
        self._model = model
        self._config = config
        self._rule = rule or RetryRule()
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self._config.api_key}"} if self._config.api_key else {}
        timeout = httpx.Timeout(self._config.request_timeout_s, connect=10.0)
        self._http = httpx.AsyncClient(timeout=timeout, headers=headers, trust_env=False)
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def complete(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the model's next message; "" when it said nothing.

        Raises:
            Refused: the endpoint refuses the request for good.
            EngineFailed: no usable answer after every attempt.
        """
        body = {
            "model": self._model,
            "messages": list(messages),
            "temperature": self._config.temperature,
            "max_tokens": self._config.max_tokens,
        }
        problem, wait_s = "", self._rule.backoff_s
        for attempt in range(self._rule.attempts):
            if attempt:
                await asyncio.sleep(min(wait_s, self._rule.max_wait_s))
                wait_s *= 2
            try:
                response = await self._post(body)
            except (httpx.TransportError, TimeoutError) as error:
                problem = f"{type(error).__name__}: {error}".rstrip(": ")
                continue
            if response.status_code == HTTPStatus.OK:
                text = message_text(response)
                if text is not None:
                    return text
                problem = f"an answer without choices[0].message.content: {response.text[:120]!r}"
                continue
            problem = f"HTTP {response.status_code}: {response.text[:200]}"
            if response.status_code not in PASSING and response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Refused(f"the endpoint {self.url} refuses: {problem}")
            wait_s = retry_after_s(response, default=wait_s)
        raise EngineFailed(f"no answer from {self.url} in {self._rule.attempts} attempts; last: {problem}")

    async def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        """Send a request; the whole exchange, and not only each read, is under the deadline."""
        assert self._http is not None, "use `async with`"
        async with (
            asyncio.timeout(self._config.request_timeout_s),
            self._http.stream("POST", self.url, json=body) as response,
        ):
            received = bytearray()
            async for piece in response.aiter_bytes():
                received += piece
                if len(received) > MAX_REPLY_BYTES:
                    raise httpx.ReadError(f"an answer of more than {MAX_REPLY_BYTES} bytes")
        return httpx.Response(response.status_code, headers=response.headers, content=bytes(received))


class EndpointConversation:
    """One episode's side of the model: text, no tokens."""

    def __init__(self, endpoint: Endpoint, *, keep_images: int) -> None:
        self.refusal: Refused | None = None
        self._endpoint = endpoint
        self._keep_images = keep_images
        self._history: list[Message] = []

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """Tell the model these messages and return its next turn. Raises: Refused, EngineFailed."""
        self._history += messages
        shown = [chat_message(message) for message in keep_last_images(self._history, self._keep_images)]
        try:
            text = await self._endpoint.complete(shown)
        except Refused as error:
            self.refusal = error
            raise
        self._history.append(Message(role="assistant", text=text))
        context = "\n".join(message.text for message in messages)
        return Reply(text=text, complete=True, model_text=text, context_text=context)


class OpenAIPolicy(ModelPolicy):
    """Asks an endpoint for each turn, with the last images of the conversation."""

    def __init__(
        self, *, url: str, model: str, config: PolicyConfig, rule: RetryRule | None = None, keep_images: int = 3
    ) -> None:
        """Raises: UnknownName: no such dialect."""
        dialect = get_dialect(config.dialect)
        pixels = config.max_pixels or DEFAULT_PATCHES * dialect.multiple_px**2
        options = session_options(dialect, SessionOptions(max_pixels=pixels))
        super().__init__(name=f"openai:{model}", dialect=dialect, options=options)
        self._endpoint = Endpoint(url=url, model=model, config=config, rule=rule)
        self._keep_images = keep_images

    async def open(self) -> None:
        await self._endpoint.__aenter__()

    async def close(self) -> None:
        await self._endpoint.__aexit__()

    def converse(self, episode: str) -> EndpointConversation:
        return EndpointConversation(self._endpoint, keep_images=self._keep_images)


def chat_message(message: Message) -> dict[str, Any]:
    """Return a message as the endpoint wants it; a screenshot stands before the text."""
    if message.image is None:
        return {"role": message.role, "content": message.text}
    image = {"type": "image_url", "image_url": {"url": data_uri(message.image)}}
    text = [{"type": "text", "text": message.text}] if message.text else []
    return {"role": message.role, "content": [image, *text]}


def data_uri(image: ImageRef) -> str:
    return f"data:image/{image.format.value};base64,{base64.b64encode(image.data).decode()}"


def message_text(response: httpx.Response) -> str | None:
    """Return the text of a completion, None when the body is not one."""
    try:
        body = response.json()
    except ValueError:
        return None
    match body:
        case {"choices": [{"message": {"content": str() as text}}, *_]}:
            return text
        case {"choices": [{"message": {"content": list() as pieces}}, *_]}:
            texts = [piece.get("text") for piece in pieces if isinstance(piece, dict)]
            return "".join(text for text in texts if isinstance(text, str))
        case {"choices": [{"message": {"role": "assistant"}}, *_]}:
            return ""  # a turn in which the model said nothing: malformed, and its own mistake
        case _:
            return None


def retry_after_s(response: httpx.Response, *, default: float) -> float:
    try:
        return max(0.0, float(response.headers.get("retry-after", default)))
    except ValueError:
        return default
