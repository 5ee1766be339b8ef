"""`rlfactory train RECIPE --dry-run`: all of a run that takes neither weights nor GPUs, so that mistakes show at once.

The configuration is composed and its limits are checked, one episode of each task is begun at the service, and played
where the run begins with demonstrations; the plan is held against the memory of a GPU. What the machine itself lacks
is the doctor's part.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from omegaconf import open_dict

from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.envs.client import EnvClient
from rlfactory.processes.errors import ProcessError
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.episodes import EpisodeSource
from rlfactory.trainer.run import warm_start
from rlfactory.trainer.run.checks import Check
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from rlfactory.trainer.run.plan import Plan, learning_gpus, plan_of
from rlfactory.trainer.run.recipe import compose_recipe
from rlfactory.trainer.run.settings import RolloutSettings

NEEDED_BY_LOGGERS: Final = {"tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow"}
"""Packages of verl's loggers; others of verl's need nothing, or are not looked at."""
FULLEST: Final = 0.95
"""Share of a GPU that may be reckoned with."""


def dry_run(recipe: str, overrides: Sequence[str] = ()) -> list[Check]:
    """Return what a run by this recipe would begin with; every episode it asks for is begun once and closed.

    Raises: UnknownName, TaskError: the configuration is wrong; says what would do.
    """
    config = compose_recipe(recipe, ["rlfactory.run_folder=dry-run", *overrides])
    plan = plan_of(config)
    return [
        Check(name="recipe", told=f"{plan.recipe}: {plan.model}, {plan.mode}, {plan.steps} steps"),
        *_model(plan),
        *_heads(config, plan),
        *asyncio.run(_episodes(config)),
        *_loggers(config),
        _step(config, plan),
        *_memory(plan),
        _started(config, plan),
    ]


def _model(plan: Plan) -> Iterator[Check]:
    if plan.size is None:
        yield Check(
            name="model",
            state="note",
            told=f"memory is not reckoned: {plan.model} is neither on this machine nor in known_models.yaml",
        )
        return
    size = plan.size
    tower = f", {size.vision_parameters / 1e9:.2f} of them to see" if size.vision_parameters else ""
    count = f"{size.parameters / 1e9:.2f} billion" if size.parameters > 1e8 else f"{size.parameters / 1e6:.2f} million"
    yield Check(name="model", told=f"{count} parameters{tower}")


def _heads(config: Any, plan: Plan) -> Iterator[Check]:
    parts = config.actor_rollout_ref.rollout.tensor_model_parallel_size
    if plan.size and plan.size.heads % parts:
        key = f"actor_rollout_ref.rollout.tensor_model_parallel_size={parts}"
        yield Check(name="engines", state="wrong", told=f"{key} does not divide the model's {plan.size.heads} heads")


async def _episodes(config: Any) -> list[Check]:
    """Begin an episode of each task and split at the service, as the run would."""
    with open_dict(config):
        if config.rlfactory.service is not None:
            config.rlfactory.address = "a service of its own"
    settings = RolloutSettings.from_config(config.rlfactory)
    dialect = get_dialect(settings.dialect)
    options = settings.options(dialect)
    checks: list[Check] = []
    lengths: dict[str, int] = {}
    try:
        async with _served(config.rlfactory) as address, EnvClient(address, trust=settings.trust.load()) as client:
            for split in ("train", "validation"):
                source = EpisodeSource.from_config(config.data.episodes, split)
                lengths[split] = len(source.rows())
                for task, seed, name in source.rows()[: len(source.tasks)]:
                    async with client.session(task, seed=seed, split=name, options=options) as session:
                        sees = session.observation.image is not None
                    if (sees or session.observation.width_px) and not settings.max_pixels:
                        raise TaskError(f"{task} shows a phone: rlfactory.image.max_pixels must be set")
            about = f"{len(source.tasks)} tasks begun, {lengths['train']} training and {lengths['validation']} held out"
            checks.append(Check(name="data", told=about))
            if config.rlfactory.warm_start is not None:
                shown = warm_start.demonstrated_episodes(config)[: len(source.tasks)]
                files = warm_start.demonstrators_files(config)
                await warm_start.record(client, shown, settings=settings, dialect=dialect, task_files=files)
                checks.append(
                    Check(name="warm start", told=f"{len(shown)} episodes played and written in {dialect.name}")
                )
            status = await client.status()
            checks.append(Check(name="service", told=f"answers with {len(status.phones)} phones (a run has its own)"))
    except (RLFactoryError, ProcessError, ValueError) as error:
        checks.append(Check(name="data" if isinstance(error, TaskError) else "service", state="wrong", told=str(error)))
    return checks


@asynccontextmanager
async def _served(own: Any) -> AsyncIterator[str]:
    """Yield the address of the service that the recipe names, or of a small one as the recipe would start it."""
    if own.service is None:
        yield str(own.address)
        return
    async with local_service(ServiceConfig.from_config(own.service, phones=min(1, own.service.phones))) as service:
        yield service.address


def _loggers(config: Any) -> Iterator[Check]:
    asked = list(config.trainer.logger)
    missing = [name for name in asked if name in NEEDED_BY_LOGGERS and not _installed(NEEDED_BY_LOGGERS[name])]
    if missing:
        yield Check(
            name="loggers",
            state="wrong",
            told=f"not installed: {', '.join(missing)}",
            mend=f"pip install {' '.join(missing)}",
        )
    else:
        yield Check(name="loggers", told=", ".join(asked))


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _step(config: Any, plan: Plan) -> Check:
    told = f"{plan.episodes} episodes of at most {plan.row_tokens} tokens ({plan.step_tokens / 1e6:.2f} million), "
    told += f"{plan.updates} updates"
    if plan.phones:
        told += f", {plan.phones} phones: {-(-plan.episodes // plan.phones)} rounds"
    saves = config.trainer.save_freq
    return Check(name="step", told=f"{told}; saved every {saves}" if saves > 0 else told)


def _memory(plan: Plan) -> Iterator[Check]:
    if plan.memory is None:
        return
    memory, where = plan.memory, f"of {plan.memory.budget_gb:.0f} GB"
    for name, parts in (("memory learning", memory.learning), ("memory rollout", memory.rollout)):
        total = sum(parts.values())
        listed = ", ".join(f"{part} {value:.1f}" for part, value in parts.items() if value >= 0.05)
        fits = total <= FULLEST * memory.budget_gb
        yield Check(
            name=name,
            state="ok" if fits else "wrong",
            told=f"{total:.1f} {where}: {listed or 'nothing to speak of'}",
            mend="" if fits else MENDS[name],
        )
    if not memory.rows_at_once:
        told = f"the KV cache of {memory.rollout['KV cache']:.1f} GB holds no row of {plan.row_tokens} tokens"
        yield Check(name="KV cache", state="wrong", told=told, mend=MENDS["memory rollout"])
    else:
        yield Check(name="KV cache", told=f"{memory.rows_at_once} whole rows at once")


MENDS: Final = {
    "memory learning": "scale=gpus8, tuning=lora, or fewer tokens at once "
    "(actor_rollout_ref.actor.ppo_max_token_len_per_gpu, ppo_micro_batch_size_per_gpu)",
    "memory rollout": "another actor_rollout_ref.rollout.gpu_memory_utilization, "
    "actor_rollout_ref.actor.fsdp_config.param_offload=true, or more GPUs",
}


def _started(config: Any, plan: Plan) -> Check:
    phones = "no service of its own" if plan.phones is None else f"a service with {plan.phones} phones"
    workers = config.actor_rollout_ref.rollout.agent.num_workers
    unit = "GPU" if plan.device != "cpu" else "logical slot"
    told = (
        f"{phones}, Ray on {plan.nodes} node(s), {learning_gpus(config)} learner(s) of one {unit} each, "
        f"{plan.engines} engine(s) {plan.engine}, {workers} agent loop worker(s)"
    )
    return Check(name="would start", told=told)
