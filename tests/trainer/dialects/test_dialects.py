"""Every family writes every action it can say so that it reads the same again, and refuses the rest in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlfactory.envs.api.errors import UnknownName
from rlfactory.envs.api.types import CoordinateFrame, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.dialects import DIALECTS, ParseError, Unrenderable, get_dialect

PATIENT = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine draws slowly; that says nothing about a dialect."""
TOOL_FAMILIES = ("qwen3", "qwen2_5", "llama3", "mistral", "deepseek_v3", "deepseek_v3_1", "gpt_oss")
THINKING = ("qwen3", "deepseek_v3", "deepseek_v3_1", "gpt_oss")
MARKERS = (
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]", "</s>", "<|python_tag|>"),
    *("<|eot_id|>", "<|call|>", "<|end|>", "<|message|>", "<|start|>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
    *("<｜tool▁sep｜>", "<｜end▁of▁sentence｜>", "\n```", "'", '"', "\\", "\\n", ")", "]", "Action:", "<answer>"),
)
ANY_TEXT = st.lists(st.text(max_size=8) | st.sampled_from(MARKERS), max_size=5).map("".join)
"""Also with what ends a call in one family or another."""
WORDS = st.text("abc xyz.,äß0", max_size=20).map(str.strip)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
TOOL_CALLS = st.lists(
    st.tuples(st.sampled_from(["search", "sql", "phone"]), st.dictionaries(ANY_TEXT, JSON_VALUES, max_size=3)),
    min_size=1,
    max_size=3,
)


def numbered(calls: list[tuple[str, dict[str, Any]]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(id=str(index), name=name, arguments=values) for index, (name, values) in enumerate(calls))


def mobile_use(arguments: object) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'mobile_use', 'arguments': arguments})}\n</tool_call>"


CALL = (ToolCall(id="0", name="search", arguments={"query": "Oslo"}),)
TWO = (*CALL, ToolCall(id="1", name="finish", arguments={"answer": "a"}))
PUBLISHED = {
    "qwen3": (
        "<think>\nhm\n</think>\n\n"
        '<tool_call>\n{"name": "search", "arguments": {"query": "Oslo"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "finish", "arguments": {"answer": "a"}}\n</tool_call>'
    ),
    "qwen2_5": (
        'hm\n<tool_call>\n{"name": "search", "arguments": {"query": "Oslo"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "finish", "arguments": {"answer": "a"}}\n</tool_call>'
    ),
    "llama3": (
        'hm<|python_tag|>{"name": "search", "parameters": {"query": "Oslo"}}; '
        '{"name": "finish", "parameters": {"answer": "a"}}'
    ),
    "mistral": (
        'hm[TOOL_CALLS][{"name": "search", "arguments": {"query": "Oslo"}}, '
        '{"name": "finish", "arguments": {"answer": "a"}}]'
    ),
    "deepseek_v3": (
        "<think>\nhm\n</think>\n\n<｜tool▁calls▁begin｜>"
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{"query": "Oslo"}\n```<｜tool▁call▁end｜>\n'
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>finish\n```json\n{"answer": "a"}\n```<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>"
    ),
    "deepseek_v3_1": (
        "<think>\nhm\n</think>\n\n<｜tool▁calls▁begin｜>"
        '<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "Oslo"}<｜tool▁call▁end｜>'
        '<｜tool▁call▁begin｜>finish<｜tool▁sep｜>{"answer": "a"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "gpt_oss": (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant"
        '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "Oslo"}<|call|>'
        "<|start|>assistant"
        '<|channel|>commentary to=functions.finish <|constrain|>json<|message|>{"answer": "a"}<|call|>'
    ),
}


@pytest.mark.parametrize("name", TOOL_FAMILIES)
def test_calls_are_written_in_the_published_format(name: str) -> None:
    assert get_dialect(name).render(TWO, thought="hm") == PUBLISHED[name]


def test_an_answer_in_search_r1_is_what_an_oracle_ends_with() -> None:
    dialect = get_dialect("search_r1")
    assert dialect.render(numbered([("finish", {"status": "success", "answer": "Oslo"})])).endswith(
        "<answer>Oslo</answer>"
    )
    with pytest.raises(Unrenderable):
        dialect.render(numbered([("finish", {"status": "failure", "answer": "Oslo"})]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3", 'hm</think><tool_call>{"name": "search", "arguments": {"query": "Oslo"}}</tool_call>'),
        ("llama3", '{"name": "search", "parameters": {"query": "Oslo"}}<|eot_id|>'),
        ("search_r1", "<think> I lack it </think>\n\n<search> Oslo </search>\n"),
        ("llama3", '<|python_tag|>{"name": "search", "parameters": {"query": "Oslo"}}<|eom_id|>'),
        ("mistral", '[TOOL_CALLS]search[ARGS]{"query": "Oslo"}</s>'),
        ("mistral", '[TOOL_CALLS] [{"name": "search", "arguments": {"query": "Oslo"}, "id": "a1b2c3d4e"}]'),
        ("deepseek_v3_1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n"
         '{"query": "Oslo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>'),
        ("deepseek_v3", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "Oslo"}'
         "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
        ("gpt_oss", ' to=functions.search<|channel|>commentary json<|message|>{"query": "Oslo"}<|call|>'),
    ],
)  # fmt: skip
def test_what_models_also_write_is_read(name: str, text: str) -> None:
    assert get_dialect(name).parse(text).calls == CALL


def test_a_call_that_was_only_thought_of_is_none() -> None:
    thought = '<think>\nI could <tool_call>{"name": "finish"}</tool_call>\n</think>\n'
    with pytest.raises(ParseError, match="no <tool_call>"):
        get_dialect("qwen3").parse(f"{thought}or not.")
    written = get_dialect("qwen3").render(CALL)
    assert get_dialect("qwen3").parse(thought + written).calls == CALL


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_message_that_was_cut_off_is_refused_or_has_whole_calls_only(name: str) -> None:
    dialect = get_dialect(name)
    call = (
        CALL
        if name in (*TOOL_FAMILIES, "search_r1")
        else (ToolCall(id="0", name="finish", arguments={"status": "success"}),)
    )
    whole = dialect.render(call, thought="hm")
    for end in range(len(whole)):
        try:
            parsed = dialect.parse(whole[:end])
        except ParseError as error:
            assert str(error)
        else:
            assert parsed.calls == call, whole[:end]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("qwen3", "<think>\nlet me see", "<think> is not closed"),
        ("qwen2_5_vl", "I tap the button.", "no <tool_call>"),
        ("qwen2_5_vl", '<tool_call>\n{"name": "mobile_use"', "not closed"),
        ("qwen2_5_vl", "<tool_call>\ntap\n</tool_call>", "not valid JSON"),
        ("qwen2_5_vl", "<tool_call>[1]</tool_call>", '"name"'),
        ("qwen2_5_vl", mobile_use([]), "JSON object"),
        ("qwen2_5_vl", mobile_use({"action": "tap", "coordinate": [1, 2]}), "no action 'tap'; choose one of"),
        ("qwen2_5_vl", mobile_use({"action": "click"}), "click needs 'coordinate'"),
        ("qwen2_5_vl", mobile_use({"action": "swipe", "coordinate": [1, 2]}), "swipe needs 'coordinate2'"),
        ("qwen2_5_vl", mobile_use({"action": "system_button", "button": "Up"}), "choose one of Back, Home, Menu"),
        ("qwen2_5_vl", mobile_use({"action": "click", "coordinate": [1, 2]}) + " done", "nothing may follow"),
        ("llama3", "I would search.", "no call in your message"),
        ("search_r1", "<think>It is Oslo.</think> Oslo", "neither a query between <search>"),
        ("search_r1", "<search>Oslo</search> <information>made up</information>", "nothing may follow </search>"),
        ("search_r1", "<answer> </answer>", "nor an answer between"),
        ("llama3", '{"name": "a", "parameters": {}} and {"name": "b"}', "only a semicolon may stand between"),
        ("llama3", '{"name": "a", "parameters": [1]}', '"parameters" must be a JSON object'),
        ("mistral", "I would search.", "no [TOOL_CALLS]"),
        ("mistral", "[TOOL_CALLS][]", "is empty"),
        ("mistral", "[TOOL_CALLS]search", "[ARGS]"),
        ("mistral", '[TOOL_CALLS][{"name": 5}]', '"name"'),
        ("deepseek_v3", "<｜tool▁calls▁begin｜>", "not closed"),
        ("deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>", "comes <｜tool▁call▁begin｜>"),
        ("gpt_oss", "<|channel|>final<|message|>It is Oslo.<|return|>", "no call in your message"),
        ("gpt_oss", '<|channel|>commentary to=functions.a<|message|>{"b": 1}', "not closed by <|call|>"),
        ("ui_tars_1_5", "Thought: hm", "no 'Action:'"),
        ("ui_tars_1_5", "Action: click(point='middle')", "click needs 'point', as in '<point>x y</point>'"),
        ("ui_tars_1_5", "Action: jump()", "no action 'jump'; choose one of click"),
        ("ui_tars_1_5", "Action: click(point='<point>1 2</point>') now", "nothing may follow"),
        ("ui_tars_1_5", "Action: type(content=Oslo)", "expected a text in quotes"),
        ("ui_tars", "Action: scroll(start_box='(1,2)', direction='north')", "choose one of up, down"),
        ("autoglm", "<answer>do(action=\"Tap\", element=[1])</answer>", "Tap needs 'element', as in [x,y]"),
        ("autoglm", '<answer>do(action="Tap"', "not closed"),
        ("autoglm", '<answer>do(action="Wait", duration="a while")</answer>', 'as in "2 seconds"'),
        ("autoglm", '<answer>tap([1,2])</answer>', "choose one of do, finish"),
        ("androidlab", "tap([1,2])", "tap needs 'box', as in [x1,y1,x2,y2]"),
        ("androidlab", 'swipe([1,2,3,4], "up", "far")', "choose one of short"),
        ("androidworld", 'Action: {"action_type": "click", "index": 5}', "elements have no index"),
        ("androidworld", 'Action: {"action_type": "input_text", "text": "a", "index": 5}', "click it first"),
        ("androidworld", 'Action: {"action_type": "scroll", "direction": "north"}', "choose one of up, down"),
        ("androidworld", "Action: [1]", "must be"),
        ("mai_ui", mobile_use({"action": "ask_user"}), "no user"),
        ("mai_ui", mobile_use({"action": "swipe"}), "swipe needs 'direction'"),
        ("mai_ui", '<tool_call>{"name": "computer", "arguments": {}}</tool_call>', "choose one of mobile_use"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused_with_the_reason(name: str, text: str, complaint: str) -> None:
    with pytest.raises(ParseError) as caught:
        get_dialect(name).parse(text)
    assert complaint in str(caught.value)


# --- phones ----------------------------------------------------------------------------------------------------------

SPOKEN = WORDS.filter(bool)
SEARCHES = SPOKEN.map(lambda text: ("search", {"query": text})) | SPOKEN.map(lambda text: ("finish", {"answer": text}))
POINT = st.lists(st.integers(0, 998), min_size=2, max_size=2)
DIRECTION = st.sampled_from(["up", "down", "left", "right"])
DISTANCE = st.sampled_from(["short", "medium", "long"])
TEXT = ANY_TEXT.filter(lambda text: "\0" not in text)


def does(action: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.fixed_dictionaries({"action": st.just(action), **values}).map(lambda arguments: ("phone", arguments))


def key(*names: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return does("key", key=st.sampled_from(names))


TAP, LONG_PRESS = does("tap", coordinate=POINT), does("long_press", coordinate=POINT)
DOUBLE_TAP = does("double_tap", coordinate=POINT)
DRAG, SWIPE = (does(name, coordinate=POINT, coordinate2=POINT) for name in ("drag", "swipe"))
TYPE, OPEN, WAIT = does("type", text=TEXT), does("open_app", app=TEXT), does("wait")
WAIT_SECONDS = does("wait", seconds=st.integers(0, 20))
SCROLL, SCROLL_AT = does("scroll", direction=DIRECTION), does("scroll", direction=DIRECTION, coordinate=POINT)
SCROLL_FAR_AT = does("scroll", direction=DIRECTION, distance=DISTANCE, coordinate=POINT)
SUCCESS = st.just(("finish", {"status": "success"}))
FAILURE = st.just(("finish", {"status": "failure"}))
ANSWER = st.fixed_dictionaries({"status": st.just("success"), "answer": TEXT.filter(bool)}).map(
    lambda arguments: ("finish", arguments)
)
ENTERED = does("type", text=TEXT.map(lambda text: f"{text}\n"))
SEARCH = st.dictionaries(st.text(max_size=5), TEXT, max_size=3).map(lambda arguments: ("search", arguments))
QWEN = (TAP, LONG_PRESS, does("long_press", coordinate=POINT, seconds=st.integers(0, 20)), SWIPE, TYPE, WAIT_SECONDS,
        key("BACK", "HOME", "MENU", "ENTER"), SUCCESS, FAILURE, ANSWER, SEARCH)  # fmt: skip
QWENS = ("qwen2_5_vl", "qwen3_vl", "gui_owl")
SAYS = {
    "qwen3_vl": QWEN,
    **dict.fromkeys(("qwen2_5_vl", "gui_owl"), (*QWEN, OPEN, key("VOLUME_UP", "DEL"))),
    "mai_ui": (TAP, DOUBLE_TAP, LONG_PRESS, DRAG, SCROLL, SCROLL_AT, TYPE, OPEN, WAIT, SUCCESS, FAILURE, ANSWER,
               key("BACK", "HOME", "MENU", "ENTER")),
    "ui_tars_1_5": (TAP, LONG_PRESS, DRAG, SCROLL_AT, TYPE, OPEN, WAIT, key("BACK", "HOME"), SUCCESS, ANSWER),
    "ui_tars": (TAP, LONG_PRESS, DRAG, SCROLL_AT, TYPE, OPEN, WAIT, key("BACK", "HOME"), SUCCESS, ANSWER),
    "autoglm": (TAP, DOUBLE_TAP, LONG_PRESS, SWIPE, SCROLL, SCROLL_AT, SCROLL_FAR_AT, TYPE, OPEN, WAIT, WAIT_SECONDS,
                key("BACK", "HOME"), SUCCESS, ANSWER),
    "androidlab": (TAP, LONG_PRESS, SCROLL_FAR_AT, TYPE, WAIT_SECONDS, key("BACK", "HOME"), SUCCESS, ANSWER),
    "androidworld": (TAP, DOUBLE_TAP, LONG_PRESS, SCROLL, SCROLL_AT, ENTERED, OPEN, WAIT, SUCCESS, FAILURE, ANSWER,
                     key("BACK", "HOME", "ENTER")),
}  # fmt: skip


CALLS = {
    **dict.fromkeys(TOOL_FAMILIES, TOOL_CALLS),
    "search_r1": st.lists(SEARCHES, min_size=1, max_size=1),
    **{name: st.lists(st.one_of(*says), min_size=1, max_size=3 if name in QWENS else 1) for name, says in SAYS.items()},
}


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_calls_read_as_they_were_written(name: str) -> None:
    dialect = get_dialect(name)

    @PATIENT
    @given(CALLS[name], WORDS)
    def check(actions: list[tuple[str, dict[str, Any]]], thought: str) -> None:
        calls = numbered(actions)
        parsed = dialect.parse(dialect.render(calls, thought=thought))
        assert parsed.calls == calls
        assert parsed.thought == thought

    check()


@pytest.mark.parametrize("name", sorted(SAYS))
def test_what_a_phone_family_cannot_say_is_not_rendered(name: str) -> None:
    dialect = get_dialect(name)
    odd: list[tuple[str, dict[str, Any]]] = [
        ("phone", {"action": "tap", "coordinate": [1, 2], "pressure": 3}),
        ("phone", {"action": "fly"}),
    ]
    for action in odd:
        with pytest.raises(Unrenderable):
            dialect.render(numbered([action]))
    with pytest.raises(Unrenderable):
        dialect.render(numbered([("finish", {"status": "failure", "answer": "a"})]))
    with pytest.raises(Unrenderable, match="none of system_button, click"):
        get_dialect("qwen3_vl").render(numbered([("phone", {"action": "open_app", "app": "Clock"})]))


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("ui_tars", "Action: click(start_box='<|box_start|>(10,20)<|box_end|>')", {"coordinate": [10, 20]}),
        ("androidlab", "I tap it.\ntap([[10,20,31,40]])", {"coordinate": [20.5, 30.0]}),
        ("androidworld", 'Action: {"action_type": "swipe", "direction": "up"}', {"direction": "down"}),
        ("autoglm", '<answer>do(action="Swipe", direction="up", dist="long")</answer>', {"direction": "down"}),
        ("mai_ui", '<tool_call>{"name": "mobile_use", "arguments": {"action": "swipe", "direction": "left"}}'
         "</tool_call>", {"direction": "right"}),
        ("ui_tars_1_5", r"Action: type(content='it\'s \"here\"\n')", {"text": 'it\'s "here"\n'}),
    ],
)  # fmt: skip
def test_published_phrases_mean_what_their_authors_mean(name: str, text: str, arguments: dict[str, Any]) -> None:
    [call] = get_dialect(name).parse(text).calls
    assert arguments.items() <= dict(call.arguments).items()


@pytest.mark.parametrize("name", sorted(DIALECTS))
@PATIENT
@given(text=ANY_TEXT | st.text(max_size=200))
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    dialect = get_dialect(name)
    call = f'<tool_call>{{"name": "mobile_use"{text}</tool_call>'
    for candidate in (
        text,
        f"Action: {text}",
        f"<answer>do({text})</answer>",
        f"[TOOL_CALLS]{text}",
        call,
        "[" * 50_000,
    ):
        try:
            assert dialect.parse(candidate).calls
        except ParseError as error:
            assert str(error)


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_the_prompt_tells_of_the_tools_and_results_tell_of_failures(name: str) -> None:
    dialect = get_dialect(name)
    tool = ToolSchema(
        name="finish",
        description="End the episode.",
        parameters={
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["success", "failure"], "description": "How it went."},
                "notes": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["status"],
        },
    )
    prompt = dialect.system_prompt([tool], image_px=(560, 1120))
    told = prompt + dialect.first_message("Find it")
    assert any(word in told for word in ("finish", "terminate", "goal_status", "<answer>"))
    failed = ToolResult(call_id="0", name="phone", status=ToolStatus.REJECTED, text="no such key")
    assert "rejected: no such key" in dialect.next_message([failed])
    assert "odd" in dialect.error_message(ParseError("odd"))
    assert "Find it" in dialect.first_message("Find it")


def test_frames_are_those_of_the_families() -> None:
    frames = {name: dialect.frame for name, dialect in DIALECTS.items()}
    assert frames["gui_owl"] is frames["ui_tars"] is frames["autoglm"] is CoordinateFrame.PERMILLE_1000
    assert frames["qwen3_vl"] is frames["mai_ui"] is CoordinateFrame.PERMILLE_999
    assert frames["ui_tars_1_5"] is frames["qwen2_5_vl"] is CoordinateFrame.IMAGE_PX
    assert frames["androidworld"] is frames["androidlab"] is CoordinateFrame.DEVICE_PX


def test_harmony_declares_tools_as_types() -> None:
    schema = ToolSchema(
        name="search",
        description="Search.",
        parameters={"properties": {"query": {"type": "string", "description": "What."}, "k": {"type": "integer"}},
                    "required": ["query"]},
    )  # fmt: skip
    prompt = get_dialect("gpt_oss").system_prompt([schema], image_px=(0, 0))
    assert "// Search.\ntype search = (_: {\n// What.\nquery: string,\nk?: number,\n}) => any;" in prompt
    bare = ToolSchema(name="now", description="Tell the time.", parameters={"properties": {}})
    assert "type now = () => any;" in get_dialect("gpt_oss").system_prompt([bare], image_px=(0, 0))


def test_arguments_that_other_actions_take_are_no_mistake() -> None:
    parsed = get_dialect("qwen2_5_vl").parse(
        mobile_use({"action": "click", "coordinate": [3, 4], "text": "", "time": 2})
    )
    assert parsed.calls[0].arguments == {"action": "tap", "coordinate": [3, 4]}


def test_coordinates_are_declared_in_the_dialects_frame() -> None:
    tools = [ToolSchema(name="phone", description="", parameters={})]
    assert "resolution is 112x252" in get_dialect("qwen2_5_vl").system_prompt(tools, image_px=(112, 252))
    assert "resolution is 999x999" in get_dialect("qwen3_vl").system_prompt(tools, image_px=(96, 160))


@pytest.mark.parametrize("name", QWENS)
def test_the_model_is_told_of_every_tool_and_of_what_went_wrong(name: str) -> None:
    dialect = get_dialect(name)
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


def test_an_unknown_dialect_names_close_ones() -> None:
    with pytest.raises(UnknownName, match="qwen2_5_vl"):
        get_dialect("qwen2.5_vl")
