"""verl's rollout backend `hf_cpu`: a `BatchingEngine` behind a Ray actor, with weight sync.

`CpuReplica` runs in verl's driver and starts `CpuServer`; `CpuServerAdapter` runs in the actor's worker and pushes
weights to it. verl calls a server's control methods whatever the backend, hence the ones that do nothing here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import ray
import torch
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput
from verl.workers.rollout.utils import ensure_async_iterator

from rlfactory.trainer.cpu.engine import BatchingEngine, EngineConfig, Request, Sampling, TorchEngine

_FORWARDED_PREFIXES = ("VERL_", "OMP_", "HF_", "TOKENIZERS_")


class CpuServer:
    """Answers verl's generate calls. One per replica."""

    def __init__(self, config: Any, model_config: Any, replica_rank: int) -> None:
        folder = omega_conf_to_dataclass(model_config).local_path
        self._response_length: int = config.response_length
        engine_config = EngineConfig(
            max_batch=min(config.max_num_seqs, 64),
            max_row_tokens=config.prompt_length + config.response_length,
            seed=config.seed + replica_rank,
        )
        self._engine = BatchingEngine(TorchEngine.load(folder, engine_config))
        self._global_steps: int | None = None
        self._open = asyncio.Event()
        self._open.set()

    async def ready(self) -> str:
        return str(ray.util.get_node_ip_address())

    async def generate(
        self,
        prompt_ids: list[int],
        sampling_params: dict[str, Any],
        request_id: str,
        image_data: list[Any] | None = None,
        **_unused: Any,
    ) -> TokenOutput:
        sampling = Sampling(
            temperature=float(sampling_params.get("temperature", 1.0)),
            top_p=float(sampling_params.get("top_p", 1.0)),
            top_k=int(sampling_params.get("top_k", -1)),
            max_tokens=int(sampling_params.get("max_tokens") or self._response_length),
        )
        request = Request(prompt_ids=list(prompt_ids), images=tuple(image_data or ()), sampling=sampling)
        while not self._open.is_set():
            await self._open.wait()
        answer = await self._engine.generate(request)
        return TokenOutput(
            token_ids=answer.token_ids,
            log_probs=answer.log_probs,
            stop_reason="completed" if answer.stop == "end" else "length",
            extra_fields={"global_steps": self._global_steps},
        )

    async def update_weights(self, named: list[tuple[str, torch.Tensor]], global_steps: int | None) -> None:
        self._engine.engine.load_weights(named)
        if global_steps is not None:
            self._global_steps = global_steps

    async def set_global_steps(self, global_steps: int) -> None:
        self._global_steps = global_steps

    async def abort_all_requests(self, reject_request: bool = False) -> dict[str, int]:
        """Begin no turn until `resume_generation`, and let those under way end: one policy writes a turn."""
        self._open.clear()
        await self._engine.settled()
        return {"aborted_count": 0}

    async def wake_up(self, tags: Any = None) -> None: ...

    async def sleep(self) -> None: ...

    async def resume_generation(self) -> None:
        self._open.set()

    async def clear_kv_cache(self) -> None: ...

    async def release_kv_cache(self) -> None: ...

    async def resume_kv_cache(self) -> None: ...

    async def start_profile(self, **_unused: Any) -> None: ...

    async def stop_profile(self) -> None: ...


class CpuServerAdapter(BaseRollout):  # type: ignore[misc]
    """The trainer's side: pushes weights to the server."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        rank = int(os.environ["RANK"])  # set by verl's worker group
        ranks_per_replica = (
            self.config.tensor_model_parallel_size
            * self.config.data_parallel_size
            * self.config.pipeline_model_parallel_size
        )
        self.replica_rank = rank // ranks_per_replica if replica_rank == -1 else replica_rank
        self.is_leader_rank = rank % ranks_per_replica == 0
        self.sleep_level = 2
        self._server: Any = None

    async def resume(self, tags: list[str]) -> None: ...

    async def release(self) -> None: ...

    @torch.no_grad()
    async def update_weights(self, weights: Any, global_steps: int | None = None, **_unused: Any) -> None:
        stream: AsyncIterator[tuple[str, torch.Tensor]] = ensure_async_iterator(weights)
        # Every rank takes part in gathering; copies, because the trainer goes on changing its parameters.
        named = [(name, value.detach().to("cpu", torch.float32, copy=True)) async for name, value in stream]
        if self.is_leader_rank:
            if self._server is None:
                self._server = ray.get_actor(_actor_name(self.replica_rank))
            await self._server.update_weights.remote(named, global_steps)


class CpuReplica(RolloutReplica):  # type: ignore[misc]
    """Starts the server of one replica."""

    async def launch_servers(self) -> None:
        forwarded = {name: value for name, value in os.environ.items() if name.startswith(_FORWARDED_PREFIXES)}
        actor = ray.remote(CpuServer).options(
            name=_actor_name(self.replica_rank),
            num_cpus=0,
            max_concurrency=self.max_concurrency,
            runtime_env={"env_vars": forwarded},
        )
        server = actor.remote(self.config, self.model_config, self.replica_rank)
        address = await server.ready.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = f"{address}:hf_cpu_{self.replica_rank}"


def _actor_name(replica_rank: int) -> str:
    return f"hf_cpu_server_{replica_rank}"
