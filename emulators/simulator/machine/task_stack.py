"""Tasks and their back stacks. Plain data and list operations; lifecycle calls are `navigation.py`'s."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlfactory.emulators.simulator.machine.packages import full_class_name, short_component

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.android.app import Activity


@dataclass(kw_only=True, slots=True)
class ActivityRecord:
    """One activity on a back stack."""

    token: int
    """Unique in the phone's life."""
    package: str
    activity: Activity

    @property
    def component(self) -> str:
        """`package/class` in Android's short form."""
        return short_component(self.package, type(self.activity).name)

    @property
    def full_component(self) -> str:
        return f"{self.package}/{full_class_name(self.package, type(self.activity).name)}"


@dataclass(kw_only=True, slots=True)
class Task:
    """One entry of the recents screen: a stack of activities, the last one on top."""

    id: int
    package: str
    """Affinity: the package that the task was started for."""
    records: list[ActivityRecord]
    home: bool = False

    @property
    def top(self) -> ActivityRecord:
        return self.records[-1]


@dataclass(kw_only=True, slots=True)
class TaskStack:
    """All tasks, the last one in front. Once the phone has booted, the home task is always among them."""

    tasks: list[Task] = field(default_factory=list)
    next_task_id: int = 1
    next_token: int = 1

    @property
    def front(self) -> Task:
        return self.tasks[-1]

    @property
    def home(self) -> Task:
        return next(task for task in self.tasks if task.home)

    def recents(self) -> list[Task]:
        """Return the tasks other than home, the most recent first."""
        return [task for task in reversed(self.tasks) if not task.home]

    def task(self, task_id: int) -> Task | None:
        return next((task for task in self.tasks if task.id == task_id), None)

    def task_of(self, package: str) -> Task | None:
        return next((task for task in reversed(self.tasks) if task.package == package and not task.home), None)

    def new_record(self, package: str, activity: Activity) -> ActivityRecord:
        record = ActivityRecord(token=self.next_token, package=package, activity=activity)
        self.next_token += 1
        return record

    def open_task(self, record: ActivityRecord, *, home: bool = False) -> Task:
        """Add a task in front whose root is `record`."""
        task = Task(id=self.next_task_id, package=record.package, records=[record], home=home)
        self.next_task_id += 1
        self.tasks.append(task)
        return task

    def to_front(self, task: Task) -> None:
        self.tasks.remove(task)
        self.tasks.append(task)

    def to_back(self, task: Task) -> None:
        self.tasks.remove(task)
        self.tasks.insert(0, task)

    def remove(self, task: Task) -> None:
        """Drop a task (never home)."""
        assert not task.home
        self.tasks.remove(task)

    def copy(self) -> TaskStack:
        tasks = [
            Task(
                id=task.id,
                package=task.package,
                home=task.home,
                records=[
                    ActivityRecord(token=record.token, package=record.package, activity=copy.deepcopy(record.activity))
                    for record in task.records
                ],
            )
            for task in self.tasks
        ]
        return TaskStack(tasks=tasks, next_task_id=self.next_task_id, next_token=self.next_token)
