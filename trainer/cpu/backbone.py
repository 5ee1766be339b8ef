"""From token ids and images to what a language model computes on: Qwens that see, and Qwens that read only text."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A batch of prompts, ready for the language model."""

    inputs: dict[str, Any]
    positions: Tensor
    """Of every token: [rows, tokens]; of a model that sees, [3, rows, tokens]."""
    next_position: Tensor
    """Of the token after each prompt: [rows]."""


class TextBackbone:
    """A model that reads only text (Qwen2.5, Qwen3)."""

    def __init__(self, model: Any) -> None:
        self._embed = model.get_input_embeddings()
        self.language_model = model.model

    def prompt(self, input_ids: Tensor, attention_mask: Tensor, images: Sequence[Image.Image]) -> Prompt:
        """Return the prompts; ids and mask are left-padded [rows, tokens].

        Raises: ValueError: there are images.
        """
        if images:
            raise ValueError(f"this model reads only text, and got {len(images)} images")
        # Padding on the left gets position 0, as nothing attends to it.
        positions = (attention_mask.cumsum(dim=-1) - 1).clamp(min=0)
        return Prompt(
            inputs={"inputs_embeds": self._embed(input_ids)}, positions=positions, next_position=positions[:, -1] + 1
        )

    def positions(self, next_position: Tensor) -> Tensor:
        """Return the positions of one more token a row, in the shape of `Prompt.positions`."""
        return next_position[:, None]

    def weights_changed(self) -> None:
        """Nothing is kept."""


class SeeingBackbone:
    """A Qwen2.5-VL or Qwen3-VL."""

    def __init__(self, model: Any, processor: Any, image_cache: int) -> None:
        self._model = model
        self._images = _ImageCache(model, processor, image_cache)
        self.language_model = model.model.language_model

    def prompt(self, input_ids: Tensor, attention_mask: Tensor, images: Sequence[Image.Image]) -> Prompt:
        """Return the prompts, with the images in order of their rows.

        Raises: ValueError: the image tokens are not those of the images.
        """
        embeddings = self._model.get_input_embeddings()(input_ids)
        places = input_ids == self._model.config.image_token_id
        seen = self._images.see(images) if images else None
        if int(places.sum()) != (len(seen.embeddings) if seen else 0):
            raise ValueError(f"{int(places.sum())} image tokens in the prompts do not fit {len(images)} images")
        positions, _ = self._model.model.get_rope_index(
            input_ids,
            mm_token_type_ids=places.long(),
            image_grid_thw=seen.grids if seen else None,
            attention_mask=attention_mask,
        )
        inputs: dict[str, Any] = {"inputs_embeds": embeddings}
        if seen is not None:
            inputs["inputs_embeds"] = embeddings.masked_scatter(places.unsqueeze(-1), seen.embeddings)
            if seen.deepstack:
                inputs |= {"visual_pos_masks": places, "deepstack_visual_embeds": list(seen.deepstack)}
        return Prompt(inputs=inputs, positions=positions, next_position=positions.amax(dim=(0, 2)) + 1)

    def positions(self, next_position: Tensor) -> Tensor:
        return next_position[None, :, None].expand(3, -1, 1)

    def weights_changed(self) -> None:
        self._images.forget_embeddings()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """Images as the language model gets them, their tokens one after the other."""

    embeddings: Tensor
    """[tokens, hidden]"""
    deepstack: tuple[Tensor, ...]
    """Qwen3-VL's extra features for its first layers, each [tokens, hidden]; empty for Qwen2.5-VL."""
    grids: Tensor
    """[images, 3]"""

    @classmethod
    def joined(cls, images: Sequence[_Seen]) -> _Seen:
        return cls(
            embeddings=torch.cat([image.embeddings for image in images]),
            deepstack=tuple(torch.cat(layer) for layer in zip(*(image.deepstack for image in images), strict=True)),
            grids=torch.cat([image.grids for image in images]),
        )


class _ImageCache:
    """Pixel values and embeddings by content. Rollouts look at few distinct screens, many times each."""

    def __init__(self, model: Any, processor: Any, capacity: int) -> None:
        self._model = model
        self._processor = processor
        self._capacity = capacity
        self._pixels: OrderedDict[str, tuple[Tensor, Tensor]] = OrderedDict()
        self._seen: dict[str, _Seen] = {}

    def forget_embeddings(self) -> None:
        """The weights have changed."""
        self._seen.clear()

    def see(self, images: Sequence[Image.Image]) -> _Seen:
        keys = [self._load(image) for image in images]
        missing = list(dict.fromkeys(key for key in keys if key not in self._seen))
        if missing:
            self._seen.update(zip(missing, self._compute(missing), strict=True))
        seen = _Seen.joined([self._seen[key] for key in keys])
        self._trim()
        return seen

    def _compute(self, keys: Sequence[str]) -> list[_Seen]:
        pixels = torch.cat([self._pixels[key][0] for key in keys])
        grids = torch.cat([self._pixels[key][1] for key in keys])
        found = self._model.model.get_image_features(pixels, grids)
        lengths = [len(each) for each in found.pooler_output]
        layers = [layer.split(lengths) for layer in getattr(found, "deepstack_features", None) or ()]
        return [
            _Seen(
                embeddings=found.pooler_output[index],
                deepstack=tuple(layer[index] for layer in layers),
                grids=grids[index : index + 1],
            )
            for index in range(len(keys))
        ]

    def _load(self, image: Image.Image) -> str:
        key = f"{image.size}{hashlib.blake2b(image.tobytes(), digest_size=16).hexdigest()}"
        if key not in self._pixels:
            done = self._processor.image_processor(images=[image], return_tensors="pt")
            self._pixels[key] = (done["pixel_values"], done["image_grid_thw"])
        self._pixels.move_to_end(key)
        return key

    def _trim(self) -> None:
        while len(self._pixels) > self._capacity:
            key, _ = self._pixels.popitem(last=False)
            self._seen.pop(key, None)
