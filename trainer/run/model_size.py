"""How large a model is, from its configuration alone: of a folder here, or as `known_models.yaml` keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

MERGE: Final = 2
"""Patches of a side that become one token; Qwen's are all alike."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSize:
    """The sides that memory is reckoned from."""

    parameters: int
    """With the vision tower. Biases and norms are left out: under one percent."""
    vision_parameters: int
    layer_parameters: int
    """Of one layer of the language model."""
    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    head_size: int
    vocabulary: int

    @property
    def key_value_numbers(self) -> int:
        """What is kept of a token while an episode goes on."""
        return 2 * self.layers * self.key_value_heads * self.head_size


def size_of(model: str | Path, tiny: Any = None) -> ModelSize | None:
    """Return the size of a model, None where nobody here knows it.

    Args:
        model: a folder, or the name of a model of the hub.
        tiny: a recipe's `rlfactory.tiny_model`, where the run makes it.
    """
    if tiny is not None:
        return _size(_tiny(tiny))
    path = Path(model, "config.json")
    if path.is_file():
        return _size(json.loads(path.read_text()))
    known = _known().get(str(model))
    return _size(known) if known else None


@cache
def _known() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "known_models.yaml").read_text())
    return found


def _tiny(own: Any) -> dict[str, Any]:
    """Return the configuration of a model that a run makes: see trainer/cpu/tiny_model.py."""
    text = {"hidden_size": own.hidden, "num_hidden_layers": own.layers, "vocab_size": own.vocabulary}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 2 * own.hidden}
    if not own.vision_layers:
        return text
    seen = {"hidden_size": own.vision_hidden, "depth": own.vision_layers, "intermediate_size": 2 * own.vision_hidden}
    seen |= {"out_hidden_size": own.hidden, "patch_size": 16, "deepstack_visual_indexes": range(own.vision_layers)}
    return {"text_config": text, "vision_config": seen}


def _size(config: Mapping[str, Any]) -> ModelSize:
    text = config.get("text_config") or config
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))
    hidden, heads = text["hidden_size"], text["num_attention_heads"]
    key_value_heads = text.get("num_key_value_heads") or heads
    head_size = text.get("head_dim") or hidden // heads
    attention = 2 * hidden * head_size * (heads + key_value_heads)
    layer = attention + 3 * hidden * text["intermediate_size"]
    vision = _vision_parameters(config.get("vision_config"))
    words = text["vocab_size"] * hidden * (1 if tied else 2)
    return ModelSize(
        parameters=words + text["num_hidden_layers"] * layer + vision,
        vision_parameters=vision,
        layer_parameters=layer,
        hidden=hidden,
        layers=text["num_hidden_layers"],
        heads=heads,
        key_value_heads=key_value_heads,
        head_size=head_size,
        vocabulary=text["vocab_size"],
    )


def _vision_parameters(tower: Mapping[str, Any] | None) -> int:
    if not tower:
        return 0
    hidden, merged = tower["hidden_size"], tower["hidden_size"] * MERGE**2
    gated = str(tower.get("model_type", "")).startswith("qwen2")
    layer = 4 * hidden**2 + (3 if gated else 2) * hidden * tower["intermediate_size"]
    projections = 1 + len(tower.get("deepstack_visual_indexes", ()))
    beginning = (2 * 3 * tower["patch_size"] ** 2 + tower.get("num_position_embeddings", 0)) * hidden
    end = projections * merged * (merged + tower["out_hidden_size"])
    return int(beginning + tower["depth"] * layer + end)
