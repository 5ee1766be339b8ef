"""The explicit list of the tools that a service offers to its tasks."""

from __future__ import annotations

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.registry import Registry
from rlfactory.envs.api.user_code import installed
from rlfactory.envs.tools.calculator import CalculatorTool
from rlfactory.envs.tools.finish import FinishTool
from rlfactory.envs.tools.phone import PhoneTool
from rlfactory.envs.tools.tool import ToolFactory

ToolRegistry = Registry[ToolFactory]


def default_tools() -> ToolRegistry:
    """Return the tools that ship with RLFactory."""
    return Registry("tool", (("phone", PhoneTool), ("calculator", CalculatorTool), ("finish", FinishTool)))


def offered_tools() -> ToolRegistry:
    """Return the tools that ship with RLFactory and those of installed packages.

    A package names each as an entry point of the group `rlfactory.tools`: a subclass of `Tool`, or what
    `rlfactory.envs.tools.function.tool_of` returns.

    Raises: TaskError: one cannot be imported, is no tool, or its name is taken.
    """
    registry = default_tools()
    for name, tool in installed("rlfactory.tools").items():
        if not callable(tool):
            raise TaskError(f"entry point rlfactory.tools: {name} is neither a Tool nor what tool_of returns")
        try:
            registry.add(name, tool)
        except ValueError as error:
            raise TaskError(f"entry point rlfactory.tools: {error}") from None
    return registry
