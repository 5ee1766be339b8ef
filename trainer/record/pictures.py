"""A run's screenshots as a page embeds them: once by content, and no larger than it shows them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from PIL import Image

from rlfactory.trainer.record.runlog import EpisodeRecord, ImageLink

MAX_WIDTH_PX: Final = 480
"""The page's phone is 284 px wide; screens of twice as many pixels find enough."""
QUALITY: Final = 60
MAX_BYTES: Final = 20_000
"""Of a picture in another format than WebP; larger ones become WebP, which takes half the room of a JPEG."""


class Pictures:
    """Data URIs of screenshots by digest; one that is gone from the disk or damaged has none."""

    def __init__(self, folder: Path, links: Iterable[ImageLink]) -> None:
        """Make those of the links, side by side."""
        paths = {link.digest: folder / link.path for link in links}
        with ThreadPoolExecutor() as pool:  # Pillow works without the interpreter's lock
            self._made = dict(zip(paths, pool.map(_data_uri, paths.values()), strict=True))

    def uri(self, digest: str) -> str:
        return self._made.get(digest, "")

    def size_bytes(self, digests: Iterable[str]) -> int:
        """Return what these take on the page together."""
        return sum(len(self.uri(digest)) for digest in digests)


def image_links(episodes: Iterable[EpisodeRecord]) -> list[ImageLink]:
    links = [link for episode in episodes for link in (*(turn.image for turn in episode.turns), episode.final_image)]
    return [link for link in links if link is not None]


def _data_uri(path: Path) -> str:
    try:
        data, kind = path.read_bytes(), path.suffix.removeprefix(".")
        with Image.open(io.BytesIO(data)) as picture:
            if picture.width > MAX_WIDTH_PX or (kind != "webp" and len(data) > MAX_BYTES):
                data, kind = _smaller(picture), "webp"
    except (OSError, SyntaxError):  # what Pillow raises for broken pictures
        return ""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _smaller(picture: Image.Image) -> bytes:
    width = min(picture.width, MAX_WIDTH_PX)
    size = (width, round(picture.height * width / picture.width))
    picture.draft("RGB", size)  # a JPEG is decoded at about the size that is wanted
    out = io.BytesIO()
    picture.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(out, "WEBP", quality=QUALITY)
    return out.getvalue()
