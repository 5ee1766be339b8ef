"""Writing an action and reading it back is the identity; what is malformed is refused in words a model can act on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.envs.api.errors import UnknownName
from rlfactory.envs.api.types import CoordinateFrame, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.dialects import Dialect, ParseError, Unrenderable, get_dialect

POINT = st.lists(st.integers(0, 998), min_size=2, max_size=2)
TEXT = st.text(max_size=40).filter(lambda text: "<tool_call>" not in text and "</tool_call>" not in text)
SECONDS = st.integers(0, 20)


def phone(**values: Any) -> st.SearchStrategy[ToolCall]:
    parts = {name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in values.items()}
    return st.fixed_dictionaries(parts).map(lambda arguments: ToolCall(id="0", name="phone", arguments=arguments))


def finish(**values: Any) -> st.SearchStrategy[ToolCall]:
    return phone(**values).map(lambda call: ToolCall(id="0", name="finish", arguments=call.arguments))


COMMON = st.one_of(
    phone(action="tap", coordinate=POINT),
    phone(action="long_press", coordinate=POINT),
    phone(action="long_press", coordinate=POINT, seconds=SECONDS),
    phone(action="swipe", coordinate=POINT, coordinate2=POINT),
    phone(action="type", text=TEXT),
    phone(action="key", key=st.sampled_from(["BACK", "HOME", "MENU", "ENTER"])),
    phone(action="wait", seconds=SECONDS),
    finish(status=st.sampled_from(["success", "failure"])),
    finish(status="success", answer=TEXT.filter(bool)),
    st.dictionaries(st.text(max_size=5), TEXT, max_size=3).map(
        lambda arguments: ToolCall(id="0", name="search", arguments=arguments)
    ),
)
CALLS = {
    "qwen2_5_vl": st.one_of(
        COMMON,
        phone(action="open_app", app=TEXT),
        phone(action="key", key=st.sampled_from(["VOLUME_UP", "DEL"])),
    ),
    "qwen3_vl": COMMON,
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_round_trip_is_the_identity(name: str) -> None:
    dialect = get_dialect(name)

    @given(st.lists(CALLS[name], min_size=1, max_size=3), TEXT.map(str.strip))
    def check(calls: list[ToolCall], thought: str) -> None:
        numbered = tuple(
            ToolCall(id=str(index), name=call.name, arguments=call.arguments) for index, call in enumerate(calls)
        )
        parsed = dialect.parse(dialect.render(numbered, thought=thought))
        assert parsed.calls == numbered
        assert parsed.thought == thought

    check()


@pytest.mark.parametrize("name", sorted(CALLS))
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    dialect = get_dialect(name)
    for candidate in (text, f"<tool_call>{text}</tool_call>", f'<tool_call>{{"name": "mobile_use"{text}</tool_call>'):
        try:
            parsed = dialect.parse(candidate)
        except ParseError as error:
            assert str(error)
        else:
            assert parsed.calls


def call(arguments: object, *, name: str = "mobile_use") -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("I tap the button.", "no <tool_call>"),
        ('<tool_call>\n{"name": "mobile_use"', "not closed"),
        ("<tool_call>\ntap\n</tool_call>", "not valid JSON"),
        ("<tool_call>[1]</tool_call>", '"name"'),
        (call([]), "JSON object"),
        (call({"action": "tap", "coordinate": [1, 2]}), "'tap'; choose one of key, click"),
        (call({"action": "click"}), "click needs 'coordinate'"),
        (call({"action": "swipe", "coordinate": [1, 2]}), "swipe needs 'coordinate2'"),
        (call({"action": "system_button", "button": "Up"}), "choose one of Back, Home, Menu, Enter"),
        (call({"action": "click", "coordinate": [1, 2]}) + " done", "nothing may follow"),
    ],
)
def test_a_malformed_message_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ParseError, match=None) as caught:
        get_dialect("qwen2_5_vl").parse(text)
    assert complaint in str(caught.value)


def test_arguments_that_other_actions_take_are_no_mistake() -> None:
    parsed = get_dialect("qwen2_5_vl").parse(call({"action": "click", "coordinate": [3, 4], "text": "", "time": 2}))
    assert parsed.calls[0].arguments == {"action": "tap", "coordinate": [3, 4]}


def test_what_a_family_cannot_say_is_not_rendered() -> None:
    double_tap = ToolCall(id="0", name="phone", arguments={"action": "double_tap", "coordinate": [1, 2]})
    open_app = ToolCall(id="0", name="phone", arguments={"action": "open_app", "app": "Clock"})
    with pytest.raises(Unrenderable):
        get_dialect("qwen2_5_vl").render([double_tap])
    with pytest.raises(Unrenderable, match="no action 'open'"):
        get_dialect("qwen3_vl").render([open_app])


def test_coordinates_are_declared_in_the_dialects_frame() -> None:
    tools = [ToolSchema(name="phone", description="", parameters={})]
    image, permille = get_dialect("qwen2_5_vl"), get_dialect("qwen3_vl")
    assert image.frame is CoordinateFrame.IMAGE_PX
    assert "resolution is 112x252" in image.system_prompt(tools, image_px=(112, 252))
    assert permille.frame is CoordinateFrame.PERMILLE_999
    assert "resolution is 999x999" in permille.system_prompt(tools, image_px=(96, 160))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_model_is_told_of_every_tool_and_of_what_went_wrong(name: str) -> None:
    dialect: Dialect = get_dialect(name)
    tools = [ToolSchema(name=tool, description=f"the {tool}", parameters={}) for tool in ("phone", "finish", "search")]
    prompt = dialect.system_prompt(tools, image_px=(100, 200))
    assert prompt.count('"type": "function"') == 2
    assert "the search" in prompt
    tap = ToolResult(call_id="0", name="phone", status=ToolStatus.OK, text="Done.")
    off = ToolResult(call_id="1", name="phone", status=ToolStatus.REJECTED, text="off the screen")
    found = ToolResult(call_id="2", name="search", status=ToolStatus.OK, text="42")
    assert dialect.next_message([tap]) == ""
    assert "rejected: off the screen" in dialect.next_message([tap, off])
    assert "42" in dialect.next_message([found])
    assert "no call" in dialect.error_message(ParseError("no call"))


def test_an_unknown_dialect_names_close_ones() -> None:
    with pytest.raises(UnknownName, match="qwen2_5_vl"):
        get_dialect("qwen2.5_vl")
