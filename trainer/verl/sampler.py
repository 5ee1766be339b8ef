"""verl's replay buffer with a deadline, polling often enough for steps that take seconds.

Configured by `trainer.v1.sampler.custom_sampler`; its own keys are in `trainer.v1.sampler.sampler_kwargs`.
"""

from __future__ import annotations

import time
from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer


class RolloutStalled(RuntimeError):
    """No batch came together in time: an engine or a worker died, and verl would have waited for ever."""


class PromptReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """`sampler_kwargs`: `poll_interval_s` (verl waits 2 s between looks) and `deadline_s` for a whole batch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = kwargs["sampler_kwargs"]
        self._deadline_s = float(own.get("deadline_s", 1800.0))
        self._started = 0.0
        super().__init__(*args, poll_interval=float(own.get("poll_interval_s", 0.05)), **kwargs)

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        self._started = time.monotonic()
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        return batch, metrics

    def _sync_metadata_from_transfer_queue(self) -> None:
        """Runs once per look at the queue."""
        if time.monotonic() - self._started > self._deadline_s:
            raise RolloutStalled(f"no batch of episodes came together within {self._deadline_s:g} s")
        super()._sync_metadata_from_transfer_queue()
