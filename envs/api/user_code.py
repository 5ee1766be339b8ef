"""Files and packages of the user's own, whose faults are told as `TaskError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from rlfactory import user_code
from rlfactory.envs.api.errors import TaskError


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except user_code.UserCodeError as error:
        raise TaskError(str(error)) from error


def import_file(path: Path) -> ModuleType:
    """Return the module of a file, imported once. Raises: TaskError: it cannot be imported."""
    with _told():
        return user_code.import_file(path)


def import_name(file_and_name: str) -> Any:
    """Return what `file.py:NAME` names. Raises: TaskError: the file cannot be imported, or has no such name."""
    path, _, name = file_and_name.rpartition(":")
    module = import_file(Path(path))
    if not hasattr(module, name):
        raise TaskError(f"{path} has no {name!r}")
    return getattr(module, name)


def installed(group: str) -> dict[str, Any]:
    """Return what installed packages offer under an entry point group, by name. Raises: TaskError: one is broken."""
    with _told():
        return user_code.installed(group)
