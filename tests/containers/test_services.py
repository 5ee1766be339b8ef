"""What the sandbox and search images run, as processes on this machine: every limit, and every mistake of a caller."""

from __future__ import annotations

import concurrent.futures
import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
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
def service(name: str, *arguments: object) -> Iterator[Ask]:
    """Run a service on a free port; yield what posts to it (or gets, without a body)."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"containers.{name}.server", "--host", "127.0.0.1", "--port", "0", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        announced = re.search(r"port (\d+)", process.stdout.readline())
        assert announced
        port = int(announced[1])

        def ask(path: str, data: bytes | None = None, claim: int = 0, **body: object) -> tuple[int, dict[str, Any]]:
            sent = data or (json.dumps(body).encode() if body else None)
            headers = {"Content-Type": "application/json"} | ({"Content-Length": str(claim)} if claim else {})
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=sent, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, json.load(error)

        yield ask
        health = [sys.executable, "-m", f"containers.{name}.server", "--health", "--port", str(port)]
        assert subprocess.run(health, cwd=ROOT, check=False).returncode == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert subprocess.run(health, cwd=ROOT, check=False).returncode == 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("CREATE TABLE items (name TEXT, price INTEGER)")
        connection.executemany("INSERT INTO items VALUES (?, ?)", [("tea", 3), ("cup", 5)])
    connection.close()
    (folder.parent / "outside.db").write_bytes((folder / "shop.db").read_bytes())
    return folder


@pytest.fixture(scope="module")
def sandbox(databases) -> Iterator[Ask]:
    with service("sandbox", "--databases", databases) as ask:
        yield ask


def test_code_runs_and_its_outputs_are_apart(sandbox):
    code = "import sys; print(input()[::-1]); print('oh', file=sys.stderr); sys.exit(3)"
    status, result = sandbox("/run", code=code, stdin="abc")
    assert status == 200
    assert (result["status"], result["exit_code"]) == ("error", 3)
    assert (result["stdout"], result["stderr"], result["truncated"]) == ("cba\n", "oh\n", False)


def test_a_run_that_never_ends_is_ended_with_its_children(sandbox, tmp_path):
    pulse = tmp_path / "pulse"
    code = f"""
import subprocess, sys, time
child = "import time\\nwhile True:\\n  open({str(pulse)!r}, 'w').write(str(time.time()))\\n  time.sleep(.01)"
subprocess.Popen([sys.executable, "-c", child])
time.sleep(99)
"""
    started = time.monotonic()
    _, result = sandbox("/run", code=code, timeout_s=1)
    assert result["status"] == "timeout"
    assert time.monotonic() - started < 4
    last = pulse.read_text()
    time.sleep(0.1)
    assert pulse.read_text() == last


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("bytearray(1 << 30)", "MemoryError"),
        ("open('big', 'wb').write(bytes(64 << 20))", "File too large"),
        ("files = [open('/dev/null') for _ in range(500)]", "Too many open files"),
    ],
)
def test_memory_files_and_handles_are_bounded(sandbox, code, complaint):
    _, result = sandbox("/run", code=code)
    assert result["status"] == "error"
    assert complaint in result["stderr"]


def test_a_flood_of_output_keeps_its_head_and_tail(sandbox):
    _, result = sandbox("/run", code="print('begin'); print('x' * 5_000_000); print('end')")
    assert result["truncated"]
    assert result["stdout"].startswith("begin\n")
    assert result["stdout"].endswith("end\n")
    assert " bytes cut ..." in result["stdout"]
    assert len(result["stdout"]) < 70_000


def test_each_run_has_a_folder_of_its_own(sandbox):
    sandbox("/run", code="open('left', 'w').write('x')")
    assert sandbox("/run", code="import os; print(os.listdir())")[1]["stdout"] == "[]\n"


def test_a_query_reads_and_nothing_else(sandbox):
    _, result = sandbox("/run", language="sql", database="shop.db", code="SELECT sum(price) AS total FROM items")
    assert json.loads(result["stdout"]) == {"columns": ["total"], "rows": [[8]], "more": False}
    for statement in (
        "DROP TABLE items",
        "INSERT INTO items VALUES ('a', 1)",
        "ATTACH 'other.db' AS other",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "nonsense",
    ):
        _, result = sandbox("/run", language="sql", database="shop.db", code=statement)
        assert result["status"] == "error", statement
        assert result["stderr"].splitlines()[-1].split(":")[0].endswith(("Error", "Warning")), result
    _, result = sandbox("/run", language="sql", database="shop.db", code="SELECT count(*) FROM items")
    assert json.loads(result["stdout"])["rows"] == [[2]]


def test_many_rows_are_cut_and_an_endless_query_is_ended(sandbox):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
    many = json.loads(
        sandbox("/run", language="sql", database="shop.db", code=f"{endless.format('i')} LIMIT 5000")[1]["stdout"]
    )
    assert len(many["rows"]) == 1000
    assert many["more"]
    _, result = sandbox("/run", language="sql", database="shop.db", code=endless.format("max(i)"), timeout_s=0.5)
    assert result["status"] == "timeout"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"language": "perl", "code": "1"}, "no language 'perl'; there are: python, sql"),
        ({"code": 1}, "code is 1, which is of the wrong kind"),
        ({"code": "1", "timeout_s": 1e9}, "at most 60"),
        ({"code": "1", "timeout_s": True}, "wrong kind"),
        ({"code": "\0"}, "NUL"),
        ({"language": "sql", "database": "../outside.db", "code": "SELECT 1"}, "no database"),
        ({"language": "sql", "database": "nothing.db", "code": "SELECT 1"}, "no database"),
    ],
)
def test_mistakes_are_told(sandbox, body, complaint):
    status, result = sandbox("/run", **body)
    assert status == 400
    assert complaint in result["error"]


def test_what_is_no_request_is_refused(sandbox):
    assert sandbox("/nothing") == (404, {"error": "no /nothing; GET /health is what there is"})
    assert sandbox("/nothing", code="1")[0] == 404
    assert sandbox("/run", data=b"{")[0] == 400
    assert sandbox("/run", data=b"[]")[1] == {"error": "the body is no JSON object"}
    assert sandbox("/run", data=b"{}", claim=5 << 20)[0] == 400
    assert sandbox("/health")[1]["status"] == "ok"


def test_only_so_many_run_at_a_time(sandbox):
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        codes = [
            status for status, _ in pool.map(lambda _: sandbox("/run", code="import time; time.sleep(2)"), range(12))
        ]
    assert codes.count(200) == 8
    assert codes.count(503) == 4


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    passages = ("The lighthouse of Alexandria stood on Pharos.", "Tea is made of leaves.", "Pharos was an island.")
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"contents": passage}) + "\n" for passage in passages))
    return path


def test_passages_of_a_corpus_are_found_best_first(corpus):
    with service("search", "--corpus", corpus) as ask:
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
        with service("search", *options) as ask:
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
