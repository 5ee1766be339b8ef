"""The replay buffers: verl's own code over a queue in memory, with groups that infrastructure took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from omegaconf import OmegaConf
from tensordict import TensorDict
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, get_adv_estimator_fn
from verl.trainer.ppo.utils import create_rl_dataset
from verl.trainer.ppo.v1 import replay_buffer as verl_buffers
from verl.utils.import_utils import load_extern_object
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from rlfactory.trainer.run.recipe import compose_recipe
from rlfactory.trainer.verl.dataset import CHOSEN
from rlfactory.trainer.verl.sampler import OffPolicyBuffer, OnPolicyBuffer, RolloutStalled

CONTROL = ("threshold", "strategy")
pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]


@dataclass
class Queue:
    """What verl's buffers use of TransferQueue, without its processes."""

    tags: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: {"train": {}, "val": {}})
    rewards: dict[str, float] = field(default_factory=dict)
    put: dict[str, str] = field(default_factory=dict)
    """What was written back: rows' names."""

    def kv_list(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {name: dict(items) for name, items in self.tags.items()}

    def kv_clear(self, *, partition_id: str, keys: Sequence[str]) -> None:
        for key in keys:
            self.tags[partition_id].pop(key, None)

    def kv_batch_put(self, *, keys: Sequence[str], fields: TensorDict, **_: Any) -> None:
        self.put |= zip(keys, fields.pop("uid").tolist(), strict=True)

    def kv_batch_get(self, *, keys: Sequence[str], select_fields: Sequence[str], **_: Any) -> TensorDict:
        if "extra_fields" in select_fields:
            facts = {"first": 0, "states": ["s"], "progress": [0.0], "tokens": [1]}
            rows = [
                {"credit": facts, "task": key.split("_")[0], "environment": {"success": self.rewards[key] == 1.0}}
                for key in keys
            ]
            return list_of_dict_to_tensordict([{"extra_fields": each} for each in rows])
        return TensorDict({"rm_scores": torch.tensor([[self.rewards[key]] for key in keys])}, batch_size=[len(keys)])

    def play(self, uid: str, rewards: Sequence[float], *, step: int = 1, status: str = "finished") -> None:
        """A group of which as many episodes came through as there are rewards."""
        self.tags["train"][uid] = {"is_prompt": True, "status": status, "global_steps": step}
        for session, reward in enumerate(rewards):
            key = f"{uid}_{session}_0"
            self.tags["train"][key] = {"status": "success"}
            self.rewards[key] = reward


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    made = Queue()
    monkeypatch.setattr(verl_buffers, "tq", made)
    return made


@cache
def recipe() -> Any:
    """Two groups a batch; the rest is what fits that."""
    actor, sizes = "actor_rollout_ref.actor", ("rollout.log_prob", "ref.log_prob", "actor.ppo")
    micro = [f"actor_rollout_ref.{name}_micro_batch_size_per_gpu=8" for name in sizes]
    return compose_recipe("tiny_search", ["data.train_batch_size=2", f"{actor}.ppo_mini_batch_size=2", *micro])


def buffer(queue: Queue, refills: Sequence[Sequence[float]], *changed: str, mode: str = "sync") -> Any:
    """Return the buffer that verl would make of a recipe; prompts that it asks for are played with these rewards."""
    config = OmegaConf.merge(recipe(), OmegaConf.from_dotlist(list(changed)))
    sampler = config.trainer.v1.sampler
    waiting = list(refills)

    def refill(count: int) -> None:
        for _ in range(count):
            queue.play(f"new{len(waiting)}", waiting.pop(0) if waiting else [], step=9)

    make = load_extern_object(sampler.custom_sampler.path, sampler.custom_sampler.name)
    return make(
        trainer_mode=mode,
        trainer_config={},
        max_off_policy_threshold=sampler.max_off_policy_threshold,
        max_off_policy_strategy=sampler.max_off_policy_strategy,
        sampler_kwargs=sampler.sampler_kwargs,
        refill_fn=refill,
    )


def groups(batch: Any) -> dict[str, int]:
    """Return how many rows a batch has of each group."""
    uids = [key.split("_")[0] for key in batch.keys]
    return {uid: uids.count(uid) for uid in uids}


def test_a_group_of_one_would_be_learnt_from_without_a_baseline() -> None:
    """What verl does with the survivor of a group; when this changes, `min_group` has done its work."""
    alone, _ = compute_grpo_outcome_advantage(torch.tensor([[0.7]]), torch.ones(1, 1), ["only"])
    assert alone.item() == pytest.approx(0.7)


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
@pytest.mark.parametrize("survivors", [[], [1.0]])
@pytest.mark.parametrize("status", ["finished", "failure"])
def test_a_group_too_small_to_be_compared_is_replaced(
    mode: str, survivors: list[float], status: str, queue: Queue
) -> None:
    queue.play("small", survivors, status=status)
    queue.play("hurt", [1.0, 0.0], status="failure")  # two of eight are left, and they can be compared
    batch, metrics = buffer(queue, [[0.0, 1.0, 1.0]], mode=mode).sample(1, "train", 2)
    assert groups(batch) == {"hurt": 2, "new1": 3}
    assert metrics["training/rollout_failure/evicted_samples"] == 1
    assert not queue.tags["train"].keys() & {"small", "small_0_0"}


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
def test_groups_without_a_difference_are_filtered_if_the_recipe_says_so(mode: str, queue: Queue) -> None:
    def play() -> None:
        queue.play("same", [1.0, 1.0])
        queue.play("mixed", [0.0, 1.0])

    play()
    kept, _ = buffer(queue, [], mode=mode).sample(1, "train", 2)
    assert groups(kept) == {"same": 2, "mixed": 2}
    queue.tags["train"].clear()
    play()
    played_instead = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    filtering = buffer(queue, played_instead, "algorithm.filter_groups.enable=true", mode=mode)
    batch, metrics = filtering.sample(1, "train", 2)
    assert "same" not in groups(batch) and len(groups(batch)) == 2
    assert metrics["training/filter_groups/evicted_samples"] == 2


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
def test_our_estimator_learns_which_row_is_which(mode: str, queue: Queue) -> None:
    queue.play("one", [1.0, 0.0])
    queue.play("two", [0.0, 1.0])
    chosen = ("rlfactory.credit.estimator=rloo", "algorithm.adv_estimator=turns")
    batch, _ = buffer(queue, [], *chosen, mode=mode).sample(1, "train", 2)
    assert queue.put == {key: key for key in batch.keys}
    rewards = torch.tensor([[queue.rewards[key]] for key in batch.keys])
    estimate = get_adv_estimator_fn("turns")
    advantages, _ = estimate(
        token_level_rewards=rewards, response_mask=torch.ones(4, 1), index=np.array(batch.keys, dtype=object)
    )
    assert advantages[:, 0].tolist() == [2 * queue.rewards[key] - 1 for key in batch.keys]


def test_asynchronous_modes_have_control_of_staleness(queue: Queue) -> None:
    queue.play("stale", [1.0, 0.0], step=1)
    queue.play("fresh", [1.0, 0.0], step=9)
    made = buffer(queue, [[0.0, 1.0]], mode="separate_async")
    assert isinstance(made, OffPolicyBuffer)
    batch, metrics = made.sample(9, "train", 2)
    assert "stale" not in groups(batch)
    assert metrics["training/off_policy/evicted_samples"] == 1
    assert isinstance(buffer(queue, []), OnPolicyBuffer)


def test_streaming_waits_for_the_old_and_never_drops_them(queue: Queue) -> None:
    streaming = compose_recipe("tiny_search", ["mode=streaming"]).trainer.v1.sampler
    chosen = [f"trainer.v1.sampler.max_off_policy_{name}={streaming[f'max_off_policy_{name}']}" for name in CONTROL]
    queue.play("old", [1.0, 0.0], step=1, status="running")
    queue.play("fresh", [1.0, 0.0], step=2)
    queue.play("fresher", [1.0, 0.0], step=3)
    made = buffer(queue, [], *chosen, "rlfactory.stall_timeout_s=0.1", mode="colocate_async")
    step = streaming.max_off_policy_threshold
    assert groups(made.sample(step - 1, "train", 1)[0]) == {"fresh": 2}, "it may still come"
    with pytest.raises(RolloutStalled):  # it is waited for, as long as its deadlines are
        made.sample(step, "train", 1)
    queue.tags["train"]["old"]["status"] = "finished"
    assert groups(made.sample(step, "train", 2)[0]) == {"old": 2, "fresher": 2}


def test_nothing_is_waited_for_without_end(queue: Queue) -> None:
    queue.play("one", [1.0, 0.0])
    with pytest.raises(RolloutStalled, match=r"within 0\.1 s"):
        buffer(queue, [], "rlfactory.stall_timeout_s=0.1").sample(1, "train", 2)
    queue.play("lost", [])
    with pytest.raises(RolloutStalled, match=r"within 0\.1 s"):
        buffer(queue, [], "rlfactory.stall_timeout_s=0.1").sample(1, "train", 2)  # refills that are lost again
    queue.tags["train"].clear()
    queue.play("lost", [])
    with pytest.raises(RolloutStalled, match="4 groups of episodes were lost and none came through"):
        buffer(queue, []).sample(1, "train", 2)


def test_the_curriculum_hears_how_often_a_task_was_solved(queue: Queue) -> None:
    chosen = ("rlfactory.curriculum.enabled=true",)
    config = OmegaConf.merge(recipe(), OmegaConf.from_dotlist(list(chosen)))
    dataset = create_rl_dataset("train", config.data, None, None, is_train=True)
    queue.play("one", [1.0, 1.0])
    queue.play("two", [0.0, 1.0])
    for row in (1, 2):  # the episode is three rows, and one episode
        queue.tags["train"][f"one_0_{row}"], queue.rewards[f"one_0_{row}"] = {"status": "success"}, 1.0
    buffer(queue, [], *chosen).sample(1, "train", 2)
    [curriculum] = CHOSEN
    assert [curriculum.success(task) for task in ("one", "two", "three")] == pytest.approx(
        [3 / 4, 1 / 2, 1 / 2], abs=0.01
    )
    drawn = {dataset[0]["task"] for _ in range(60)}
    assert drawn == set(config.data.episodes.tasks)
