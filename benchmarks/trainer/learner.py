"""verl's actor of a recipe in this process: one update of a tiny model that sees, on rows as our workers store them."""

from __future__ import annotations

import io
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch
from omegaconf import OmegaConf, open_dict
from PIL import Image
from tensordict import TensorDict
from verl.utils import tensordict_utils
from verl.utils.distributed import destroy_global_process_group
from verl.utils.tokenizer import hf_processor
from verl.workers.engine_workers import ActorRolloutRefWorker

from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer
from rlfactory.trainer.verl.images import Screenshot, by_reference, measuring

ROWS: Final = 16


@cache
def model_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rlfactory-learner-"))
    tokenizer = build_tokenizer(Corpus(phrases=(), texts=("tap on it",), max_number=9), vocabulary=400)
    config = TinyModelConfig(hidden=32, layers=2, vision_hidden=16, vision_layers=2)
    save_tiny_model(folder, config, tokenizer, max_pixels=64 * 64)
    return folder


def update(config: Any) -> dict[str, Any]:
    """Update the recipe's actor once; return what can be seen of it: what moved, how the model is held, metrics."""
    path = config.actor_rollout_ref.model.path or str(model_folder())
    config = OmegaConf.merge(config, {"actor_rollout_ref": {"model": {"path": path}}})
    with open_dict(config):
        config.actor_rollout_ref.actor.optim.total_training_steps = 4
    OmegaConf.resolve(config)
    with tempfile.TemporaryDirectory() as place:
        os.environ.update(
            RANK="0",
            LOCAL_RANK="0",
            WORLD_SIZE="1",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="0",
            DIST_INIT_METHOD=f"file://{place}/group",
        )
        try:
            return _update(config, Path(place))
        finally:
            if torch.distributed.is_initialized():
                destroy_global_process_group()


def _update(config: Any, place: Path) -> dict[str, Any]:
    worker = ActorRolloutRefWorker(config.actor_rollout_ref, role="actor")
    worker.init_model()
    engine = worker.actor.engine
    before = weights(engine)
    asked, sizes = engine.prepare_model_inputs, []

    def counted(micro_batch: Any) -> Any:
        sizes.append(len(micro_batch))
        return asked(micro_batch)

    engine.prepare_model_inputs = counted
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    batch = batch_of_rows()
    tensordict_utils.assign_non_tensor(
        batch,
        calculate_entropy=actor.calculate_entropy or actor.entropy_coeff != 0,
        global_batch_size=actor.ppo_mini_batch_size * n,
        mini_batch_size=actor.ppo_mini_batch_size * n,
        epochs=actor.ppo_epochs,
        seed=actor.data_loader_seed,
        dataloader_kwargs={"shuffle": actor.shuffle},
        temperature=config.actor_rollout_ref.rollout.temperature,
    )
    metrics = tensordict_utils.get(worker.update_actor(batch), "metrics")
    worker.save_checkpoint(str(place / "saved"))
    after = weights(engine)
    module = engine.module
    return {
        "moved": {name: round(float((after[name] - value).abs().sum()), 6) for name, value in before.items()},
        "micro_batches": sizes,
        "metrics": {name: str(value) for name, value in metrics.items() if not name.startswith(("perf", "mfu"))},
        "saved": sorted(path.name for path in (place / "saved").rglob("*")),
        "types": sorted({str(value.dtype) for value in after.values()}),
        "engine": type(engine).__name__,
        "wrapped": type(module).__mro__[1].__name__,
        "attention": module.config._attn_implementation,
        "checkpointing": module.is_gradient_checkpointing,
        "fused": engine.optimizer.defaults.get("fused"),
        "compiled": hasattr(engine.compute_entropy_from_logits, "_torchdynamo_orig_callable"),
        "autocast": str(engine._autocast_dtype),
        "unpadded": engine.use_remove_padding,
    }


def weights(engine: Any) -> dict[str, torch.Tensor]:
    """Return the parameters, whole."""
    named = dict(engine.module.named_parameters())
    return {
        name: (value.full_tensor() if hasattr(value, "full_tensor") else value).detach().clone()
        for name, value in named.items()
    }


def vision_moved(config: Any) -> float:
    """How far an update moves the vision tower, and whether anything else moves."""
    moved = update(config)["moved"]
    assert any(far for name, far in moved.items() if "visual" not in name), "nothing learnt"
    return float(sum(far for name, far in moved.items() if "visual" in name))


def adapters_moved(config: Any) -> Any:
    """Whether an update moves nothing but adapters."""
    moved = {name for name, far in update(config)["moved"].items() if far}
    return bool(moved), all("lora_" in name for name in moved)


def batch_of_rows() -> TensorDict:
    """Rows with a screenshot each, as the learner gets them from storage."""
    processor = measuring(hf_processor(str(model_folder())))
    tokenizer = processor.tokenizer
    fields = []
    for number in range(ROWS):
        buffer = io.BytesIO()
        Image.new("RGB", (64, 64), (10 * number, 90, 200)).save(buffer, "PNG")
        image = ImageRef(data=buffer.getvalue(), format=ImageFormat.PNG, width_px=64, height_px=64, digest=str(number))
        inputs = by_reference([Screenshot(image)], processor)
        placeholders = [processor.image_token_id] * int(inputs["image_grid_thw"].prod() // 4)
        prompt = [tokenizer.convert_tokens_to_ids("<|vision_start|>"), *placeholders]
        prompt += [tokenizer.convert_tokens_to_ids("<|vision_end|>")]
        response = tokenizer.encode("tap on it" * (1 + number % 2), add_special_tokens=False)
        response.append(tokenizer.eos_token_id)
        ids = torch.tensor([prompt + response])
        types = torch.zeros_like(ids)
        types[0][ids[0] == processor.image_token_id] = 1
        where, _ = processor.get_rope_index(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            image_grid_thw=inputs["image_grid_thw"],
            video_grid_thw=None,
            mm_token_type_ids=types,
        )
        positions = torch.cat([torch.arange(ids.shape[1])[None, None], where.transpose(0, 1)], dim=1)[0]
        ones = torch.ones(len(response), dtype=torch.int64)
        fields.append(
            {
                "prompts": torch.tensor(prompt),
                "responses": torch.tensor(response),
                "response_mask": ones,
                "loss_mask": ones,
                "input_ids": ids[0],
                "position_ids": positions,
                "multi_modal_inputs": inputs,
                "old_log_probs": torch.full((len(response),), -3.0),
                "ref_log_prob": torch.full((len(response),), -4.0),
                "advantages": torch.full((len(response),), 1.0 if number % 2 else -1.0),
            }
        )
    batch = tensordict_utils.list_of_dict_to_tensordict(fields)
    for name in fields[0].keys() - {"multi_modal_inputs"}:  # ragged, as they come from storage
        ragged = 2 if name == "position_ids" else 1
        each = [field[name] for field in fields]
        batch[name] = tensordict_utils.nested_tensor_from_tensor_list(each, ragged_idx=ragged)
    return batch
