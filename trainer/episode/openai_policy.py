"""A model behind an OpenAI-compatible endpoint: chat completions with screenshots as data URIs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlfactory.envs.api.chat_completions import ChatClient, ChatConfig, Completion, Refused, data_uri
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.context import Message, keep_last_images
from rlfactory.trainer.episode.conversation import Reply
from rlfactory.trainer.episode.policies import DEFAULT_PATCHES, ModelPolicy, PolicyConfig
from rlfactory.trainer.episode.rollout import session_options


class EndpointConversation:
    """One episode's side of the model: text, no tokens."""

    def __init__(self, client: ChatClient, *, keep_images: int) -> None:
        self._client = client
        self._keep_images = keep_images
        self._history: list[Message] = []

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """Raises: TaskError: the endpoint refuses for good. NoCompletion: it gave no usable answer."""
        self._history += messages
        shown = [chat_message(message) for message in keep_last_images(self._history, self._keep_images)]
        try:
            # A turn in which the model said nothing is malformed, and its own mistake.
            text = await self._client.complete(shown, _said)
        except Refused as error:
            raise TaskError(str(error)) from error
        self._history.append(Message(role="assistant", text=text))
        context = "\n".join(message.text for message in messages)
        return Reply(text=text, complete=True, model_text=text, context_text=context)


class OpenAIPolicy(ModelPolicy):
    """Asks an endpoint for each turn, with the last images of the conversation."""

    def __init__(self, *, url: str, model: str, config: PolicyConfig, keep_images: int = 3) -> None:
        """Raises: UnknownName: no such dialect."""
        dialect = get_dialect(config.dialect)
        pixels = config.max_pixels or DEFAULT_PATCHES * dialect.multiple_px**2
        options = session_options(dialect, SessionOptions(max_pixels=pixels))
        super().__init__(name=f"openai:{model}", dialect=dialect, options=options)
        self._client = ChatClient(
            ChatConfig(
                url=url,
                model=model,
                key=config.api_key,
                temperature=config.temperature,
                max_tokens=config.max_tokens,
                attempt_timeout_s=config.request_timeout_s,
            )
        )
        self._keep_images = keep_images

    async def close(self) -> None:
        await self._client.aclose()

    def begin(self, episode: str) -> EndpointConversation:
        return EndpointConversation(self._client, keep_images=self._keep_images)


def chat_message(message: Message) -> dict[str, Any]:
    """Return a message as the endpoint wants it; a screenshot stands before the text."""
    if message.image is None:
        return {"role": message.role, "content": message.text}
    image = {"type": "image_url", "image_url": {"url": data_uri(message.image)}}
    text = [{"type": "text", "text": message.text}] if message.text else []
    return {"role": message.role, "content": [image, *text]}


def _said(completion: Completion) -> str:
    return completion.text
