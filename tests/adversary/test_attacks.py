"""Every attack of the red team, group by group: what must hold, holds. `make test-adversary` runs them, minutes."""

import asyncio

import pytest

from benchmarks.adversary.__main__ import main_async
from benchmarks.adversary.attack import ATTACKS

GROUPS = sorted({attack.group for attack in ATTACKS})


@pytest.mark.adversary
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", GROUPS)
def test_what_must_hold_holds(group):
    chosen = [attack for attack in ATTACKS if attack.group == group]
    figures, outcomes = asyncio.run(main_async(chosen, postgres_dsn=""))
    assert {each.attack: each.words for each in outcomes if not each.held} == {}
    assert figures.honest_lost == 0


def test_there_are_as_many_attacks_as_promised():
    assert len({attack.full_name for attack in ATTACKS}) == len(ATTACKS) >= 60
    assert all(attack.what and attack.must for attack in ATTACKS)
