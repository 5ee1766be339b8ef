"""What a child that failed is quoted with."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlfactory.processes.descendants import last_words


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        ("ValueError: no such model\nfull_key: actor.model\n", "ValueError: no such model full_key: actor.model"),
        ("KeyError: 'a'\n\n  During handling\nhydra.errors.SomeException: b\n", "hydra.errors.SomeException: b"),
        ("OSError: long ago\n" + "fine\n" * 30, "fine"),
    ],
)
def test_the_last_error_is_quoted_on_one_line(tmp_path: Path, log: str, words: str) -> None:
    (tmp_path / "log").write_text(log)
    assert last_words(tmp_path / "log") == words


def test_a_log_that_is_not_there_has_no_words(tmp_path: Path) -> None:
    assert last_words(tmp_path / "log") == ""
