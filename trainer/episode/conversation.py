"""A model's side of one episode in tokens: what it is told becomes context, what it writes is sampled. No torch.

The engine (`Generate`) and the chat template (`ChatTokens`) are protocols, so the same conversation runs on verl's
rollout servers, on `rlfactory.trainer.cpu.engine` alone, and on a scripted engine in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ImageRef
from rlfactory.trainer.episode.context import Exchange, Message, RowBudget, Window
from rlfactory.trainer.episode.trajectory import Trajectory


class RowFull(Exception):
    """The episode's row has no room for another turn: the episode ends here, with the verdict it has."""


class PromptTooLong(TaskError):
    """The first prompt is longer than its budget. No other attempt would change that: the configuration has to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """What an engine answers."""

    token_ids: Sequence[int]
    log_probs: Sequence[float]
    complete: bool
    """The model ended its turn itself."""


class Generate(Protocol):
    """An engine that samples one turn."""

    async def __call__(
        self, *, request_id: str, prompt_ids: Sequence[int], images: Sequence[ImageRef], max_tokens: int
    ) -> Sampled:
        """Sample up to `max_tokens`. Whatever it raises makes the episode void, as a failure of infrastructure."""
        ...


class ChatTokens(Protocol):
    """A model's chat template and tokenizer."""

    async def begin(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a prompt: these messages and the start of the assistant's turn."""
        ...

    async def follow(self, history: Sequence[Message], added: Sequence[Message], row: Sequence[int]) -> list[int]:
        """Return the ids to append to a row that ends with a sampled turn: these messages and the start of a turn."""
        ...

    def decode(self, token_ids: Sequence[int], *, special: bool) -> str:
        """Return the text; `special`: with special tokens, runs of image tokens shortened to one."""
        ...

    def shortened(self, text: str, max_tokens: int) -> str:
        """Return the text, or of a longer one its beginning and its end."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """One turn of the model."""

    text: str
    """Without special tokens: what a dialect parses."""
    complete: bool
    token_ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    loss_span: tuple[int, int] = (0, 0)
    model_text: str = ""
    """With special tokens."""
    context_text: str = ""
    """What stood in the row since the last turn."""


class TokenConversation:
    """Grows one `Trajectory` through an engine."""

    def __init__(self, *, generate: Generate, chat: ChatTokens, budget: RowBudget, request_id: str) -> None:
        self.trajectory = Trajectory()
        self.images: list[ImageRef] = []
        self._generate = generate
        self._chat = chat
        self._budget = budget
        self._request_id = request_id
        self._history: list[Message] = []

    async def reply(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, stop: Sequence[str] = ()
    ) -> Reply:
        """Tell the model these messages and return its next turn.

        Args:
            max_tokens: of this turn, where the budget allows more.
            stop: texts at whose first occurrence the turn ends: no more of what was sampled is kept.

        Raises:
            RowFull: the row has no room for another whole turn; it was not changed.
            PromptTooLong: the first prompt is longer than its budget.
        """
        if self._history and self._budget.told_tokens is not None:
            limit = self._budget.told_tokens
            messages = [replace(each, text=self._chat.shortened(each.text, limit)) for each in messages]
        context = await self._context(messages)
        images = [message.image for message in messages if message.image is not None]
        row = [*self.trajectory.token_ids, *context]
        if not self._budget.has_room(prompt=len(self.trajectory.prompt_ids) or len(row), row=len(row)):
            raise RowFull(f"{len(row)} tokens after {len(self.trajectory.sampled_spans)} turns")
        sampled = await self._generate(
            request_id=self._request_id,
            prompt_ids=row,
            images=[*self.images, *images],
            max_tokens=min(max_tokens or self._budget.turn_tokens, self._budget.turn_tokens),
        )
        sampled = self._until(sampled, stop)
        self.trajectory.add_context(context)
        self.images += images
        span = self.trajectory.add_sampled(sampled.token_ids, sampled.log_probs)
        text = self._chat.decode(sampled.token_ids, special=False)
        self._history += [*messages, Message(role="assistant", text=text)]
        return Reply(
            text=text,
            complete=sampled.complete,
            token_ids=tuple(sampled.token_ids),
            log_probs=tuple(sampled.log_probs),
            loss_span=span,
            model_text=self._chat.decode(sampled.token_ids, special=True),
            context_text=self._chat.decode(context, special=True),
        )

    def _until(self, sampled: Sampled, stop: Sequence[str]) -> Sampled:
        """Return the turn as an engine returns it that stops where one of the texts is complete."""
        ids = sampled.token_ids
        if not any(each in self._chat.decode(ids, special=False) for each in stop):
            return sampled
        for end in range(1, len(ids) + 1):
            if any(each in self._chat.decode(ids[:end], special=False) for each in stop):
                return Sampled(token_ids=ids[:end], log_probs=sampled.log_probs[:end], complete=True)
        return sampled

    async def _context(self, messages: Sequence[Message]) -> list[int]:
        if self._history:
            return await self._chat.follow(self._history, messages, self.trajectory.token_ids)
        prompt = await self._chat.begin(messages)
        if len(prompt) > self._budget.prompt_tokens:
            raise PromptTooLong(
                f"the prompt has {len(prompt)} tokens, and {self._budget.prompt_tokens} are budgeted: "
                "raise data.max_prompt_length, or lower rlfactory.image.max_pixels"
            )
        return prompt


class EpisodeConversation:
    """A model's side of a whole episode: one row, or several that each begin with a window of what was before."""

    def __init__(
        self,
        *,
        generate: Generate,
        chat: ChatTokens,
        budget: RowBudget,
        request_id: str,
        window: Window | None = None,
        note: Callable[[Reply], str] = lambda _: "",
    ) -> None:
        """`note`: returns what a turn leaves for the model's own later reading, where the window keeps notes."""
        self.rows: list[TokenConversation] = []
        self._begin: Callable[[], TokenConversation] = partial(
            TokenConversation, generate=generate, chat=chat, budget=budget, request_id=request_id
        )
        self._chat = chat
        self._told_tokens = budget.told_tokens
        self._window = window
        self._note = note
        self._first: Sequence[Message] = ()
        self._past: list[Exchange] = []

    @property
    def first_turns(self) -> list[int]:
        """The number of each row's first turn in the episode."""
        turns = [len(row.trajectory.sampled_spans) for row in self.rows]
        return [sum(turns[:number]) for number in range(len(turns))]

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """Tell the model these messages and return its next turn: at first system and goal, then what came of a turn.

        Raises:
            RowFull: there is no room for another whole turn, in a new row neither.
            PromptTooLong: the first prompt is longer than its budget.
        """
        self._first = self._first or messages
        now = messages[-1]
        reply = await self._reply(messages, now)
        self._past.append(Exchange(told=self._short(now), wrote=reply.text, note=self._note(reply)))
        return reply

    async def _reply(self, messages: Sequence[Message], now: Message) -> Reply:
        if self._window is None or not self.rows:
            self.rows = self.rows or [self._begin()]
            return await self.rows[0].reply(messages)
        if len(self.rows[-1].trajectory.sampled_spans) < self._window.row_turns:
            with suppress(RowFull):
                return await self.rows[-1].reply(messages)
        return await self._reply_anew(self._window, self._short(now))

    async def _reply_anew(self, window: Window, now: Message) -> Reply:
        """Begin a row with as much of the past as a prompt may have."""
        row, kept = self._begin(), len(self._past)
        while True:
            try:
                reply = await row.reply(window.prompt(self._past, self._first, now, kept=kept))
            except PromptTooLong as error:
                if not kept:
                    raise RowFull(f"a row cannot begin after {len(self._past)} turns: {error}") from None
                kept //= 2
            else:
                self.rows.append(row)
                return reply

    def _short(self, message: Message) -> Message:
        """Return a message as it was told: the first one, of the goal, as it is."""
        if self._told_tokens is None or not self._past:
            return message
        return replace(message, text=self._chat.shortened(message.text, self._told_tokens))
