"""The process in which tasks are drawn. Started by `envs.tasks.drawing`, which sends requests as lines of JSON.

    {"name", "seed", "split"}  ->  eight bytes of length, then a pickled `Answer`

Its parent believes what it says: nothing runs in it but the tasks that the service itself would have drawn.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import struct
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlfactory.envs.api.errors import EnvironmentFault, RLFactoryError, UnknownName
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.file import add_installed_tasks, add_tasks
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.task import Task
from rlfactory.processes.child import when_parent_ends
from rlfactory.user_code import line_of, told_with_line

LENGTH: Final = struct.Struct("<Q")
MAX_ANSWER_BYTES: Final = 64 << 20
MAX_PROCESS_BYTES: Final = 4 << 30
"""Of memory that this process writes to; then a draw fails."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    task: Task
    took_s: float
    """Of a processor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    error: RLFactoryError


@dataclass(frozen=True, kw_only=True, slots=True)
class NotHere:
    """It cannot be drawn in another process: that lacks the template, or what is drawn does not travel."""

    why: str


Answer = Drawn | Failed | NotHere


def draw_whole(tasks: TaskRegistry, name: str, *, seed: int, split: Split) -> Drawn:
    """Draw a task, and all that its goal is made from, which some make when they are first asked.

    Raises: UnknownName, TaskError: see `TaskRegistry.draw`. EnvironmentFault: the template is broken.
    """
    begun_s = time.thread_time()
    try:
        task = tasks.draw(name, seed=seed, split=split)
        task.goal  # noqa: B018
        if isinstance(allowed := task.allowed(), str):
            raise TypeError(f"{line_of(task.allowed)}: allowed returns {allowed!r}; a tuple is wanted: return (KEY,)")
    except RLFactoryError:
        raise
    except Exception as error:
        raise EnvironmentFault(f"task {name!r} cannot be drawn: {told_with_line(error)}") from error
    return Drawn(task=task, took_s=time.thread_time() - begun_s)


class _Pickler(pickle.Pickler):
    """Says templates by their names: many are made while their module is read, and none of its names is theirs."""

    def __init__(self, file: io.BytesIO, tasks: TaskRegistry) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._tasks = {task: task.name for task in tasks}

    def persistent_id(self, value: Any) -> str | None:
        return self._tasks.get(value) if isinstance(value, type) else None


class Unpickler(pickle.Unpickler):
    """Reads an answer where the templates are those of `tasks`."""

    def __init__(self, data: bytes, tasks: TaskRegistry) -> None:
        super().__init__(io.BytesIO(data))
        self._tasks = tasks

    def persistent_load(self, name: str) -> type[Task]:
        return self._tasks.get(name)


def answered(tasks: TaskRegistry, name: str, *, seed: int, split: Split) -> bytes:
    """Return the answer to one request, pickled. Never raises."""
    answer: Answer
    try:
        answer = draw_whole(tasks, name, seed=seed, split=split)
    except UnknownName as error:
        answer = NotHere(why=str(error))
    except RLFactoryError as error:
        answer = Failed(error=error)
    try:
        data = _pickled(answer, tasks)
    except Exception as error:  # noqa: BLE001 - objects say in many ways that they cannot be pickled
        return _pickled(NotHere(why=f"{type(error).__name__}: {error}"), tasks)
    if len(data) > MAX_ANSWER_BYTES:
        too_large = f"task {name!r} has {len(data)} bytes when it is drawn; at most {MAX_ANSWER_BYTES} are taken"
        return _pickled(Failed(error=EnvironmentFault(too_large)), tasks)
    return data


def _pickled(answer: Answer, tasks: TaskRegistry) -> bytes:
    file = io.BytesIO()
    _Pickler(file, tasks).dump(answer)
    return file.getvalue()


def _registry(files: Iterable[Path]) -> TaskRegistry:
    tasks = default_registry()
    add_installed_tasks(tasks)
    for path in files:
        if not path.is_dir():  # AndroidWorld draws in a process of its own
            add_tasks(tasks, path)
    return tasks


def main() -> None:
    """Answer until the pipe is closed."""
    when_parent_ends(lambda: os._exit(1))  # what is drawn does not read our input
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # for whatever tasks print
        _, most_bytes = resource.getrlimit(resource.RLIMIT_DATA)
        if most_bytes in (resource.RLIM_INFINITY, max(most_bytes, MAX_PROCESS_BYTES)):
            resource.setrlimit(resource.RLIMIT_DATA, (MAX_PROCESS_BYTES, most_bytes))
        tasks = _registry(map(Path, sys.argv[1:]))
        answers.write(LENGTH.pack(0))  # ready
        answers.flush()
        for line in sys.stdin.buffer:
            data = answered(tasks, **json.loads(line))
            answers.write(LENGTH.pack(len(data)) + data)
            answers.flush()
