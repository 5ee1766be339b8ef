"""verl's FSDP engine on CPU. Loaded by `actor_rollout_ref.model.external_lib: rlfactory.trainer.cpu.fsdp`."""

from __future__ import annotations

from typing import Any

from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

from rlfactory.trainer.cpu.engine import ban_tokens, banned_token_ids


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")
class CpuFsdpEngine(FSDPEngineWithLMHead):  # type: ignore[misc]
    """The language model engine without pinned memory, under the rollout's token ban."""

    def _build_module(self) -> Any:
        module = super()._build_module()
        # Where the rollout cannot write a token, the learner must not give it probability either.
        ban_tokens(module, banned_token_ids(module.config, len(self.model_config.tokenizer)))
        return module

    def _build_fsdp_module(self, module: Any) -> Any:
        # verl offloads forward-only (reference) engines with CPUOffloadPolicy(pin_memory=True), and pinning needs an
        # accelerator. Here the parameters are on the CPU anyway, so build the reference like any other engine.
        forward_only = self.engine_config.forward_only
        object.__setattr__(self.engine_config, "forward_only", False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            object.__setattr__(self.engine_config, "forward_only", forward_only)
