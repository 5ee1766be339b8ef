"""A model behind an OpenAI-compatible endpoint: chat completions with screenshots as data URIs."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import httpx

from envs.errors import TaskError
from envs.types import ImageRef, Observation, SessionOptions
from trainer.dialects import Dialect, ParseError, get_dialect
from trainer.policies import GenerationError, PolicyConfig
from trainer.stage import Stage, Written

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_REPLY_BYTES: Final = 1 << 20
DEFAULT_PATCHES: Final = 640
"""Of a screenshot where no pixel budget is given: 592 tokens for a tall phone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryRule:
    """How a request that got no answer is repeated; asking again changes nothing."""

    attempts: int = 4
    backoff_s: float = 0.5
    max_wait_s: float = 20.0
    """Longest obeyed Retry-After."""


class OpenAIPolicy:
    """Asks an endpoint for each turn, keeping the last images in the conversation."""

    def __init__(
        self, *, url: str, model: str, config: PolicyConfig, rule: RetryRule | None = None, keep_images: int = 3
    ) -> None:
        """Raises: UnknownName: no such dialect."""
        self.name = f"openai:{model}"
        self._dialect: Dialect = get_dialect(config.dialect)
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._model = model
        self._config = config
        self._rule = rule or RetryRule()
        self._keep_images = keep_images
        self._http: httpx.AsyncClient | None = None

    @property
    def options(self) -> SessionOptions:
        multiple_px = self._dialect.multiple_px
        return SessionOptions(
            coordinates=self._dialect.frame,
            multiple_px=multiple_px,
            max_pixels=self._config.max_pixels or DEFAULT_PATCHES * multiple_px**2,
        )

    async def open(self) -> None:
        headers = {"Authorization": f"Bearer {self._config.api_key}"} if self._config.api_key else {}
        timeout = httpx.Timeout(self._config.request_timeout_s, connect=10.0)
        self._http = httpx.AsyncClient(timeout=timeout, headers=headers, trust_env=False)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def play(self, stage: Stage, *, episode: str) -> None:
        session, dialect = stage.session, self._dialect
        seen = stage.observation
        image_px = (seen.image.width_px, seen.image.height_px) if seen.image else (0, 0)
        system = dialect.system_prompt(session.tools, image_px=image_px)
        messages = [{"role": "system", "content": system}, user_message(seen, dialect.first_message(session.goal))]
        shown = f"{system}\n{dialect.first_message(session.goal)}"
        while not stage.over:
            started_s = time.monotonic()
            text = await self.complete(with_last_images(messages, self._keep_images))
            generate_s = time.monotonic() - started_s
            try:
                parsed = dialect.parse(text)
            except ParseError as error:
                stage.wrote(Written(context_text=shown, model_text=text, parse_error=str(error), generate_s=generate_s))
                await stage.step([])
                answer = dialect.error_message(error)
            else:
                stage.wrote(Written(context_text=shown, model_text=text, thought=parsed.thought, generate_s=generate_s))
                answer = dialect.next_message((await stage.step(parsed.calls)).results)
            messages += [{"role": "assistant", "content": text}, user_message(stage.observation, answer)]
            shown = answer

    async def complete(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the model's next message.

        Raises:
            TaskError: the endpoint refuses the request for good (unknown model, bad key).
            GenerationError: no usable answer after every attempt.
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
            if response.status_code not in (408, 409, 425, 429) and response.status_code < 500:
                raise TaskError(f"the endpoint {self._url} refuses: {problem}")
            wait_s = retry_after_s(response, default=wait_s)
        raise GenerationError(f"no answer from {self._url} in {self._rule.attempts} attempts; last: {problem}")

    async def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        """Send a request; the whole exchange, and not only each read, is under the deadline."""
        assert self._http is not None, "open() comes first"
        async with asyncio.timeout(self._config.request_timeout_s):
            async with self._http.stream("POST", self._url, json=body) as response:
                received = bytearray()
                async for piece in response.aiter_bytes():
                    received += piece
                    if len(received) > MAX_REPLY_BYTES:
                        raise httpx.ReadError(f"an answer of more than {MAX_REPLY_BYTES} bytes")
        return httpx.Response(response.status_code, headers=response.headers, content=bytes(received))


def user_message(seen: Observation, text: str) -> dict[str, Any]:
    """Return a user message: the screenshot if there is one, then the text."""
    content: list[dict[str, Any]] = []
    if seen.image is not None:
        content.append({"type": "image_url", "image_url": {"url": data_uri(seen.image)}})
    spoken = "\n".join(part for part in (text, seen.text) if part)
    if spoken or not content:
        content.append({"type": "text", "text": spoken})
    return {"role": "user", "content": content}


def data_uri(image: ImageRef) -> str:
    return f"data:image/{image.format.value};base64,{base64.b64encode(image.data).decode()}"


def with_last_images(messages: Sequence[dict[str, Any]], keep: int) -> list[dict[str, Any]]:
    """Return the conversation with only its last `keep` images; the others become a word."""
    kept: list[dict[str, Any]] = []
    left = keep
    for message in reversed(messages):
        content = message["content"]
        if isinstance(content, list):
            pieces = []
            for piece in reversed(content):
                if piece["type"] == "image_url":
                    left -= 1
                pieces.append(
                    piece if piece["type"] == "text" or left >= 0 else {"type": "text", "text": "[screenshot]"}
                )
            content = pieces[::-1]
        kept.append({**message, "content": content})
    return kept[::-1]


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
