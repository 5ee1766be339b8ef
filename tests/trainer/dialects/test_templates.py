"""Golden: what a family's chat template writes for calls, tools and answers is what its dialect writes and reads.

The templates in `templates/` are small ones of our own that follow each family's published format. At run time a
model's own template is taken from its directory, which the last tests prove.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("transformers", reason="needs the train extra")

from transformers.utils.chat_template_utils import render_jinja_template

from rlfactory.envs.api.types import ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.context import Message

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

TEMPLATES: Final = Path(__file__).parent / "templates"
SHARED: Final = {"qwen3_vl": "qwen3", "qwen2_5_vl": "qwen3"}
"""Families that write as another does."""
USER: Final[dict[str, Any]] = {"role": "user", "content": "Where was Ada Brink born?"}
TOOLS: Final = (
    ToolSchema(
        name="search",
        description="Search a collection of passages.",
        parameters={
            "type": "object",
            "properties": {"query": {"type": "string"}, "top_k": {"type": "number"}},
            "required": ["query"],
        },
    ),
)
CALLS: Final = (
    ToolCall(id="0", name="search", arguments={"query": 'Ada Brink, "née" <Ö>'}),
    ToolCall(id="1", name="finish", arguments={"answer": "Ostby", "status": "success"}),
)
TAP: Final = (ToolCall(id="0", name="phone", arguments={"action": "tap", "coordinate": [120, 640]}),)
TAP_AS_WRITTEN: Final = {"action": "click", "coordinate": [120, 640]}
"""By the families whose tool is `mobile_use`."""
END: Final = {
    **dict.fromkeys(("qwen2_5", "qwen3", "qwen2_5_vl", "qwen3_vl"), "<|im_end|>\n"),
    "llama3": "<|eot_id|>",
    "mistral": "</s>",
    **dict.fromkeys(("deepseek_v3", "deepseek_v3_1"), "<｜end▁of▁sentence｜>"),
    "gpt_oss": "",
}
"""What a template puts behind an assistant's turn."""
ONE_CALL: Final = ("llama3", "gpt_oss")
"""Families whose published templates hold one call a turn."""


def rendered(family: str, *messages: dict[str, Any], tools: Any = None, prompt: bool = False) -> str:
    """Return what the family's template makes of a conversation, by transformers' own renderer."""
    template = (TEMPLATES / f"{SHARED.get(family, family)}.jinja").read_text(encoding="utf-8")
    texts, _ = render_jinja_template(
        [list(messages)], tools=tools, chat_template=template, add_generation_prompt=prompt
    )
    return str(texts[0])


def turn(family: str, **assistant: Any) -> str:
    """Return the assistant's turn alone: what follows the prompt for it, without its end."""
    prompt = rendered(family, USER, prompt=True)
    whole = rendered(family, USER, {"role": "assistant", **assistant})
    assert whole.startswith(prompt), "a sampled turn follows the prompt as the template writes it"
    assert whole.endswith(END[family])
    return whole[len(prompt) : len(whole) - len(END[family])]


def as_messages(calls: tuple[ToolCall, ...], **changed: Any) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "id": f"call0000{call.id}",
            "function": {"name": call.name, "arguments": dict(call.arguments), **changed},
        }
        for call in calls
    ]


def some(family: str) -> tuple[ToolCall, ...]:
    return CALLS[:1] if family in ONE_CALL else CALLS


@pytest.mark.parametrize("family", ["qwen2_5", "qwen3", "llama3", "mistral", "deepseek_v3", "deepseek_v3_1", "gpt_oss"])
def test_what_the_template_writes_is_read(family: str) -> None:
    written = turn(family, content="", tool_calls=as_messages(some(family)))
    assert get_dialect(family).parse(written).calls == some(family)


@pytest.mark.parametrize("family", ["qwen2_5", "qwen3", "llama3", "mistral", "deepseek_v3", "deepseek_v3_1"])
def test_calls_are_written_as_the_template_writes_them(family: str) -> None:
    written = turn(family, content="", tool_calls=as_messages(some(family)))
    without_ids = re.sub(r', "id": "[^"]*"', "", written)
    assert get_dialect(family).render(some(family)) == without_ids


def test_thoughts_are_written_as_the_template_writes_them() -> None:
    written = turn("qwen3", reasoning_content="hm", content="", tool_calls=as_messages(CALLS))
    assert get_dialect("qwen3").render(CALLS, thought="hm") == written
    written = turn("qwen2_5", content="hm", tool_calls=as_messages(CALLS))
    assert get_dialect("qwen2_5").render(CALLS, thought="hm") == written
    harmony = turn("gpt_oss", thinking="hm", content="", tool_calls=as_messages(CALLS[:1]))
    assert get_dialect("gpt_oss").parse(harmony).thought == "hm"


@pytest.mark.parametrize("family", ["qwen2_5", "qwen3", "llama3", "mistral", "deepseek_v3", "deepseek_v3_1"])
def test_an_action_told_as_text_is_the_action_told_as_calls(family: str) -> None:
    """History holds what the model wrote; a template that knows calls must make the same of it."""
    text = turn(family, content=get_dialect(family).render(some(family)))
    assert text == re.sub(r', "id": "[^"]*"', "", turn(family, content="", tool_calls=as_messages(some(family))))


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_families_that_see_write_a_tap_as_their_template_does(family: str) -> None:
    dialect = get_dialect(family)
    if family == "qwen3_vl":
        function = as_messages(TAP, name="mobile_use", arguments=TAP_AS_WRITTEN)
        assert dialect.render(TAP) == turn(family, content="", tool_calls=function)
    written = turn(family, content=dialect.render(TAP, thought="hm"))
    parsed = dialect.parse(written)
    assert (parsed.calls, parsed.thought) == (TAP, "hm")


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_a_screenshot_stands_before_its_text(family: str) -> None:
    seen = {
        "role": "user",
        "content": [{"type": "image"}, {"type": "text", "text": get_dialect(family).first_message("x")}],
    }
    assert "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>" in rendered(family, seen)


# --- tools and answers -----------------------------------------------------------------------------------------------


def function_schemas() -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": dict(each.parameters)},
        }
        for each in TOOLS
    ]


@pytest.mark.parametrize("family", ["qwen2_5", "qwen3", "qwen3_vl"])
def test_tools_are_told_as_the_template_tells_them(family: str) -> None:
    system = {"role": "system", "content": "You are a helpful assistant."}
    ours = {"role": "system", "content": get_dialect(family).system_prompt(TOOLS, image_px=(0, 0))}
    assert rendered(family, ours, USER) == rendered(family, system, USER, tools=function_schemas())


@pytest.mark.parametrize(
    ("family", "begins", "ends"),
    [
        ("llama3", '{"type": "function"', "}}"),
        ("mistral", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        ("deepseek_v3_1", "## Tools", '"required": ["query"]}'),
        ("gpt_oss", "# Tools", "} // namespace functions"),
    ],
)
def test_the_list_of_tools_is_the_templates(family: str, begins: str, ends: str) -> None:
    told = rendered(family, {"role": "system", "content": "Be brief."}, USER, tools=function_schemas())
    ours = get_dialect(family).system_prompt(TOOLS, image_px=(0, 0))
    part = re.search(f"{re.escape(begins)}.*{re.escape(ends)}", told, re.DOTALL)
    assert part is not None
    assert part[0] in ours


@pytest.mark.parametrize("family", ["qwen2_5", "qwen3", "qwen3_vl"])
def test_answers_are_told_as_the_template_tells_them(family: str) -> None:
    results = [ToolResult(call_id=str(n), name="search", status=ToolStatus.OK, text=f"Doc {n}") for n in range(2)]
    tools = [{"role": "tool", "content": result.text} for result in results]
    called = {"role": "assistant", "content": "", "tool_calls": as_messages(CALLS)}
    ours = {"role": "user", "content": get_dialect(family).next_message(results)}
    assert rendered(family, USER, called, *tools) == rendered(family, USER, called, ours)


@pytest.mark.parametrize("family", ["deepseek_v3", "deepseek_v3_1"])
def test_an_answer_stands_between_the_templates_marks(family: str) -> None:
    result = ToolResult(call_id="0", name="search", status=ToolStatus.OK, text="Doc 1")
    called = {"role": "assistant", "content": "", "tool_calls": as_messages(CALLS[:1])}
    assert get_dialect(family).next_message([result]) in rendered(family, called, {"role": "tool", "content": "Doc 1"})


# --- at run time -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["qwen2_5", "llama3"])
async def test_the_template_of_the_models_directory_is_the_one_that_is_used(family: str, tmp_path: Path) -> None:
    pytest.importorskip("verl", reason="needs the train extra")
    from transformers import AutoTokenizer

    from rlfactory.trainer.verl.chat import VerlChatTokens

    made = build_tokenizer(Corpus(phrases=(), texts=(USER["content"],), max_number=9), vocabulary=400)
    made.chat_template = (TEMPLATES / f"{family}.jinja").read_text(encoding="utf-8")
    made.save_pretrained(tmp_path)
    chat = VerlChatTokens(AutoTokenizer.from_pretrained(tmp_path), model_type="")
    ids = await chat.begin([Message(role="user", text=USER["content"])])
    assert chat.decode(ids, special=True) == rendered(family, USER, prompt=True)
