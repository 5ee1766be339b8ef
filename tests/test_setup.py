"""What set-up leaves behind."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT

warm_up = runpy.run_path(str(ROOT / "scripts" / "setup.py"))["warm_up"]


def test_modules_are_compiled_also_where_the_environment_says_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needed_by_training.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    warm_up(Path(sys.prefix), ("needed_by_training",))
    assert [path.suffix for path in tmp_path.glob("__pycache__/*")] == [".pyc"]
