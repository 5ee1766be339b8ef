"""A model behind an OpenAI-compatible endpoint as a tool: the agent asks it, and reads what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tools.arguments import read_text, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError

MAX_QUESTION_CHARS: Final = 40_000
MAX_ANSWER_BYTES: Final = 4 << 20
MAX_SHOWN: Final = 200

MODEL_POLICY: Final = ToolPolicy(timeout_s=60, idempotent=True, attempts=2, concurrency=64, breaker_failures=8)
"""Asking twice costs tokens and does no harm. It is not pure: what a model says is sampled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """Which model, and how it is asked."""

    url: str
    """Of the API, up to and with its version: http://127.0.0.1:8000/v1."""
    model: str
    system: str = ""
    description: str = "Ask a language model. It knows nothing of this conversation: say all that matters."
    key: str = ""
    """Sent as a bearer token. Never shown."""
    temperature: float = 0.0
    max_tokens: int = 1_024

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://, got {self.url!r}")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_tokens}")

    def __repr__(self) -> str:
        return f"ModelConfig(url={self.url!r}, model={self.model!r})"


class ModelTool(Tool):
    """Asks one question at a time; sessions and forks share the connections."""

    def __init__(self, name: str, config: ModelConfig, client: httpx.AsyncClient, policy: ToolPolicy) -> None:
        self.schema = ToolSchema(
            name=name,
            description=config.description,
            parameters={
                "type": "object",
                "properties": {"question": {"type": "string", "maxLength": MAX_QUESTION_CHARS}},
                "required": ["question"],
                "additionalProperties": False,
            },
        )
        self.policy = policy
        self.identity = f"{config.url} {config.model} {config.system} {config.temperature} {config.max_tokens}"
        self._config = config
        self._client = client

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("question",))
        question = read_text(arguments, "question", max_chars=MAX_QUESTION_CHARS)
        if not question.strip():
            raise Rejected("the question is empty")
        config = self._config
        messages = [{"role": "system", "content": config.system}] if config.system else []
        body = {
            "model": config.model,
            "messages": [*messages, {"role": "user", "content": question}],
            "temperature": config.temperature,
            "max_tokens": config.max_tokens,
        }
        return _answer(await self._post(body, context.timeout_s))

    async def _post(self, body: Mapping[str, Any], timeout_s: float) -> object:
        headers = {"Authorization": f"Bearer {self._config.key}"} if self._config.key else {}
        url = f"{self._config.url.rstrip('/')}/chat/completions"
        try:
            response = await self._client.post(url, json=body, headers=headers, timeout=min(timeout_s, 3600.0))
        except httpx.TimeoutException:
            raise TimeoutError("the model did not answer") from None
        except httpx.HTTPError as error:
            raise ToolError(f"the model cannot be reached: {type(error).__name__}") from None
        if response.status_code != httpx.codes.OK:
            raise ToolError(f"the model's server answered {response.status_code}: {response.text[:MAX_SHOWN]}")
        if len(response.content) > MAX_ANSWER_BYTES:
            raise ToolError(f"the model's server sent more than {MAX_ANSWER_BYTES >> 20} MiB")
        try:
            return response.json()
        except ValueError:
            raise ToolError(f"the model's server did not answer with JSON: {response.text[:MAX_SHOWN]}") from None

    def fork(self, context: ToolContext) -> Tool:
        return self


def _answer(body: object) -> str:
    match body:
        case {"choices": [{"message": {"content": str() as content}}, *_]} if content.strip():
            return content
    raise ToolError(f"the model's server gave no answer: {str(body)[:MAX_SHOWN]}")
