"""Finds passages of a corpus: BM25 over JSONL, by the protocol of Search-R1's retrieval server.

    POST /retrieve  {"queries": ["who wrote .."], "topk": 3, "return_scores": true}
    ->              {"result": [[{"document": {"id": "7", "contents": ".."}, "score": 11.2}, ..]]}

A line of the corpus is an object with `contents` (and `id`, else its number). The index is in memory.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import re
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from containers.json_service import BadRequest, JsonServer, field, healthy

PORT: Final = 8000
MAX_QUERIES: Final = 512
MAX_TOPK: Final = 100
K1, B = 0.9, 0.4
"""Pyserini's settings for BM25, which Search-R1 uses."""
_WORD = re.compile(r"\w+")


class Index:
    """An inverted index."""

    def __init__(self, documents: Iterable[dict[str, Any]]) -> None:
        self.documents: list[dict[str, Any]] = []
        self._postings: defaultdict[str, tuple[array[int], array[int]]] = defaultdict(lambda: (array("I"), array("I")))
        self._lengths = array("I")
        for number, document in enumerate(documents):
            counts = Counter(words(document["contents"]))
            for word, count in counts.items():
                numbers, frequencies = self._postings[word]
                numbers.append(number)
                frequencies.append(count)
            self.documents.append(document)
            self._lengths.append(sum(counts.values()))
        self._mean = sum(self._lengths) / max(1, len(self._lengths))

    def search(self, query: str, topk: int) -> list[tuple[float, dict[str, Any]]]:
        """Return the best passages with their scores, best first; equal ones in the corpus' order."""
        scores: defaultdict[int, float] = defaultdict(float)
        total = len(self.documents)
        for word in set(words(query)):
            if word not in self._postings:
                continue
            numbers, frequencies = self._postings[word]
            weight = math.log(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
            for number, frequency in zip(numbers, frequencies, strict=True):
                saturation = frequency + K1 * (1 - B + B * self._lengths[number] / self._mean)
                scores[number] += weight * frequency * (K1 + 1) / saturation
        best = heapq.nsmallest(topk, scores.items(), key=lambda item: (-item[1], item[0]))
        return [(score, self.documents[number]) for number, score in best]


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def read_corpus(path: Path) -> Iterable[dict[str, Any]]:
    """Yield the documents. Raises: ValueError: a line is none."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            document = json.loads(line)
            if not isinstance(document, dict) or not isinstance(document.get("contents"), str):
                raise ValueError(f"{path}, line {number}: an object with contents is wanted")  # noqa: TRY004
            yield {"id": str(number - 1), **document}


class Search:
    """Answers the routes."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def health(self) -> dict[str, Any]:
        return {"status": "ok", "passages": len(self._index.documents)}

    def retrieve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer POST /retrieve. Raises: BadRequest."""
        queries = field(request, "queries", list, [])
        topk = field(request, "topk", int, 3)
        with_scores = field(request, "return_scores", bool, False)
        if not queries or len(queries) > MAX_QUERIES or not all(isinstance(query, str) for query in queries):
            raise BadRequest(f"queries is a list of 1 to {MAX_QUERIES} strings")
        if not 1 <= topk <= MAX_TOPK:
            raise BadRequest(f"topk is {topk}; it must be from 1 to {MAX_TOPK}")
        found = [self._index.search(query, topk) for query in queries]
        if with_scores:
            return {"result": [[{"document": doc, "score": round(score, 4)} for score, doc in each] for each in found]}
        return {"result": [[doc for _, doc in each] for each in found]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="search", description="Find passages.")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--host", default="0.0.0.0", help="the container's own address; nothing publishes it")
    parser.add_argument("--corpus", type=Path, default=Path("/data/corpus.jsonl"))
    parser.add_argument("--health", action="store_true", help="ask the running service; exit code 0 when it is well")
    options = parser.parse_args()
    if options.health:
        return 0 if healthy(options.port) else 1
    try:
        index = Index(read_corpus(options.corpus))
    except (OSError, ValueError) as error:
        print(f"error: the corpus cannot be read: {error}", file=sys.stderr)
        return 1
    search = Search(index)
    server = JsonServer((options.host, options.port), routes={"/retrieve": search.retrieve}, health=search.health)
    print(f"search over {len(index.documents)} passages on port {server.server_address[1]}", flush=True)
    server.serve_until_signal()
    return 0


if __name__ == "__main__":
    sys.exit(main())
