"""Whether a recipe's limits fit each other, checked before anything is started."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from omegaconf import OmegaConf

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.credit.curriculum import CurriculumSettings
from rlfactory.trainer.credit.settings import CreditSettings
from rlfactory.trainer.credit.turns import BY_STATE
from rlfactory.trainer.episode.context import Window


def check_limits(config: Any) -> None:
    """Raises: TaskError: limits contradict each other; names the keys of each such pair and says what would do."""
    if problems := list(_problems(config)):
        raise TaskError("; ".join(problems))


def _problems(config: Any) -> Iterator[str]:
    yield from _service(config)
    yield from _deadlines(config.rlfactory)
    yield from _lengths(config)
    yield from _engines(config)
    yield from _batches(config)
    yield from _credit(config)
    yield from _context(config)


def _service(config: Any) -> Iterator[str]:
    own, nodes = config.rlfactory, config.trainer.nnodes
    if own.service is None and OmegaConf.is_missing(own, "address"):
        yield "rlfactory.service=null needs rlfactory.address=HOST:PORT, a service that runs already"
    spread = own.service is not None and own.service.ray
    if spread and config.ray_kwargs.ray_init.address == "local":
        yield "rlfactory.service.ray=true needs the cluster: ray_kwargs.ray_init.address=auto, or its head's HOST:PORT"
    if own.service is not None and own.service.node_resource and not spread:
        yield "rlfactory.service.node_resource is of a Ray cluster: rlfactory.service.ray=true"
    if own.service is not None and nodes > 1 and not spread:
        yield (
            f"trainer.nnodes={nodes} needs a service that all of them reach: rlfactory.service.ray=true, "
            "or rlfactory.service=null rlfactory.address=HOST:PORT"
        )


def _deadlines(own: Any) -> Iterator[str]:
    limits = own.deadlines
    whole_s = float(limits.episode_timeout_s)
    for name in ("generate_timeout_s", "reset_timeout_s", "step_timeout_s", "retry_within_s"):
        if not 0 < limits[name] <= whole_s:
            yield (
                f"rlfactory.deadlines.{name}={limits[name]:g} must be above 0 and within "
                f"rlfactory.deadlines.episode_timeout_s={whole_s:g}, which an episode has with all its attempts"
            )
    # A batch may have to wait for an episode, and again for one that is played in place of a lost group.
    if own.stall_timeout_s < 2 * whole_s:
        yield (
            f"rlfactory.stall_timeout_s={own.stall_timeout_s:g} would end the run while episodes may still be played: "
            f"it must be at least {2 * whole_s:g}, twice rlfactory.deadlines.episode_timeout_s"
        )


def _lengths(config: Any) -> Iterator[str]:
    own, data, rollout = config.rlfactory, config.data, config.actor_rollout_ref.rollout
    longest = data.max_response_length
    if not 0 < own.turn_tokens <= longest:
        yield f"rlfactory.turn_tokens={own.turn_tokens} must be within 1..data.max_response_length={longest}"
    row = data.max_prompt_length + data.max_response_length
    if rollout.max_model_len is not None and rollout.max_model_len < row:
        yield (
            f"actor_rollout_ref.rollout.max_model_len={rollout.max_model_len} must be at least {row}: "
            "data.max_prompt_length + data.max_response_length"
        )


def _engines(config: Any) -> Iterator[str]:
    strategy = config.actor_rollout_ref.actor.strategy
    if strategy not in ("fsdp", "fsdp2"):
        yield f"actor_rollout_ref.actor.strategy={strategy} is not served: rows of episodes need fsdp or fsdp2"
    rollout = config.actor_rollout_ref.rollout
    parts = rollout.tensor_model_parallel_size
    apart = config.trainer.v1.trainer_mode == "separate_async"
    playing = rollout if apart else config.trainer
    if playing.nnodes * playing.n_gpus_per_node % parts:
        yield (
            f"actor_rollout_ref.rollout.tensor_model_parallel_size={parts} must divide the "
            f"{playing.nnodes * playing.n_gpus_per_node} GPUs that play episodes"
        )
    if not apart:
        return
    updates = config.trainer.v1.separate_async.parameter_sync_step
    if config.data.train_batch_size != updates * config.actor_rollout_ref.actor.ppo_mini_batch_size:
        yield (
            f"trainer.v1.separate_async.parameter_sync_step={updates} times actor_rollout_ref.actor.ppo_mini_batch_size"
            f"={config.actor_rollout_ref.actor.ppo_mini_batch_size} must be data.train_batch_size="
            f"{config.data.train_batch_size} where learner and engine have GPUs of their own"
        )


def _credit(config: Any) -> Iterator[str]:
    own = config.rlfactory.get("credit")
    if own is None:  # a run that was begun before there was a choice
        return
    try:
        chosen = CreditSettings.from_config(own, adv_estimator=config.algorithm.adv_estimator)
        if curriculum := config.rlfactory.get("curriculum"):
            filtered = bool(config.algorithm.filter_groups.enable)
            CurriculumSettings.from_config(curriculum, filtered=filtered, tasks=len(config.data.episodes.tasks))
    except ValueError as error:
        yield str(error)
        return
    service = config.rlfactory.service
    if chosen and chosen.credit.estimator in BY_STATE and service and not service.phones:
        yield (
            f"rlfactory.credit.estimator={chosen.credit.estimator} compares the states of phones, and there are none "
            "(rlfactory.service.phones=0): credit=grpo and credit=rloo do without"
        )


def _context(config: Any) -> Iterator[str]:
    try:
        window = Window.from_config(config.rlfactory.get("context"))
    except ValueError as error:
        yield str(error)
        return
    actor = config.actor_rollout_ref.actor
    if window and actor.loss_agg_mode != "token-mean":
        yield (
            f"rlfactory.context.row_turns={window.row_turns} makes several rows of an episode, and "
            f"actor_rollout_ref.actor.loss_agg_mode={actor.loss_agg_mode} weighs rows alike: "
            "token-mean, with rlfactory.credit.per=episode where episodes should weigh alike"
        )
    if window and actor.policy_loss.loss_mode == "gspo":
        yield f"rlfactory.context.row_turns={window.row_turns} leaves no whole episodes, whose ratio credit=gspo clips"


def _batches(config: Any) -> Iterator[str]:
    rollout, actor, data = config.actor_rollout_ref.rollout, config.actor_rollout_ref.actor, config.data
    group = config.trainer.v1.sampler.sampler_kwargs.min_group
    if not 2 <= group <= rollout.n:
        yield (
            f"trainer.v1.sampler.sampler_kwargs.min_group={group} must be within 2..actor_rollout_ref.rollout.n="
            f"{rollout.n}: an episode alone has nothing to be compared with"
        )
    if data.train_batch_size % actor.ppo_mini_batch_size:
        yield (
            f"actor_rollout_ref.actor.ppo_mini_batch_size={actor.ppo_mini_batch_size} must divide "
            f"data.train_batch_size={data.train_batch_size}"
        )
    # verl fills batches up to whole mini-batches, shares them out, and cuts what each GPU got into micro-batches.
    gpus = config.trainer.nnodes * config.trainer.n_gpus_per_node
    rows = actor.ppo_mini_batch_size * rollout.n
    if rows % gpus:
        yield f"a mini-batch of {rows} rows (ppo_mini_batch_size x rollout.n) cannot be shared out to {gpus} GPUs"
    row = data.max_prompt_length + data.max_response_length
    if actor.use_dynamic_bsz and actor.ppo_max_token_len_per_gpu < row:
        most = actor.ppo_max_token_len_per_gpu
        yield f"actor_rollout_ref.actor.ppo_max_token_len_per_gpu={most} must be at least {row}, the longest row"
    for name, size in _micro_batches(config).items():
        if size is None or rows // gpus % size:
            yield (
                f"actor_rollout_ref.{name}={size} must divide {rows // gpus}, the rows of a mini-batch on each GPU "
                "(ppo_mini_batch_size x rollout.n / GPUs)"
            )


def prompts_at_once(config: Any) -> int:
    """Return of how many prompts a mini-batch is a multiple, so that GPUs and micro-batches come out even."""
    n, gpus = config.actor_rollout_ref.rollout.n, config.trainer.nnodes * config.trainer.n_gpus_per_node
    return math.lcm(n, gpus, *(gpus * int(size or 1) for size in _micro_batches(config).values())) // int(n)


def _micro_batches(config: Any) -> dict[str, int | None]:
    """Return the rows of each kind of micro-batch that is so many rows, by key below `actor_rollout_ref`."""
    own = config.actor_rollout_ref
    sizes = {
        "actor.ppo_micro_batch_size_per_gpu": own.actor.use_dynamic_bsz,
        "rollout.log_prob_micro_batch_size_per_gpu": own.rollout.log_prob_use_dynamic_bsz,
        "ref.log_prob_micro_batch_size_per_gpu": own.ref.log_prob_use_dynamic_bsz,
    }
    return {name: OmegaConf.select(own, name) for name, by_tokens in sizes.items() if not by_tokens}
