"""The explicit list of the tools a service offers to its tasks."""

from __future__ import annotations

from rlfactory.envs.api.registry import Registry
from rlfactory.envs.tools.calculator import CalculatorTool
from rlfactory.envs.tools.finish import FinishTool
from rlfactory.envs.tools.phone import PhoneTool
from rlfactory.envs.tools.tool import ToolFactory

ToolRegistry = Registry[ToolFactory]


def default_tools() -> ToolRegistry:
    """Return the tools that ship with RLFactory."""
    return Registry("tool", (("phone", PhoneTool), ("calculator", CalculatorTool), ("finish", FinishTool)))
