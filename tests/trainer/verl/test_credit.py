"""Our estimator inside verl: equal to verl's own where it has it, whatever the order, the padding and the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from verl.protocol import DataProto
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories

from rlfactory.trainer.credit.settings import TURNS, CreditSettings
from rlfactory.trainer.verl.credit import note, sampled_spans

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

FIGURES = {"discount": 1.0, "step_weight": 1.0, "trace": 0.0, "potential": 1.0}
Episode = tuple[str, float, list[int]]
"""Group, reward, tokens of each turn."""
BATCH: list[Episode] = [("a", 1.0, [2, 1]), ("a", 0.0, [1]), ("a", 0.5, [3, 1, 2]), ("b", 1.0, [1]), ("b", 0.0, [2, 2])]
LONGEST = 16


def settings_of(estimator: str, per: str = "token") -> CreditSettings:
    made = CreditSettings.from_config({"estimator": estimator, "per": per, **FIGURES})
    assert made is not None
    return made


def learnt(
    batch: list[Episode], how: CreditSettings, *, width: int = LONGEST, per_turn: bool = False, padding: int = 0
) -> dict[str, list[float]]:
    """Return each row's advantages on its sampled tokens, by key, as verl's trainer gets them."""
    keys, masks, rewards, facts = [], [], [], {}
    for number, (group, reward, tokens) in enumerate(batch):
        turns = [[turn] for turn in range(len(tokens))] if per_turn else [list(range(len(tokens)))]
        for row, own in enumerate(turns):
            key = f"{group}_{number}_{row}"
            mask = [bit for turn in own for bit in [1] * tokens[turn] + [0]][:-1]
            keys.append(key)
            masks.append(mask + [0] * (width - len(mask)))
            rewards.append(reward)
            states = [f"state {turn}" for turn in range(len(tokens))]
            facts[key] = {"first": own[0], "states": states, "progress": [0.0] * len(tokens), "tokens": tokens}
    for number in range(padding):
        keys.append(f"padffff_{number}_0")
        masks.append([0] * width)
        rewards.append(0.0)
    note(how, facts)
    mask = torch.tensor(masks)
    paid = torch.zeros(mask.shape)
    paid[:, 0] = torch.tensor(rewards)
    data = DataProto.from_dict(
        tensors={"token_level_rewards": paid, "response_mask": mask},
        non_tensors={"uid": np.array(keys, dtype=object)},
    )
    made: Any = compute_advantage_for_multi_trajectories(
        data, batch_keys=keys, adv_estimator=TURNS, config=OmegaConf.create({})
    )
    assert not made.batch["advantages"][mask == 0].any()
    return {key: made.batch["advantages"][place][mask[place] == 1].tolist() for place, key in enumerate(keys)}


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [("grpo", "grpo", {}), ("dr_grpo", "grpo", {"norm_adv_by_std_in_grpo": False}), ("rloo", "rloo", {})],
)
def test_verl_comes_to_the_same(ours: str, theirs: str, options: dict[str, bool]) -> None:
    found = learnt(BATCH, settings_of(ours))
    rewards = torch.tensor([[reward] for _, reward, _ in BATCH])
    groups = np.array([group for group, _, _ in BATCH])
    estimate = core_algos.get_adv_estimator_fn(theirs)
    expected, _ = estimate(token_level_rewards=rewards, response_mask=torch.ones(5, 1), index=groups, **options)
    for row, value in zip(found.values(), expected[:, 0].tolist(), strict=True):
        assert row == pytest.approx([value] * len(row), abs=1e-5)


EPISODES = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 1.0]), st.lists(st.integers(1, 3), min_size=1, max_size=4)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(
    batch=EPISODES,
    estimator=st.sampled_from(["grpo", "gigpo", "state_values", "progress"]),
    per=st.sampled_from(["token", "turn", "episode", "group"]),
    padding=st.integers(0, 3),
)
def test_neither_padding_nor_rows_change_what_a_turn_gets(
    batch: list[Episode], estimator: str, per: str, padding: int
) -> None:
    how = settings_of(estimator, per)
    plain = learnt(batch, how)
    assert learnt(batch, how, width=LONGEST + 7) == plain
    padded = learnt(batch, how, padding=padding)
    assert {key: row for key, row in padded.items() if not key.startswith("pad")} == plain
    turned = learnt(batch, how, per_turn=True)
    for key, row in plain.items():
        episode = key.rpartition("_")[0]
        pieces = [piece for other, piece in turned.items() if other.rpartition("_")[0] == episode]
        assert [value for piece in pieces for value in piece] == pytest.approx(row)


def test_spans_are_the_runs_of_the_mask() -> None:
    assert sampled_spans([1, 1, 0, 0, 1, 0, 1]) == [(0, 2), (4, 5), (6, 7)]
    assert sampled_spans([0, 0]) == sampled_spans([]) == []
