"""Recipes compose, and a wrong name or key is told in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs the train extra")
from omegaconf import OmegaConf

from rlfactory.envs.api.errors import RLFactoryError, TaskError, UnknownName
from rlfactory.trainer.credit.settings import TURNS
from rlfactory.trainer.credit.turns import Estimator
from rlfactory.trainer.record.runlog import RunLog, RunSummary, StepRecord
from rlfactory.trainer.run.local_service import ServiceConfig
from rlfactory.trainer.run.recipe import CONFIGS, compose_recipe, recipe_names, resumed_recipe, save_config
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.run.train import run
from tests.trainer.recipes import composed

pytestmark = [pytest.mark.train]


@pytest.mark.parametrize(
    ("name", "hardware"),
    [(name, "cpu" if name.startswith("tiny") else "gpu") for name in recipe_names()]
    + [("tiny_phone", "cpu_vllm"), ("tiny_phone", "gpu"), ("qwen3_vl_4b", "cpu"), ("search_r1", "cpu_vllm")],
)
def test_every_recipe_composes_for_its_hardware_and_others(name: str, hardware: str) -> None:
    own = ["rlfactory.run_folder=/r", "rlfactory.address=127.0.0.1:1"]
    config = compose_recipe(name, [f"hardware={hardware}", *own])
    OmegaConf.resolve(config)
    assert config.actor_rollout_ref.rollout.name == ("hf_cpu" if hardware == "cpu" else "vllm")
    assert RolloutSettings.from_config(config.rlfactory).turn_tokens > 0


def test_each_way_of_giving_credit_is_one_of_ours() -> None:
    ways = {path.stem: OmegaConf.load(path) for path in (CONFIGS / "credit").glob("*.yaml")}
    assert {each.algorithm.adv_estimator for each in ways.values()} == {TURNS}
    assert {each.rlfactory.credit.estimator for each in ways.values()} == set(Estimator)
    chosen = composed("tiny_phone", "credit=dapo")
    assert chosen.trainer.v1.sampler.sampler_kwargs.filter_groups.enable
    assert chosen.trainer.v1.sampler.sampler_kwargs.credit.estimator == "grpo"


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("actor_rollout_ref.actor.optim.lrr=1", "close: actor_rollout_ref.actor.optim.lr"),
        ("nonsense", "not key=value"),
        ("hardware=tpu", "no hardware 'tpu'; close: "),
        ("mode=streamin", "no mode 'streamin'; close: streaming"),
        ("mode=[", "no viable alternative at input '['"),
        ("rlfactory.warm_start.episodes=8", "rlfactory.warm_start.batch=16 must be within 1..8"),
        ("rlfactory.turn_tokens=400", "must be within 1..data.max_response_length=320"),
    ],
)
def test_a_wrong_override_is_told_in_one_line(override: str, complaint: str) -> None:
    with pytest.raises((TaskError, UnknownName)) as caught:
        compose_recipe("tiny_phone", [override])
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["rlfactory.warm_start.episode=3"], "rlfactory.warm_start.episodes"),
        (["rlfactory.warm_start.episodes=8"], "rlfactory.warm_start.batch=16 must be within 1..8"),
        (["rlfactory.warm_start.micro_batch=5"], "must divide rlfactory.warm_start.batch=16"),
        (["rlfactory.warm_start.model=gpt2"], "the lessons begin with rlfactory.tiny_model or with"),
        (
            ["rlfactory.tiny_model=null", "rlfactory.warm_start.model=gpt2"],
            "there is HuggingFaceTB/SmolLM2-135M-Instruct",
        ),
        (["rlfactory.warm_start.lessons=[]"], "a tiny model needs one"),
        (
            ["rlfactory.deadlines.step_timeout_s=90"],
            "deadlines.episode_timeout_s=80, which an episode has with all its",
        ),
        (
            ["rlfactory.deadlines.episode_timeout_s=100"],
            "must be at least 200, twice rlfactory.deadlines.episode_timeout",
        ),
        (["rlfactory.turn_tokens=400"], "must be within 1..data.max_response_length=320"),
        (["actor_rollout_ref.rollout.max_model_len=400"], "must be at least 512"),
        (["rlfactory.service=null"], "needs rlfactory.address=HOST:PORT"),
        (["trainer.nnodes=2"], "needs a service that all of them reach"),
        (["actor_rollout_ref.rollout.tensor_model_parallel_size=2"], "must divide the 1 GPUs that play episodes"),
        (["trainer.v1.trainer_mode=separate_async"], "must be data.train_batch_size=8 where learner and engine have"),
        (
            ["actor_rollout_ref.actor.use_dynamic_bsz=true", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=500"],
            "must be at least 512",
        ),
        (["credit=exact", "rlfactory.credit.per=line"], "rlfactory.credit.per=line is none of: token, turn, episode,"),
        (["credit=exact", "rlfactory.service.phones=0"], "compares the states of phones, and there are none"),
        (["algorithm.adv_estimator=turns"], "credit=NAME chooses both"),
        (["rlfactory.curriculum.enabled=true", "credit=dapo"], "drops unseen"),
        (["rlfactory.curriculum.enabled=true", "data.episodes.tasks=[tiny.wifi]"], "has one alone"),
        (["rlfactory.curriculum.least=0"], "must be above 0 and at most 1"),
        (["credit=exact", "actor_rollout_ref.rollout.n=1"], "an episode alone has nothing to be compared with"),
        (["actor_rollout_ref.rollout.n=1"], "an episode alone has nothing to be compared with"),
        (["rlfactory.context.row_turns=0"], "rlfactory.context.row_turns=0 must be at least 1"),
        (["rlfactory.context.row_turns=1", "rlfactory.context.past=all"], "past=all is none of: text, notes, none"),
        (["rlfactory.context.row_turns=1", "credit=dr_grpo"], "weighs rows alike: token-mean"),
        (["rlfactory.context.row_turns=1", "credit=gspo"], "weighs rows alike: token-mean"),
        (
            [f"actor_rollout_ref.{part}.log_prob_micro_batch_size_per_gpu=24" for part in ("rollout", "ref")],
            "; actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=24 must divide 64, the rows of a mini-batch on",
        ),
        (["actor_rollout_ref.actor.ppo_mini_batch_size=3"], "must divide data.train_batch_size=8"),
        (["rlfactory.warm_start.lessons=[{sloppiness: 2, steps: 1, lr: 1e-3}]"], "a sloppiness within 0..1"),
    ],
)
def test_values_that_contradict_each_other_are_told_in_one_line(overrides: list[str], complaint: str) -> None:
    groups = [word for word in overrides if word.startswith("credit=")]
    with pytest.raises((TaskError, UnknownName)) as caught:
        composed("tiny_phone", *groups, overrides=[word for word in overrides if word not in groups])
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_recipe_names_close_ones() -> None:
    with pytest.raises(UnknownName, match="close: tiny_phone"):
        compose_recipe("tinyphone")


def test_a_recipe_of_a_file_builds_on_ours_and_names_files_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "defaults: [tiny_phone, _self_]\n"
        "rlfactory: {dialect: 'd.py:D', service: {tasks: [t.py], apps: [a.py], tools: t.yaml}}\n"
    )
    own = compose_recipe(str(path)).rlfactory
    assert (own.recipe, own.dialect, own.tiny_model.hidden) == ("mine", f"{tmp_path}/d.py:D", 128)
    words = ServiceConfig.from_config(own.service).arguments()
    given = {
        words[at]: words[at + 1] for at in range(1, len(words) - 1) if words[at] in {"--tasks", "--apps", "--tools"}
    }
    assert given == {"--tasks": f"{tmp_path}/t.py", "--apps": f"{tmp_path}/a.py", "--tools": f"{tmp_path}/t.yaml"}
    with pytest.raises(UnknownName, match="no recipe file"):
        compose_recipe(str(tmp_path / "none.yaml"))


def test_notes_need_a_dialect_that_writes_them(tmp_path: Path) -> None:
    (tmp_path / "d.py").write_text(
        "from rlfactory.trainer.dialects.qwen import QWEN3_VL, QwenDialect\n"
        "class Silent(QwenDialect):\n"
        "    def render(self, calls, *, thought=''):\n"
        "        return super().render(calls)\n"
        "SILENT = Silent(**{name: getattr(QWEN3_VL, name) for name in QWEN3_VL.__dataclass_fields__})\n"
    )
    notes = ["rlfactory.context.row_turns=1", "rlfactory.context.past=notes"]
    assert composed("tiny_phone", overrides=notes).rlfactory.context.past == "notes"
    with pytest.raises(TaskError, match="has no place for it: past=text or past=none"):
        composed("tiny_phone", overrides=[*notes, f"rlfactory.dialect='{tmp_path}/d.py:SILENT'"])


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The configuration of a run that was given a learning rate and a seed."""
    config = composed("tiny_search", overrides=["actor_rollout_ref.actor.optim.lr=5e-6", "rlfactory.seed=3"])
    save_config(config, tmp_path / "config.yaml")
    return tmp_path / "config.yaml"


def test_a_run_goes_on_as_it_was_configured(begun: Path) -> None:
    for recipe in (None, "tiny_search"):
        resumed = resumed_recipe(begun, recipe, ["trainer.total_training_steps=40", "+data.more=[a, b]"])
        assert resumed.rlfactory.recipe == "tiny_search"
        assert resumed.actor_rollout_ref.actor.optim.lr == 5e-6
        assert resumed.trainer.total_training_steps == 40
        assert resumed.data.more == ["a", "b"]
        assert resumed.data.seed == 3


@pytest.mark.parametrize(
    ("recipe", "override", "complaint"),
    [
        ("tiny_phone", "rlfactory.seed=3", "is a run of recipe 'tiny_search', not 'tiny_phone'"),
        (None, "rlfactory.seed=1", "began with seed 3"),
        (None, "trainer.total_trainin_steps=1", "close: trainer.total_training_steps"),
        (None, "hardware=gpu", "no config key 'hardware' of the run"),
        (None, "nonsense", "nonsense"),
    ],
)
def test_a_run_that_would_go_on_as_another_is_refused(
    begun: Path, recipe: str | None, override: str, complaint: str
) -> None:
    with pytest.raises((TaskError, UnknownName)) as caught:
        resumed_recipe(begun, recipe, [override])
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_that_goes_on_counts_what_it_took_before_and_keeps_as_many_checkpoints_as_asked(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "begun")
    log.create()
    no_ray_of_its_own = "ray_kwargs.ray_init.address=auto"
    config = compose_recipe("tiny_search", [no_ray_of_its_own, "rlfactory.service.questions=nowhere.jsonl"])
    save_config(config, log.folder / "config.yaml")
    log.write_summary(
        RunSummary(recipe="tiny_search", seed=0, status="stopped", wall_s=500, phase_s={"service": 90}, first_step_s=44)
    )
    log.add_step(StepRecord(step=3, elapsed_s=600))  # by a second process, which was killed and left no summary
    for step in (2, 4, 6, 8, 10):  # killed while it saved the last
        (log.checkpoints / f"global_step_{step}" / "actor").mkdir(parents=True)
    (log.checkpoints / "latest_checkpointed_iteration.txt").write_text("8")
    with pytest.raises(RLFactoryError, match="nowhere"):
        run(None, runs=tmp_path, name="begun", resume=True)
    after = log.summary()
    assert after is not None
    assert after.wall_s > 600
    assert after.phase_s["service"] > 90
    assert after.first_step_s == 44
    assert config.trainer.max_actor_ckpt_to_keep == 2
    assert {path.name for path in log.checkpoints.glob("global_step_*")} == {"global_step_6", "global_step_8"}
