"""Tasks of a Python file of the user's own, for `rlfactory serve --tasks`."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Task


def add_tasks(registry: TaskRegistry, path: Path) -> None:
    """Add every task that a file defines.

    Raises: TaskError: it cannot be imported, defines no task, or one whose name is taken.
    """
    module = _imported(path)
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Task)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
        and hasattr(value, "name")
    ]
    if not found:
        raise TaskError(f"{path} defines no task: a subclass of rlfactory.envs.tasks.task.Task with a name")
    for task in found:
        try:
            registry.add(task)
        except ValueError as error:
            raise TaskError(f"{path}: {error}") from None


def _imported(path: Path) -> ModuleType:
    """Import a file by its path. It stays in `sys.modules`: dataclasses look their module up there."""
    name = f"rlfactory_tasks_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise TaskError(f"no tasks file {path}" if not path.is_file() else f"{path} is no Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise TaskError(f"cannot import {path}: {type(error).__name__}: {error}") from error
    return module
