"""What a recipe would do with its machine: episodes and tokens of a training step, and memory of each GPU.

Memory is reckoned, not measured: the parts that decide whether a run fits. Activations are those of Korthikanti et al.,
"Reducing Activation Recomputation in Large Transformer Models" (2022): of a token and layer 2 bytes times the hidden
size are kept where layers are computed again in the backward pass, else 34 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import psutil
from rich.table import Table

from rlfactory.tables import print_table
from rlfactory.trainer.run.model_size import ModelSize, size_of
from rlfactory.trainer.run.recipe import compose_recipe, recipe_names

GB: Final = 1e9
_BYTES: Final = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2}
_KEPT_BYTES, _RECOMPUTED_BYTES = 34, 2
"""Of a token, a layer and a hidden number: without and with gradient checkpointing."""
_LOGIT_BYTES: Final = 8
"""Of a token and a word, while learning: the logits and their gradients in bf16, their softmax in fp32."""
_LOG_PROB_LOGIT_BYTES: Final = 6
"""The same without gradients."""
_PIXEL_BYTES: Final = 24
"""Three colours in fp32, and Qwen's patches hold each picture twice."""
_RESERVE_GB: Final = 4.0
"""CUDA's own, NCCL's buffers, fragments."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Of one GPU, in GB by part; on a machine without one, of all processes together."""

    budget_gb: float
    learning: Mapping[str, float]
    """While the policy is updated."""
    rollout: Mapping[str, float]
    """While episodes are played."""
    rows_at_once: int
    """Whole rows that the engine's KV cache holds, of all engines together."""

    @property
    def peak_gb(self) -> float:
        return max(sum(self.learning.values()), sum(self.rollout.values()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A recipe in figures."""

    recipe: str
    model: str
    size: ModelSize | None
    """None: nobody here knows the model."""
    nodes: int
    gpus: int
    """Of all nodes, those that only play included; on a CPU its logical slots."""
    device: str
    engine: str
    engines: int
    phones: int | None
    """None: a service that runs already has them."""
    tasks: tuple[str, ...]
    episodes: int
    """Of a training step."""
    row_tokens: int
    """Of the longest row."""
    updates: int
    """Of the policy in a step."""
    steps: int
    mode: str
    memory: Memory | None

    @property
    def step_tokens(self) -> int:
        """At most, in a step."""
        return self.episodes * self.row_tokens


def plan_of(config: Any) -> Plan:
    """Return a composed recipe's plan."""
    own, data, rollout = config.rlfactory, config.data, config.actor_rollout_ref.rollout
    model = (own.warm_start.model or "made by the run") if own.warm_start else config.actor_rollout_ref.model.path
    size = size_of(model, own.tiny_model)
    mode = str(config.trainer.v1.trainer_mode)
    playing = rollout.nnodes * rollout.n_gpus_per_node if mode == "separate_async" else 0
    learning = learning_gpus(config)
    engines = max(1, (playing or learning) // rollout.tensor_model_parallel_size)
    return Plan(
        recipe=own.recipe,
        model=model,
        size=size,
        nodes=config.trainer.nnodes + (rollout.nnodes if playing else 0),
        gpus=learning + playing,
        device=config.trainer.device,
        engine=rollout.name,
        engines=engines,
        phones=own.service.phones if own.service else None,
        tasks=tuple(data.episodes.tasks),
        episodes=data.train_batch_size * rollout.n,
        row_tokens=row_tokens(config),
        updates=data.train_batch_size // config.actor_rollout_ref.actor.ppo_mini_batch_size,
        steps=config.trainer.total_training_steps,
        mode=mode,
        memory=_memory(config, size, engines=engines, shared=not playing) if size else None,
    )


def show_recipes(*, as_json: bool) -> None:
    """Print a row for each recipe."""
    plans = [plan_of(compose_recipe(name)) for name in recipe_names()]
    if as_json:
        print(json.dumps([asdict(plan) for plan in plans], indent=2))
        return
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("recipe", style="cyan", no_wrap=True)
    for column in ("model", "tasks", "machine", "step", "memory"):
        table.add_column(column, overflow="fold")
    for plan in plans:
        suites = sorted({task.partition(".")[0] for task in plan.tasks})
        unit = "GPU" if plan.device != "cpu" else "CPU"
        memory = f"{plan.memory.peak_gb:.0f} GB of a {unit}" if plan.memory and unit == "GPU" else ""
        machine = f"{plan.gpus} GPUs" if unit == "GPU" else "two CPU cores"
        phones = f", {plan.phones} phones" if plan.phones else ""
        step = f"{plan.episodes} episodes of {plan.row_tokens} tokens"
        table.add_row(
            plan.recipe, plan.model, f"{len(plan.tasks)} of {', '.join(suites)}", machine + phones, step, memory
        )
    print_table(table)


def learning_gpus(config: Any) -> int:
    return int(config.trainer.nnodes * config.trainer.n_gpus_per_node)


def row_tokens(config: Any) -> int:
    return int(config.data.max_prompt_length + config.data.max_response_length)


def _memory(config: Any, size: ModelSize, *, engines: int, shared: bool) -> Memory:
    """`shared`: learner and engine take turns on the same GPUs."""
    on_gpu = config.trainer.device != "cpu"
    budget_gb = float(config.rlfactory.gpu_gb or psutil.virtual_memory().total / GB)
    resting, updating = _learner(config, size)
    engine = _engine(config, size, budget_gb if on_gpu else None)
    held = int(engine["KV cache"] * GB / (size.key_value_numbers * _dtype(config.actor_rollout_ref.rollout.dtype)))
    awake = shared and not config.actor_rollout_ref.rollout.free_cache_engine
    reserve = {"reserve": _RESERVE_GB} if on_gpu else {}
    return Memory(
        budget_gb=budget_gb,
        learning=updating | (engine if awake else {}) | reserve,
        rollout=engine | ({"learner": resting} if shared else {}) | reserve,
        rows_at_once=engines * held // row_tokens(config),
    )


def _learner(config: Any, size: ModelSize) -> tuple[float, dict[str, float]]:
    """Return what the learner keeps while episodes are played, and its parts while it learns."""
    model, actor, ref = (config.actor_rollout_ref[name] for name in ("model", "actor", "ref"))
    gpus, frozen = learning_gpus(config), size.vision_parameters if actor.freeze_vision_tower else 0
    lora = int(model.lora_rank or 0)
    learnt = _lora_parameters(size, lora) if lora else size.parameters - frozen
    weights = size.parameters * _dtype(actor.fsdp_config.model_dtype) / gpus / GB
    optimizer = learnt * 8 / gpus / GB
    rollout, row = config.actor_rollout_ref.rollout, row_tokens(config)
    tokens = _tokens(row, actor.use_dynamic_bsz, actor.ppo_micro_batch_size_per_gpu, actor.ppo_max_token_len_per_gpu)
    looked_at = _tokens(
        row,
        rollout.log_prob_use_dynamic_bsz,
        rollout.log_prob_micro_batch_size_per_gpu,
        rollout.log_prob_max_token_len_per_gpu,
    )
    kept = _RECOMPUTED_BYTES if model.enable_gradient_checkpointing else _KEPT_BYTES
    separate_ref = actor.use_kl_loss and not lora and not ref.fsdp_config.param_offload
    parts = {
        "weights": weights,
        "gradients": learnt * 4 / gpus / GB,
        "optimizer": optimizer,
        "reference": size.parameters * _dtype(ref.fsdp_config.model_dtype) / gpus / GB if separate_ref else 0.0,
        # Of each layer the whole weights, of the next one, too; words are a layer of their own.
        "gathered": (2 * size.layer_parameters + size.vocabulary * size.hidden) * 2 / GB if gpus > 1 else 0.0,
        "activations": tokens * size.hidden * (size.layers * kept + _KEPT_BYTES) / GB,
        "logits": max(tokens * _LOGIT_BYTES, looked_at * _LOG_PROB_LOGIT_BYTES) * size.vocabulary / GB,
        "pixels": _pixels_gb(config, max(tokens, looked_at) // row),
    }
    offload = actor.fsdp_config
    resting = (0 if offload.param_offload else weights) + (0 if offload.optimizer_offload else optimizer)
    return resting + parts["reference"], parts


def _tokens(row: int, dynamic: bool, rows: int | None, most: int) -> int:
    """Return the tokens of a micro-batch at most."""
    return max(most, row) if dynamic else row * (rows or 1)


def _engine(config: Any, size: ModelSize, gpu_gb: float | None) -> dict[str, float]:
    """Return what the rollout engine holds: of a GPU the share it is given, else what its rows take."""
    rollout = config.actor_rollout_ref.rollout
    weights = size.parameters * _dtype(rollout.dtype) / rollout.tensor_model_parallel_size / GB
    if gpu_gb is None:
        cache = rollout.max_num_seqs * row_tokens(config) * size.key_value_numbers * _dtype(rollout.dtype) / GB
    else:
        cache = max(0.0, rollout.gpu_memory_utilization * gpu_gb - weights)
    return {"engine's weights": weights, "KV cache": cache}


def _lora_parameters(size: ModelSize, rank: int) -> int:
    """Return about what adapters of all linear layers hold: a rank's two sides at each of seven matrices."""
    ends = 4 * size.hidden + 2 * (size.heads + size.key_value_heads) * size.head_size
    feed_forward = (size.layer_parameters - ends * size.hidden // 2) // size.hidden
    return size.layers * rank * (ends + 3 * size.hidden + feed_forward)


def _pixels_gb(config: Any, rows: int) -> float:
    """Return the pixels of a micro-batch: as many screenshots as a row has turns."""
    budget = config.rlfactory.image.max_pixels
    if not budget:
        return 0.0
    shown = min(config.rlfactory.max_turns or 15, row_tokens(config) * 4 * 16**2 // budget + 1)
    return float(rows * shown * budget * _PIXEL_BYTES / GB)


def _dtype(name: Any) -> int:
    return _BYTES[str(name or "fp32")]
