"""The tools of a file beside those that ship, for commands. What the file needs is imported only when there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.tools.registry import ToolRegistry, default_tools


@asynccontextmanager
async def tools_of_file(path: Path, environ: Mapping[str, str]) -> AsyncIterator[ToolRegistry]:
    """Offer them for the block; `${NAME}` in the file is of `environ`.

    Raises: TaskError: something in the file makes no sense or cannot be reached, or the extra `tools` is not installed.
    """
    try:
        from rlfactory.envs.tools.config import load_tools
        from rlfactory.envs.tools.toolset import open_tools
    except ModuleNotFoundError as error:
        raise TaskError(f"--tools needs {error.name}: install rlfactory[tools]") from None
    async with open_tools(load_tools(path, environ=environ), default_tools()) as toolset:
        yield toolset
