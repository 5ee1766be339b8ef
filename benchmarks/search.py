"""How quickly passages are indexed and found, and whether the shipped questions find what answers them.

    python -m benchmarks.search --json

Passages are generated: words of a made vocabulary, as frequent as words are (Zipf), a hundred to a passage. Queries
hold three words of one passage and two of its title. `queries_per_s` is by one client, one query after the other;
`served_queries_per_s` over HTTP by 8 clients. `recall_at_3` is the share of supporting passages of the shipped
questions that the question's own words find in each way of searching, and that looking up each name finds.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.figures import Spread, spread
from rlfactory.envs.tasks.search_qa import SEARCH_QA_TASKS
from rlfactory.envs.tasks.search_qa.world import made_world
from rlfactory.envs.tools.search.dense import MiniLM
from rlfactory.envs.tools.search.index import SearchIndex, build_index
from rlfactory.envs.tools.search.passages import SearchMode
from rlfactory.envs.tools.search.retriever import RemoteRetriever

VOCABULARY: Final = 60_000
WORDS_A_PASSAGE: Final = 100
TOP_K: Final = 3
CLIENTS: Final = 8
QUESTIONS_A_TASK: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchFigures:
    """See the module."""

    passages: int
    index_s: float
    index_mb: float
    queries_per_s: float
    query_ms: Spread
    served_queries_per_s: float
    recall_at_3: dict[str, float]


def write_corpus(path: Path, count: int) -> list[str]:
    """Write generated passages, and return queries for some of them."""
    rng = random.Random(1)
    syllables = ["".join(pair) for pair in itertools.product("bcdfghklmnprstvwz", "aeiou")]
    words = ["".join(rng.choices(syllables, k=rng.randint(2, 5))) for _ in range(VOCABULARY)]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))
    queries = []
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            title = " ".join(rng.choices(words, k=3))
            text = rng.choices(words, cum_weights=weights, k=WORDS_A_PASSAGE)
            file.write(json.dumps({"id": str(number), "title": title, "text": " ".join(text)}) + "\n")
            if number % max(1, count // 2_000) == 0:
                queries.append(" ".join([*rng.sample(text, 3), *title.split()[:2]]))
    return queries


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a retrieval server in a process of its own; yield its URL."""
    command = [sys.executable, "-m", "rlfactory", "serve-search", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://{json.loads(process.stdout.readline())['address']}"
        finally:
            process.terminate()


async def ask_served(url: str, queries: list[str]) -> float:
    """Return how many queries a second a server answers to several clients at once."""

    async def ask(mine: list[str]) -> None:
        async with RemoteRetriever(url) as retriever:
            for query in mine:
                await retriever.retrieve([query], top_k=TOP_K, timeout_s=30)

    started = time.perf_counter()
    await asyncio.gather(*(ask(queries[number::CLIENTS]) for number in range(CLIENTS)))
    return len(queries) / (time.perf_counter() - started)


def recall(index: SearchIndex, mode: SearchMode, *, by_name: bool) -> float:
    """Return the mean share of supporting passages of the shipped questions among the best three."""
    shares = []
    for task in SEARCH_QA_TASKS:
        for seed in range(QUESTIONS_A_TASK):
            drawn = task.sample(random.Random(seed), "test")
            assert hasattr(drawn, "support")
            queries = list(drawn.support) if by_name else [drawn.goal]
            found = index.search(queries, top_k=TOP_K, mode=mode)
            titles = {hit.passage.title for hits in found for hit in hits}
            shares.append(sum(title in titles for title in drawn.support) / len(drawn.support))
    return round(sum(shares) / len(shares), 4)


def recalls(*, dense: bool) -> dict[str, float]:
    index = SearchIndex.in_memory(made_world().passages(), MiniLM() if dense else None)
    figures = {f"{mode}, the question": recall(index, mode, by_name=False) for mode in index.modes}
    return figures | {"bm25, each name": recall(index, SearchMode.BM25, by_name=True)}


def measure(count: int, *, dense: bool) -> SearchFigures:
    with tempfile.TemporaryDirectory() as temporary:
        corpus, folder = Path(temporary) / "corpus.jsonl", Path(temporary) / "index"
        queries = write_corpus(corpus, count)
        started = time.perf_counter()
        build_index(corpus, folder)
        index_s = time.perf_counter() - started
        index = SearchIndex.open(folder)
        seconds = []
        for query in queries:
            began = time.perf_counter()
            index.search([query], top_k=TOP_K, mode=SearchMode.BM25)
            seconds.append(time.perf_counter() - began)
        with served(folder) as url:
            served_queries_per_s = asyncio.run(ask_served(url, queries))
        size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    return SearchFigures(
        passages=count,
        index_s=round(index_s, 2),
        index_mb=round(size / 1e6, 1),
        queries_per_s=round(len(seconds) / sum(seconds), 1),
        query_ms=spread(seconds),
        served_queries_per_s=round(served_queries_per_s, 1),
        recall_at_3=recalls(dense=dense),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--no-dense", action="store_true", help="leave out search by meaning (extra `dense`)")
    arguments = parser.parse_args()
    figures = measure(arguments.passages, dense=not arguments.no_dense)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
        return
    print(f"indexed {figures.passages} passages in {figures.index_s} s ({figures.index_mb} MB)")
    print(f"{figures.queries_per_s} queries/s in process, p50 / p99 {figures.query_ms.p50} / {figures.query_ms.p99} ms")
    print(f"{figures.served_queries_per_s} queries/s over HTTP")
    for name, share in figures.recall_at_3.items():
        print(f"recall@3 by {name}: {share:.3f}")


if __name__ == "__main__":
    main()
