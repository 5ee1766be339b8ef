"""What a model writes is nobody else's fault: a slice of what `benchmarks.blame` plays, drawn by hypothesis."""

import asyncio
import itertools
import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.blame.calls import arguments_json
from benchmarks.blame.kitchen import kitchen, step
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.wire.v1 import env_pb2 as pb

TOOLS = ("calculator", "nap", "sql", "duckdb", "python", "finish", "nothing", "")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(("expression", "query", "code", "answer", "status", "key", "chars"))


@st.composite
def calls(draw):
    tool = draw(st.sampled_from(TOOLS))
    arguments = draw(
        st.text()
        | ANY_JSON.map(json.dumps)
        | st.dictionaries(NAMES, ANY_JSON, max_size=3).map(json.dumps)
        | st.integers(0, 2**32).map(lambda seed: arguments_json(random.Random(seed), tool))
    )
    return pb.ToolCall(name=tool, arguments_json=arguments)


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    """Return a function that plays one turn of a session, and begins another one where that has ended."""
    loop = asyncio.new_event_loop()
    running = kitchen(tmp_path_factory.mktemp("kitchen"), phones=0)
    manager = loop.run_until_complete(running.__aenter__())
    options = SessionOptions(with_image=False)
    open_now: list[tuple[str, itertools.count[int]]] = []

    async def turn(asked):
        if not open_now:
            begun = await manager.reset("blame.kitchen", seed=1, split="train", options=options)
            open_now.append((begun.session, itertools.count(1)))
        session, seqs = open_now[0]
        wrong, goes_on = await step(manager, session, next(seqs), asked)
        if not goes_on:
            open_now.clear()
            await manager.close(session)
        return wrong

    yield lambda asked: loop.run_until_complete(turn(asked))
    loop.run_until_complete(running.__aexit__(None, None, None))
    loop.close()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(st.lists(calls(), min_size=1, max_size=4))
def test_nobody_but_the_model_is_blamed(play, asked):
    for index, call in enumerate(asked):
        call.id = str(index)
    assert play(asked) == ""


def test_a_failure_that_is_not_the_models_is_seen(play, monkeypatch):
    from rlfactory.envs.tools.calculator import CalculatorTool

    async def broken(self, arguments, context):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(CalculatorTool, "call", broken)
    wrong = play([pb.ToolCall(name="calculator", arguments_json='{"expression": "1+1+1+1+1"}')])
    assert wrong.startswith("tool calculator: the tool failed: ZeroDivisionError")
