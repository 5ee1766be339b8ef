"""verl's FSDP engines under the rollout's token ban. Loaded by `model.external_lib: rlfactory.trainer.verl.fsdp`."""

from __future__ import annotations

from typing import Any

from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

from rlfactory.trainer.cpu.engine import ban_tokens, banned_token_ids

_BACKENDS = ["fsdp", "fsdp2"]


# A vendor's engine goes before the one that verl has for all of a device.
@EngineRegistry.register(model_type="language_model", backend=_BACKENDS, device="cuda", vendor="nvidia")
class BanningFsdpEngine(FSDPEngineWithLMHead):  # type: ignore[misc]
    """The language model engine that gives no probability to what the rollout cannot write."""

    def _build_module(self) -> Any:
        module = super()._build_module()
        ban_tokens(module, banned_token_ids(module.config, len(self.model_config.tokenizer)))
        return module


@EngineRegistry.register(model_type="language_model", backend=_BACKENDS, device="cpu")
class CpuFsdpEngine(BanningFsdpEngine):
    """The same without pinned memory."""

    def _build_fsdp_module(self, module: Any) -> Any:
        # verl offloads forward-only (reference) engines with CPUOffloadPolicy(pin_memory=True), and pinning needs an
        # accelerator. Here the parameters are on the CPU anyway, so build the reference like any other engine.
        forward_only = self.engine_config.forward_only
        object.__setattr__(self.engine_config, "forward_only", False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            object.__setattr__(self.engine_config, "forward_only", forward_only)
