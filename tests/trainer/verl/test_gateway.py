"""The gateway: agents of others, as they come from PyPI, and the rows that the learner gets of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from benchmarks.learning import agents
from benchmarks.learning.agents import CALL, FINAL, Watched
from rlfactory.trainer.verl.credit import sampled_spans
from rlfactory.trainer.verl.gateway import Gateway, template_digest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
Served = tuple[Gateway, str, Watched]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return agents.tiny_model(tmp_path_factory.mktemp("model"), taught=0)


@pytest.fixture
async def served(model: Path, tmp_path: Path) -> AsyncIterator[Served]:
    async with agents.gateway(model, tmp_path / "rows.jsonl") as opened:
        yield opened


async def test_what_two_agents_from_pypi_did_is_learnt_from_as_the_engine_had_it(served: Served, tmp_path: Path):
    opened, url, watched = served
    qwen, smol = opened.begin(), opened.begin("mine")
    watched.script[:] = [CALL, "a fox"]
    assert await asyncio.to_thread(agents.ask_qwen_agent, url, qwen) == "a fox"
    watched.script[:] = [CALL, "no call", FINAL]
    assert await asyncio.to_thread(agents.ask_smolagents, url, smol) == "fox"
    ends = [opened.end(qwen, 1.0), opened.end(smol, 0.0)]
    assert [each.calls for each in ends] == [2, 3]
    assert watched.drift(ends) == 0
    [row] = ends[0].rows  # it only ever added to what was said, so one row holds both turns
    assert len(sampled_spans(row.response_mask)) == 2
    written = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert len(written) == 2 and '"reward": 1.0' in written[0]
    # The measure can fail: an id that the engine did not sample, and a turn that no row has.
    ends[0].rows[0].response_ids[0] += 1
    assert watched.drift(ends) == 4
    assert watched.drift(ends[1:]) == 2


async def test_tools_pictures_streams_and_stops(served: Served) -> None:
    opened, url, watched = served
    session = opened.begin()
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {session}"}) as client:

        def turns() -> list[int]:
            return [len(each.trajectory.sampled_spans) for each in opened.session(session).rows]

        async def said(**body: Any) -> Any:
            answer = await client.post("/v1/chat/completions", json={"model": "tiny", **body})
            return (
                answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["error"]["message"])
            )

        tools = [{"type": "function", "function": {"name": "animal_of", "parameters": {"type": "object"}}}]
        asked: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Which animal?"}]}]
        watched.script[:] = [CALL, "a fox Observation: more", "never"]
        first = (await said(messages=asked, tools=tools))["choices"][0]
        assert first["finish_reason"] == "tool_calls"
        [call] = first["message"]["tool_calls"]
        assert call["function"] == {"name": "animal_of", "arguments": '{"name": "Ada"}'}
        asked += [first["message"], {"role": "tool", "tool_call_id": call["id"], "content": "a fox"}]
        second = (await said(messages=asked, tools=tools, stop=["Observation:"]))["choices"][0]
        assert second["message"]["content"] == "a fox " and second["finish_reason"] == "stop"
        # The past goes on in one row, and a changed past begins another.
        asked += [second["message"], {"role": "user", "content": "Sure?"}]
        await said(messages=asked, tools=tools)
        assert turns() == [3]
        await said(messages=asked[-1:])
        assert turns() == [3, 1]

        refused: dict[str, dict[str, Any]] = {
            "one answer for each call": {"messages": asked, "n": 2},
            "must be a list of objects": {"messages": []},
            "role is one of": {"messages": [{"role": "robot", "content": ""}]},
            "a data URI": {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/a.png"}}]}
                ]
            },
            "are budgeted": {"messages": [{"role": "user", "content": "long " * 9000}]},
        }
        for problem, body in refused.items():
            status, message = await said(**body)
            assert status == 400 and problem in message, message
        client.headers["Authorization"] = "Bearer nobody"
        status, message = await said(messages=asked)
        assert status == 401 and "POST /sessions" in message
        assert (await client.post("/sessions", json={"id": session})).status_code == 400
        assert (await client.post(f"/sessions/{session}/end", json={})).status_code == 400
        ended = (await client.post(f"/sessions/{session}/end", json={"reward": 1})).json()
        template = (await client.get("/v1/models")).json()["data"][0]["template"]
        assert ended["template"] == template == template_digest(watched.engine.tokenizer.chat_template)
        assert ended["calls"] == 4 and len(ended["rows"]) == 2
