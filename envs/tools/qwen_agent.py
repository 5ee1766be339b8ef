"""Tools written for Qwen-Agent: a `BaseTool` (its class, or any that looks like it) as one of ours.

Qwen-Agent itself need not be installed; what the tool imports must be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tools.function import NAME, said
from rlfactory.envs.tools.runtime.policy import DEFAULT_POLICY, ToolPolicy
from rlfactory.envs.tools.runtime.threads import in_thread
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolFactory


def qwen_tool(
    subject: Callable[..., Any],
    *,
    name: str = "",
    policy: ToolPolicy = DEFAULT_POLICY,
    options: Mapping[str, Any] | None = None,
) -> ToolFactory:
    """Return a factory of tools that call a Qwen-Agent tool; each session has an object of its own.

    Args:
        subject: the class; it is made with `options` as its configuration, as Qwen-Agent makes it.

    Raises: ValueError: it has no name, or parameters that are neither Qwen-Agent's list nor a JSON schema.
    """
    config = dict(options) if options else None
    schema = _schema(subject(config), name)
    return lambda context: QwenTool(lambda: subject(config), schema, policy)


def _schema(tool: Any, name: str) -> ToolSchema:
    called = name or getattr(tool, "name", "")
    if not NAME.fullmatch(called or ""):
        raise ValueError(f"{type(tool).__name__}: {called!r} is no name for a tool")
    given = getattr(tool, "parameters", None)
    match given:
        case {"type": "object"}:
            parameters = cast("dict[str, JSON]", given)
        case list() | tuple():
            parameters = _of_list(called, given)
        case _:
            raise ValueError(f"{called}: parameters must be a list of named ones or the JSON schema of an object")
    return ToolSchema(name=called, description=str(getattr(tool, "description", "")), parameters=parameters)


def _of_list(tool: str, given: Any) -> dict[str, JSON]:
    properties: dict[str, JSON] = {}
    required: list[JSON] = []
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise ValueError(f"{tool}: a parameter without a name: {each!r}")  # noqa: TRY004 - as the rest
        properties[each["name"]] = {key: value for key, value in each.items() if key not in ("name", "required")}
        if each.get("required"):
            required.append(each["name"])
    return {"type": "object", "properties": properties, "required": required}


class QwenTool(Tool):
    """Calls one object of a Qwen-Agent tool, in a thread, one call after another: it may have state."""

    def __init__(self, make: Callable[[], Any], schema: ToolSchema, policy: ToolPolicy) -> None:
        self.schema = schema
        self.policy = policy
        self._make = make
        self._tool = make()
        self.resource = f"{schema.name} {id(self._tool)}"

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        required = self.schema.parameters.get("required") or []
        missing = [name for name in required if name not in arguments] if isinstance(required, list) else []
        if missing:
            raise Rejected(f"missing: {', '.join(map(str, missing))}")
        text = json.dumps(dict(arguments), ensure_ascii=False)
        return said(await in_thread(lambda: self._tool.call(text)))

    def fork(self, context: ToolContext) -> Tool:
        """A fork gets a new object: Qwen-Agent's tools cannot be copied in mid-flight."""
        return QwenTool(self._make, self.schema, self.policy)
