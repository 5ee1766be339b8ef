"""Answers of an earlier play: a replay reads them where running a call again could answer differently."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import ToolCall, ToolStatus
from rlfactory.envs.tools.runtime.cache import ResultCache
from rlfactory.envs.tools.runtime.metrics import ToolMetrics
from rlfactory.envs.tools.runtime.runtime import Ended, RuntimeConfig, ToolRuntime
from rlfactory.envs.tools.tool import Tool


class RecordedRuntime(ToolRuntime):
    """Answers calls by their ids; runs those of deterministic tools, and those that no answer is known for."""

    def __init__(
        self, config: RuntimeConfig, answers: Mapping[str, Ended], *, cache: ResultCache, metrics: ToolMetrics
    ) -> None:
        super().__init__(config, cache=cache, metrics=metrics)
        self._answers = answers

    async def run(self, tool: Tool, call: ToolCall, timeout_s: float) -> Ended:
        """See `ToolRuntime.run`."""
        answer = None if tool.policy.pure or tool.policy.deterministic else self._answers.get(call.id)
        return answer or await super().run(tool, call, timeout_s)


def tool_runtime(
    config: RuntimeConfig, answers: Mapping[str, Ended], *, cache: ResultCache, metrics: ToolMetrics
) -> ToolRuntime:
    """Return the runtime of a service, which answers from the record where there is one."""
    if answers:
        return RecordedRuntime(config, answers, cache=cache, metrics=metrics)
    return ToolRuntime(config, cache=cache, metrics=metrics)


def read_answers(path: Path) -> dict[str, Ended]:
    """Return the answers of a file, JSONL of {"id", "status", "text"}. Raises: TaskError: what is wrong with it."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {row["id"]: (ToolStatus(row["status"]), str(row["text"])) for row in rows}
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{path}: no file of recorded answers: {error}") from None
