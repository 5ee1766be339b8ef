"""`rlfactory new-app`: what it makes is an app that phones have, with screens and tasks that keep every rule."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rlfactory.cli import run
from tests.commands import ROOT


def pretend_to_install(project: Path) -> None:
    """Name the entry points as `pip install -e` would."""
    facts = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    info = project / f"{facts['name']}-{facts['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {facts['name']}\nVersion: {facts['version']}\n")
    groups = facts["entry-points"].items()
    lines = (line for group, points in groups for line in (f"[{group}]", *(f"{n} = {v}" for n, v in points.items())))
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def test_a_generated_app_keeps_the_contract_and_its_tasks_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new-app", "plants"]) == 0
    project = tmp_path / "plants"
    assert "shelf" not in (project / "plants" / "tasks.py").read_text().lower()
    pretend_to_install(project)
    variables = {**os.environ, "PYTHONPATH": f"{project}:{ROOT}"}
    for command in (
        ("pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "contract and 2400x1080 and MainActivity"),
        ("rlfactory", "validate", "plants", "--level", "static"),
    ):
        line = [sys.executable, "-m", *command]
        done = subprocess.run(line, env=variables, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["Plants", "two words", "class", "../plants", ""])
def test_a_name_that_no_package_can_have_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new-app", name]) == 2
    assert "is no name of a Python package in lower case" in capsys.readouterr().err
