"""Files of the user's own: they import their neighbours, and what fails in them is told with their line."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from rlfactory import user_code
from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.client.oracle import tasks_with
from rlfactory.trainer.dialects import get_dialect

TASK = """
import random
from colours import COLOURS
from rlfactory.envs.tasks.task import Check, Task

class Colour(Task):
    name = "own.colour"
    suite = "own"
    description = "Name a colour"
    tools = ("finish",)
    needs_device = False

    def __init__(self, colour):
        self.colour = colour

    @classmethod
    def sample(cls, rng, split):
        return cls(rng.choice(COLOURS))

    @property
    def goal(self):
        return f"Say {self.colour}."

    def checks(self, outcome):
        return (Check(name="right", holds=outcome.answer == {}[self.colour]),)

    async def solve(self, ui):
        await ui.finish(answer=self.colour)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "colours.py").write_text('COLOURS = ("red", "green")\n')
    (tmp_path / "own_tasks.py").write_text(TASK)
    return tmp_path / "own_tasks.py"


async def test_a_file_of_tasks_imports_its_neighbour_and_its_faults_have_a_line(own: Path, client_of) -> None:
    tasks = tasks_with([own])
    assert tasks.draw("own.colour", seed=1, split="train").goal in {"Say red.", "Say green."}
    assert user_code.import_file(own) is user_code.import_file(own)
    async with client_of(tasks=tasks) as client:
        with pytest.raises(Exception, match=rf"verdict of own\.colour .*{own}:25: KeyError: '(red|green)'"):
            async with client.session("own.colour", seed=1):
                pass


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\ny = x.z\n", ":2: AttributeError"),
        ("x = (\n", ":1: SyntaxError"),
        ("import nowhere\n", "No module named"),
    ],
)
def test_what_cannot_be_imported_is_told_with_its_line(text: str, told: str, own: Path) -> None:
    own.write_text(text)
    with pytest.raises(TaskError, match=told):
        tasks_with([own])
    with pytest.raises(TaskError, match="there is no such file"):
        tasks_with([own / "none.py"])


def test_a_dialect_of_a_file_or_of_an_installed_package(own: Path, monkeypatch) -> None:
    own.write_text("from rlfactory.trainer.dialects.qwen import QWEN3_VL as MINE\nOTHER = 3\n")
    assert get_dialect(f"{own}:MINE").name == "qwen3_vl"
    with pytest.raises(TaskError, match="has no 'YOURS'"):
        get_dialect(f"{own}:YOURS")
    with pytest.raises(TaskError, match=r"is no dialect: it lacks error_message, .*system_prompt"):
        get_dialect(f"{own}:OTHER")
    point = metadata.EntryPoint("theirs", "rlfactory.trainer.dialects.qwen:QWEN3_VL", "rlfactory.dialects")
    monkeypatch.setattr(user_code, "entry_points", lambda group: [point] if group == point.group else [])
    assert get_dialect("theirs").name == "qwen3_vl"
    with pytest.raises(UnknownName, match="close: theirs"):
        get_dialect("their")


def test_a_task_of_an_installed_package(own: Path, monkeypatch) -> None:
    name = user_code.import_file(own).__name__
    points = [metadata.EntryPoint("colour", f"{name}:Colour", "rlfactory.tasks")]
    monkeypatch.setattr(user_code, "entry_points", lambda group: points if group == "rlfactory.tasks" else [])
    assert "own.colour" in {task.name for task in tasks_with([])}
    points[0] = metadata.EntryPoint("colour", f"{name}:random", "rlfactory.tasks")
    with pytest.raises(TaskError, match=r"entry point rlfactory\.tasks: colour is no subclass"):
        tasks_with([])
