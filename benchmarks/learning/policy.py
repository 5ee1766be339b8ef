"""A policy without a network: a softmax over actions, linear in what is seen, trained by policy gradient.

It sees the screenshot, as a whole, and each thing that the goal asks for beside it. Whatever credit is worth to it,
no representation is learnt: the figures compare ways to give credit, not models.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.world import Moment, Prompt, Shown, Trace

Floats = NDArray[np.float64]
CLONING_RATE = 0.5


class Policy:
    """Weights of each (feature, action)."""

    def __init__(self, actions: int, *, seed: int) -> None:
        self._weights = np.zeros((64, actions))
        self._rows: dict[tuple[str, str], int] = {}
        self._rng = random.Random(seed)

    def choose(self, prompt: Prompt, moment: Moment) -> int:
        """Draw an action."""
        chances = self.chances(prompt.words, moment.screen)
        return self._rng.choices(range(len(chances)), chances.tolist())[0]

    def chances(self, words: Sequence[str], screen: str) -> Floats:
        rows = self._features(words, screen)  # which may give the weights more rows
        logits = self._weights[rows].sum(axis=0)
        raised = np.exp(logits - logits.max())
        return np.asarray(raised / raised.sum())

    def clone(self, shown: Sequence[tuple[Shown, int]], *, rounds: int) -> float:
        """Learn to do as demonstrators did. Returns the last round's mean loss, in nats a turn."""
        loss = 0.0
        for _ in range(rounds):
            known = [self._features(turn.words, turn.screen) for turn, _ in shown]
            loss, steps = 0.0, np.zeros_like(self._weights)
            for rows, (turn, action) in zip(known, shown, strict=True):
                chances = self.chances(turn.words, turn.screen)
                loss -= float(np.log(chances[action])) / len(shown)
                steps[rows] -= chances
                steps[rows, action] += 1.0
            self._weights += CLONING_RATE * np.tanh(steps)  # bounded, for some screens are seen in every episode
        return loss

    def learn(self, traces: Sequence[Trace], advantages: Sequence[Floats], *, rate: float) -> None:
        """Take one step of policy gradient, the mean over episodes of the sum over turns."""
        gradient = np.zeros_like(self._weights)  # every screen was looked at when it was played, so it has its rows
        for trace, values in zip(traces, advantages, strict=True):
            for moment, action, value in zip(trace.moments, trace.actions, values, strict=True):
                rows = self._features(trace.prompt.words, moment.screen)
                push = -value * self.chances(trace.prompt.words, moment.screen)
                push[action] += value
                gradient[rows] += push
        self._weights += rate / len(traces) * gradient

    def _features(self, words: Sequence[str], screen: str) -> list[int]:
        rows = []
        for word in ("", *words):
            row = self._rows.setdefault((screen, word), len(self._rows))
            if row == len(self._weights):
                self._weights = np.vstack([self._weights, np.zeros_like(self._weights)])
            rows.append(row)
        return rows
