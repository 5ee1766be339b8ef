"""The phone suite: tasks over Settings, Contacts, Clock, Notes and Files. `PHONE_TASKS` lists them all."""

from __future__ import annotations

from rlfactory.envs.tasks.phone import clock, compound, contacts, files, notes, preferences, settings
from rlfactory.envs.tasks.task import Task

PHONE_TASKS: tuple[type[Task], ...] = (
    *settings.TASKS,
    *preferences.TASKS,
    *contacts.TASKS,
    *clock.TASKS,
    *notes.TASKS,
    *files.TASKS,
    *compound.TASKS,
)
