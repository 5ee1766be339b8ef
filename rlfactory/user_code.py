"""Python files of the user's own: tasks, tools, dialects, apps. What fails in one is told with the user's own line."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

_FILES: dict[Path, ModuleType] = {}


class UserCodeError(Exception):
    """What a user wrote cannot be imported. Each layer tells it as its own kind of error."""


def import_file(path: Path) -> ModuleType:
    """Return the module of a file, imported once; it can import its neighbours, as a script does.

    Raises: UserCodeError: there is no such file, it is no Python file, or it cannot be imported.
    """
    found = path.absolute()
    if module := _FILES.get(found):
        return module
    if not path.is_file():
        raise UserCodeError(f"cannot import {path}: there is no such file")
    # Dataclasses look their module up by its name; two files of one name are two modules.
    name = f"{path.stem}_{hashlib.sha256(bytes(found)).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, found)
    if spec is None or spec.loader is None:
        raise UserCodeError(f"{path} is no Python file")
    if str(found.parent) not in sys.path:
        sys.path.insert(0, str(found.parent))
    module = sys.modules[name] = _FILES[found] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        told = told_with_line(error)
        del _FILES[found]
        raise UserCodeError(f"cannot import {path}: {told}") from error
    return module


def installed(group: str) -> dict[str, Any]:
    """Return what installed packages offer under an entry point group, by name, in the order of names.

    Raises: UserCodeError: one of them cannot be imported.
    """
    found = {}
    for point in sorted(entry_points(group=group)):
        try:
            found[point.name] = point.load()
        except Exception as error:
            told = told_with_line(error)
            raise UserCodeError(f"entry point {group}: {point.name} = {point.value}: {told}") from error
    return found


def told_with_line(error: BaseException) -> str:
    """Return an error in one line, with the user's file and line where it was raised if there is one."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    folders = {path.parent for path in _FILES}
    lines = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if Path(frame.f_code.co_filename).parent in folders
    ]
    return f"{lines[-1]}: {words}" if lines else words


def line_of(function: Any) -> str:
    """Return where a function or method begins: `FILE:LINE`."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
