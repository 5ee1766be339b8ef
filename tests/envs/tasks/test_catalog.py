"""The page of the tasks is made from the templates and is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlfactory.envs.tasks.catalog import main
from rlfactory.envs.tasks.phone import PHONE_TASKS

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"


def test_the_page_is_up_to_date_and_has_a_row_for_every_template(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(PAGE), "--check"]) == 0, capsys.readouterr().err
    text = PAGE.read_text(encoding="utf-8")
    for task in PHONE_TASKS:
        assert f"| `{task.name}` | {task.description}" in text


def test_a_stale_page_is_named_with_the_command_that_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "docs" / "tasks.md"
    assert main([str(path), "--check"]) == 1
    assert main([str(path)]) == main([str(path), "--check"]) == 0
    path.write_text("old", encoding="utf-8")
    assert main([str(path), "--check"]) == 1
    assert f"python -m rlfactory.envs.tasks.catalog {path}" in capsys.readouterr().err
