"""Where a key's effect can be seen without a training: each look returns what a configuration leads to."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow
import pyarrow.parquet
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import DictConfigWrap
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_add_to_batch
from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
from verl.trainer.ppo.v1 import trainer_base
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils
from verl.workers.rollout.replica import TokenOutput

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.client import ClientConfig, EnvClient
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.trainer.cpu.tiny_model import build_processor
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer
from rlfactory.trainer.credit.settings import CreditSettings
from rlfactory.trainer.credit.turns import Way, turn_advantages
from rlfactory.trainer.credit.weights import turn_weights
from rlfactory.trainer.episode.episodes import row_of, spec_of
from rlfactory.trainer.episode.rollout import Dropped, play
from rlfactory.trainer.record.recorder import read_outcomes
from rlfactory.trainer.record.runlog import RunLog, StepRecord
from rlfactory.trainer.run.limits import check_limits
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from rlfactory.trainer.run.plan import plan_of
from rlfactory.trainer.run.settings import RolloutSettings
from rlfactory.trainer.run.train import check_drift
from rlfactory.trainer.verl import plugin
from rlfactory.trainer.verl.agent_loop import PhoneAgentLoop
from rlfactory.trainer.verl.dataset import CHOSEN
from rlfactory.trainer.verl.images import measuring
from rlfactory.trainer.verl.warm_start import make_model, sft_config
from rlfactory.trainer.verl.workers import EpisodeWorker

WAIT = '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "wait", "time": 1}}\n</tool_call>'
TAP = '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [500, 20]}}\n</tool_call>'


def rows(config: Any) -> Any:
    """The episodes that verl's loaders draw first, and how many there are."""
    seen = []
    for files, training in ((config.data.train_files, True), (config.data.val_files, False)):
        dataset = create_rl_dataset(files, config.data, None, None, is_train=training)
        order = create_rl_sampler(config.data, dataset) if training else range(len(dataset))
        first = [dataset[index] for index in itertools.islice(iter(order), 12)]
        seen.append((len(dataset), [(row["task"], row["seed"], row["split"], row["agent_name"]) for row in first]))
    return seen


def drawn(config: Any) -> Any:
    """The tasks that are drawn, first as the recipe says, where one was never solved and another every other time."""
    seen = []
    for changed in (config, OmegaConf.merge(config, {"rlfactory": {"curriculum": {"enabled": True}}})):
        CHOSEN.clear()
        dataset = create_rl_dataset(changed.data.train_files, changed.data, None, None, is_train=True)
        first, *others = changed.data.episodes.tasks
        for curriculum in CHOSEN:
            for number in range(40):
                curriculum.note(first, solved=False)
                curriculum.note(others[0], solved=number % 2 == 0)
        seen.append([dataset[index]["task"] for index in range(40)])
    return seen


def shuffled_rows(config: Any) -> Any:
    return rows(OmegaConf.merge(config, {"data": {"shuffle": True}}))


class Writer:
    """Stands where verl's servers are: taps, as long as it is let; `after_s` later."""

    def __init__(self, tokenizer: Any, after_s: float, text: str) -> None:
        self._ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        self._after_s = after_s
        self.asked: list[tuple[int, int]] = []

    async def generate(self, *, prompt_ids: Any, sampling_params: Any, image_data: Any, **_: Any) -> TokenOutput:
        self.asked.append((len(prompt_ids), sampling_params["max_tokens"]))
        self.seen = image_data[-1]
        await asyncio.sleep(self._after_s)
        ids = self._ids[: sampling_params["max_tokens"]]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids))


def episode(config: Any, *, split: str = "train", after_s: float = 0.0, text: str = TAP) -> Any:
    """An episode through a real service: what the engine was asked and shown, and what was recorded."""
    return asyncio.run(_episode(config, split, after_s, text))


def slow_episode(config: Any) -> Any:
    """An episode whose engine takes its time: whether it comes to its end, and why not."""
    return episode(config, after_s=0.4)[2]


def hung_episode(config: Any) -> Any:
    """An episode whose engine never answers in time: how often it was tried."""
    return episode(OmegaConf.merge(config, {"rlfactory": {"deadlines": {"generate_timeout_s": 0.1}}}), after_s=9)[3]


def stuck_episode(config: Any) -> Any:
    """An episode with a call that asks for more time than a step has."""
    return episode(config, text=WAIT)[-1]


def unserved(config: Any) -> Any:
    """An episode whose service never lets it begin: when it is given up."""

    async def look() -> Any:
        settings = RolloutSettings.from_config(config.rlfactory)
        spec = spec_of(ROW | {"uid": "u", "session_id": 0})

        def opened(_: Any) -> Any:
            return Opening()

        class Opening:
            async def __aenter__(self) -> None:
                await asyncio.Event().wait()

            async def __aexit__(self, *_: Any) -> None: ...

        once = replace(settings.rollout, infra_retries=0)
        lost: Any = await play(spec, None, open_session=opened, config=once)  # type: ignore[arg-type]
        return lost.failure if isinstance(lost, Dropped) else ""

    return asyncio.run(look())


def connected(config: Any) -> Any:
    """Which service is asked: nobody listens there, and the error says where."""

    async def look() -> str:
        try:
            async with EnvClient(config.rlfactory.address, config=ClientConfig(connect_timeout_s=0.2)):
                return ""
        except InfrastructureError as error:
            return str(error)

    return asyncio.run(look())


def limits(config: Any) -> None:
    """What is refused before anything starts."""
    check_limits(config)


def planned(config: Any) -> Any:
    """What a dry run reckons with."""
    on_gpus = {"trainer": {"device": "cuda"}, "rlfactory": {"gpu_gb": config.rlfactory.gpu_gb or 80}}
    return plan_of(OmegaConf.merge(config, on_gpus)).memory


def corrected(config: Any) -> Any:
    """How much tokens count that the engine thought less probable than the learner does."""
    ones = torch.ones(2, 3)
    batch = DataProto.from_dict(
        {"old_log_probs": -ones, "rollout_log_probs": -1.5 * ones, "response_mask": ones.to(torch.int64)}
    )
    batch, _ = compute_rollout_correction_and_add_to_batch(batch, config.algorithm.rollout_correction)
    return batch.batch.get("rollout_is_weights")


def drifted(config: Any) -> None:
    """Whether a run goes on whose engine samples from another policy."""
    step = StepRecord(step=1, elapsed_s=0.0, verl={"training/rollout_probs_diff_mean": 0.03})
    check_drift(step, config.rlfactory.prob_diff_limit)


def platform(config: Any) -> None:
    """What is refused on this machine."""
    plugin.check(rollout=config.actor_rollout_ref.rollout.name, device=config.trainer.device)


def trusted(config: Any) -> Any:
    """What a client shows and believes."""
    return RolloutSettings.from_config(config.rlfactory).trust.load()


def malformed_episode(config: Any) -> Any:
    """An episode whose model writes no call, and is told so."""
    return episode(config, text="tap on it")


def bounded_episode(config: Any) -> Any:
    """An episode whose turns are a row each, unless the configuration says otherwise."""
    turns = config.rlfactory.context.row_turns or 1
    return episode(OmegaConf.merge(config, {"rlfactory": {"context": {"row_turns": turns}}}))[0]


def jpeg_episode(config: Any) -> Any:
    return episode(OmegaConf.merge(config, {"rlfactory": {"image": {"format": "jpeg"}}}))


def evaluated(config: Any) -> Any:
    return episode(config, split="validation")


async def _episode(config: Any, split: Any, after_s: float, text: str) -> Any:
    tokenizer = build_tokenizer(Corpus(phrases=(), texts=("tap on it",), max_number=9), vocabulary=400)
    processor = measuring(build_processor(tokenizer, max_pixels=400_000))
    source = DirectSource(PhoneConfig(width_px=480, height_px=800))
    with tempfile.TemporaryDirectory() as place:
        log = RunLog(Path(place) / (config.rlfactory.run_folder if "sub" in config.rlfactory.run_folder else "run"))
        log.create()
        async with serving(ServerConfig(drain_s=0.1), phones=source) as server:
            own = OmegaConf.merge(config, {"rlfactory": {"run_folder": str(log.folder), "address": server.address}})
            loop = PhoneAgentLoop(
                trainer_config=DictConfigWrap(own),
                server_manager=(writer := Writer(tokenizer, after_s, text)),
                tokenizer=tokenizer,
                processor=processor,
                hf_model_type="qwen3_vl",
                dataset_cls=None,
                data_config=DictConfigWrap(own.data),
            )
            row = row_of(task="tiny.wifi", seed=1, split=split, index=3, agent="phone")
            try:
                outputs = await loop.run({}, **row, uid="u", session_id=0, global_steps=1)
            except Exception as error:  # noqa: BLE001 - a refusal is an effect, too
                return type(error).__name__, str(error), log.mistake()
        [outcome] = read_outcomes(log.folder)
        shown = (writer.seen.size, len(writer.seen.data), writer.seen.data[:4].hex()) if writer.asked else None
        told = [tokenizer.decode(output.response_ids) for output in outputs]
        return writer.asked, shown, outcome.failure, outcome.infra_retries, len(log.episodes()), told


def credited(config: Any) -> Any:
    """What two siblings' turns get, who part at the second: by the recipe's estimator, or by one of each kind."""
    right = Way(group="g", total=1.0, states=("start", "fork", "right"), progress=(0.2, 0.5, 1.0))
    wrong = Way(group="g", total=0.0, states=("start", "fork"), progress=(0.2, 0.5))
    section, got = config.rlfactory.credit, []
    for estimator in [section.estimator] if section.estimator else ["gigpo", "progress"]:
        how = CreditSettings.from_config({**section, "estimator": estimator})
        assert how is not None
        factors = turn_weights(how.per, tokens=[[1, 5, 2], [1, 1]], groups="gg")
        earned = turn_advantages([right, wrong], how.credit)
        got += [(each * factor).tolist() for each, factor in zip(earned, factors, strict=True)]
    return got


def sampling(config: Any) -> Any:
    """What verl's worker asks engines for in training and in validation, and how many episodes of a prompt it plays."""
    return asyncio.run(_sampling(config))


async def _sampling(config: Any) -> Any:
    told: list[Any] = []
    worker: Any = object.__new__(EpisodeWorker)
    worker.config, worker.background_tasks = config, set()

    async def keep(prompt: Any, params: Any, **_: Any) -> None:
        told.append(params)

    worker._run_prompt = keep
    for validate in (False, True):
        batch = tensordict_utils.get_tensordict({name: [value] for name, value in ROW.items()} | {"uid": ["u"]})
        tensordict_utils.assign_non_tensor_data(batch, "global_steps", 1)
        tensordict_utils.assign_non_tensor_data(batch, "validate", validate)
        await worker.generate_sequences(batch)
        await asyncio.gather(*worker.background_tasks)
    return told


ROW = row_of(task="tiny.wifi", seed=1, split="train", index=3, agent="phone")


def tiny_model(config: Any) -> Any:
    """The model that a run makes for itself."""

    words = [f"word{number} other{number}" for number in range(400)]
    end = {"role": "assistant", "content": "Tap."}
    shown = [{"messages": [{"role": "user", "content": word}, end]} for word in words]
    with tempfile.TemporaryDirectory() as place:
        data, folder = Path(place, "data.parquet"), Path(place, "model")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(shown), data)
        make_model(config.rlfactory, data, folder)
        named = load_file(folder / "model.safetensors")
        return {name: (tuple(value.shape), float(value.sum())) for name, value in named.items()}


def lesson(config: Any) -> Any:
    """What verl's SFT trainer is given."""
    first = config.rlfactory.warm_start.lessons[0]
    composed = sft_config(config, first, data=Path("d"), model=Path("m"), output=Path("o"))
    return json.dumps(OmegaConf.to_container(composed, resolve=False), sort_keys=True, default=str)


class Loop(PPOTrainerSync):  # type: ignore[misc]
    """verl's training loop, of which everything but the loop does nothing and is kept."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.did: list[str] = []
        self.global_steps, self.steps_per_epoch = 0, 3
        self.total_training_steps = config.trainer.total_training_steps
        self.trainer_mode = config.trainer.v1.trainer_mode
        self._dump_futures: list[Any] = []
        self._dump_executor: Any = SimpleNamespace(shutdown=lambda **_: None)
        self.actor_rollout_wg = self.checkpoint_manager = SimpleNamespace(
            update_weights=lambda *_: None, load_checkpoint=lambda **_: None
        )
        self.use_critic = False

    def step(self, *_: Any) -> Any:
        self.did.append(f"step {self.global_steps}")
        return SimpleNamespace(keys=["k"], partition_id="train")

    def _validate(self) -> Any:
        self.did.append(f"validate {self.global_steps}")
        return {"val": 1.0}

    def _save_checkpoint(self) -> None:
        self.did.append(f"save {self.global_steps}")

    def _compute_metrics(self, *_: Any, **__: Any) -> None: ...

    def _start_profiling(self) -> None: ...

    def _stop_profiling(self) -> None: ...


def training_loop(config: Any) -> Any:
    """When verl's loop steps, validates, saves and ends, and what it logs to."""
    told: list[Any] = []

    def tracking(**asked: Any) -> Any:
        told.append({name: str(value) for name, value in asked.items() if name != "config"})
        return SimpleNamespace(log=lambda **_: None)

    loop = Loop(config)
    with patch.object(trainer_base, "Tracking", tracking), patch.object(trainer_base.tq, "kv_clear"):
        loop.fit(None)
    return told, loop.did


def asked_of_service(config: Any) -> Any:
    """The words that a run starts its service with."""
    return ServiceConfig.from_config(config.rlfactory.service, cluster="auto").arguments()


def resumed(config: Any) -> Any:
    """The step that verl goes on from, where a checkpoint lies in the run's folder."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("checkpoints", "others"):
            folder = Path(place, name)
            (folder / "global_step_4").mkdir(parents=True)
            (folder / "latest_checkpointed_iteration.txt").write_text("4" if name == "checkpoints" else "0")
        config = OmegaConf.merge(config, {"rlfactory": {"run_folder": place}})
        loop = Loop(config)
        with contextlib.suppress(AttributeError):  # the loaders, which are not there
            loop._load_checkpoint()
        return loop.global_steps


def services(config: Any) -> Any:
    """The phones of the service that a run starts."""

    async def look() -> Any:
        wanted = ServiceConfig.from_config(config.rlfactory.service)
        async with local_service(wanted) as service, EnvClient(service.address) as client:
            begun = await client.reset("tiny.wifi", seed=0)
            status = await client.status()
            serials = sorted(phone.serial for phone in status.phones)
            return serials, begun.observation.width_px, begun.observation.height_px

    return asyncio.run(look())
