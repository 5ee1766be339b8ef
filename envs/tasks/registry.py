"""Task templates by name. Importing this registers nothing (`suites.default_registry` does)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Final

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.registry import Registry
from rlfactory.envs.api.types import Split, TaskInfo
from rlfactory.envs.tasks.task import Task

WORLDS: Final = 2**32
"""Seeds below this have a goal of their own."""


class TaskRegistry:
    """Task templates by name. Refuses duplicates; a miss names what is close."""

    def __init__(self, tasks: Iterable[type[Task]] = ()) -> None:
        """Raises: ValueError: two templates have the same name."""
        self._tasks: Registry[type[Task]] = Registry("task", ((task.name, task) for task in tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[type[Task]]:
        """Yield the templates, sorted by name."""
        return (self._tasks.get(name) for name in self._tasks)

    def add(self, task: type[Task]) -> None:
        """Add a template. Raises: ValueError: its name is taken."""
        self._tasks.add(task.name, task)

    def get(self, name: str) -> type[Task]:
        """Return the template. Raises: UnknownName: there is none; the message lists close names."""
        return self._tasks.get(name)

    def infos(self, *, suite: str = "", split: str = "") -> tuple[TaskInfo, ...]:
        """Return what is offered, sorted by name; "" stands for every suite or split."""
        return tuple(
            TaskInfo(**{each.name: getattr(task, each.name) for each in fields(TaskInfo)})
            for task in self
            if (not suite or task.suite == suite) and (not split or split in task.splits)
        )

    def draw(self, name: str, *, seed: int, split: Split) -> Task:
        """Return the template with its parameters drawn: the same for the same (name, seed, split), on every machine.

        Args:
            seed: from `WORLDS` on, its rest is the seed of the goal, which is asked for in another world.

        Raises:
            UnknownName: there is no such task.
            TaskError: the template has no such split.
        """
        template = self.get(name)
        if split not in template.splits:
            raise TaskError(f"task {name!r} has no split {split!r}; it has: {', '.join(template.splits)}")
        world, own = divmod(seed, WORLDS)
        task = template.sample(random.Random(f"{name}/{split}/{own}"), split)
        return task.elsewhere(random.Random(f"{name}/{split}/{own}/{world}")) if world else task
