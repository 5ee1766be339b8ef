"""What the search image runs, as a process on this machine."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rlfactory.envs.tools.search.index import build_index

ROOT = Path(__file__).parents[2]
Ask = Callable[..., tuple[int, dict[str, Any]]]


@contextmanager
def service(*arguments: object) -> Iterator[Ask]:
    """Run a service on a free port; yield what posts to it (or gets, without a body)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "containers.search.server", "--host", "127.0.0.1", "--port", "0", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        announced = re.search(r"port (\d+)", process.stdout.readline())
        assert announced
        port = int(announced[1])

        def ask(path: str, **body: object) -> tuple[int, dict[str, Any]]:
            sent = json.dumps(body).encode() if body else None
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=sent, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, json.load(error)

        yield ask
        health = [sys.executable, str(ROOT / "containers/health.py"), str(port)]
        assert subprocess.run(health, cwd=ROOT, check=False).returncode == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert subprocess.run(health, cwd=ROOT, check=False).returncode == 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    passages = ("The lighthouse of Alexandria stood on Pharos.", "Tea is made of leaves.", "Pharos was an island.")
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"contents": passage}) + "\n" for passage in passages))
    return path


def test_passages_of_a_corpus_are_found_best_first(corpus):
    with service("--corpus", corpus) as ask:
        assert ask("/health")[1] == {"status": "ok", "passages": 3, "mode": "bm25"}
        queries = ["What island was PHAROS?", "tea leaves", "zebra"]
        status, answer = ask("/retrieve", queries=queries, topk=2, return_scores=True)
        assert status == 200
        found = [[hit["document"]["id"] for hit in hits] for hits in answer["result"]]
        assert found == [["2", "0"], ["1"], []]
        assert answer["result"][0][0]["score"] > answer["result"][0][1]["score"] > 0
        plain = ask("/retrieve", queries=["tea"], topk=1)[1]["result"]
        assert plain == [[{"id": "1", "contents": "Tea is made of leaves."}]]
        mistakes: tuple[dict[str, Any], ...] = ({"queries": [1]}, {"queries": ["a"], "topk": 0}, {"queries": "a"})
        for body in mistakes:
            assert ask("/retrieve", **body)[0] == 422


def test_a_mounted_index_comes_first_and_the_shipped_one_last(corpus, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"title": "Oslo", "text": "Oslo is a town."}\n')
    build_index(other, tmp_path / "index")
    for options in (("--index", tmp_path / "index", "--corpus", corpus), ("--shipped", tmp_path / "index")):
        with service(*options) as ask:
            assert ask("/health")[1]["passages"] == 1
            found = ask("/retrieve", queries=["Oslo"])[1]["result"]
            assert found == [[{"id": "0", "contents": '"Oslo"\nOslo is a town.'}]]


@pytest.mark.parametrize(
    ("text", "words"), [("", "holds no passages"), ('{"text": 1}\n', "a passage is"), ("nonsense\n", "no JSON")]
)
def test_a_corpus_that_is_none_is_told(tmp_path, text, words):
    path = tmp_path / "corpus.jsonl"
    path.write_text(text)
    ended = started("--corpus", path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_nothing_to_serve_is_told(tmp_path):
    ended = started("--index", tmp_path, "--corpus", tmp_path / "no", "--shipped", tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "neither an index" in ended.stderr


def started(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "containers.search.server", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
