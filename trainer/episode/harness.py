"""Agents that nobody here wrote, as rows for the learner: their calls in tokens, as the engine had them. No torch.

An agent sends its whole history with every call. As long as a history goes on where the last answer ended, the row of
ids goes on, too (`TokenConversation`); an agent that rewrites its past begins another row. So a session is some rows
whose sampled ids are the engine's, whatever the agent does between its calls.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from PIL import Image, UnidentifiedImageError

from rlfactory.envs.api.types import ImageFormat, ImageRef, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.dialects import Dialect, ParseError, Unrenderable
from rlfactory.trainer.episode.context import Message, Role
from rlfactory.trainer.episode.conversation import Reply, RowFull, TokenConversation

ROLES: Final[Mapping[str, Role]] = {**{role: role for role in get_args(Role)}, "developer": "system"}


class BadCall(Exception):
    """The agent asked for what cannot be answered; the message says what would do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One call, as an agent sent it to `/chat/completions`."""

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Asked:
        """Read a request. Temperature and the like are not read: the engine samples as it is told for all.

        Raises: BadCall: it asks for more than one answer, or a field is not what OpenAI's API says.
        """
        if body.get("n") not in (None, 1):
            raise BadCall(f"n={body['n']}: one answer for each call; call again for another")
        messages, stop = body.get("messages"), body.get("stop") or ()
        if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
            raise BadCall("messages must be a list of objects, and not empty")
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise BadCall(f"max_tokens={limit!r} must be a number of at least 1")
        try:
            told = [each["function"] for each in body.get("tools") or ()]
            tools = tuple(
                ToolSchema(
                    name=each["name"], description=each.get("description", ""), parameters=each.get("parameters", {})
                )
                for each in told
            )
        except (KeyError, TypeError, AttributeError):
            raise BadCall('tools must be a list of {"type": "function", "function": {"name": ...}}') from None
        words = (stop,) if isinstance(stop, str) else tuple(stop)
        return cls(messages=tuple(messages), tools=tools, max_tokens=limit, stop=words)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What the model said, as an agent reads it."""

    reply: Reply
    content: str
    calls: tuple[ToolCall, ...]

    @property
    def finish_reason(self) -> str:
        if self.calls:
            return "tool_calls"
        return "stop" if self.reply.complete else "length"


@dataclass(slots=True)
class _Chain:
    conversation: TokenConversation
    said: list[Message] = field(default_factory=list)
    """All of the row so far, as the agent tells it."""


class HarnessSession:
    """One episode of an agent: what it asked, as rows. Calls are answered one after the other."""

    def __init__(self, begin: Callable[[], TokenConversation], dialect: Dialect) -> None:
        """`begin`: makes an empty row; `dialect`: how tools are told and calls written, where an agent sends tools."""
        self._begin = begin
        self._dialect = dialect
        self._chains: list[_Chain] = []
        self._sampled: dict[str, str] = {}
        """By what the agent was given: the text that the model wrote, which the row holds."""
        self._lock = asyncio.Lock()
        self.calls = 0

    @property
    def rows(self) -> list[TokenConversation]:
        return [chain.conversation for chain in self._chains]

    async def ask(self, asked: Asked) -> Answered:
        """Answer one call.

        Raises:
            BadCall: a message cannot be told to the model.
            PromptTooLong: its history is longer than a prompt may be.
        """
        async with self._lock:
            messages = self._read(asked)
            chain, reply = await self._reply(messages, asked)
            chain.said = [*messages, Message(role="assistant", text=reply.text)]
            self.calls += 1
            answered = self._answered(reply, asked)
            self._sampled[_identity(answered.content, [_as_json(call) for call in answered.calls])] = reply.text
            return answered

    async def _reply(self, messages: list[Message], asked: Asked) -> tuple[_Chain, Reply]:
        """Go on with the longest row that these messages go on with, or begin one."""
        for_turn: dict[str, Any] = {"max_tokens": asked.max_tokens, "stop": asked.stop}
        known = [each for each in self._chains if _goes_on(messages, each.said)]
        if known:
            chain = max(known, key=lambda each: len(each.said))
            with suppress(RowFull):  # its history may still do as a prompt
                return chain, await chain.conversation.reply(messages[len(chain.said) :], **for_turn)
        chain = _Chain(conversation=self._begin())
        reply = await chain.conversation.reply(messages, **for_turn)
        self._chains.append(chain)
        return chain, reply

    def _answered(self, reply: Reply, asked: Asked) -> Answered:
        if asked.tools:
            with suppress(ParseError):  # the agent reads it as text, and says itself what was wrong
                parsed = self._dialect.parse(reply.model_text if self._dialect.special_tokens else reply.text)
                return Answered(reply=reply, content=parsed.thought, calls=parsed.calls)
        ends = [reply.text.find(each) for each in asked.stop if each in reply.text]
        return Answered(reply=reply, content=reply.text[: min(ends, default=None)], calls=())

    def _read(self, asked: Asked) -> list[Message]:
        """Return the call's messages; answers of tools that follow each other are one message of the user's."""
        read: list[Message] = []
        results: list[ToolResult] = []
        if asked.tools:
            read.append(Message(role="system", text=self._dialect.system_prompt(asked.tools, image_px=(0, 0))))
        for each in (*asked.messages, None):
            if each is not None and each.get("role") == "tool":
                results.append(_result(each))
                continue
            if results:
                read.append(Message(role="user", text=self._dialect.next_message(results)))
                results = []
            if each is not None:
                read.append(self._message(each))
        if asked.tools and len(read) > 1 and read[1].role == "system":
            read[:2] = [Message(role="system", text=f"{read[0].text}\n\n{read[1].text}")]
        return read

    def _message(self, told: Mapping[str, Any]) -> Message:
        role = ROLES.get(str(told.get("role")))
        if role is None:
            raise BadCall(f"a message's role is one of {', '.join(ROLES)} and tool, not {told.get('role')!r}")
        text, image = _content(told.get("content"))
        if role != "assistant":
            return Message(role=role, text=text, image=image)
        calls = told.get("tool_calls") or []
        own = self._sampled.get(_identity(text, calls))
        return Message(role=role, text=self._written(text, calls) if own is None else own)

    def _written(self, text: str, calls: Sequence[Any]) -> str:
        """Return a turn that this model did not write as it would have written it."""
        if not calls:
            return text
        try:
            made = [
                ToolCall(id="", name=each["function"]["name"], arguments=json.loads(each["function"]["arguments"]))
                for each in calls
            ]
            return self._dialect.render(made, thought=text)
        except (KeyError, TypeError, ValueError, Unrenderable):
            raise BadCall(f"tool_calls that {self._dialect.name} cannot write") from None


def _goes_on(messages: Sequence[Message], said: Sequence[Message]) -> bool:
    """Tell whether the messages are what was said, and something that is no turn of the model's."""
    rest = messages[len(said) :]
    return list(messages[: len(said)]) == list(said) and bool(rest) and rest[0].role != "assistant"


def tool_calls(answered: Answered) -> list[dict[str, Any]]:
    """Return the calls as OpenAI's API tells them."""
    return [{"index": place, **_as_json(call)} for place, call in enumerate(answered.calls)]


def _as_json(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
    return {"id": f"call_{call.id}", "type": "function", "function": function}


def _identity(text: str, calls: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([text, [each.get("function") for each in calls]], sort_keys=True)


def _result(told: Mapping[str, Any]) -> ToolResult:
    text, _ = _content(told.get("content"))
    return ToolResult(call_id=str(told.get("tool_call_id")), name="", status=ToolStatus.OK, text=text)


def _content(content: Any) -> tuple[str, ImageRef | None]:
    """Return a message's text, and its picture: a model reads it before the text."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts, images = [], []
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                images.append(_image(url))
            case _:
                raise BadCall("a message's content is a text, or a list of parts of type text and image_url")
    if len(images) > 1:
        raise BadCall(f"{len(images)} pictures in a message; a message has one at most")
    return "\n".join(texts), images[0] if images else None


def _image(url: str) -> ImageRef:
    try:
        data = base64.b64decode(url.partition(";base64,")[2], validate=True)
        with Image.open(io.BytesIO(data)) as picture:
            kind, (width_px, height_px) = ImageFormat(str(picture.format).lower()), picture.size
    except (binascii.Error, UnidentifiedImageError, ValueError):
        raise BadCall("a picture is a data URI with PNG, JPEG or WebP in base64") from None
    digest = hashlib.sha256(data).hexdigest()
    return ImageRef(data=data, format=kind, width_px=width_px, height_px=height_px, digest=digest)
