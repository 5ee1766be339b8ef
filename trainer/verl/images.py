"""Screenshots by reference: requests and rows carry files, and pixels are made where a model reads them.

An episode of 15 screenshots of half a million pixels is 190 MB of pixel values and one or two of JPEG. So whoever plays
it handles files alone (`Screenshot`), knows from their sizes how many tokens they take (`measuring`), and gives the
learner a row with digests and each file once (`by_reference`). The learner makes pixels of a micro-batch as it comes to
it (`PixelMaker`).
"""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import torch
from cachetools import LRUCache
from PIL import Image
from transformers import BatchFeature

from rlfactory.envs.api.types import ImageRef

DIGESTS: Final = "image_digests"
"""Of a row's screenshots, in the order of their placeholders."""
FILES: Final = "image_files"
"""By digest, as the service sent them."""
PIXEL_CACHE_BYTES: Final = 256 << 20
"""Of a learner: a step reads each row three times."""


class Screenshot:
    """A screenshot that weighs what its file does. Whoever gets it from another process gets a decoded picture."""

    def __init__(self, image: ImageRef) -> None:
        self.digest = image.digest
        self.data = image.data
        self.size = (image.width_px, image.height_px)

    def __reduce__(self) -> tuple[Any, ...]:
        return decoded, (self.digest, self.data)


def picture(image: ImageRef) -> Image.Image:
    """Return the decoded screenshot, RGB. Equal digests share one object; nobody writes to it."""
    return decoded(image.digest, image.data)


@lru_cache(maxsize=512)
def decoded(_digest: str, data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def measuring(processor: Any) -> Any:
    """Return a copy of a processor that makes no pixels: of a picture it needs no more than the size."""
    measured = copy.copy(processor)
    measured.image_processor = _Measure(processor.image_processor)
    return measured


class _Measure:
    """Stands where an image processor was, and says only into how many patches it would cut pictures."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._grid = lru_cache(maxsize=256)(self._measured)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __call__(self, images: Sequence[Any], **kwargs: Any) -> BatchFeature:
        options = tuple(sorted((name, value) for name, value in kwargs.items() if name != "return_tensors"))
        return BatchFeature({"image_grid_thw": torch.cat([self._grid(image.size, options) for image in images])})

    def _measured(self, size: tuple[int, int], options: tuple[tuple[str, Any], ...]) -> Any:
        blank = Image.new("RGB", size)
        return self._real(images=[blank], return_tensors="pt", **dict(options))["image_grid_thw"]


def by_reference(images: Sequence[Screenshot], processor: Any) -> dict[str, Any]:
    """Return what a row says of its screenshots; `processor` is a measuring one."""
    if not images:
        return {}
    grid = processor.image_processor(images=images)["image_grid_thw"]
    return {
        DIGESTS: [image.digest for image in images],
        FILES: {image.digest: image.data for image in images},
        "image_grid_thw": grid,
        "images_seqlens": torch.repeat_interleave(grid[:, 1] * grid[:, 2], grid[:, 0]),
    }


class PixelMaker:
    """Makes the pixel values of rows, on the learner's device."""

    def __init__(self, image_processor: Any, device: str) -> None:
        self._process = image_processor
        self._device = device
        self._made: LRUCache[str, torch.Tensor] = LRUCache(PIXEL_CACHE_BYTES, getsizeof=lambda made: made.nbytes)

    def filled(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row's inputs with pixel values in place of digests and files; other rows as they are."""
        if DIGESTS not in row:
            return dict(row)
        known = {name: value for name, value in row.items() if name not in (DIGESTS, FILES)}
        return known | {"pixel_values": torch.cat([self._pixels(each, row[FILES]) for each in row[DIGESTS]])}

    def _pixels(self, digest: str, files: Mapping[str, bytes]) -> torch.Tensor:
        if digest in self._made:
            return self._made[digest]
        shown = Image.open(io.BytesIO(files[digest])).convert("RGB")
        made: torch.Tensor = self._process(images=[shown], return_tensors="pt", device=self._device)["pixel_values"]
        if made.nbytes <= PIXEL_CACHE_BYTES:
            self._made[digest] = made
        return made
