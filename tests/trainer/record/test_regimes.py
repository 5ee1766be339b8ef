"""Regimes: what is held out is held out of every recipe, and each has figures of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rlfactory.envs.api.types import TaskInfo
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.trainer.record.regimes import FILE, Regime, by_regime, regime_of

RECIPES = sorted((Path(__file__).parents[3] / "trainer" / "configs").glob("*.yaml"))


def info(name: str, *apps: str) -> TaskInfo:
    return TaskInfo(name=name, suite="s", description="", apps=apps, splits=("test",), max_turns=1, tools=())


def test_a_task_has_the_farthest_regime_that_fits() -> None:
    settings = info("settings.wifi_on", "com.android.settings")
    assert (regime_of(settings, "train"), regime_of(settings, "test")) == (Regime.SEEN, Regime.INSTANCES)
    assert regime_of(info("notes.delete_newest", "net.gsantner.markor"), "test") is Regime.TEMPLATES
    assert regime_of(info("mine.timer", "com.google.android.deskclock"), "test") is Regime.TEMPLATES
    assert regime_of(info("files.copy", "com.google.android.documentsui"), "train") is Regime.APPS
    assert regime_of(info("search_qa.birthplace"), "validation") is Regime.INSTANCES


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_no_recipe_trains_on_what_is_held_out(recipe: Path) -> None:
    read = yaml.safe_load(recipe.read_text())
    data = read.get("data") or {} if isinstance(read, dict) else {}  # another file beside them is a list
    trained = (data.get("episodes") or {}).get("tasks") or []
    known = {task.name: task for task in default_registry().infos()}
    regimes = {name: regime_of(known[name], "train") for name in trained if name in known}
    assert set(regimes.values()) <= {Regime.SEEN}, regimes


def test_held_out_templates_exist_and_are_of_the_test_split_alone() -> None:
    splits = {task.name: task.splits for task in default_registry().infos()}
    held_out = yaml.safe_load(FILE.read_text())["held_out"]
    assert {name: splits[name] for name in held_out} == dict.fromkeys(held_out, ("test",))


def test_figures_of_each_regime() -> None:
    regimes = {"a": Regime.INSTANCES, "b": Regime.INSTANCES, "c": Regime.APPS}
    near, far = by_regime({"a": [1.0, 1.0], "b": [0.0, 0.0], "c": [0.5]}, regimes)
    assert (near.regime, near.templates, near.pairs, near.success) == (Regime.INSTANCES, 2, 4, 0.5)
    assert near.interval == (0.0, 1.0), "two templates that differ say little, however many pairs they have"
    assert (far.regime, far.success) == (Regime.APPS, 0.5)
    assert 0 < far.interval[0] < far.interval[1] < 1, "one pair is no certainty"
