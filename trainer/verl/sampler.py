"""verl's replay buffers for episodes that can be lost, polling often enough for steps that take seconds.

Configured by `trainer.v1.sampler.custom_sampler`. verl gives a custom buffer neither `algorithm.filter_groups` nor its
sizes, so they stand in `trainer.v1.sampler.sampler_kwargs`, too (`BufferSettings`).

A prompt's group is the episodes that were played of it; those that infrastructure took have no row. A group with fewer
than `min_group` rows is dropped and another prompt is played instead: alone in its group, an episode would be compared
with nothing, and its reward become its advantage. Which groups are dropped depends on failures, never on rewards.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verl.trainer.ppo.v1 import replay_buffer as verl_buffers
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from rlfactory.trainer.credit.settings import CreditSettings
from rlfactory.trainer.verl.credit import FIELD, note
from rlfactory.trainer.verl.dataset import CHOSEN


class RolloutStalled(RuntimeError):
    """No batch came together: an engine, a worker or the service died, and verl would have waited for ever."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BufferSettings:
    """`trainer.v1.sampler.sampler_kwargs`."""

    poll_interval_s: float
    """Between two looks at the queue; verl's is 2 s."""
    deadline_s: float
    """For a whole batch."""
    min_group: int
    """Rows that a group needs to be learnt from."""
    filter_groups: Any
    """`algorithm.filter_groups`: groups whose episodes all got the same are played again with other prompts (DAPO)."""
    train_batch_size: int
    credit: Any = None
    """`rlfactory.credit`."""
    curriculum: bool = False
    """Tell the curriculum how often each task was solved."""

    def __post_init__(self) -> None:
        if self.min_group < 2:
            raise ValueError(f"min_group must be at least 2, got {self.min_group}: one episode has no baseline")


class _EpisodeBuffer(ReplayBuffer):  # type: ignore[misc]
    """What both buffers share."""

    def __init__(self, *, sampler_kwargs: Any, **kwargs: Any) -> None:
        self._own = BufferSettings(**sampler_kwargs)
        chosen = self._own.filter_groups
        super().__init__(
            sampler_kwargs=sampler_kwargs,
            poll_interval=self._own.poll_interval_s,
            filter_groups_metric=str(chosen.metric) if chosen.enable else None,
            train_batch_size=self._own.train_batch_size,
            gen_batch_size=1,  # as verl fetches prompts where `sync_refill_failed_groups` is set; base.yaml sets it
            max_inflight_gen_batches=chosen.max_inflight_gen_batches,
            sync_refill_failed_groups=True,
            **kwargs,
        )
        own = self._own.credit
        self._credit = None if own is None or own.estimator is None else CreditSettings.from_config(own)
        self._waiting_since: float | None = None
        self._lost = 0

    def _materialize_batch(self, partition_id: str, selected_prompt_uids: Any, partition_snapshot: Any) -> Any:
        batch = super()._materialize_batch(partition_id, selected_prompt_uids, partition_snapshot)
        if partition_id == "train" and (self._credit is not None or self._own.curriculum):
            where = {"keys": batch.keys, "partition_id": partition_id}
            fields = verl_buffers.tq.kv_batch_get(**where, select_fields=["extra_fields"]).pop("extra_fields").tolist()
            if self._own.curriculum:
                for key, each in zip(batch.keys, fields, strict=True):
                    if key.endswith("_0"):  # of an episode that is several rows, the first
                        CHOSEN[0].note(each["task"], solved=bool(each["environment"]["success"]))
            if self._credit is not None:
                self._note_turns(self._credit, batch, fields)
        return batch

    def _note_turns(self, settings: CreditSettings, batch: Any, fields: Sequence[Any]) -> None:
        """Tell our estimator what the rows did, and have verl tell it which row is which."""
        where = {"keys": batch.keys, "partition_id": batch.partition_id}
        note(settings, {key: each[FIELD] for key, each in zip(batch.keys, fields, strict=True)})
        named = list_of_dict_to_tensordict([{"uid": key} for key in batch.keys])
        verl_buffers.tq.kv_batch_put(**where, fields=named)

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """See verl. Raises: RolloutStalled: too late, or as many groups were lost as two batches have and none came."""
        self._waiting_since, self._lost = None, 0
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        return batch, metrics

    def _sync_metadata_from_transfer_queue(self) -> None:
        """Look at the queue; a group has failed if too few of its episodes have rows, and only then."""
        super()._sync_metadata_from_transfer_queue()
        sessions = Counter(key.split("_")[0] for key in {key.rsplit("_", 1)[0] for key in self.partitions["train"]})
        ended = self.finished_keys["train"] | self.failure_keys["train"]
        too_small = {uid for uid in ended if sessions[uid] < self._own.min_group}
        self.finished_keys["train"], self.failure_keys["train"] = ended - too_small, too_small

    def _evict_terminal_groups(self, global_steps: int, partition_id: str, eviction_reasons: Any) -> Any:
        """Runs once per look at the queue of whoever waits for a batch."""
        self._waiting_since = self._waiting_since or time.monotonic()
        if time.monotonic() - self._waiting_since > self._own.deadline_s:
            raise RolloutStalled(f"no batch of episodes came together within {self._own.deadline_s:g} s")
        evicted = super()._evict_terminal_groups(global_steps, partition_id, eviction_reasons)
        self._lost += len(eviction_reasons[2])
        if self._lost >= 2 * self._own.train_batch_size and not self.finished_keys[partition_id]:
            raise RolloutStalled(f"{self._lost} groups of episodes were lost and none came through; see rollouts.jsonl")
        return evicted


class OnPolicyBuffer(_EpisodeBuffer):
    """For `trainer_mode: sync`."""

    def _terminal_eviction_reasons(self, global_steps: int, partition_id: str) -> tuple[Any, Any, Any, Any]:
        stale, filtered, failed, counts = super()._terminal_eviction_reasons(global_steps, partition_id)
        # verl keeps a failed group of which anything is left.
        return stale, filtered, failed if partition_id == "val" else set(self.failure_keys[partition_id]), counts


class OffPolicyBuffer(_EpisodeBuffer, ReplayBufferAsync):  # type: ignore[misc]
    """For the asynchronous modes: with verl's control of staleness (`max_off_policy_threshold`, `..._strategy`)."""

    def wait_for_sampleable(self, global_steps: int, partition_id: str, target_count: int) -> tuple[Any, Any]:
        self._waiting_since, self._lost = None, 0
        keys, metrics = super().wait_for_sampleable(global_steps, partition_id, target_count)
        return keys, metrics


def replay_buffer(*, trainer_mode: str, **kwargs: Any) -> ReplayBuffer:
    """Return the buffer for a mode of training; verl calls this as it would a class."""
    kind = OnPolicyBuffer if trainer_mode == "sync" else OffPolicyBuffer
    return kind(trainer_mode=trainer_mode, **kwargs)
