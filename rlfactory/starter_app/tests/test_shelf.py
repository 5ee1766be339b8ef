"""Each screen keeps the contract, and `rlfactory validate` finds nothing wrong with the tasks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from shelf.app import APP

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.apps.kit.contract import LOOKS, Look, broken
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig


@pytest.fixture(scope="module")
def phone() -> Phone:
    return Phone(PhoneConfig(width_px=540, height_px=1200))


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("activity", APP.activities, ids=lambda activity: activity.__name__)
def test_a_screen_keeps_the_contract(phone: Phone, activity: type[Activity], look: Look) -> None:
    assert broken(phone, activity, look) == []


def test_the_tasks_are_valid() -> None:
    command = [sys.executable, "-m", "rlfactory", "validate", "shelf"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
