"""The explicit list of the tools a service offers to its tasks."""

from __future__ import annotations

from envs.registry import Registry
from envs.tools.calculator import CalculatorTool
from envs.tools.finish import FinishTool
from envs.tools.phone import PhoneTool
from envs.tools.tool import ToolFactory

ToolRegistry = Registry[ToolFactory]


def default_tools() -> ToolRegistry:
    """Return the tools that ship with RLFactory."""
    return Registry("tool", (("phone", PhoneTool), ("calculator", CalculatorTool), ("finish", FinishTool)))
