"""The tool `search`: passages for a question, written as Search-R1 writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.arguments import object_schema, read_text, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.search.passages import Hit
from rlfactory.envs.tools.search.retriever import Retriever
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext

MAX_QUERY_CHARS: Final = 500
NOTHING: Final = "Nothing was found."


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchToolConfig:
    """How a search answers."""

    top_k: int = 3
    max_passage_chars: int = 700
    """Of one passage; a longer one is cut and ends in "..."."""

    def __post_init__(self) -> None:
        if self.top_k < 1 or self.max_passage_chars < 1:
            raise ValueError(f"top_k and max_passage_chars must be at least 1, got {self}")


class SearchTool(Tool):
    """Finds passages. Keeps no state: forks share its retriever."""

    schema = object_schema(
        "search",
        "Search a collection of passages and return the best ones.",
        {
            "query": {
                "type": "string",
                "maxLength": MAX_QUERY_CHARS,
                "description": "What to look for: the names and words that its passage will hold.",
            }
        },
        required=["query"],
    )

    policy = ToolPolicy(pure=True)
    lives_on = True
    acts_outside = False

    def __init__(self, retriever: Retriever, config: SearchToolConfig | None = None) -> None:
        self._retriever = retriever
        self._config = config or SearchToolConfig()
        self.identity = f"{retriever.identity} {self._config}"

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("query",))
        query = read_text(arguments, "query", max_chars=MAX_QUERY_CHARS)
        if not query.strip():
            raise Rejected("'query' is empty")
        [hits] = await self._retriever.retrieve([query], top_k=self._config.top_k, timeout_s=context.timeout_s)
        return format_hits(hits, max_passage_chars=self._config.max_passage_chars)

    def fork(self, context: ToolContext) -> SearchTool:
        return SearchTool(self._retriever, self._config)


def format_hits(hits: Sequence[Hit], *, max_passage_chars: int) -> str:
    """Return passages as Search-R1 tells them: `Doc 1(Title: ..) text`, one a line."""
    lines = []
    for number, hit in enumerate(hits, start=1):
        text = " ".join(hit.passage.text.split())
        if len(text) > max_passage_chars:
            text = f"{text[: max_passage_chars - 3]}..."
        lines.append(f"Doc {number}(Title: {hit.passage.title}) {text}")
    return "\n".join(lines) or NOTHING
