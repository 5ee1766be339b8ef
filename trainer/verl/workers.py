"""verl's agent loop workers for rows whose screenshots are references, computed off the event loop.

Configured by `actor_rollout_ref.rollout.agent.agent_loop_manager_class`. verl's own worker makes the pixels of a whole
row in its event loop: with 15 screenshots, every other episode of the worker stands still for most of a second.
"""

from __future__ import annotations

import asyncio
from typing import Any

import ray
import torch
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

from rlfactory.trainer.verl.agent_loop import one_by_one
from rlfactory.trainer.verl.images import by_reference, measuring

_Worker: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class


class EpisodeWorker(_Worker):  # type: ignore[misc]
    """Plays episodes and stores their rows."""

    processor: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        processor: Any = self.processor
        self.processor = None if processor is None else measuring(processor)
        self._ready: dict[int, Any] = {}

    async def _run_agent_loop(self, *args: Any, **kwargs: Any) -> Any:
        await one_by_one()
        return await super()._run_agent_loop(*args, **kwargs)

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        outputs = output if isinstance(output, list) else [output]
        if not outputs:
            return  # dropped, and told where episodes are recorded
        goal = outputs[-1].extra_fields.get("goal")
        if goal is not None:  # for a judge: what the dataset holds is the episode's name
            kwargs["raw_prompt"] = [{"role": "user", "content": goal}]
        made = [await asyncio.to_thread(self._inputs, each) for each in outputs]
        for each, (inputs, positions) in zip(outputs, made, strict=True):
            self._ready |= {id(each): inputs, id(inputs): positions}
        await one_by_one()
        try:
            await super()._agent_loop_postprocess(output, validate, **kwargs)
        finally:
            for each, (inputs, _) in zip(outputs, made, strict=True):
                del self._ready[id(each)], self._ready[id(inputs)]

    def _inputs(self, output: Any) -> tuple[dict[str, Any], torch.Tensor]:
        """Return a row's multi-modal inputs and its positions, [1, L] or [1, 4, L]."""
        ids = torch.tensor([[*output.prompt_ids, *output.response_ids]])
        inputs = by_reference((output.multi_modal_data or {}).get("images") or [], self.processor)
        told = inputs | {"mm_token_type_ids": True}  # verl makes them from the ids
        return inputs, super()._compute_position_ids(ids, torch.ones_like(ids), told)

    def _compute_multi_modal_inputs(self, output: Any, input_ids: torch.Tensor) -> dict[str, Any]:
        inputs: dict[str, Any] = self._ready[id(output)]
        return inputs

    def _compute_position_ids(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, multi_modal_inputs: dict[str, Any], *_: Any
    ) -> torch.Tensor:
        positions: torch.Tensor = self._ready[id(multi_modal_inputs)]
        return positions


class EpisodeManager(AgentLoopManagerTQ):  # type: ignore[misc]
    """Starts `EpisodeWorker`s."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(EpisodeWorker)
