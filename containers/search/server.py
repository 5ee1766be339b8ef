"""Finds passages, by the protocol of Search-R1's retrieval server; see `rlfactory.envs.tools.search.server`.

What is served is the first of: an index mounted at /data/index (made by `rlfactory index`), a corpus mounted at
/data/corpus.jsonl (indexed when the container starts), the index of the shipped questions' corpus.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.tools.search.index import NOTE_FILE, BadIndex, SearchIndex, build_index
from rlfactory.envs.tools.search.passages import SearchMode
from rlfactory.envs.tools.search.server import serve

PORT: Final = 8000
SHIPPED: Final = Path("/opt/rlfactory/index")


def open_index(index: Path, corpus: Path, shipped: Path, scratch: Path) -> SearchIndex:
    """Return what there is to serve. Raises: TaskError: nothing, or what is there is damaged. OSError."""
    if (index / NOTE_FILE).is_file():
        return SearchIndex.open(index)
    if corpus.is_file():
        build_index(corpus, scratch / "index")
        return SearchIndex.open(scratch / "index")
    if (shipped / NOTE_FILE).is_file():
        return SearchIndex.open(shipped)
    raise BadIndex(f"there is neither an index at {index} nor a corpus at {corpus}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="search", description="Find passages.")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--host", default="0.0.0.0", help="the container's own address; nothing publishes it")
    parser.add_argument("--index", type=Path, default=Path("/data/index"))
    parser.add_argument("--corpus", type=Path, default=Path("/data/corpus.jsonl"))
    parser.add_argument("--shipped", type=Path, default=SHIPPED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            index = open_index(options.index, options.corpus, options.shipped, Path(scratch))
        except (TaskError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1

        def started(address: str) -> None:
            print(f"search over {len(index)} passages on port {address.rpartition(':')[2]}", flush=True)

        serve(index, mode=SearchMode.BM25, host=options.host, port=options.port, started=started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
