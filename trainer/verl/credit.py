"""Our advantages in verl: its estimator `turns`, chosen by `credit=...` of a recipe.

verl tells an estimator of rewards and masks, and names each row by its group. What a turn did stands in the row's
`extra_fields`: the replay buffer, which has the batch first, notes it (`note`) and has verl name rows by their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import torch
from verl.trainer.ppo.core_algos import register_adv_est

from rlfactory.trainer.credit.settings import TURNS, CreditSettings
from rlfactory.trainer.credit.turns import Way, turn_advantages
from rlfactory.trainer.credit.weights import turn_weights
from rlfactory.trainer.episode.rollout import Episode

FIELD: Final = "credit"
"""Of `extra_fields`."""


@dataclass(slots=True)
class _Batch:
    """What the estimator is not told by verl."""

    settings: CreditSettings
    rows: Mapping[str, Mapping[str, Any]]
    """By key: `turn_facts` of the row's episode."""


_noted: list[_Batch] = []
"""Of the batch that is about to be learnt from; verl's buffer and its estimators live in one process."""


def turn_facts(episode: Episode, *, first: int = 0) -> dict[str, Any]:
    """Return what credit is given by, for a row whose first turn is the episode's turn `first`."""
    before = [episode.begun.state_hash, *(turn.result.state_hash for turn in episode.turns)]
    progress = [episode.begun.progress, *(turn.result.reward.progress for turn in episode.turns)]
    return {
        "first": first,
        # The screen, too: what a page shows (a dialog, how far it is scrolled) is no state that adb can see.
        "states": [
            f"{state} {turn.seen.image.digest if turn.seen.image else ''}" if state else ""
            for state, turn in zip(before, episode.turns, strict=False)
        ],
        "progress": progress[: len(episode.turns)],
        "tokens": [len(turn.reply.token_ids) for turn in episode.turns],
    }


def note(settings: CreditSettings, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what the rows of the next batch did, by key."""
    _noted[:] = [_Batch(settings=settings, rows=rows)]


@register_adv_est(TURNS)  # type: ignore[untyped-decorator]
def turn_level(
    token_level_rewards: torch.Tensor, response_mask: torch.Tensor, index: np.ndarray, **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the advantages of every token, [rows, response]; those of verl's padding are 0.

    Args:
        index: the rows' keys, `{uid}_{session}_{number}`: a group's episodes share the uid, an episode's rows also the
            session; the last one of them carries the reward.

    Raises: ValueError: a row has not as many sampled spans as it has turns.
    """
    [batch] = _noted
    scores = token_level_rewards.sum(dim=-1).tolist()
    rows = {key: place for place, key in enumerate(index) if key in batch.rows}
    last: dict[str, str] = {}
    for key in sorted(rows, key=lambda key: int(key.rpartition("_")[2])):
        last[key.rpartition("_")[0]] = key
    ways = [_way(key, batch.rows[key], scores[rows[key]]) for key in last.values()]
    factors = turn_weights(
        batch.settings.per, tokens=[batch.rows[key]["tokens"] for key in last.values()], groups=[w.group for w in ways]
    )
    earned = turn_advantages(ways, batch.settings.credit)
    by_episode = {episode: a * w for episode, a, w in zip(last, earned, factors, strict=True)}
    advantages = torch.zeros_like(token_level_rewards)
    for key, place in rows.items():
        spans, first = sampled_spans(response_mask[place].tolist()), batch.rows[key]["first"]
        own = by_episode[key.rpartition("_")[0]][first : first + len(spans)]
        if len(own) != len(spans):
            raise ValueError(f"row {key} has {len(spans)} sampled spans for {len(own)} turns")
        for (start, end), value in zip(spans, own, strict=True):
            advantages[place, start:end] = float(value)
    return advantages, advantages


def sampled_spans(mask: Sequence[int]) -> list[tuple[int, int]]:
    """Return [start, end) of each run of 1: a turn, for between two of them the model is told something."""
    edges = [place for place, (before, now) in enumerate(pairwise([0, *mask, 0])) if bool(before) != bool(now)]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _way(key: str, facts: Mapping[str, Any], total: float) -> Way:
    group = key.partition("_")[0]
    return Way(group=group, total=total, states=tuple(facts["states"]), progress=tuple(facts["progress"]))
