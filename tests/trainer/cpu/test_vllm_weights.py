"""vLLM's CPU build still drops the weights that a sync would load into, and our plugin for it keeps them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

from rlfactory.trainer.cpu import vllm_weights

pytestmark = [pytest.mark.train, pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]


def test_a_packed_layer_keeps_its_plain_weight() -> None:
    utils = pytest.importorskip("vllm.model_executor.layers.utils", reason="make setup ENGINE=vllm")
    vllm_weights.register()
    replaced = utils.dispatch_cpu_unquantized_gemm
    vllm_weights.register()
    assert utils.dispatch_cpu_unquantized_gemm is replaced
    layer = torch.nn.Linear(128, 256, bias=False)
    replaced(layer, remove_weight=True)
    assert layer.weight.shape == (256, 128)
    replaced.patched_original(layer, remove_weight=True)
    assert layer.weight.numel() == 0
