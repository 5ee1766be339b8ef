"""What users rely on stays: docs/api.md shows the names and parameters of docs/public_api.json, or more."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

API = runpy.run_path(str(Path(__file__).parents[1] / "scripts/public_api.py"))
broken = API["broken"]


def test_nothing_that_was_published_is_gone() -> None:
    assert broken(json.loads(API["PUBLISHED"].read_text()), API["offered"]()) == [], (
        "deprecate it first: docs/library.md"
    )


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        ({}, "f is gone"),
        ({"f": ["a"]}, "f takes b otherwise, or no more"),
        ({"f": ["a", "*b"]}, "f takes b otherwise, or no more"),
        ({"f": ["a", "*b=", "c"]}, "f wants c"),
        ({"f": ["a=", "b=", "*c="], "g": []}, ""),
    ],
)
def test_what_breaks_a_program_is_found(now: dict[str, list[str]], problem: str) -> None:
    assert broken({"f": ["a", "*b="]}, now) == ([problem] if problem else [])
