"""What RLFactory registers with verl; the entry point `verl.plugins`, imported in every process that imports verl.

On a machine with a GPU it only mends verl's position ids (`trainer.cpu.patches`). Without one it makes the CPU a
platform of verl and adds the rollout backend `hf_cpu`.

verl logs a plugin's import error at DEBUG and goes on, so `check` must be called before training starts.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from verl.plugin.platform import get_platform
from verl.plugin.platform.platform_manager import PlatformRegistry
from verl.workers.rollout import base, replica

from rlfactory.trainer.cpu import patches
from rlfactory.trainer.cpu.platform import CpuPlatform

CPU_ROLLOUT = "hf_cpu"


class PluginMissing(RuntimeError):
    """verl did not load this plugin."""


def _load_replica() -> Any:
    from rlfactory.trainer.cpu.rollout_server import CpuReplica

    return CpuReplica


def register() -> None:
    """Register everything. Idempotent."""
    if PlatformRegistry.get("cpu") is None:
        PlatformRegistry.register(platform="cpu")(CpuPlatform)
    on_cpu = get_platform().device_name == "cpu"
    patches.apply(on_cpu=on_cpu)
    if on_cpu:
        # The server has a public registry; its trainer-side adapter has only this private one.
        base._ROLLOUT_REGISTRY[CPU_ROLLOUT, "async"] = "rlfactory.trainer.cpu.rollout_server.CpuServerAdapter"
        replica.RolloutReplicaRegistry.register(CPU_ROLLOUT, _load_replica)


def check(*, rollout: str, device: str) -> None:
    """Make sure that verl's processes will find what a run needs.

    `rollout` and `device` are the recipe's ("": whatever there is); verl by itself would take another device.

    Raises: PluginMissing: says what is missing and how to mend it.
    """
    if not any(point.value == __name__ for point in entry_points(group="verl.plugins")):
        raise PluginMissing("verl does not see RLFactory's plugin; install the project: pip install -e '.[train]'")
    found = get_platform().device_name
    if rollout == CPU_ROLLOUT and (CPU_ROLLOUT, "async") not in base._ROLLOUT_REGISTRY:
        raise PluginMissing(f"rollout {CPU_ROLLOUT!r} serves machines without a GPU, and verl runs on {found!r} here")
    if device not in ("", found):
        raise PluginMissing(f"the recipe is for {device!r}, and verl runs on {found!r} here; hardware=... chooses")


register()
