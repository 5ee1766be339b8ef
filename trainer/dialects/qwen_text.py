"""Qwen's text models: Hermes tool calls, in Qwen3 after a thinking block. Source: their chat templates.

And the way in which Search-R1 (Jin et al., 2025) has Qwen2.5 search and answer. Source: the paper's Table 1, and the
repository's `infer.py` and `search_r1/llm_agent/generation.py`. There what a search finds is written into the model's
own message; here it is a user's message, as in every conversation of ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.types import ToolResult
from rlfactory.trainer.dialects import hermes, json_calls, thinking
from rlfactory.trainer.dialects.dialect import ParseError, Unrenderable
from rlfactory.trainer.dialects.tools import Signature, ToolDialect, Written


@dataclass(frozen=True, kw_only=True, slots=True)
class HermesSyntax:
    """JSON between `<tool_call>` tags."""

    thinks: bool

    def prompt(self, signatures: Sequence[Signature]) -> str:
        return hermes.system_prompt(signatures)

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        written = "\n".join(hermes.render(name, arguments) for name, arguments in calls)
        if self.thinks:
            return thinking.render(thought) + written
        return f"{thought}\n{written}" if thought else written

    def read(self, text: str) -> tuple[str, list[Written]]:
        thought, rest = thinking.split(text) if self.thinks else ("", text)
        said, calls = hermes.split(rest)
        return thinking.join(thought, said), calls

    def answers(self, results: Sequence[ToolResult]) -> str:
        return hermes.responses(results, silent=frozenset())

    def complaint(self, text: str) -> str:
        return f"<tool_response>\n{text}\n</tool_response>"


class SearchR1Syntax:
    """A query between `<search>` tags, or an answer between `<answer>` tags."""

    def prompt(self, signatures: Sequence[Signature]) -> str:
        del signatures  # the question's message tells of the only tool
        return "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

    def write(self, thought: str, calls: Sequence[Written]) -> str:
        if len(calls) != 1:
            raise Unrenderable("one search or one answer in a message")
        [(name, said)] = calls
        # An answer says by itself that the episode is at its end.
        arguments = {key: value for key, value in said.items() if (name, key, value) != ("finish", "status", "success")}
        for tag, (tool, key) in _SEARCH_R1_ACTIONS.items():
            value = arguments.get(key)
            if name == tool and len(arguments) == 1 and isinstance(value, str) and _plain(value):
                return f"{thinking.render(thought)}<{tag}>{value}</{tag}>"
        raise Unrenderable(f"neither a search nor an answer: {name}")

    def read(self, text: str) -> tuple[str, list[Written]]:
        thought, rest = thinking.split(text)
        found = _SEARCH_R1_ACTION.search(rest)
        if not found or not found[2].strip():
            raise ParseError(
                "neither a query between <search> and </search> nor an answer between <answer> and </answer>"
            )
        if rest[found.end() :].strip():
            raise ParseError(f"nothing may follow </{found[1]}>")
        tool, key = _SEARCH_R1_ACTIONS[found[1]]
        return thinking.join(thought, rest[: found.start()]), [(tool, {key: found[2].strip()})]

    def answers(self, results: Sequence[ToolResult]) -> str:
        return "\n".join(f"<information>{json_calls.answer(each)}</information>" for each in results)

    def complaint(self, text: str) -> str:
        return (
            f"My previous action is invalid ({text}). If I want to search, I should put the query between <search> and "
            "</search>. If I want to give the final answer, I should put the answer between <answer> and </answer>. "
            "Let me try again."
        )


class SearchR1Dialect(ToolDialect):
    """Search-R1's prompt: the tool is told of beside the question."""

    __slots__ = ()

    def first_message(self, goal: str) -> str:
        return f"{SEARCH_R1_PROMPT} Question: {goal}\n"


def _plain(value: str) -> bool:
    return value == value.strip() != "" and not re.search(r"</?(search|answer|think)>", value)


_SEARCH_R1_ACTIONS: Final = {"search": ("search", "query"), "answer": ("finish", "answer")}
_SEARCH_R1_ACTION: Final = re.compile(r"<(search|answer)>(.*?)</\1>", re.DOTALL)
SEARCH_R1_PROMPT: Final = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> "
    "query </search> and it will return the top searched results between <information> and </information>. You can "
    "search as many times as your want. If you find no further external knowledge needed, you can directly provide "
    "the answer inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing "
    "</answer>."
)
"""As in the paper, its slip included."""

SEARCH_R1: Final = SearchR1Dialect(name="search_r1", syntax=SearchR1Syntax())
QWEN3: Final = ToolDialect(name="qwen3", syntax=HermesSyntax(thinks=True))
QWEN2_5: Final = ToolDialect(name="qwen2_5", syntax=HermesSyntax(thinks=False))
