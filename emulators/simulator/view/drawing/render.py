"""Pictures of display lists: shared frame buffers, redrawing only what changed, encoded images kept."""

from __future__ import annotations

import hashlib
import marshal
import math
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import PIL.Image

from rlfactory.emulators.device.device import Image, ImageSpec
from rlfactory.emulators.device.pixels import STRIP_PX, joined, jpeg_strips, smart_size
from rlfactory.emulators.device.pixels import encode as encode_pixels
from rlfactory.emulators.simulator.view.drawing.canvas import draw, meet, surface_on
from rlfactory.emulators.simulator.view.drawing.painter import Box, Operation

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.view.scene import Scene

Kept = TypeVar("Kept")
MAX_DAMAGE_SHARE = 0.6
"""Above this part of the screen everything is redrawn: clipping would cost more than it saves."""


class _Frame:
    """A frame buffer and the display list that it shows."""

    def __init__(self, width_px: int, height_px: int) -> None:
        self.pixels = np.zeros((height_px, width_px, 4), np.uint8)
        self.surface = surface_on(self.pixels)
        self.shown: Sequence[Operation] | None = None

    def show(self, operations: Sequence[Operation]) -> None:
        """Make the pixels those of `operations`."""
        if operations is self.shown:
            return
        height, width, _ = self.pixels.shape
        canvas = self.surface.getCanvas()
        boxes = None if self.shown is None else damage(self.shown, operations)
        if boxes is not None and sum(map(_area, boxes)) > MAX_DAMAGE_SHARE * width * height:
            boxes = None
        self.shown = None
        if boxes is None:
            draw(canvas, operations)
        else:
            for box in boxes:
                draw(canvas, operations, box)
        self.shown = operations


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def damage(before: Sequence[Operation], after: Sequence[Operation]) -> list[Box] | None:
    """Return disjoint boxes that cover every pixel in which two display lists may differ; None for "all of them".

    What is in both lists in the same order draws alike wherever nothing else differs.
    """
    old, new = set(before), set(after)
    if [o for o in before if o in new] != [o for o in after if o in old]:
        return None
    boxes: list[Box] = []
    for operation in [*(o for o in before if o not in new), *(o for o in after if o not in old)]:
        boxes = _join(boxes, _reach(operation))
    return _closed(boxes, [_reach(operation) for operation in after if operation[0] in _SMOOTH])


_SMOOTH = frozenset({"arc", "circle", "line", "outline", "photo", "picture", "polygon", "rrect", "shadow"})
"""What is drawn as a path with soft edges: Skia rounds its coverage differently when a clip cuts through it."""
_SMOOTH_MARGIN_PX = 2
_LONG_BYTES = 1_000


def _reach(operation: Operation) -> Box:
    """Return the box that has to be redrawn whole for an operation to come out as in a full drawing."""
    left, top, right, bottom = operation[1]
    margin = _SMOOTH_MARGIN_PX if operation[0] in _SMOOTH else 0
    return (left - margin, top - margin, right + margin, bottom + margin)


def _closed(boxes: list[Box], smooth: list[Box]) -> list[Box]:
    """Grow the boxes until none of them cuts through a smooth shape."""
    cut = True
    while cut:
        cut = False
        for shape in smooth:
            if any(meet(shape, box) and not _holds(box, shape) for box in boxes):
                boxes, cut = _join(boxes, shape), True
    return boxes


def _holds(outer: Box, inner: Box) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] >= inner[2] and outer[3] >= inner[3]


def _join(boxes: list[Box], box: Box) -> list[Box]:
    """Add a box, merging it with those that it meets, until all are disjoint."""
    while True:
        apart = [b for b in boxes if not meet(b, box)]
        if len(apart) == len(boxes):
            return [*boxes, box]
        for b in boxes:
            if b not in apart:
                box = (min(b[0], box[0]), min(b[1], box[1]), max(b[2], box[2]), max(b[3], box[3]))
        boxes = apart


@dataclass(frozen=True, kw_only=True, slots=True)
class RendererConfig:
    frames: int = 4
    """Frame buffers kept, one per screen size (10 MB each at 1080x2400)."""
    cache_bytes: int = 48 << 20
    """Encoded images and strips of them that are kept."""

    def __post_init__(self) -> None:
        if self.frames < 1 or self.cache_bytes < 0:
            raise ValueError(f"a renderer needs at least one frame and no negative cache, got {self}")


class _Cache(Generic[Kept]):
    """What was encoded last, up to so many bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._items: OrderedDict[Hashable, tuple[Kept, int]] = OrderedDict()
        self.bytes = 0

    def get(self, key: Hashable) -> Kept | None:
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def keep(self, key: Hashable, item: Kept, size_bytes: int) -> None:
        """Keep what is not there yet."""
        self._items[key] = item, size_bytes
        self.bytes += size_bytes
        while self.bytes > self._max_bytes and self._items:
            _, (_, old_bytes) = self._items.popitem(last=False)
            self.bytes -= old_bytes


class Renderer:
    """Draws for any number of phones, one at a time. Thread-safe."""

    def __init__(self, config: RendererConfig | None = None) -> None:
        self._config = config or RendererConfig()
        self._lock = threading.Lock()
        self._frames: OrderedDict[tuple[int, int], _Frame] = OrderedDict()
        self._images: _Cache[Image] = _Cache(self._config.cache_bytes // 2)
        self._strips: _Cache[tuple[bytes, bytes]] = _Cache(self._config.cache_bytes // 2)
        """With the header of a picture that they were part of."""

    @property
    def cached_bytes(self) -> int:
        """Size of the encoded images kept."""
        return self._images.bytes + self._strips.bytes

    @property
    def frame_sizes(self) -> tuple[tuple[int, int], ...]:
        """(width, height) of the frame buffers kept, the least recently used first."""
        return tuple(self._frames)

    def rgb(self, operations: Sequence[Operation], width_px: int, height_px: int) -> np.ndarray[Any, Any]:
        """Return the picture: RGB, uint8 [H, W, 3], a read-only copy."""
        with self._lock:
            # Pillow's packer drops the fourth channel ten times as fast as a strided copy.
            pixels = self._frame(operations, width_px, height_px)
            whole = PIL.Image.frombuffer("RGBX", (width_px, height_px), pixels, "raw", "RGBX", 0, 1)
            packed = whole.tobytes("raw", "RGB")
        return np.frombuffer(packed, np.uint8).reshape(height_px, width_px, 3)

    def rgba(self, operations: Sequence[Operation], width_px: int, height_px: int) -> bytes:
        """Return the picture's rows, four opaque bytes (RGBA) a pixel."""
        with self._lock:
            return self._frame(operations, width_px, height_px).tobytes()

    def encode(
        self, operations: Sequence[Operation], width_px: int, height_px: int, *, digest: str, spec: ImageSpec
    ) -> Image:
        """Return the picture encoded; `digest` names the display list together with its size."""
        key = (digest, spec)
        with self._lock:
            image = self._images.get(key)
            if image is not None:
                return image
            if spec.format == "jpeg":
                image = self._jpeg(operations, width_px, height_px, spec)
            else:
                image = encode_pixels(self._frame(operations, width_px, height_px), spec)
            self._images.keep(key, image, len(image.data))
            return image

    def _jpeg(self, operations: Sequence[Operation], width_px: int, height_px: int, spec: ImageSpec) -> Image:
        """Return the picture; only the strips that no picture has had are encoded."""
        size = smart_size(width_px, height_px, max_pixels=spec.max_pixels, multiple_px=spec.multiple_px)
        keys = [(name, width_px, height_px, spec) for name in strip_names(operations, height_px, size[1])]
        found = [self._strips.get(key) for key in keys]
        first = 0
        while first < len(found):
            if found[first] is None:
                end = next((at for at in range(first, len(found)) if found[at] is not None), len(found))
                rows = first * STRIP_PX, min(end * STRIP_PX, size[1])
                header, strips = jpeg_strips(self._frame(operations, width_px, height_px), spec, rows)
                for number, strip in enumerate(strips, first):
                    found[number] = header, strip
                    self._strips.keep(keys[number], (header, strip), len(header) + len(strip))
                first = end
            first += 1
        whole = [strip for strip in found if strip is not None]
        return joined(whole[0][0], [data for _, data in whole], size)

    def _frame(self, operations: Sequence[Operation], width_px: int, height_px: int) -> np.ndarray[Any, Any]:
        size = (width_px, height_px)
        frame = self._frames.get(size)
        if frame is None:
            frame = self._frames[size] = _Frame(width_px, height_px)
            while len(self._frames) > self._config.frames:
                self._frames.popitem(last=False)
        self._frames.move_to_end(size)
        frame.show(operations)
        return frame.pixels


def strip_names(operations: Sequence[Operation], height_px: int, scaled_px: int) -> list[bytes]:
    """Return a name for each strip of a picture, of this height and then scaled: equal names mean equal pixels.

    A strip is named by what is drawn where its pixels come from.
    """
    step = STRIP_PX * height_px / scaled_px
    margin = math.ceil(4 * height_px / scaled_px) + _SMOOTH_MARGIN_PX
    names = [hashlib.blake2b(bytes((number,)), digest_size=16) for number in range(-(-scaled_px // STRIP_PX))]
    for operation in operations:
        _, top, _, bottom = operation[1]
        drawn = marshal.dumps(operation, 2)
        if len(drawn) > _LONG_BYTES:  # a photo: read once, not for each strip
            drawn = hashlib.blake2b(drawn, digest_size=16).digest()
        first, last = int((top - margin) // step), int((bottom + margin) // step)
        for name in names[max(first, 0) : max(last + 1, 0)]:
            name.update(drawn)
    return [name.digest() for name in names]


@lru_cache(maxsize=1)
def default_renderer() -> Renderer:
    """Return the renderer that the phones of this process share, made at first use."""
    return Renderer()


def rgb(scene: Scene) -> np.ndarray[Any, Any]:
    """Return a scene's picture: RGB, uint8 [H, W, 3], read-only."""
    return default_renderer().rgb(scene.display_list, scene.width_px, scene.height_px)


def rgba(scene: Scene) -> bytes:
    """Return a scene's picture as rows of RGBA bytes."""
    return default_renderer().rgba(scene.display_list, scene.width_px, scene.height_px)


def encode(scene: Scene, spec: ImageSpec) -> Image:
    """Return a scene's picture, encoded; kept for the next time the same picture is asked for."""
    renderer = default_renderer()
    return renderer.encode(scene.display_list, scene.width_px, scene.height_px, digest=scene.digest, spec=spec)
