"""Search by words: BM25 by tantivy, with English stems and stop words. It also keeps the passages themselves."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import tantivy

from rlfactory.envs.tools.search.passages import Hit, Passage

MAX_QUERY_TERMS: Final = 128
"""More words than this of one query are not looked up: the rest of a long text adds time, hardly meaning."""
_ANALYZER: Final = "english"
_WRITER_BYTES: Final = 128 << 20
_PROGRESS_EVERY: Final = 1_000


class KeywordIndex:
    """Passages by their words. Safe to search from several threads at once."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._schema = index.schema
        self._analyzer = _analyzer()
        self._searcher = index.searcher()

    def __len__(self) -> int:
        return self._searcher.num_docs

    @classmethod
    def build(
        cls, passages: Iterable[Passage], folder: Path | None = None, *, progress: Callable[[int], None] | None = None
    ) -> KeywordIndex:
        """Index passages in this order: into a folder, which exists and is empty, or (None) into memory.

        `progress` is told now and then how many are done. One thread writes, so equal corpora give equal indexes.
        """
        index = tantivy.Index(_schema(), path=str(folder) if folder else None)
        index.register_tokenizer(_ANALYZER, _analyzer())
        writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        for number, passage in enumerate(passages):
            if progress and number % _PROGRESS_EVERY == 0:
                progress(number)
            document = tantivy.Document()
            document.add_unsigned("number", number)
            document.add_bytes("stored", json.dumps([passage.id, passage.title, passage.text]).encode())
            document.add_text("contents", passage.contents)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return cls(index)

    @classmethod
    def open(cls, folder: Path) -> KeywordIndex:
        """Open what `build` wrote. Raises: ValueError: the folder holds no index."""
        view = None if os.access(folder, os.W_OK) else _view(folder)
        try:
            index = tantivy.Index.open(str(view or folder))
            index.register_tokenizer(_ANALYZER, _analyzer())
            opened = cls(index)
        except BaseException:
            if view is not None:
                shutil.rmtree(view, ignore_errors=True)
            raise
        if view is not None:
            weakref.finalize(opened, shutil.rmtree, view, ignore_errors=True)
        return opened

    def search(self, query: str, top_k: int) -> list[tuple[int, float]]:
        """Return the best passages: (number in the corpus, BM25 score), best first; equal scores by number."""
        terms = dict.fromkeys(self._analyzer.analyze(query)[:MAX_QUERY_TERMS])
        if not terms:
            return []
        wanted = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "contents", term, "freq")) for term in terms
        ]
        # More than asked for, so that which of several equal ones is left out does not depend on the index's layout.
        found = self._searcher.search(tantivy.Query.boolean_query(wanted), limit=2 * top_k + 8, count=False).hits
        numbers = self._searcher.fast_field_values("number", [address for _, address in found])
        scored = [(int(number or 0), float(score)) for number, (score, _) in zip(numbers, found, strict=True)]
        return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:top_k]

    def passages(self, numbers: Sequence[int]) -> list[Passage]:
        """Return passages by their numbers in the corpus. Raises: IndexError: there is no such number."""
        return [self._passage(number) for number in numbers]

    def hits(self, scored: Sequence[tuple[int, float]]) -> tuple[Hit, ...]:
        return tuple(Hit(passage=self._passage(number), score=score) for number, score in scored)

    def _passage(self, number: int) -> Passage:
        query = tantivy.Query.term_query(self._schema, "number", number)
        found = self._searcher.search(query, limit=1, count=False).hits
        if not found:
            raise IndexError(f"no passage {number} of {len(self)}")
        stored = self._searcher.doc(found[0][1]).get_first("stored")
        identity, title, text = json.loads(bytes(stored or b""))
        return Passage(id=identity, title=title, text=text)


def _view(folder: Path) -> Path:
    """Return a folder of links to the files of one that is read-only: tantivy puts a lock beside what it reads."""
    view = Path(tempfile.mkdtemp(prefix="rlfactory-index-"))
    for path in folder.resolve().iterdir():
        if path.suffix != ".lock":
            (view / path.name).symlink_to(path)
    return view


def _schema() -> tantivy.Schema:
    return (
        tantivy.SchemaBuilder()
        .add_unsigned_field("number", indexed=True, fast=True)
        .add_bytes_field("stored", stored=True)
        .add_text_field("contents", tokenizer_name=_ANALYZER, index_option="freq")
        .build()
    )


def _analyzer() -> tantivy.TextAnalyzer:
    filters = (
        tantivy.Filter.remove_long(64),
        tantivy.Filter.lowercase(),
        tantivy.Filter.ascii_fold(),
        tantivy.Filter.stopword("english"),
        tantivy.Filter.stemmer("english"),
    )
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for each in filters:
        builder = builder.filter(each)
    return builder.build()
