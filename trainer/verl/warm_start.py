"""From demonstrations to the policy that RL starts from: our tokenizer, a tiny model, verl's SFT trainer.

Runs in a process of its own (`python -m rlfactory.trainer.verl.main sft CONFIG.yaml`). Reads the demonstrations of each
lesson in the run's folder and writes its model/.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf, open_dict
from PIL import Image

from rlfactory.trainer.cpu.smollm2 import save_smollm2
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer, copied_words, fixed_phrases, tag_lines
from rlfactory.trainer.record.runlog import RunLog
from rlfactory.trainer.run.warm_start import IMAGE, lesson_data


def prepare(config: Any) -> None:
    """Make and train the model of a composed recipe.

    Raises: PluginMissing: verl did not load our plugin.
    """
    from rlfactory.trainer.verl.lesson import run_lesson

    log = RunLog(Path(config.rlfactory.run_folder))
    lessons = list(config.rlfactory.warm_start.lessons)
    model = log.folder / "untrained"
    if config.rlfactory.tiny_model is None:
        save_smollm2(model)
    else:
        make_model(config.rlfactory, lesson_data(log.folder, 0), model)
    for number, lesson in enumerate(lessons):
        output = log.folder / f"lesson-{number}"
        # Where verl's file logger writes.
        os.environ["VERL_FILE_LOGGER_PATH"] = str(log.lesson_metrics(number))
        data = lesson_data(log.folder, number)
        composed = sft_config(config, lesson, data=data, model=model, output=output)
        model = run_lesson(composed, until_loss=lesson.get("until_loss"), only=lesson.get("only", ""))
    shutil.rmtree(log.model, ignore_errors=True)
    shutil.move(model, log.model)
    for leftover in (*log.folder.glob("lesson-*/"), log.folder / "untrained"):
        shutil.rmtree(leftover)


def make_model(own: Any, data: Path, folder: Path) -> int:
    """Write an untrained model whose tokenizer is made for the demonstrations; return its number of parameters."""
    rows = pyarrow.parquet.read_table(data).to_pylist()
    tokenizer = build_tokenizer(corpus_of(rows), vocabulary=int(own.tiny_model.vocabulary))
    sides = {name: int(value) for name, value in own.tiny_model.items() if name != "vocabulary"}
    return save_tiny_model(folder, TinyModelConfig(**sides), tokenizer, max_pixels=own.image.max_pixels)


def corpus_of(rows: Sequence[Mapping[str, Any]]) -> Corpus:
    """Return what the demonstrations' tokenizer is made from."""
    by_role: dict[str, list[str]] = {"system": [], "user": [], "assistant": []}
    for row in rows:
        for message in row["messages"]:
            by_role[message["role"]].append(message["content"].removeprefix(IMAGE))
    rendered, prompts, told = dict.fromkeys(by_role["assistant"]), dict.fromkeys(by_role["system"]), by_role["user"]
    sides = tuple(_sides(rows))
    if sides:
        return Corpus(phrases=fixed_phrases(rendered, prompts), texts=tuple(told), max_number=max(sides))
    # What an action needs has to be read then: words of tools' answers come again in it.
    copied = copied_words(rendered, told)
    phrases = {*fixed_phrases(rendered, prompts, copied), *tag_lines(told), *by_role}
    return Corpus(phrases=tuple(sorted(phrases)), texts=tuple(told), max_number=0, copied=copied)


def _sides(rows: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    for row in rows:
        for image in row.get("images", ()):
            yield max(Image.open(io.BytesIO(image["bytes"])).size)


def sft_config(config: Any, lesson: Any, *, data: Path, model: Path, output: Path) -> DictConfig:
    """Return verl's SFT configuration of one lesson with the recipe's model and engine settings."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        composed = compose("sft_trainer_engine")
    actor, recipe_model = config.actor_rollout_ref.actor, config.actor_rollout_ref.model
    with open_dict(composed):
        for name in ("external_lib", "use_remove_padding", "enable_gradient_checkpointing"):
            composed.model[name] = recipe_model[name]
        composed.model.override_config = OmegaConf.to_container(recipe_model.override_config, resolve=True)
        composed.engine = OmegaConf.merge(composed.engine, actor.fsdp_config, {"strategy": actor.strategy})
        for key, value in _settings(config, lesson, data=data, model=model, output=output).items():
            OmegaConf.update(composed, key, value, force_add=True)
    return composed


def _settings(config: Any, lesson: Any, *, data: Path, model: Path, output: Path) -> dict[str, Any]:
    own = config.rlfactory.warm_start
    return {
        "data.train_files": str(data),
        "data.train_batch_size": own.batch,
        "data.micro_batch_size_per_gpu": own.micro_batch,
        "data.use_dynamic_bsz": False,
        "data.max_length": config.data.max_prompt_length + config.data.max_response_length,
        "data.num_workers": 0,
        "data.pad_mode": "no_padding",
        "data.custom_cls.path": "pkg://rlfactory.trainer.verl.dataset",
        "data.custom_cls.name": "DemonstrationDataset",
        "model.path": str(model),
        "optim.lr": lesson.lr,
        "optim.betas": [0.9, own.get("beta2", 0.999)],
        "optim.override_optimizer_config": config.actor_rollout_ref.actor.optim.override_optimizer_config,
        "optim.lr_warmup_steps": lesson.lr_warmup_steps,
        "trainer.seed": config.rlfactory.seed,
        "trainer.project_name": "rlfactory",
        "trainer.experiment_name": "warm_start",
        "trainer.logger": ["console", "file"],
        "trainer.device": config.trainer.device,
        "trainer.total_training_steps": lesson.steps,
        "trainer.total_epochs": 1_000_000,
        "trainer.resume_mode": "disable",
        "trainer.default_local_dir": str(output),
        "checkpoint.save_contents": ["hf_model"],
    }
