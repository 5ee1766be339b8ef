"""The front door when all is well: quick, light, and readable by programs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("torch", "ray", "verl", "transformers", "skia", "grpc")


def rlfactory(*arguments: str) -> str:
    command = [sys.executable, "-m", "rlfactory", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("command", ["", "serve", "tasks", "train", "eval", "report"])
def test_help_is_there_for_every_command(command: str) -> None:
    shown = rlfactory(*command.split(), "--help")
    assert "Usage: rlfactory" in shown


def test_help_loads_nothing_that_would_keep_a_person_waiting() -> None:
    code = f"import sys, rlfactory.cli; rlfactory.cli.build_app(); print([m for m in {HEAVY} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_tasks_need_neither_torch_nor_ray() -> None:
    code = (
        "import sys, rlfactory.cli; assert rlfactory.cli.run(['tasks', '--json']) == 0;"
        "print([m for m in ('torch', 'ray', 'verl', 'transformers') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert len(json.loads(done.stdout)) >= 24


def test_tasks_as_a_table_have_a_line_each_where_there_is_no_terminal() -> None:
    tasks = json.loads(rlfactory("tasks", "--json"))
    lines = rlfactory("tasks").splitlines()
    shown = {line.split()[0]: line for line in lines[2:]}
    assert shown.keys() == {task["name"] for task in tasks}
    assert [task["name"] for task in tasks if not shown[task["name"]].rstrip().endswith(task["description"])] == []


def test_version() -> None:
    assert rlfactory("--version").startswith("rlfactory 0.")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m rlfactory tasks --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[\n", "")
