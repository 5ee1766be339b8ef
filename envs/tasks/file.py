"""Tasks of the user's own: of a Python file, or of an installed package."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.user_code import import_file, installed
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Task


def add_tasks(registry: TaskRegistry, path: Path) -> None:
    """Add every task that a file defines.

    Raises: TaskError: it cannot be imported, defines no task, or one whose name is taken.
    """
    module = import_file(path)
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Task)
        and value.__module__ == module.__name__
        and hasattr(value, "name")
    ]
    for task in found:
        if inspect.isabstract(task):
            line, lacking = inspect.getsourcelines(task)[1], ", ".join(sorted(task.__abstractmethods__))
            raise TaskError(f"{path}:{line}: task {task.__name__} lacks {lacking}")
    if not found:
        raise TaskError(f"{path} defines no task: a subclass of rlfactory.envs.tasks.task.Task with a name")
    _add(registry, found, str(path))


def add_installed_tasks(registry: TaskRegistry) -> None:
    """Add the tasks that installed packages name: entry points of the group `rlfactory.tasks`, a class each.

    Raises: TaskError: one cannot be imported, is no task, or its name is taken.
    """
    for name, task in installed("rlfactory.tasks").items():
        if not (inspect.isclass(task) and issubclass(task, Task)):
            raise TaskError(f"entry point rlfactory.tasks: {name} is no subclass of rlfactory.envs.tasks.task.Task")
        _add(registry, [task], f"entry point rlfactory.tasks: {name}")


def _add(registry: TaskRegistry, tasks: Iterable[type[Task]], source: str) -> None:
    for task in tasks:
        try:
            registry.add(task)
        except ValueError as error:
            raise TaskError(f"{source}: {error}") from None
