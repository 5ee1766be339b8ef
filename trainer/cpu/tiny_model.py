"""A Qwen of about a million parameters, made from its config: untrained, with our own tokenizer.

Without layers of vision it is a Qwen3, which reads only text; else a Qwen3-VL. What lets so small a model learn to see
within minutes (docs/decisions.md has the trials):
- Qwen3-VL has learnt position embeddings in its vision tower, and hands features of every vision layer to the language
  model. A Qwen2.5-VL of this size, with rotary positions only, did not learn to tell switches apart.
- Pixel values are centred on white: an empty part of a screen is zero, so what is drawn stands out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessor,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
)
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

from rlfactory.trainer.cpu.tokenizer import (
    CHAT_TEMPLATE,
    END_OF_TEXT,
    IMAGE_PAD,
    TURN_END,
    VIDEO_PAD,
    VISION_END,
    VISION_START,
)

PATCH_PX = 16
MERGE = 2
WHITE, CONTRAST = 0.98, 0.3
"""Mean and standard deviation that pixel values (0..1) are normalised by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TinyModelConfig:
    """Sides of the model; the defaults make about a million parameters."""

    seed: int = 0
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    key_value_heads: int = 2
    vision_hidden: int = 64
    vision_layers: int = 2
    """0: the model reads only text."""
    vision_heads: int = 4
    max_positions: int = 4096
    init_std: float = 0.08
    """Of every matrix. Larger than Qwen's 0.02: so narrow a model would start with vanishing activations."""

    def __post_init__(self) -> None:
        if self.hidden % self.heads or self.vision_hidden % self.vision_heads:
            raise ValueError("hidden sizes must be multiples of their number of heads")


def build_model(
    config: TinyModelConfig, tokenizer: PreTrainedTokenizerFast
) -> Qwen3VLForConditionalGeneration | Qwen3ForCausalLM:
    """Return the model with random weights drawn from the config's seed."""
    torch.manual_seed(config.seed)
    model: Any = (
        Qwen3VLForConditionalGeneration(_seeing_config(config, tokenizer))
        if config.vision_layers
        else Qwen3ForCausalLM(Qwen3Config(**_text_config(config, tokenizer)))
    )
    for parameter in model.parameters():
        if parameter.dim() >= 2:
            torch.nn.init.normal_(parameter, std=config.init_std)
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(TURN_END)
    model.generation_config.pad_token_id = tokenizer.convert_tokens_to_ids(END_OF_TEXT)
    model.generation_config.do_sample = True
    return model


def build_processor(tokenizer: PreTrainedTokenizerFast, *, max_pixels: int) -> Qwen3VLProcessor:
    side_px = PATCH_PX * MERGE
    size = {"shortest_edge": 4 * side_px**2, "longest_edge": max(max_pixels, 4 * side_px**2)}
    return Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(
            patch_size=PATCH_PX, merge_size=MERGE, size=size, image_mean=[WHITE] * 3, image_std=[CONTRAST] * 3
        ),
        video_processor=Qwen3VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )


def save_tiny_model(
    folder: Path, config: TinyModelConfig, tokenizer: PreTrainedTokenizerFast, *, max_pixels: int | None
) -> int:
    """Write a Hugging Face directory and return the number of parameters. `max_pixels`: for models that see."""
    model: Any = build_model(config, tokenizer)
    model.save_pretrained(folder)
    if config.vision_layers:
        build_processor(tokenizer, max_pixels=max_pixels or 0).save_pretrained(folder)
    else:
        tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def _text_config(config: TinyModelConfig, tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    token_id = tokenizer.convert_tokens_to_ids
    return {
        # A multiple of 16: odd sizes make slow matrix products.
        "vocab_size": math.ceil(len(tokenizer) / 16) * 16,
        "hidden_size": config.hidden,
        "intermediate_size": 2 * config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.key_value_heads,
        "head_dim": config.hidden // config.heads,
        "max_position_embeddings": config.max_positions,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "bos_token_id": None,
        "eos_token_id": token_id(TURN_END),
        "pad_token_id": token_id(END_OF_TEXT),
        "tie_word_embeddings": False,
    }


def _seeing_config(config: TinyModelConfig, tokenizer: PreTrainedTokenizerFast) -> Qwen3VLConfig:
    token_id = tokenizer.convert_tokens_to_ids
    text = _text_config(config, tokenizer)
    sections = _mrope_sections(text["head_dim"] // 2)
    text["rope_parameters"] |= {"mrope_section": sections, "mrope_interleaved": True}
    vision = {
        "depth": config.vision_layers,
        "hidden_size": config.vision_hidden,
        "intermediate_size": 2 * config.vision_hidden,
        "num_heads": config.vision_heads,
        "out_hidden_size": config.hidden,
        "patch_size": PATCH_PX,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 2,
        "num_position_embeddings": 256,
        "deepstack_visual_indexes": list(range(config.vision_layers)),
    }
    return Qwen3VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=token_id(IMAGE_PAD),
        video_token_id=token_id(VIDEO_PAD),
        vision_start_token_id=token_id(VISION_START),
        vision_end_token_id=token_id(VISION_END),
        tie_word_embeddings=False,
    )


def _mrope_sections(half_head: int) -> list[int]:
    """Share the rotary pairs between time, height and width."""
    third = half_head // 3
    return [half_head - 2 * third, third, third]
