"""The suite `math_code`: answer by a number that is best found by running code. Importing it registers nothing."""

from __future__ import annotations

from rlfactory.envs.tasks.math_code.tasks import Counting, Simulating, Tabulating
from rlfactory.envs.tasks.task import Task

MATH_CODE_TASKS: tuple[type[Task], ...] = (Counting, Simulating, Tabulating)
