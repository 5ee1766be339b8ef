"""The tool that ends an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlfactory.envs.api.types import JSON
from rlfactory.envs.tools.arguments import object_schema, read_choice, read_text, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Ending, Tool, ToolContext

MAX_ANSWER_CHARS: Final = 4_000

FINISH_SCHEMA: Final = object_schema(
    "finish",
    "End the episode: say whether the task is done and, where it asks for one, give the answer.",
    {
        "status": {"type": "string", "enum": ["success", "failure"], "description": "Default: success."},
        "answer": {
            "type": "string",
            "maxLength": MAX_ANSWER_CHARS,
            "description": "The answer, if one is asked for.",
        },
    },
)


class FinishTool(Tool):
    """Records the ending."""

    schema = FINISH_SCHEMA
    ends_episode = True
    lives_on = True
    acts_outside = False
    policy = ToolPolicy(deterministic=True)

    def __init__(self, context: ToolContext) -> None:
        self._notes = context.notes

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("status", "answer"))
        status = read_choice(arguments, "status", ("success", "failure"), default="success")
        answer = read_text(arguments, "answer", max_chars=MAX_ANSWER_CHARS, default="")
        self._notes.ending = Ending(claimed_success=status == "success", answer=answer)
        return "The episode is over."

    def fork(self, context: ToolContext) -> FinishTool:
        return FinishTool(context)
