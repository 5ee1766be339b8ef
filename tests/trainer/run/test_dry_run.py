"""A dry run finds what would end a run on GPUs, on a machine that has none."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs the train extra")
from typer.testing import CliRunner

from rlfactory.trainer.cli import app
from rlfactory.trainer.run import doctor, plan
from rlfactory.trainer.run.dry_run import dry_run
from rlfactory.trainer.run.model_size import size_of
from rlfactory.trainer.run.plan import plan_of
from rlfactory.trainer.run.recipe import compose_recipe

pytestmark = [pytest.mark.train]

PUBLISHED = {
    "qwen2_5_vl_7b": 8_292_166_656,
    "qwen3_vl_8b": 8_767_123_696,
    "search_r1": 3_085_938_688,
}
"""Parameters as the hub counts them in the weights' files."""


@pytest.mark.parametrize("recipe", PUBLISHED)
def test_models_are_reckoned_as_large_as_they_are(recipe: str) -> None:
    size = size_of(compose_recipe(recipe).actor_rollout_ref.model.path)
    assert size is not None
    assert size.parameters == pytest.approx(PUBLISHED[recipe], rel=1e-3)


@pytest.mark.parametrize(
    ("recipe", "choice", "fits"),
    [
        ("qwen3_vl_4b", ["scale=gpus1", "tuning=lora"], True),
        ("qwen3_vl_4b", ["scale=gpus1"], False),
        ("qwen2_5_vl_7b", ["scale=gpus4"], True),
        ("qwen3_vl_8b", ["mode=one_step_off"], True),
        ("qwen3_vl_8b", ["scale=nodes2", "rlfactory.service=null", "rlfactory.address=host:7000"], True),
    ],
)
def test_a_plan_says_whether_a_model_fits_its_gpus(recipe: str, choice: list[str], fits: bool) -> None:
    memory = plan_of(compose_recipe(recipe, choice)).memory
    assert memory is not None
    assert (memory.peak_gb < memory.budget_gb) == fits
    assert memory.rows_at_once > 0


def test_a_good_recipe_is_green_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = {check.name: check for check in dry_run("qwen3_vl_8b")}
    assert {check.state for check in found.values()} == {"ok"}
    assert found["data"].told.startswith("10 tasks begun")
    assert "8.77 billion parameters" in found["model"].told
    assert list(tmp_path.iterdir()) == []


def test_what_only_the_service_knows_is_told_in_a_line() -> None:
    wrong = [
        "data.episodes.tasks=[tiny_search.animall]",
        "actor_rollout_ref.rollout.gpu_memory_utilization=0.05",
        "trainer.logger=[console,mlflow]",
    ]
    found = CliRunner().invoke(app, ["train", "text2sql_qwen3", "--dry-run", *wrong])
    assert found.exit_code == 1
    assert "close: tiny_search.animal" in found.output
    assert "KV cache of 0.0 GB holds no row of 16384 tokens" in found.output
    assert "pip install mlflow" in found.output


@pytest.mark.parametrize(("dialect", "state"), [("search_r1", "ok"), ("androidlab", "wrong")])
def test_what_the_warm_start_shows_is_said_in_the_recipes_dialect(dialect: str, state: str) -> None:
    found = dry_run("smol_search", [f"rlfactory.dialect={dialect}"])
    [about] = [check for check in found if check.name in ("warm start", "data") and "tasks begun" not in check.told]
    assert about.state == state
    assert dialect in about.told


def test_the_doctor_says_what_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "gpus_here", lambda: [("A100", 40.0, "570.1")] * 8)
    monkeypatch.setattr(doctor, "version", lambda name: "" if name == "vllm" else "1.0")
    found = {
        check.name: check
        for check in doctor.examine(
            "text2sql_qwen3",
            ["rlfactory.service=null", "rlfactory.address=127.0.0.1:9", "actor_rollout_ref.model.path=/none"],
            runs=tmp_path,
        )
    }
    mends = {name: check.mend for name, check in found.items() if check.state == "wrong"}
    assert mends["packages"] == "make setup GPU=1"
    assert mends["GPUs"].startswith("rlfactory.gpu_gb=40")
    assert "a folder or a model of the hub" in mends["model"]
    assert "make serve" in mends["service"]


def test_recipes_are_listed_with_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "recipe_names", lambda: ["qwen3_vl_8b", "tiny_search"])
    large, tiny = CliRunner().invoke(app, ["recipes"]).output.splitlines()[1:]
    assert "8 GPUs, 256 phones" in large
    assert "64 episodes of 256 tokens" in tiny
