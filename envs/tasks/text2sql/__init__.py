"""The suite `text2sql`: answer a question by a SQL query. Importing it registers nothing."""

from __future__ import annotations

from rlfactory.envs.tasks.text2sql.levels import TEXT2SQL_TASKS

__all__ = ["TEXT2SQL_TASKS"]
