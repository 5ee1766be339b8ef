"""Whether the keys that recipes set do something: each is set to two values, and what comes of it has to differ.

`keys` are those whose effect was seen, `silent` those that were looked at without a difference and those of ours
(`rlfactory.*`) that nobody looks at. `unseen` are verl's keys without a look here: most take a GPU, vLLM or Ray.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from omegaconf import OmegaConf

from benchmarks.trainer import learner, looks
from rlfactory.trainer.run.recipe import CONFIGS, compose_recipe
from rlfactory.trainer.run.warm_start import demonstrated_episodes

Look = Callable[[Any], Any]
Values = tuple[Any, Any]

_ACTOR, _ROLLOUT, _MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model"
_DEADLINES = "rlfactory.deadlines"

BASE: Final = (
    "rlfactory.run_folder=run",
    "rlfactory.address=none",
    "actor_rollout_ref.model.path=''",  # the look's own
    "rlfactory.turn_tokens=200",
    "rlfactory.max_turns=3",
    "rlfactory.context.images=1",
    "rlfactory.image.max_pixels=60000",
    "rlfactory.record.every_train=3",
    "rlfactory.record.every_eval=3",
    "rlfactory.service.phones=2",
    "data.max_prompt_length=4000",
    "data.max_response_length=4000",
    "data.train_batch_size=8",
    "actor_rollout_ref.rollout.n=2",
    *(
        f"actor_rollout_ref.{part}_micro_batch_size_per_gpu=8"
        for part in ("actor.ppo", "rollout.log_prob", "ref.log_prob")
    ),
)

TABLE: Final[Mapping[Look, Mapping[str, Values]]] = {
    looks.rows: {
        "data.train_files": ("train", "validation"),
        "data.val_files": ("validation", "train"),
        "data.episodes.tasks": (["tiny.wifi"], ["tiny.dialog"]),
        "data.episodes.agent": ("phone", "another"),
        "data.episodes.train.count": (40, 50),
        "data.episodes.train.first_seed": (0, 500),
        "data.episodes.validation.count": (4, 6),
        "data.episodes.validation.first_seed": (0, 500),
        "data.custom_cls.path": ("pkg://rlfactory.trainer.verl.dataset", "pkg://no.such.module"),
        "data.custom_cls.name": ("EpisodeDataset", "DemonstrationDataset"),
        "data.shuffle": (False, True),
    },
    looks.shuffled_rows: {"data.seed": (1, 2), "rlfactory.seed": (1, 2)},
    looks.episode: {
        "rlfactory.dialect": ("qwen3_vl", "qwen2_5_vl"),
        "rlfactory.turn_tokens": (200, 20),
        "rlfactory.max_turns": (2, 1),
        "rlfactory.image.format": ("png", "jpeg"),
        "rlfactory.image.max_pixels": (60000, 20000),
        "rlfactory.record.every_train": (3, 0),
        "data.max_prompt_length": (4000, 50),
        "data.max_response_length": (4000, 250),
    },
    looks.malformed_episode: {"rlfactory.told_tokens": (None, 3)},
    looks.bounded_episode: {
        "rlfactory.context.row_turns": (1, 2),
        "rlfactory.context.images": (1, 2),
        "rlfactory.context.past": ("text", "none"),
    },
    looks.jpeg_episode: {"rlfactory.image.quality": (90, 20)},
    looks.evaluated: {"rlfactory.record.every_eval": (3, 0)},
    looks.slow_episode: {
        f"{_DEADLINES}.generate_timeout_s": (60, 0.1),
        f"{_DEADLINES}.episode_timeout_s": (80, 0.7),
    },
    looks.hung_episode: {f"{_DEADLINES}.infra_retries": (2, 0), f"{_DEADLINES}.retry_within_s": (15, 0.05)},
    looks.unserved: {f"{_DEADLINES}.reset_timeout_s": (0.3, 0.2)},
    looks.connected: {"rlfactory.address": ("127.0.0.1:1", "127.0.0.1:2")},
    looks.stuck_episode: {f"{_DEADLINES}.step_timeout_s": (0.5, 1.5)},
    looks.drawn: {
        "rlfactory.curriculum.enabled": (True, False),
        "rlfactory.curriculum.least": (0.05, 1.0),
        "rlfactory.curriculum.remembered": (64.0, 1.0),
    },
    looks.credited: {
        f"rlfactory.credit.{name}": values
        for name, values in {
            "estimator": ("gigpo", "progress"),
            "discount": (1.0, 0.5),
            "step_weight": (1.0, 0.5),
            "trace": (0.0, 0.5),
            "potential": (1.0, 0.5),
            "per": ("token", "turn"),
        }.items()
    },
    looks.sampling: {
        f"{_ROLLOUT}.temperature": (1.0, 0.5),
        f"{_ROLLOUT}.val_kwargs.temperature": (0, 0.7),
        f"{_ROLLOUT}.calculate_log_probs": (True, False),
    },
    looks.tiny_model: {
        f"rlfactory.tiny_model.{name}": values
        for name, values in {
            "vocabulary": (400, 500),
            "hidden": (128, 64),
            "layers": (4, 2),
            "vision_hidden": (64, 32),
            "vision_layers": (2, 1),
            "seed": (0, 1),
        }.items()
    },
    looks.lesson: {
        "rlfactory.warm_start.batch": (16, 8),
        "rlfactory.warm_start.micro_batch": (16, 8),
        "rlfactory.warm_start.beta2": (0.95, 0.9),
        "rlfactory.warm_start.lessons": (
            [{"sloppiness": 0.0, "steps": 3, "lr": 1e-3, "lr_warmup_steps": 1}],
            [{"sloppiness": 0.0, "steps": 4, "lr": 1e-4, "lr_warmup_steps": 2}],
        ),
    },
    demonstrated_episodes: {
        "rlfactory.warm_start.episodes": (64, 32),
        "rlfactory.warm_start.first_seed": (1_000_000, 7),
    },
    looks.training_loop: {
        "trainer.total_training_steps": (4, 6),
        "trainer.test_freq": (14, 2),
        "trainer.save_freq": (7, 2),
        "trainer.total_epochs": (100000, 1),
        "trainer.val_before_train": (True, False),
        "trainer.logger": (["console"], ["console", "file"]),
        "trainer.project_name": ("rlfactory", "another"),
        "trainer.experiment_name": ("tiny_phone", "another"),
        "rlfactory.recipe": ("tiny_phone", "another"),
    },
    looks.resumed: {
        "trainer.resume_mode": ("auto", "disable"),
        "trainer.default_local_dir": ("${rlfactory.run_folder}/checkpoints", "${rlfactory.run_folder}/others"),
    },
    looks.services: {
        "rlfactory.service.phones": (2, 3),
        "rlfactory.service.width_px": (480, 540),
        "rlfactory.service.height_px": (800, 1200),
        "rlfactory.service.transport": ("direct", "adb"),
    },
    looks.asked_of_service: {
        "rlfactory.service.ray": (False, True),
        "rlfactory.service.node_resource": ("", "phones"),
        "rlfactory.service.questions": ("", "nq.jsonl"),
        "rlfactory.service.search_index": ("", "wiki"),
        "rlfactory.service.text2sql": ("", "spider"),
    },
    looks.limits: {
        "rlfactory.stall_timeout_s": (180, 20),
        f"{_ROLLOUT}.n": (2, 1),
        f"{_ROLLOUT}.max_model_len": (None, 900),
        "trainer.nnodes": (1, 3),
        "trainer.n_gpus_per_node": (1, 3),
        f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu": (8, 7),
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": (8, 7),
        "data.train_batch_size": (8, 9),
        "algorithm.adv_estimator": ("grpo", "turns"),
    },
    looks.planned: {
        "rlfactory.gpu_gb": (80, 24),
        f"{_ACTOR}.fsdp_config.param_offload": (False, True),
        f"{_ACTOR}.fsdp_config.optimizer_offload": (False, True),
        "actor_rollout_ref.ref.fsdp_config.param_offload": (False, True),
        f"{_ROLLOUT}.gpu_memory_utilization": (0.4, 0.6),
    },
    looks.platform: {"trainer.device": ("cpu", "cuda")},
    looks.corrected: {
        "algorithm.rollout_correction.rollout_is": ("token", None),
        "algorithm.rollout_correction.rollout_is_threshold": (2.0, 1.2),
    },
    looks.drifted: {"rlfactory.prob_diff_limit": (0.05, 0.01)},
    looks.trusted: {
        "rlfactory.trust.token_file": (None, "/no/such/token"),
        "rlfactory.trust.ca": (None, "/no/such/ca"),
        "rlfactory.trust.certificate": (None, "/no/such/certificate"),
        "rlfactory.trust.key": (None, "/no/such/key"),
        "rlfactory.trust.server_name": ("", "another"),
        "rlfactory.trust.plaintext": (False, True),
    },
    learner.update: {
        f"{_ACTOR}.optim.lr": (1e-4, 1e-3),
        f"{_ACTOR}.kl_loss_coef": (0.01, 1.0),
        f"{_ACTOR}.kl_loss_type": ("low_var_kl", "abs"),
        f"{_ACTOR}.use_kl_loss": (True, False),
        f"{_ACTOR}.ppo_mini_batch_size": (8, 4),
        f"{_ACTOR}.ppo_micro_batch_size_per_gpu": (8, 4),
        f"{_ACTOR}.use_dynamic_bsz": (False, True),
        f"{_ACTOR}.calculate_entropy": (True, False),
        f"{_ACTOR}.checkpoint.save_contents": (["model"], ["model", "hf_model"]),
        f"{_ACTOR}.optim.override_optimizer_config.fused": (True, False),
        f"{_ACTOR}.fsdp_config.model_dtype": ("fp32", "bf16"),
        f"{_ACTOR}.fsdp_config.mixed_precision.param_dtype": ("fp32", "bf16"),
        f"{_MODEL}.override_config.attn_implementation": ("sdpa", "eager"),
        f"{_MODEL}.enable_gradient_checkpointing": (False, True),
        f"{_MODEL}.path": ("", "/no/such/model"),
    },
    learner.adapters_moved: {f"{_MODEL}.lora_rank": (0, 8)},
    learner.vision_moved: {
        f"{_ACTOR}.freeze_vision_tower": (False, True),
        f"{_MODEL}.override_config.freeze_vision_tower": (False, True),
    },
}
"""Each look with the keys whose effect it shows, and two values of each."""
OURS_BY_OTHERS: Final = {
    "rlfactory.otlp_endpoint": "tests/trainer/episode/test_tracing.py",
    "rlfactory.run_folder": "every look that records writes there",
    "rlfactory.service.tasks": "files of one's own project; tests/trainer/run/test_recipe.py",
    "rlfactory.service.tools": "as tasks",
    "rlfactory.service.apps": "as tasks",
    "rlfactory.tiny_model": "null where a model is given",
    "rlfactory.warm_start": "null where a model is given",
    "rlfactory.warm_start.model": "of recipe smol_search; tests/trainer/run/test_recipe.py",
}
"""Keys of ours that stand for a section or a place."""


def set_by_recipes() -> set[str]:
    """Return every key that a file of `trainer/configs` sets."""
    files = [path for path in CONFIGS.rglob("*.yaml") if path.stem != "agent_loops"]
    return {key for path in files for key in _leaves(OmegaConf.load(path)) if key != "defaults"}


def _leaves(node: Any, prefix: str = "") -> Iterator[str]:
    for name in node:
        child = node._get_node(name)
        if OmegaConf.is_dict(child) and not child._is_none() and not child._is_missing() and len(child):
            yield from _leaves(child, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


@cache
def _recipe() -> Any:
    return compose_recipe("tiny_phone", BASE)


def outcome(look: Look, key: str, value: Any) -> str:
    """Return what the look shows of the recipe with this value."""
    config = OmegaConf.create(OmegaConf.to_container(_recipe(), resolve=False))
    OmegaConf.update(config, key, value, force_add=True)
    with contextlib.redirect_stdout(sys.stderr):
        return repr(look(config))


def seen(look: Look, key: str, values: Values) -> bool:
    """Tell whether the two values lead to different things; the second may be refused, the first may not."""
    first = outcome(look, key, values[0])
    try:
        return outcome(look, key, values[1]) != first
    except Exception as error:  # noqa: BLE001 - to be refused is an effect
        print(f"{key}={values[1]} is refused: {error}", file=sys.stderr)
        return True


def measure() -> dict[str, Any]:
    """Look at every key of the table."""
    recipes = set_by_recipes()
    shown: dict[str, bool] = {}
    for look, key, values in ((look, key, values) for look, keys in TABLE.items() for key, values in keys.items()):
        try:
            shown[key] = seen(look, key, values)
        except Exception as error:  # noqa: BLE001 - the others are looked at all the same
            print(f"{key}={values[0]} is refused: {error}", file=sys.stderr)
            shown[key] = False
    ours = {key for key in recipes if key.startswith("rlfactory.")} - shown.keys() - OURS_BY_OTHERS.keys()
    silent = sorted([key for key, differs in shown.items() if not differs] + list(ours))
    return {
        "keys": sum(differs and key in recipes for key, differs in shown.items()),
        "silent": len(silent),
        "silent_keys": silent,
        "unseen": len(recipes - shown.keys() - OURS_BY_OTHERS.keys()),
    }
