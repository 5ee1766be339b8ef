"""Tasks that do not ship: of a Python file, of an installed package, of a checkout of AndroidWorld."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import SPLITS
from rlfactory.envs.api.user_code import import_file, installed
from rlfactory.envs.tasks.android_world.checkout import AndroidWorld
from rlfactory.envs.tasks.android_world.tasks import android_world_tasks
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Task
from rlfactory.user_code import line_of


def add_tasks(registry: TaskRegistry, path: Path) -> None:
    """Add every task that a file defines, or that AndroidWorld has where the path is a folder.

    Raises: TaskError: it cannot be imported, is no checkout, defines no task, or one whose name is taken.
    """
    if path.is_dir():
        _add(registry, android_world_tasks(AndroidWorld(path)), str(path))
        return
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


def _mistakes(task: type[Task]) -> Iterator[str]:
    """Yield what of a class is of another kind than `Task` has it, and would be told late or never."""
    for name in ("apps", "splits", "tools"):
        if isinstance(value := getattr(task, name), str):
            yield f"{name} is the text {value!r}; a tuple is wanted: ({value!r},)"
    if not isinstance(getattr(task, "description", None), str):
        yield 'it has no description; a line of text is wanted: description = ".."'
    if unknown := [split for split in task.splits if split not in SPLITS]:
        yield f"no split {unknown[0]!r}; there are: {', '.join(SPLITS)}"
    if not isinstance(task.max_turns, int) or task.max_turns < 1:
        yield f"max_turns is {task.max_turns!r}; a number of at least 1 is wanted"
    if inspect.isfunction(goal := inspect.getattr_static(task, "goal")):
        yield f"goal is a method; write @property above it ({line_of(goal)})"
    if inspect.isfunction(sample := inspect.getattr_static(task, "sample")):
        yield f"sample needs @classmethod above it ({line_of(sample)})"
    for name in ("setup", "verify", "solve"):
        if not inspect.iscoroutinefunction(function := getattr(task, name)):
            yield f"{name} has to be `async def` ({line_of(function)})"


def _add(registry: TaskRegistry, tasks: Iterable[type[Task]], source: str) -> None:
    for task in tasks:
        if mistake := next(_mistakes(task), ""):
            raise TaskError(f"{source}: task {task.__name__}: {mistake}")
        try:
            registry.add(task)
        except ValueError as error:
            raise TaskError(f"{source}: {error}") from None
