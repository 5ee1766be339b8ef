"""The commands that hosts use, shape by shape: each works, exits 0, and prints what its readers look for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rlfactory.emulators.simulator.phone import Phone

SHAPES = Path(__file__).with_name("command_shapes.txt").read_text("utf-8").splitlines()
"""COMMAND ==> PATTERN of all that it prints."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_host_gets_what_it_parses(phone: Phone, shape: str) -> None:
    command, _, pattern = shape.partition(" ==>")
    output = phone.shell(command)
    assert output.exit_code == 0, (output.stdout, output.stderr)
    assert re.fullmatch(pattern[1:], output.stdout.decode())
