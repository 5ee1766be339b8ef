"""The suite `text2sql`: answer a question by a SQL query. Importing it registers nothing."""

from __future__ import annotations

from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tasks.text2sql.levels import Joining, Nested, Selecting, Summarizing

TEXT2SQL_TASKS: tuple[type[Task], ...] = (Selecting, Summarizing, Joining, Nested)
