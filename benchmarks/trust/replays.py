"""Recorded episodes of all suites, played again in another process: equal in every turn, unless one tap was changed."""

from __future__ import annotations

import asyncio
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.trust.check import Check, Finding, Size
from rlfactory.envs.client import EnvClient
from rlfactory.trainer.episode.policies import OraclePolicy, Policy, RandomPolicy
from rlfactory.trainer.record.evaluate import EvalConfig, evaluate
from rlfactory.trainer.record.replay import Replayed
from rlfactory.trainer.record.runlog import CallRecord, EpisodeRecord, RunLog
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from rlfactory.trainer.run.replaying import ReplayConfig, run_replay

EPISODES: Final = 2000
RANDOM_SHARE: Final = 0.2
"""Played by chance on phones; the others by oracles, on every suite."""
CHANGED: Final = 50
"""Episodes of which one tap is changed after they were recorded."""
MAX_RECORD_KB: Final = 50
PHONES: Final = ServiceConfig(phones=4, width_px=540, height_px=1200, unsafe_local=True)


async def record(log: RunLog, episodes: int) -> None:
    chance = round(RANDOM_SHARE * episodes)
    plans: tuple[tuple[Policy, EvalConfig], ...] = (
        (OraclePolicy(), EvalConfig(split="train", episodes=episodes - chance)),
        (RandomPolicy(), EvalConfig(split="test", suite="phone", episodes=chance, first_seed=10_000)),
    )
    async with local_service(PHONES) as service, EnvClient(service.address) as client:
        for policy, config in plans:
            await evaluate(client, policy, config, log=log)


def change_one_tap(records: list[EpisodeRecord], rng: random.Random) -> dict[str, int]:
    """Move one tap of each record; return the turn by episode."""
    changed = {}
    for place, each in enumerate(records):
        taps = [number for number, turn in enumerate(each.turns) if any(map(is_tap, turn.calls))]
        if not taps:
            continue
        number = rng.choice(taps)
        turn = each.turns[number]
        calls = tuple(
            replace(call, arguments={**call.arguments, "coordinate": [rng.randrange(540), rng.randrange(1200)]})
            if is_tap(call)
            else call
            for call in turn.calls
        )
        turns = (*each.turns[:number], replace(turn, calls=calls), *each.turns[number + 1 :])
        records[place] = replace(each, turns=turns)
        changed[each.id] = number + 1
    return changed


def is_tap(call: CallRecord) -> bool:
    return call.name == "phone" and call.arguments.get("action") == "tap"


def run(size: Size) -> Finding:
    with tempfile.TemporaryDirectory(prefix="rlfactory-replays-") as folder:
        log = RunLog(Path(folder))
        log.create()
        asyncio.run(record(log, size.sample or EPISODES))
        largest_kb = max(len(line) for line in log.episodes_path.read_bytes().splitlines()) / 1000
        done = asyncio.run(run_replay(ReplayConfig(run=log.folder), quiet=True))
        faults = [f"{each.episode}: {each.failure or each.difference}" for each in done if not each.equal]
        rng = random.Random(size.seed)
        records = rng.sample(log.episodes(), min(CHANGED, len(done)))
        wanted = change_one_tap(records, rng)
        log.replace_episodes(each for each in records if each.id in wanted)
        changed = asyncio.run(run_replay(ReplayConfig(run=log.folder), quiet=True))
    missed = [each for each in changed if found_at(each) != wanted[each.episode]]
    faults += [f"{each.episode}: tap {wanted[each.episode]} changed, found at {found_at(each)}" for each in missed]
    if largest_kb > MAX_RECORD_KB:
        faults.append(f"a record takes {largest_kb:.0f} KB, more than {MAX_RECORD_KB}")
    equal = sum(each.equal for each in done)
    return Finding(
        figures={
            "replayed": len(done),
            "replayed_equal": round(equal / len(done), 4),
            "changed_taps": len(changed),
            "changed_taps_found": len(changed) - len(missed),
            "record_kb_max": round(largest_kb, 1),
        },
        faults=faults,
    )


def found_at(each: Replayed) -> int | None:
    return each.difference.turn if each.difference else None


CHECK: Final = Check(
    name="replay",
    what=f"{EPISODES} recorded episodes are equal when played again (`replayed_equal`), a changed tap is found.",
    run=run,
)
