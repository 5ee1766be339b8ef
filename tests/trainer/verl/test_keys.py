"""Keys of recipes do something: a slice of what `python -m benchmarks.trainer --only keys` looks at."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from benchmarks.trainer import keys, learner, looks
from benchmarks.trainer.keys import Look
from rlfactory.envs.api.errors import UnknownName
from rlfactory.trainer.run.recipe import compose_recipe

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

ACTOR = "actor_rollout_ref.actor"


@pytest.mark.parametrize(
    ("look", "key"),
    [
        (looks.training_loop, "trainer.save_freq"),
        (looks.sampling, "actor_rollout_ref.rollout.val_kwargs.temperature"),
        (looks.rows, "data.episodes.train.first_seed"),
        (looks.credited, "rlfactory.credit.trace"),
        (looks.drawn, "rlfactory.curriculum.enabled"),
    ],
)
def test_a_key_has_the_effect_that_the_table_claims(look: Look, key: str) -> None:
    assert keys.seen(look, key, keys.TABLE[look][key])


def test_a_frozen_tower_does_not_move_at_all_and_another_does() -> None:
    look, key = learner.vision_moved, f"{ACTOR}.freeze_vision_tower"
    free, frozen = (keys.outcome(look, key, value) for value in keys.TABLE[look][key])
    assert float(free) > float(frozen) == 0.0


def test_a_look_that_sees_no_difference_says_so() -> None:
    assert not keys.seen(looks.rows, f"{ACTOR}.optim.lr", (1e-4, 1e-3))


def test_every_key_of_ours_is_looked_at() -> None:
    looked_at = {key for table in keys.TABLE.values() for key in table} | keys.OURS_BY_OTHERS.keys()
    assert sorted(key for key in keys.set_by_recipes() if key.startswith("rlfactory.") and key not in looked_at) == []


def test_a_key_of_ours_that_nobody_reads_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"nobody reads 'rlfactory\.tol_tokens'; close: rlfactory\.told_tokens"):
        compose_recipe("tiny_search", ["+rlfactory.tol_tokens=3"])
