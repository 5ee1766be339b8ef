"""The front door when all is well: quick, light, and readable by programs."""

from __future__ import annotations

import json
import sys

import pytest

from tests.commands import RLFACTORY, output_of, rlfactory_json, run

HEAVY = ("torch", "ray", "verl", "transformers", "skia", "grpc")


@pytest.mark.parametrize("command", ["", "serve", "tasks", "train", "eval", "report"])
def test_help_is_there_for_every_command(command: str) -> None:
    assert "Usage: rlfactory" in output_of(*RLFACTORY, *command.split(), "--help")


def test_help_loads_nothing_that_would_keep_a_person_waiting() -> None:
    code = f"import sys, rlfactory.cli; rlfactory.cli.build_app(); print([m for m in {HEAVY} if m in sys.modules])"
    assert output_of(sys.executable, "-c", code) == "[]\n"


def test_tasks_need_neither_torch_nor_ray() -> None:
    code = (
        "import sys, rlfactory.cli; assert rlfactory.cli.run(['tasks', '--json']) == 0;"
        "print([m for m in ('torch', 'ray', 'verl', 'transformers') if m in sys.modules], file=sys.stderr)"
    )
    done = run(sys.executable, "-c", code)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert len(json.loads(done.stdout)) >= 24


def test_tasks_as_a_table_have_a_line_each_where_there_is_no_terminal() -> None:
    tasks = rlfactory_json("tasks")
    lines = output_of(*RLFACTORY, "tasks").splitlines()
    shown = {line.split()[0]: line for line in lines[2:]}
    assert shown.keys() == {task["name"] for task in tasks}
    assert [task["name"] for task in tasks if not shown[task["name"]].rstrip().endswith(task["description"])] == []


def test_version() -> None:
    assert output_of(*RLFACTORY, "--version").startswith("rlfactory 0.")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m rlfactory tasks --json | head -1"
    done = run("bash", "-c", command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[\n", "")
