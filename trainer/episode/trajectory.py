"""What the learner will see of an episode: one row of token ids, grown turn by turn. Pure.

Token truth: sampled ids are kept as the engine returned them and never re-encoded from text; the mask is 1 exactly on
them, and a log-prob stands for each. Everything else is context with mask 0 and log-prob 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Trajectory:
    """A row that grows: context, sampled, context, sampled, ..."""

    token_ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    """1 on sampled tokens."""
    log_probs: list[float] = field(default_factory=list)
    """The engine's, 0.0 on context."""
    sampled_spans: list[tuple[int, int]] = field(default_factory=list)
    """[start, end) of each turn's sampled tokens."""

    def add_context(self, token_ids: Sequence[int]) -> None:
        self.token_ids.extend(token_ids)
        self.mask.extend([0] * len(token_ids))
        self.log_probs.extend([0.0] * len(token_ids))

    def add_sampled(self, token_ids: Sequence[int], log_probs: Sequence[float]) -> tuple[int, int]:
        """Add what the engine sampled and return its span.

        Raises: ValueError: the engine returned no tokens, or not one log-prob for each.
        """
        if not token_ids or len(token_ids) != len(log_probs):
            raise ValueError(f"the engine returned {len(token_ids)} tokens and {len(log_probs)} log-probs")
        if not self.token_ids:
            raise ValueError("a trajectory begins with a prompt")
        start = len(self.token_ids)
        self.token_ids.extend(token_ids)
        self.mask.extend([1] * len(token_ids))
        self.log_probs.extend(log_probs)
        self.sampled_spans.append((start, len(self.token_ids)))
        return self.sampled_spans[-1]

    @property
    def prompt_ids(self) -> list[int]:
        """Everything before the first sampled token."""
        return self.token_ids[: self._prompt_end]

    @property
    def response_ids(self) -> list[int]:
        """From the first sampled token to the last: what follows the last one teaches nothing."""
        return self.token_ids[self._prompt_end : self._response_end]

    @property
    def response_mask(self) -> list[int]:
        return self.mask[self._prompt_end : self._response_end]

    @property
    def response_log_probs(self) -> list[float]:
        return self.log_probs[self._prompt_end : self._response_end]

    @property
    def _prompt_end(self) -> int:
        return self.sampled_spans[0][0] if self.sampled_spans else len(self.token_ids)

    @property
    def _response_end(self) -> int:
        return self.sampled_spans[-1][1] if self.sampled_spans else len(self.token_ids)
