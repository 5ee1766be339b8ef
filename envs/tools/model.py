"""A model behind an OpenAI-compatible endpoint as a tool: the agent asks it, and reads what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.chat_completions import ChatClient, ChatConfig, Completion, NoCompletion, Unusable
from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.arguments import object_schema, read_text, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError

MAX_QUESTION_CHARS: Final = 40_000
MAX_CALL_S: Final = 3_600.0

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

    lives_on = True
    acts_outside = False

    def __init__(self, name: str, config: ModelConfig, policy: ToolPolicy) -> None:
        self.schema = object_schema(
            name,
            config.description,
            {"question": {"type": "string", "maxLength": MAX_QUESTION_CHARS}},
            required=["question"],
        )
        self.policy = policy
        self.identity = f"{config.url} {config.model} {config.system} {config.temperature} {config.max_tokens}"
        self._system = [{"role": "system", "content": config.system}] if config.system else []
        # How often a call is tried, and how long, is the policy's to say.
        self._chat = ChatClient(
            ChatConfig(
                url=config.url,
                model=config.model,
                key=config.key,
                temperature=config.temperature,
                max_tokens=config.max_tokens,
                attempts=1,
                attempt_timeout_s=MAX_CALL_S,
            )
        )

    async def disconnect(self) -> None:
        """Close the connections that all sessions share."""
        await self._chat.aclose()

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("question",))
        question = read_text(arguments, "question", max_chars=MAX_QUESTION_CHARS)
        if not question.strip():
            raise Rejected("the question is empty")
        messages = [*self._system, {"role": "user", "content": question}]
        try:
            async with asyncio.timeout(context.timeout_s):
                return await self._chat.complete(messages, _answer)
        except TimeoutError:
            raise TimeoutError("the model did not answer") from None
        except NoCompletion as error:
            raise ToolError(f"the model gave no answer: {error.problem}") from None

    def fork(self, context: ToolContext) -> Tool:
        return self


def _answer(completion: Completion) -> str:
    if not completion.text.strip():
        raise Unusable("it said nothing")
    return completion.text
