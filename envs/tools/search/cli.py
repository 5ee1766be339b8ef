"""The commands of search: `index` makes an index of a corpus, `serve-search` serves one as Search-R1 does."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from rlfactory.envs.api.errors import TaskError, UnknownName

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command("index")
def make_index(
    corpus: Annotated[
        Path, typer.Argument(help='JSONL: {"id", "title", "text"} or {"id", "contents"} a line; .gz too.')
    ],
    folder: Annotated[Path, typer.Argument(help="Where the index goes; an older index there is replaced.")],
    dense: Annotated[bool, typer.Option("--dense", help="Vectors, too: search by meaning (extra `dense`).")] = False,
    device: Annotated[str, typer.Option(help="Where vectors are made: cpu, cuda, ...")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Index a corpus of passages for `search`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from rlfactory.envs.tools.search.dense import MiniLM
    from rlfactory.envs.tools.search.index import build_index

    if not corpus.is_file():
        raise TaskError(f"no corpus {corpus}")
    total = count_lines(corpus)
    started = monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ExitStack() as stack:
        shown = stack.enter_context(Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()))
        bars = {what: shown.add_task(what, total=total) for what in (("words", "vectors") if dense else ("words",))}
        note = build_index(
            corpus,
            folder,
            embedder=MiniLM(device) if dense else None,
            progress=lambda what, done: shown.update(bars[what], completed=done),
        )
        for bar in bars.values():
            shown.update(bar, completed=total)
    seconds = monotonic() - started
    if as_json:
        print(json.dumps({**asdict(note), "seconds": round(seconds, 2)}))
    else:
        what = f"words and {note.embedder} vectors" if note.embedder else "words"
        print(f"indexed {note.passages} passages by {what} in {seconds:.1f} s: {folder}")


def count_lines(path: Path) -> int | None:
    """Return how many lines a file has; None for a compressed one, which would have to be read for it."""
    if path.suffix == ".gz":
        return None
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


@app.command("serve-search")
def serve_search(
    folder: Annotated[Path, typer.Argument(help="What `rlfactory index` made.")],
    mode: Annotated[str, typer.Option(help="bm25, dense or hybrid.")] = "bm25",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 8000,
    threads: Annotated[int, typer.Option(min=1, help="Searches that run at once.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Say where it listens as one line of JSON.")] = False,
) -> None:
    """Serve an index over HTTP: POST /retrieve, as Search-R1's retrieval server."""
    from rlfactory.envs.tools.search.index import SearchIndex
    from rlfactory.envs.tools.search.passages import SearchMode
    from rlfactory.envs.tools.search.server import serve

    if mode not in set(SearchMode):
        raise UnknownName.of("mode", mode, SearchMode)
    index = SearchIndex.open(folder)
    chosen = SearchMode(mode)
    if chosen not in index.modes:
        raise TaskError(f"{folder} has no vectors for mode {mode}: make it with `rlfactory index --dense`")

    def started(address: str) -> None:
        line = f"serving {len(index)} passages by {mode} on http://{address}/retrieve; Ctrl-C stops"
        told = json.dumps({"address": address, "passages": len(index), "mode": mode})
        print(told if as_json else line, flush=True)

    serve(index, mode=chosen, host=host, port=port, threads=threads, started=started)
