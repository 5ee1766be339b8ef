"""A function's types and docstring are its schema, and its calls are checked by them."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

import pytest
from typing_extensions import TypedDict

from rlfactory.envs.api.types import ToolCall, ToolStatus
from rlfactory.envs.tools.function import described, said, signature_of, tool_of
from rlfactory.envs.tools.qwen_agent import qwen_tool
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.runtime.runtime import ToolRuntime
from rlfactory.envs.tools.runtime.threads import in_thread
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext

CONTEXT = ToolContext()
CALL = CallContext(timeout_s=5)


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(TypedDict):
    name: str
    country: str


async def weather(
    city: str,
    days: Annotated[int, "How many, from today."] = 1,
    unit: Unit = Unit.C,
    detail: Literal["low", "high"] = "low",
    near: list[Place] | None = None,
) -> dict[str, Any]:
    """Tell the weather.

    It is made up,
    but stable.

    Args:
        city (str): Its English
            name.
        unit: Of temperatures.

    Returns:
        What it will be.
    """
    return {"city": city, "days": days, "unit": unit.value, "detail": detail, "near": near}


def test_types_and_docstring_make_the_schema():
    schema = tool_of(weather)(CONTEXT).schema
    assert (schema.name, schema.description) == ("weather", "Tell the weather. It is made up, but stable.")
    parameters: Any = schema.parameters
    properties = parameters["properties"]
    assert properties["city"] == {"type": "string", "description": "Its English name."}
    assert properties["days"] == {"type": "integer", "default": 1, "description": "How many, from today."}
    assert properties["detail"] == {"type": "string", "enum": ["low", "high"], "default": "low"}
    assert parameters["$defs"]["Unit"] == {"type": "string", "enum": ["celsius", "fahrenheit"]}
    assert parameters["$defs"]["Place"]["required"] == ["name", "country"]
    assert parameters["required"] == ["city"]
    assert parameters["additionalProperties"] is False


async def test_arguments_arrive_as_their_types():
    text = await tool_of(weather)(CONTEXT).call(
        {"city": "Oslo", "unit": "fahrenheit", "days": "3", "near": [{"name": "Ås", "country": "NO"}]}, CALL
    )
    assert text == (
        '{"city": "Oslo", "days": 3, "unit": "fahrenheit", "detail": "low", "near": [{"name": "Ås", "country": "NO"}]}'
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "city: field required"),
        ({"city": 5}, "city: input should be a valid string"),
        ({"city": "Oslo", "days": "many"}, "days: input should be a valid integer"),
        ({"city": "Oslo", "unit": "kelvin"}, "unit: input should be 'celsius' or 'fahrenheit'"),
        ({"city": "Oslo", "town": "x"}, "town: extra inputs are not permitted"),
        ({"city": "Oslo", "near": [{"name": "Ås"}]}, "near.0.country: field required"),
        ({str(index): 1 for index in range(9)}, "; and 5 more"),
    ],
)
async def test_what_does_not_fit_is_rejected_by_name(arguments, words):
    with pytest.raises(Rejected, match=words.replace(".", r"\.")):
        await tool_of(weather)(CONTEXT).call(arguments, CALL)


async def test_a_plain_function_runs_in_a_thread_beside_the_loop():
    threads = []

    def slow(schema: int, copy: bool = False) -> list[int]:
        """Count."""
        threads.append(threading.current_thread())
        return [schema, int(copy)]

    tool = tool_of(slow, name="slow-one", policy=ToolPolicy(pure=True))(CONTEXT)
    assert await tool.call({"schema": 4, "copy": True}, CALL) == "[4, 1]"
    assert threads[0] is not threading.main_thread()
    assert (tool.schema.name, tool.policy.pure, tool.fork(CONTEXT)) == ("slow-one", True, tool)


async def test_a_function_may_ask_for_its_time():
    async def patient(context: CallContext, word: str) -> str:
        return f"{word} {context.timeout_s:g}"

    tool = tool_of(patient)(CONTEXT)
    parameters: Any = tool.schema.parameters
    assert list(parameters["properties"]) == ["word"]
    assert await tool.call({"word": "within"}, CALL) == "within 5"


class ShoppingList:
    """Keep a list."""

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit
        self.items: list[str] = []
        self.closed = False

    async def __call__(self, item: str) -> str:
        """Add to it.

        :param item: What to buy.
        :returns: the list
        """
        await asyncio.sleep(0)
        self.items = [*self.items, item][-self.limit :]
        return ", ".join(self.items)

    def close(self) -> None:
        self.closed = True


async def test_a_class_is_a_tool_with_a_state_for_each_session():
    factory = tool_of(ShoppingList, options={"limit": 2})
    mine: Any = factory(CONTEXT)
    yours = factory(CONTEXT)
    assert (mine.schema.name, mine.schema.description) == ("shopping_list", "Keep a list.")
    parameters: Any = mine.schema.parameters
    assert parameters["properties"]["item"]["description"] == "What to buy."
    for item in ("tea", "milk", "rice"):
        text = await mine.call({"item": item}, CALL)
    assert text == "milk, rice"
    assert await yours.call({"item": "salt"}, CALL) == "salt"
    twin: Any = mine.fork(CONTEXT)
    assert await twin.call({"item": "oil"}, CALL) == "rice, oil"
    assert await mine.call({"item": "jam"}, CALL) == "rice, jam"
    assert mine.resource != twin.resource
    await mine.close()
    assert mine.subject.closed
    assert not twin.subject.closed


def test_a_subclass_of_tool_is_its_own_factory():
    class Own(Tool):
        schema = tool_of(weather)(CONTEXT).schema

        def __init__(self, context: ToolContext, *, factor: int = 1) -> None:
            self.factor = factor

        async def call(self, arguments, context) -> str:
            return str(self.factor)

        def fork(self, context: ToolContext) -> Tool:
            return self

    made: Any = tool_of(Own, options={"factor": 3})(CONTEXT)
    assert made.factor == 3


def test_what_makes_no_schema_is_refused_with_its_place():
    def untyped(x):
        return x

    def variadic(*words: str) -> str:
        return ""

    def odd(lock: threading.Event) -> str:
        return ""

    for function, words in ((untyped, "'x' has no type"), (variadic, "cannot be given by name"), (odd, "odd")):
        with pytest.raises((ValueError, TypeError), match=words):
            signature_of(function, name=function.__name__)
    with pytest.raises(ValueError, match="is no name for a tool"):
        signature_of(weather, name="the weather")
    with pytest.raises(ValueError, match="takes no options"):
        tool_of(weather, options={"a": 1})


@dataclass
class Point:
    x: int
    y: float


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        (None, "Done."),
        (3, "3"),
        (True, "true"),
        ({"a": Unit.C}, '{"a": "Unit.C"}'),
        (Point(1, 2.5), '{"x": 1, "y": 2.5}'),
        ([1, "é"], '[1, "é"]'),
    ],
)
def test_results_are_said_as_text_or_json(result, text):
    assert said(result) == text


def test_docstrings_without_sections_are_all_summary():
    assert described(Point).summary.startswith("Point(")
    assert described(lambda: None).summary == ""


def numpy_style(x: int) -> None:
    """Do it.

    Parameters
    ----------
    x : int
        How often.
    """


def rest_style(x: int) -> None:
    """Do it.

    :param int x: How
        often.
    """


@pytest.mark.parametrize("function", [numpy_style, rest_style])
def test_docstrings_may_be_of_any_usual_style(function):
    assert (described(function).summary, described(function).arguments) == ("Do it.", {"x": "How often."})


@pytest.fixture
def acronym() -> type:
    """A tool of Qwen-Agent, which takes seconds to import: here, and not where every worker collects tests."""
    from qwen_agent.tools.base import BaseTool, register_tool

    @register_tool("acronym")
    class Acronym(BaseTool):  # type: ignore[misc]
        """As users of Qwen-Agent write them."""

        description = "Make an acronym."
        parameters: ClassVar[list[dict[str, Any]]] = [
            {"name": "words", "type": "string", "description": "Some words.", "required": True},
            {"name": "lower", "type": "boolean"},
        ]

        def call(self, params: str | dict[str, Any], **kwargs: object) -> str | dict[str, Any]:
            asked = self._verify_json_format_args(params)
            made = "".join(word[0] for word in asked["words"].split())
            return {"acronym": made.lower() if asked.get("lower") else self.cfg.get("dot", "").join(made)}

    return Acronym


async def test_a_tool_of_qwen_agent_is_called_as_qwen_agent_calls_it(acronym):
    tool = qwen_tool(acronym, options={"dot": "."})(CONTEXT)
    assert tool.schema.name == "acronym"
    assert tool.schema.parameters["required"] == ["words"]
    assert await tool.call({"words": "Random Access Memory"}, CALL) == '{"acronym": "R.A.M"}'
    twin = tool.fork(CONTEXT)
    assert await twin.call({"words": "Random Access Memory", "lower": True}, CALL) == '{"acronym": "ram"}'
    with pytest.raises(Rejected, match="missing: words"):
        await tool.call({}, CALL)


async def test_a_blocking_call_that_is_given_up_holds_nobody_up():
    gate = threading.Event()

    def hang() -> str:
        """Wait."""
        gate.wait()
        return "late"

    async with ToolRuntime() as runtime:
        tool = tool_of(hang)(CONTEXT)
        calls = [runtime.run(tool, ToolCall(id="0", name="hang", arguments={}), 0.05) for _ in range(64)]
        ends = await asyncio.gather(*calls)
        assert {status for status, _ in ends} == {ToolStatus.TIMEOUT}
        gate.set()
        assert await tool.call({}, CALL) == "late"


async def test_what_a_thread_raises_is_raised_where_it_is_awaited():
    def stop() -> str:
        raise StopIteration("odd")

    with pytest.raises(RuntimeError, match="StopIteration: odd"):
        await in_thread(stop)
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)
