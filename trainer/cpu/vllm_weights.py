"""What vLLM's CPU build needs to take new weights: the entry point `vllm.general_plugins`, called in each process."""

from __future__ import annotations

from typing import Any


def register() -> None:
    """Keep each linear layer's plain weight beside the packed one. Idempotent; does nothing where there is a GPU.

    vLLM packs a weight for the CPU and drops the plain one, and weight sync has nothing to load into. verl has the
    weights packed again after each sync (`process_weights_after_loading`), so keeping the plain one is enough.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    from vllm.model_executor.layers import utils

    original = utils.dispatch_cpu_unquantized_gemm
    if hasattr(original, "patched_original"):
        return

    def dispatch_cpu_unquantized_gemm(layer: Any, remove_weight: bool) -> None:
        original(layer, remove_weight=False)

    dispatch_cpu_unquantized_gemm.patched_original = original  # type: ignore[attr-defined]
    utils.dispatch_cpu_unquantized_gemm = dispatch_cpu_unquantized_gemm
