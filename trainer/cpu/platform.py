"""verl's platform plugin for machines without an accelerator.

verl asks its platform for everything it would otherwise ask `torch.cuda`. Ray's "GPU" resource stands for logical
slots (`ray_init.num_gpus`), because verl places its workers by that resource.
"""

from __future__ import annotations

import resource
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import ray
import torch
from verl.plugin.platform.platform_base import PlatformBase

_DEVICE = torch.device("cpu")


def _nothing(*_: object, **__: object) -> None:
    """There is nothing to be done on a CPU."""


class _CpuModule(types.ModuleType):
    """`torch.cpu`, completed by those calls of `torch.cuda` that verl makes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def is_available(self) -> bool:
        return True

    def current_device(self) -> torch.device:
        return _DEVICE

    def device_count(self) -> int:
        return 1

    set_device = synchronize = empty_cache = ipc_collect = reset_peak_memory_stats = _nothing

    def memory_allocated(self, *_: object) -> int:
        return int(psutil.Process().memory_info().rss)

    memory_reserved = memory_allocated

    def max_memory_allocated(self, *_: object) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    max_memory_reserved = max_memory_allocated

    def mem_get_info(self, *_: object) -> tuple[int, int]:
        memory = psutil.virtual_memory()
        return memory.available, memory.total

    def get_rng_state(self, *_: object) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, *_: object) -> None:
        torch.set_rng_state(state)

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_device_name(self, *_: object) -> str:
        return "cpu"


def share_cores(ranks: int = 1) -> None:
    """Let torch compute with this rank's part of the cores; Ray leaves each of its workers one."""
    torch.set_num_threads(max(1, len(psutil.Process().cpu_affinity() or ()) // ranks))


def begin_fork() -> None:
    """Let Ray read again what it took from the environment of the process that this one was forked from."""
    ray._raylet.Config.initialize("")


class CpuPlatform(PlatformBase):  # type: ignore[misc]
    """The CPU as verl's accelerator."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuModule("trainer_cpu_device")

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Never claim a machine that has a GPU, not even from a process that cannot see it."""
        return not torch.cuda.is_available() and not self.check_smi_command("nvidia-smi")

    def current_device(self) -> torch.device:
        """The device itself: verl calls `.to(current_device())`, and 0 would mean cuda:0."""
        return _DEVICE

    def device_count(self) -> int:
        return 1

    set_device = synchronize = set_allocator_settings = empty_cache = profiler_start = profiler_stop = cudart = _nothing

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_resource_options(self, num_gpus: float) -> dict[str, Any]:
        return {"num_gpus": num_gpus}

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        """Return what vLLM's CPU build is told."""
        return {
            # Bound to cores, vLLM would leave one of two to all others, while these wait for it.
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            # Though eager, vLLM compiles some functions: with g++, after a minute of asking what the CPU can do.
            "TORCH_COMPILE_DISABLE": "1",
        }
