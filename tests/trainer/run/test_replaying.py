"""A recorded run plays again to equal states in another process, and what was changed or cannot be played is named."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import pytest

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.client import EnvClient
from rlfactory.trainer.episode.policies import OraclePolicy
from rlfactory.trainer.record.evaluate import EvalConfig, evaluate
from rlfactory.trainer.record.reading import Readable, read_readable
from rlfactory.trainer.record.recorder import seal_of
from rlfactory.trainer.record.replay import Replayed, replay
from rlfactory.trainer.record.runlog import RunLog
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from rlfactory.trainer.run.replaying import ReplayConfig, run_replay

DICE_TASK = """
import random
from rlfactory.envs.api.types import ToolSchema
from rlfactory.envs.tasks.task import Check, Task
from rlfactory.envs.tools.tool import Tool

class Dice(Tool):
    schema = ToolSchema(name="dice", description="Throw dice", parameters={"type": "object"})
    def __init__(self, context): pass
    async def call(self, arguments, context): return str(random.SystemRandom().getrandbits(64))
    def fork(self, context): return self

class Throw(Task):
    name, suite, description, needs_device = "mine.dice", "mine", "Throw dice", False
    tools = ("dice", "finish")
    goal = "Throw the dice, and say what they show."
    @classmethod
    def sample(cls, rng, split): return cls()
    def own_tools(self): return {"dice": Dice}
    def checks(self, outcome):
        thrown = [played.result.text for played in outcome.calls if played.call.name == "dice"]
        return [Check(name="said", holds=outcome.answer in thrown)]
    async def solve(self, ui): await ui.finish(answer=await ui.call("dice"))
"""
TASKS = ("clock.start_timer", "settings.wifi_on", "mine.dice")


def read_playable(log: RunLog, episode: str = "") -> Readable:
    return read_readable(log, episode, to_be="replayed", replayable=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three episodes, one of them with a tool that answers differently each time."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "dice.py").write_text(DICE_TASK)
    log = RunLog(folder / "run")
    log.create()

    async def record() -> None:
        files = (folder / "dice.py",)
        config = ServiceConfig(phones=2, width_px=270, height_px=600, task_files=files)
        async with local_service(config) as service, EnvClient(service.address) as client:
            result = await evaluate(client, OraclePolicy(files), EvalConfig(episodes=3, tasks=TASKS), log=log)
            assert result.success == 1.0, result.failures

    asyncio.run(record())
    return folder


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be tampered with."""
    return Path(shutil.copytree(recorded / "run", tmp_path / "run"))


def rewrite(run: Path, change: Callable[[dict[str, Any]], None], task: str) -> None:
    path = run / "episodes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row["task"] == task:
            change(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


async def test_every_turn_is_equal_in_another_process(recorded: Path, tmp_path: Path) -> None:
    files = (recorded / "dice.py",)
    done = await run_replay(ReplayConfig(run=recorded / "run", task_files=files), quiet=True)
    assert [each.equal for each in done] == [True] * 3, done
    assert all(each.turns > 1 for each in done)
    assert max(len(line) for line in (recorded / "run" / "episodes.jsonl").read_text().splitlines()) < 50_000
    film = tmp_path / "out.webm"
    (one,) = await run_replay(
        ReplayConfig(run=recorded / "run", episode="clock.start_timer-0-0", video=film), quiet=True
    )
    with av.open(str(film)) as container:
        assert sum(1 for _ in container.decode(video=0)) == one.turns + 1


async def test_what_was_changed_is_found_at_its_turn(run: Path) -> None:
    def tap_elsewhere(row: dict[str, Any]) -> None:
        row["turns"][2]["calls"][0]["arguments"] = {"action": "key", "key": "HOME"}

    def tap_elsewhere_unseen(row: dict[str, Any]) -> None:
        tap_elsewhere(row)
        row["turns"][2]["seal"] = seal_of([("phone", {"action": "key", "key": "HOME"})])

    def pay_more(row: dict[str, Any]) -> None:
        row["turns"][1]["reward_total"] = 1.0

    service_of = local_service(ServiceConfig(phones=1, width_px=270, height_px=600))
    async with service_of as service, EnvClient(service.address) as client:

        async def first(change: Callable[[dict[str, Any]], None]) -> Replayed:
            shutil.copy(pristine, run / "episodes.jsonl")
            rewrite(run, change, TASKS[0])
            log = RunLog(run)
            (done,) = await replay(client, log, read_playable(log, "clock.start_timer-0-0").episodes)
            return done

        pristine = Path(shutil.copy(run / "episodes.jsonl", run / "pristine.jsonl"))
        for change, turn, what, why in (
            (tap_elsewhere, 3, "seal", "changed after they were recorded"),
            (tap_elsewhere_unseen, 3, "state", "the record was changed"),
            (pay_more, 2, "reward", "the record was changed"),
            (lambda row: row["origin"].update(build="0.0.9", screen="x"), 0, "screen", "recorded by 0.0.9"),
            (lambda row: row["turns"].pop(), None, "end", "the record was changed"),
        ):
            difference = (await first(change)).difference
            assert difference is not None
            assert difference.what == what
            assert why in difference.why
            assert turn in (None, difference.turn)
        gone = await first(lambda row: row.update(task="clock.gone"))
        assert gone.failure == "there is no task 'clock.gone' any more; `rlfactory report` still shows it"


def test_what_cannot_be_read_is_one_line_each(run: Path) -> None:
    log = RunLog(run)
    first, rest = log.episodes_path.read_text().split("\n", 1)
    log.episodes_path.write_text(json.dumps(json.loads(first) | {"format": 99}) + "\n" + rest[:-200])
    playable = read_playable(log)
    assert len(playable.episodes) == 1
    newer, cut = sorted(playable.problems, key=lambda line: "cut off" in line)
    assert "has format 99, this version reads up to 2; `rlfactory report` still shows it" in newer
    assert cut.endswith("is cut off: the other records are replayed")


def test_a_run_that_has_nothing_to_replay_says_why(run: Path, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"no episode was recorded there"):
        read_playable(RunLog(tmp_path))
    with pytest.raises(TaskError, match=r"has no whole record of episode 'x'"):
        read_playable(RunLog(run), "x")
    for task in TASKS:
        rewrite(run, lambda row: row.pop("origin"), task)
    with pytest.raises(TaskError, match=r"recorded by a version without states and cannot be replayed"):
        read_playable(RunLog(run))
