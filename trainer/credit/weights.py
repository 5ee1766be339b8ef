"""How much each turn weighs in the loss, said outright: a long one weighs more only if a recipe says so. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import StrEnum

import numpy as np

from rlfactory.trainer.credit.groups import Floats, members_of


class Per(StrEnum):
    """What weighs the same as every other of its kind; `rlfactory.credit.per` in a recipe."""

    TOKEN = "token"
    TURN = "turn"
    EPISODE = "episode"
    GROUP = "group"


def turn_weights(per: Per, *, tokens: Sequence[Sequence[int]], groups: Sequence[Hashable]) -> list[Floats]:
    """Return for each episode the factors of its turns, [turns], by which a loss that is a mean over tokens is weighed.

    Summed over all tokens they are the number of tokens, so that a learning rate means the same under each of them. Of
    `token` each is 1. Of `turn`, `episode` and `group` the tokens of each share alike: of an episode in proportion to
    the tokens of its turns, of a group evenly among its episodes.

    Args:
        tokens: sampled ones of each turn, of each episode.

    Raises: ValueError: episodes and groups differ in number, or a turn has no token.
    """
    if len(tokens) != len(groups):
        raise ValueError(f"{len(tokens)} episodes for {len(groups)} group labels")
    counts = [np.asarray(each, dtype=np.float64) for each in tokens]
    if any((each < 1).any() for each in counts):
        raise ValueError("a turn without sampled tokens has no weight")
    total = sum(float(each.sum()) for each in counts)
    played = [place for place, each in enumerate(counts) if len(each)]
    turns = sum(len(each) for each in counts)
    siblings = members_of([groups[place] for place in played])

    def weights(place: int) -> Floats:
        own = counts[place]
        match per:
            case Per.TOKEN:
                return np.ones(len(own))
            case Per.TURN:
                return total / turns / own
            case Per.EPISODE:
                return np.full(len(own), total / len(played) / own.sum())
            case Per.GROUP:
                return np.full(len(own), total / len(siblings) / len(siblings[groups[place]]) / own.sum())

    return [weights(place) if len(counts[place]) else np.zeros(0) for place in range(len(counts))]
