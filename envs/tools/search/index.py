"""An index on disk: a folder with the words, perhaps the vectors, and a note of what it was made of."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.tools.search.dense import VECTORS_FILE, DenseIndex, Embedder, MiniLM
from rlfactory.envs.tools.search.keyword import KeywordIndex
from rlfactory.envs.tools.search.passages import Hit, Passage, SearchMode, read_passages

FORMAT: Final = 1
NOTE_FILE: Final = "index.json"
WORDS_FOLDER: Final = "words"
FUSED: Final = 50
"""Candidates that each way of searching brings to a hybrid search."""
FUSION_RANK: Final = 60
"""Reciprocal rank fusion: 1 / (60 + rank), as in Cormack et al., 2009."""

Progress = Callable[[str, int], None]
"""Told what is being done ("words", "vectors") and how many passages of it are."""


class BadIndex(TaskError):
    """A folder that holds no index of ours, or one of another version."""

    reason = "BAD_INDEX"


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexNote:
    """What an index was made of."""

    format: int
    passages: int
    corpus_sha256: str
    embedder: str
    """"" without vectors."""


class SearchIndex:
    """Passages that can be searched. Safe to use from several threads at once."""

    def __init__(self, words: KeywordIndex, vectors: DenseIndex | None = None, *, identity: str) -> None:
        """`identity`: the same for indexes of equal content, and for no others."""
        self.identity = identity
        self._words = words
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._words)

    @classmethod
    def in_memory(cls, passages: Sequence[Passage], embedder: Embedder | None = None) -> SearchIndex:
        """Index a small corpus without touching the disk."""
        vectors = DenseIndex.build(passages, embedder) if embedder else None
        digest = hashlib.sha256()
        for passage in passages:
            digest.update(f"{passage.id}\0{passage.contents}\0".encode())
        identity = f"{digest.hexdigest()} {embedder.name if embedder else ''}"
        return cls(KeywordIndex.build(passages), vectors, identity=identity)

    @classmethod
    def open(cls, folder: Path, *, embedder: Embedder | None = None) -> SearchIndex:
        """Open what `build_index` wrote; its embedder is loaded unless one is given.

        Raises: BadIndex: there is no index, one of another version, or one made with another embedder.
        """
        note = read_note(folder)
        identity = f"{note.corpus_sha256} {note.embedder}"
        words = KeywordIndex.open(folder / WORDS_FOLDER)
        if not note.embedder:
            return cls(words, identity=identity)
        embedder = embedder or MiniLM()
        if embedder.name != note.embedder:
            raise BadIndex(f"{folder} was made with {note.embedder}, not with {embedder.name}")
        return cls(words, DenseIndex.open(folder / VECTORS_FILE, embedder), identity=identity)

    @property
    def modes(self) -> tuple[SearchMode, ...]:
        """The ways this index can be searched."""
        return tuple(SearchMode) if self._vectors else (SearchMode.BM25,)

    def search(self, queries: Sequence[str], *, top_k: int, mode: SearchMode) -> list[tuple[Hit, ...]]:
        """Return for each query its best passages, best first.

        Raises: BadIndex: the index has no vectors, and the mode needs them.
        """
        if mode is SearchMode.BM25:
            return [self._words.hits(self._words.search(query, top_k)) for query in queries]
        if self._vectors is None:
            raise BadIndex(f"the index has no vectors for mode {mode}: make it with `rlfactory index --dense`")
        if mode is SearchMode.DENSE:
            return [self._words.hits(scored) for scored in self._vectors.search(queries, top_k)]
        near = self._vectors.search(queries, FUSED)
        said = [self._words.search(query, FUSED) for query in queries]
        return [self._words.hits(fuse(both, top_k)) for both in zip(said, near, strict=True)]


def fuse(rankings: Sequence[Sequence[tuple[int, float]]], top_k: int) -> list[tuple[int, float]]:
    """Return what stands high in several rankings, by reciprocal rank fusion; equal ones by number."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (number, _) in enumerate(ranking, start=1):
            scores[number] = scores.get(number, 0.0) + 1 / (FUSION_RANK + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:top_k]


def build_index(
    corpus: Path, folder: Path, *, embedder: Embedder | None = None, progress: Progress | None = None
) -> IndexNote:
    """Index a JSONL file into a folder; without an embedder for BM25 only. A half-made index is removed.

    Raises:
        BadCorpus: the file is no corpus, or an empty one.
        BadIndex: the folder is there and is not an index of ours; it is left as it is.
        OSError: a file cannot be read or written.
    """
    if folder.exists() and not (folder / NOTE_FILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadIndex(f"{folder} exists and is no index; choose a new folder")
    half_made = folder.with_name(f".{folder.name}.being-made")
    shutil.rmtree(half_made, ignore_errors=True)
    (half_made / WORDS_FOLDER).mkdir(parents=True)
    try:
        note = _fill(corpus, half_made, embedder, progress or (lambda what, done: None))
        if folder.exists():
            shutil.rmtree(folder)
        half_made.rename(folder)
    finally:
        shutil.rmtree(half_made, ignore_errors=True)
    return note


def _fill(corpus: Path, folder: Path, embedder: Embedder | None, progress: Progress) -> IndexNote:
    words = KeywordIndex.build(
        read_passages(corpus), folder / WORDS_FOLDER, progress=lambda done: progress("words", done)
    )
    if not len(words):
        raise BadIndex(f"{corpus} holds no passages")
    if embedder is not None:
        path = folder / VECTORS_FILE
        DenseIndex.build(read_passages(corpus), embedder, path, progress=lambda done: progress("vectors", done))
    with corpus.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for file_of_words in (folder / WORDS_FOLDER).iterdir():
        file_of_words.chmod(
            file_of_words.stat().st_mode | 0o044
        )  # tantivy keeps some to their owner; the folder decides
    name = embedder.name if embedder else ""
    note = IndexNote(format=FORMAT, passages=len(words), corpus_sha256=digest, embedder=name)
    (folder / NOTE_FILE).write_text(json.dumps(asdict(note), indent=2), encoding="utf-8")
    return note


def read_note(folder: Path) -> IndexNote:
    """Return what an index was made of. Raises: BadIndex: it is none, or of another version."""
    try:
        values = json.loads((folder / NOTE_FILE).read_text(encoding="utf-8"))
        note = IndexNote(**values)
    except FileNotFoundError:
        raise BadIndex(f"{folder} holds no index; make one: rlfactory index CORPUS.jsonl {folder}") from None
    except (ValueError, TypeError) as error:
        raise BadIndex(f"{folder / NOTE_FILE} is damaged: {error}") from None
    if note.format != FORMAT:
        raise BadIndex(f"{folder} has format {note.format}, this version reads {FORMAT}; make it again")
    return note
