"""On an NVIDIA GPU: verl's vLLM server gets each step's weights, and computes what transformers computes.

`make test-gpu`. Elsewhere the tests skip and say why.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")
from tests.commands import output_of
from tests.e2e.vllm_run import assert_weights_change, train_short

pytestmark = [pytest.mark.train, pytest.mark.gpu, pytest.mark.timeout(1800)]


@pytest.fixture(autouse=True, scope="module")
def gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU that torch sees")
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("needs vLLM (make setup GPU=1)")


FP32 = (
    "actor_rollout_ref.rollout.dtype=float32",
    *(
        f"+actor_rollout_ref.{part}.fsdp_config.mixed_precision.{kind}=fp32"
        for part in ("actor", "ref")
        for kind in ("param_dtype", "reduce_dtype", "buffer_dtype")
    ),
    "actor_rollout_ref.ref.fsdp_config.model_dtype=fp32",
)


@pytest.mark.parametrize(("overrides", "limit"), [(FP32, 2e-3), ((), 0.2)], ids=["float32", "bfloat16"])
def test_three_steps_by_verls_server_which_gets_the_weights_of_each(
    overrides: tuple[str, ...], limit: float, tmp_path: Path
) -> None:
    summary = train_short(tmp_path, "hardware=gpu", *overrides)
    keep("training-" + ("float32" if overrides else "bfloat16"), json.loads(summary_text(tmp_path)))
    assert_weights_change(tmp_path, syncs=4)
    assert summary.rollout_train_prob_diff_max is not None
    assert summary.rollout_train_prob_diff_max < limit


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-3), ("bfloat16", 0.1)])
def test_vllm_and_transformers_give_the_same_tokens_the_same_chances(dtype: str, limit: float) -> None:
    printed = output_of(sys.executable, "-m", "benchmarks.engines", "--device", "cuda", "--dtype", dtype, "--json")
    figures = json.loads(printed.splitlines()[-1])
    keep(f"engines-{dtype}", figures)
    assert [row["images"] for row in figures["agreement"]] == [0, 1, 2]
    assert all(row["vllm_transformers_prob"] < limit for row in figures["agreement"]), figures
    assert figures["speed"][-1]["new_tokens_per_s"] > figures["speed"][0]["new_tokens_per_s"]


def summary_text(folder: Path) -> str:
    return (folder / "runs" / "short" / "summary.json").read_text()


def keep(name: str, figures: dict[str, Any]) -> None:
    """Print the figures, and leave them in the folder that GPU_FIGURES names."""
    print(json.dumps(figures))
    if folder := os.environ.get("GPU_FIGURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")
