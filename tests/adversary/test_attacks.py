"""Every attack of the red team, group by group: what must hold, holds. `make test-adversary` runs them, minutes."""

import asyncio

import pytest

from benchmarks.adversary.__main__ import Outcome, carry_out, main_async
from benchmarks.adversary.arena import Arena
from benchmarks.adversary.attack import ATTACKS, Attack

GROUPS = sorted({attack.group for attack in ATTACKS})
QUICK = (
    *("auth.every_method", "auth.leaves_a_trace", "calls.eight_fenced", "calls.lone_surrogates", "code.forged_ends"),
    *("forks.gang_of_forks", "forks.cancelled_resets", "malformed.no_messages", "malformed.true_for_one"),
    *("memory.long_names", "sql.deep_json", "tenants.sessions_of_others", "transport.oversized_step"),
)
"""One of each kind that takes no longer than a second."""
TRIES = 3


@pytest.mark.adversary
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", GROUPS)
def test_what_must_hold_holds(group):
    chosen = [attack for attack in ATTACKS if attack.group == group]
    figures, outcomes = asyncio.run(main_async(chosen, postgres_dsn=""))
    assert {each.attack: each.words for each in outcomes if not each.held} == {}
    assert figures.honest_lost == 0


@pytest.mark.timeout(120)
async def test_a_quick_attack_of_each_kind_is_held():
    chosen = [attack for attack in ATTACKS if attack.full_name in QUICK]
    assert len(chosen) == len(QUICK)
    async with Arena(sessions=2) as arena:
        outcomes = [await best_of(TRIES, arena, attack) for attack in chosen]
    assert {each.attack: each.words for each in outcomes if not each.held} == {}


async def best_of(tries: int, arena: Arena, attack: Attack) -> Outcome:
    """Attack until it is held: what breaks a bound in time once on a busy machine breaks it again only by a fault."""
    for _ in range(tries - 1):
        if (outcome := await carry_out(arena, attack)).held:
            return outcome
    return await carry_out(arena, attack)


def test_there_are_as_many_attacks_as_promised():
    assert len({attack.full_name for attack in ATTACKS}) == len(ATTACKS) >= 60
    assert all(attack.what and attack.must for attack in ATTACKS)
