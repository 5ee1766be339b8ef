"""What bounded rows cost: episodes of 24 turns as one long row each and as rows of four turns, at equal steps.

Rows, windows and credit are those of training (`EpisodeConversation`, the estimator `turns`), and so are phones and
tasks. The model is a transformer of two layers for which a screenshot, a thing that is asked for and an action are one
token each: small enough to be cloned and trained many times, and it has to find in its context what it needs.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from benchmarks.learning.credit import GROUPS, PROMPTS, SIBLINGS
from benchmarks.learning.world import SLOPPINESS, Moment, Prompt, Shown, World
from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.credit.settings import CreditSettings
from rlfactory.trainer.credit.turns import Credit, Estimator
from rlfactory.trainer.credit.weights import Per
from rlfactory.trainer.episode.context import Message, Past, RowBudget, Window
from rlfactory.trainer.episode.conversation import EpisodeConversation, Sampled, TokenConversation
from rlfactory.trainer.verl.credit import note, turn_level

TASK: Final = "steps.turns24_decisions4"
LONG: Final = RowBudget(prompt_tokens=16, response_tokens=64, turn_tokens=1)
"""Of one row: the goal, then a screenshot and an action for each turn."""
BOUNDED: Final = RowBudget(prompt_tokens=24, response_tokens=8, turn_tokens=1)
WINDOW: Final = Window(row_turns=4, images=2, past=Past.TEXT)
DEMONSTRATIONS: Final = 64
CLONING_STEPS: Final = 400
BATCHES: Final = 40
LAST: Final = 10
"""Batches over which success is averaged: 320 episodes."""
WIDTH, LAYERS, HEADS, VOCABULARY = 64, 2, 4, 4096
SETTINGS: Final = CreditSettings(credit=Credit(estimator=Estimator.GRPO), per=Per.TOKEN)
T_95: Final = 4.303
"""Student's t of two degrees of freedom: three seeds."""


class Symbols:
    """A chat template in which a screenshot, a line of text and an action are a token each."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []

    def token(self, name: str) -> int:
        if name not in self._ids:
            self._ids[name] = len(self._names)
            self._names.append(name)
        return self._ids[name]

    async def begin(self, messages: Sequence[Message]) -> list[int]:
        return [self.token(name) for message in messages for name in _names(message)]

    async def follow(self, history: Sequence[Message], added: Sequence[Message], row: Sequence[int]) -> list[int]:
        return await self.begin(added)

    def decode(self, token_ids: Sequence[int], *, special: bool) -> str:
        return "\n".join(self._names[token] for token in token_ids)

    def shortened(self, text: str, max_tokens: int) -> str:
        return "\n".join(text.split("\n")[:max_tokens])


class Model(nn.Module):
    """A causal transformer that says which action comes next."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(128, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, actions)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logits of actions after each token of [B, T] ids, [B, T, actions]; padding stands at the end."""
        length = ids.shape[1]
        hidden = self.tokens(ids) + self.places(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.head(self.body(hidden, mask=mask, is_causal=True))  # type: ignore[no-any-return]


class Engine:
    """Answers together what is asked in one round of the event loop."""

    def __init__(self, model: Model, *, first_action: int, seed: int) -> None:
        self._model, self._first_action = model, first_action
        self._generator = torch.Generator().manual_seed(seed)
        self._waiting: list[tuple[Sequence[int], asyncio.Future[Sampled]]] = []

    async def __call__(self, *, request_id: str, prompt_ids: Sequence[int], images: Any, max_tokens: int) -> Sampled:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._answer)
        self._waiting.append((prompt_ids, loop.create_future()))
        return await self._waiting[-1][1]

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        with torch.no_grad():
            logits = self._model(padded([ids for ids, _ in waiting]))
        last = logits[torch.arange(len(waiting)), torch.tensor([len(ids) - 1 for ids, _ in waiting])].log_softmax(-1)
        drawn = torch.multinomial(last.exp(), 1, generator=self._generator)[:, 0]
        for (_, answer), action, chances in zip(waiting, drawn.tolist(), last, strict=True):
            answer.set_result(
                Sampled(token_ids=[self._first_action + action], log_probs=[float(chances[action])], complete=True)
            )


@dataclass
class Demonstrator:
    """An engine that says what a demonstrator did."""

    actions: list[int]
    done: int = 0

    async def __call__(self, **_: Any) -> Sampled:
        self.done += 1
        return Sampled(token_ids=[self.actions[self.done - 1]], log_probs=[0.0], complete=True)


@dataclass(slots=True)
class Learner:
    """A model with one way to make rows."""

    model: Model
    chat: Symbols
    first_action: int
    budget: RowBudget
    window: Window | None
    longest_row: int = 0
    over_limit: int = 0
    rates: tuple[float, float] = (1e-3, 3e-4)
    """Of cloning, and of learning."""
    _optimiser: Any = field(init=False)

    def __post_init__(self) -> None:
        self._optimiser = torch.optim.Adam(self.model.parameters(), lr=self.rates[0])

    def conversation(self, engine: Any) -> EpisodeConversation:
        return EpisodeConversation(
            generate=engine, chat=self.chat, budget=self.budget, request_id="", window=self.window
        )

    async def clone(self, shown: Sequence[Sequence[tuple[Shown, int]]], *, seed: int) -> float:
        """Learn rows of demonstrations; return the last loss, in nats a turn."""
        rows: list[TokenConversation] = []
        for episode in shown:
            talk = self.conversation(Demonstrator([self.first_action + action for _, action in episode]))
            for number, (turn, _) in enumerate(episode):
                await talk.reply([told(turn.words if not number else (), turn.screen)])
            rows += talk.rows
        rng, loss = random.Random(seed), torch.zeros(())
        for _ in range(CLONING_STEPS):
            log_probs, mask = self._log_probs(rng.sample(rows, min(32, len(rows))))
            loss = -(log_probs * mask).sum() / mask.sum()
            self._step(loss)
        for group in self._optimiser.param_groups:
            group["lr"] = self.rates[1]
        return float(loss)

    def learn(self, episodes: Sequence[tuple[EpisodeConversation, dict[str, Any], str, float]]) -> None:
        """Take one step of policy gradient: episodes with their facts, groups and rewards."""
        rows, keys, rewards, facts = [], [], [], {}
        for number, (talk, known, group, reward) in enumerate(episodes):
            for place, (row, first) in enumerate(zip(talk.rows, talk.first_turns, strict=True)):
                rows.append(row)
                keys.append(f"{group}_{number}_{place}")
                rewards.append(reward)
                facts[keys[-1]] = known | {"first": first}
        log_probs, mask = self._log_probs(rows)
        paid = torch.zeros(mask.shape)
        paid[:, 0] = torch.tensor(rewards)
        note(SETTINGS, facts)
        advantages, _ = turn_level(token_level_rewards=paid, response_mask=mask, index=np.array(keys, dtype=object))
        self._step(-(log_probs * advantages).sum() / mask.sum())

    def _log_probs(self, rows: Sequence[TokenConversation]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-prob of each token of the rows and which were sampled, [rows, length]."""
        for row in rows:
            length = len(row.trajectory.token_ids)
            self.longest_row = max(self.longest_row, length)
            self.over_limit += length > self.budget.prompt_tokens + self.budget.response_tokens
        ids = padded([row.trajectory.token_ids for row in rows])
        mask = padded([row.trajectory.mask for row in rows])
        logits = self.model(ids)[:, :-1].log_softmax(-1)
        actions = (ids[:, 1:] - self.first_action).clamp(0, logits.shape[-1] - 1)
        chosen = logits.gather(-1, actions[..., None])[..., 0]
        return torch.cat([torch.zeros(len(rows), 1), chosen], dim=1), mask

    def _step(self, loss: torch.Tensor) -> None:
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimiser.step()


def told(words: Sequence[str], screen: str) -> Message:
    shown = ImageRef(data=b"", format=ImageFormat.PNG, width_px=1, height_px=1, digest=screen)
    return Message(role="user", text="\n".join(words), image=shown)


def _names(message: Message) -> list[str]:
    """Return what a message is told by: a screenshot, and lines."""
    seen = [f"screen {message.image.digest}"] if message.image is not None else []
    return seen + [line for line in message.text.split("\n") if line]


def padded(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    length = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])


async def play(world: World, learner: Learner, engine: Engine, prompt: Prompt) -> tuple[Any, int]:
    """Play an episode; return what `Learner.learn` wants of it, and its turns."""
    talk = learner.conversation(engine)

    async def choose(prompt: Prompt, moment: Moment) -> int:
        reply = await talk.reply([told(() if talk.rows else prompt.words, moment.screen)])
        return reply.token_ids[0] - learner.first_action

    trace = await world.play(prompt, choose)
    turns = len(trace.actions)
    facts = {"states": [each.place for each in trace.moments], "progress": [0.0] * turns, "tokens": [1] * turns}
    return (talk, facts, str(prompt.seed), float(trace.success)), turns


async def train(world: World, learner: Learner, *, seed: int, steps: int | None) -> tuple[list[float], int]:
    """Train for so many batches, or environment steps; return the success of each batch, and the steps."""
    rng, success, spent = random.Random(f"rows {seed}"), list[float](), 0
    engine = Engine(learner.model, first_action=learner.first_action, seed=seed)
    while len(success) < BATCHES if steps is None else spent < steps:
        prompts = [await world.prompt(TASK, number) for number in rng.sample(range(PROMPTS), GROUPS)]
        played = await asyncio.gather(
            *(play(world, learner, engine, prompt) for prompt in prompts for _ in range(SIBLINGS))
        )
        spent += sum(turns for _, turns in played)
        success.append(float(np.mean([episode[-1] for episode, _ in played])))
        learner.learn([episode for episode, _ in played])
    return success, spent


async def measure(world: World, *, seeds: int) -> dict[str, Any]:
    """Learn 24 turns in long rows, then in bounded ones by as many steps."""
    shown = [await world.demonstrate(TASK, number, SLOPPINESS) for number in range(DEMONSTRATIONS)]
    demonstrations = [[(turn, world.number(turn.call)) for turn in episode] for episode in shown]
    chat = Symbols()
    first_action, *_ = (chat.token(f"action {number}") for number in range(len(world.calls)))
    ends: dict[str, list[float]] = {"long": [], "bounded": []}
    learners: list[Learner] = []
    for seed in range(seeds):
        steps = None
        for arm, budget, window in (("long", LONG, None), ("bounded", BOUNDED, WINDOW)):
            torch.manual_seed(seed)
            learner = Learner(Model(len(world.calls)), chat, first_action, budget, window)
            loss = await learner.clone(demonstrations, seed=seed)
            success, steps = await train(world, learner, seed=seed, steps=steps)
            ends[arm].append(float(np.mean(success[-LAST:])))
            learners.append(learner)
            print(
                f"rows, seed {seed}: {arm}, cloned to {loss:.2f} nats a turn, {np.mean(success[:LAST]):.2f} -> "
                f"{ends[arm][-1]:.2f} in {steps} steps, longest row {learner.longest_row}",
                file=sys.stderr,
            )
    gaps = np.array(ends["long"]) - np.array(ends["bounded"])
    half = T_95 * float(gaps.std(ddof=1)) / seeds**0.5 if seeds > 1 else float("nan")
    return {
        "rows_gap": round(float(gaps.mean()), 3),
        "rows_gap_interval": [round(float(gaps.mean()) - half, 3), round(float(gaps.mean()) + half, 3)],
        "rows_success": {arm: [round(value, 3) for value in values] for arm, values in ends.items()},
        "rows_longest": {"long": learners[0].longest_row, "bounded": max(each.longest_row for each in learners[1::2])},
        "rows_over_limit": sum(each.over_limit for each in learners),
    }
