"""Every task that ships with RLFactory. Importing this takes a moment: it reads what the tasks are drawn from."""

from __future__ import annotations

from typing import Final

from rlfactory.envs.tasks.math_code import MATH_CODE_TASKS
from rlfactory.envs.tasks.mixed import MIXED_TASKS
from rlfactory.envs.tasks.phone import PHONE_TASKS
from rlfactory.envs.tasks.phone.steps import STEPS_TASKS
from rlfactory.envs.tasks.phone.tiny import TINY_TASKS
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa import SEARCH_QA_TASKS
from rlfactory.envs.tasks.search_qa.tiny import TINY_SEARCH_TASKS
from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tasks.text2sql import TEXT2SQL_TASKS
from rlfactory.envs.tasks.text2sql.tiny import TINY_TEXT2SQL_TASKS
from rlfactory.envs.tasks.travel import TRAVEL_TASKS

TEXT_ONLY: Final = (*SEARCH_QA_TASKS, *TEXT2SQL_TASKS, *MATH_CODE_TASKS, *TRAVEL_TASKS)
TINY: Final = (*TINY_TASKS, *TINY_TEXT2SQL_TASKS, *TINY_SEARCH_TASKS)
SHIPPED_TASKS: Final[tuple[type[Task], ...]] = (*PHONE_TASKS, *STEPS_TASKS, *TINY, *TEXT_ONLY, *MIXED_TASKS)


def default_registry() -> TaskRegistry:
    """Return every task that ships with RLFactory."""
    return TaskRegistry(SHIPPED_TASKS)
