"""verl's FSDP engines as we need them. Loaded by `model.external_lib: rlfactory.trainer.verl.fsdp`.

They give no probability to what the rollout cannot write, make pixels of screenshots that rows refer to, and leave the
vision tower as it is where `actor.freeze_vision_tower` says so, which verl's FSDP does not read.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from verl.utils import tensordict_utils
from verl.utils.device import get_device_name
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

from rlfactory.trainer.cpu.engine import ban_tokens, banned_token_ids
from rlfactory.trainer.cpu.platform import share_cores
from rlfactory.trainer.verl.images import PixelMaker

_BACKENDS = ["fsdp", "fsdp2"]
FREEZE: Final = "freeze_vision_tower"
"""In `model.override_config`: base.yaml copies it to where it reaches an engine."""
TOWERS: Final = ("visual", "vision_tower", "vision_model")
"""What models of the hub call their vision tower, the projection to the language model included."""


# A vendor's engine goes before the one that verl has for all of a device.
@EngineRegistry.register(model_type="language_model", backend=_BACKENDS, device="cuda", vendor="nvidia")
class EpisodeFsdpEngine(FSDPEngineWithLMHead):  # type: ignore[misc]
    """The language model engine for rows of episodes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        processor = self.model_config.processor
        self._pixels = PixelMaker(processor.image_processor, get_device_name()) if processor is not None else None

    def _build_module(self) -> Any:
        module = super()._build_module()
        vars(module.config).pop(FREEZE, None)  # not the model's: it would be saved with it
        ban_tokens(module, banned_token_ids(module.config, len(self.model_config.tokenizer)))
        return module

    def _build_fsdp_module(self, module: Any) -> Any:
        if self.model_config.override_config.get(FREEZE):
            freeze_vision_tower(module)
        return super()._build_fsdp_module(module)

    def prepare_model_inputs(self, micro_batch: Any) -> Any:
        rows = micro_batch.get("multi_modal_inputs", None)
        if self._pixels is not None and rows is not None:
            micro_batch = micro_batch.copy()  # shallow: pixels are gone with the micro-batch
            filled = [self._pixels.filled(getattr(row, "data", row) or {}) for row in rows]
            tensordict_utils.assign_non_tensor_stack(micro_batch, "multi_modal_inputs", filled)
        return super().prepare_model_inputs(micro_batch)


def freeze_vision_tower(module: torch.nn.Module) -> None:
    """Let no parameter of the vision tower learn, adapters (LoRA) included.

    Raises: ValueError: the model has none.
    """
    towers = [part for name, part in module.named_modules() if name.rpartition(".")[2] in TOWERS]
    if not towers:
        raise ValueError(f"{FREEZE}: {type(module).__name__} has no vision tower ({', '.join(TOWERS)})")
    for tower in towers:
        tower.requires_grad_(False)


@EngineRegistry.register(model_type="language_model", backend=_BACKENDS, device="cpu")
class CpuFsdpEngine(EpisodeFsdpEngine):
    """The same with every core, and without pinned memory."""

    def _build_fsdp_module(self, module: Any) -> Any:
        share_cores(torch.distributed.get_world_size())
        # verl offloads forward-only (reference) engines with CPUOffloadPolicy(pin_memory=True), and pinning needs an
        # accelerator. Here the parameters are on the CPU anyway, so build the reference like any other engine.
        forward_only = self.engine_config.forward_only
        object.__setattr__(self.engine_config, "forward_only", False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            object.__setattr__(self.engine_config, "forward_only", forward_only)
