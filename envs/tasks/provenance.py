"""What an episode was made by: the build of the service and the code of its task. Records carry both, replays ask."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from rlfactory.envs.tasks.task import Task

GIT_TIMEOUT_S: Final = 5.0
DIGEST_BYTES: Final = 8


@cache
def build() -> str:
    """Return the version, and the commit where we run from a checkout: "0.1.0+g1a2b3c4", ".dirty" after changes."""
    version = importlib.metadata.version("rlfactory")
    here = Path(__file__).resolve().parent
    asked = ("git", "-C", str(here), "describe", "--always", "--dirty=.dirty", "--exclude=*", "--abbrev=12")
    try:
        if not any((folder / ".git").exists() for folder in here.parents):
            return version
        commit = subprocess.run(asked, capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return version
    return f"{version}+g{commit}"


@cache
def task_digest(task: type[Task]) -> str:
    """Return a digest (hex) of what defines a task: its own file, or all files of the suite's folder it lies in.

    "" where it was defined in no file, as in an interactive session.

    A change that has nothing to do with the task changes it too; it explains a difference, and decides nothing.
    """
    try:
        file = Path(inspect.getfile(task))
    except TypeError:
        return ""
    folder = file.parent
    files = sorted(folder.rglob("*.py")) if (folder / "__init__.py").exists() else [file] * file.exists()
    total = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for each in files:
        total.update(f"{each.relative_to(folder)}\n".encode() + each.read_bytes())
    return total.hexdigest()
