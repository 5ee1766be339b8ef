"""Every logger shows the success that the report and `summary.json` show."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("verl", reason="needs the train extra")
pytest.importorskip("wandb", reason="needs wandb")
import wandb
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.proto import wandb_internal_pb2

from rlfactory.trainer.record.metrics import step_record
from rlfactory.trainer.record.recorder import Outcome, read_outcomes
from rlfactory.trainer.record.report import write_report
from rlfactory.trainer.record.runlog import Phase, RunLog, RunSummary, append_line
from rlfactory.trainer.run.train import STALENESS, check_drift, summarise
from rlfactory.trainer.verl.grpo import RAY_STARTS, TOO_SLOW, EpisodeTracking, even_updates, patiently
from tests.trainer.recipes import composed

BLOCK = 32768
pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def run(tmp_path: Path) -> RunLog:
    """A run whose episodes of two steps were played: 6 and 3 of 8 succeeded, one was lost, 5 of 8 held-out did."""
    log = RunLog(tmp_path / "run")
    log.create()
    rows: list[tuple[Phase, int, int, int]] = [("eval", 0, 3, 0), ("train", 1, 6, 1), ("train", 2, 3, 0)]
    rows.append(("eval", 2, 5, 0))
    for phase, step, good, lost in rows:
        for number in range(8 + lost):
            task = f"task{number % 2}"
            outcome = Outcome(
                id=f"{phase}{step}-{number}", phase=phase, step=step, task=task, group=task, turns=2,
                dropped=number >= 8, success=number < good, reward=float(number < good), tool_failures=number == 0,
            )  # fmt: skip
            append_line(log.folder / "rollouts.jsonl", asdict(outcome))
    return log


def tensorboard(folder: Path) -> dict[str, dict[int, float]]:
    read = EventAccumulator(str(folder)).Reload()
    return {name: {event.step: event.value for event in read.Scalars(name)} for name in read.Tags()["scalars"]}


def level_db_log(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file in LevelDB's log format, as W&B writes it after seven bytes of its own."""
    place, whole = 7, b""
    while place + 7 <= len(data):
        left = BLOCK - place % BLOCK
        if left < 7:
            place += left  # too few for a header
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a record of one piece, or its last
            yield whole
            whole = b""


def wandb_offline(folder: Path) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for data in level_db_log(next(folder.glob("wandb/offline-run-*/*.wandb")).read_bytes()):
        record: Any = wandb_internal_pb2.Record()  # type: ignore[attr-defined]
        record.ParseFromString(data)
        row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for name, value in row.items():
            found.setdefault(name, {})[row["_step"]] = value
    return found


def test_report_summary_tensorboard_and_wandb_show_equal_success(run: RunLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORBOARD_DIR", str(run.logs / "tensorboard"))
    monkeypatch.setenv("WANDB_DIR", str(run.logs))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("VERL_FILE_LOGGER_PATH", str(run.logs / "verl.jsonl"))
    config: dict[str, Any] = {"rlfactory": {"run_folder": str(run.folder)}, "trainer": {}}
    tracking = EpisodeTracking("rlfactory", "run", ["tensorboard", "wandb", "file"], config=config)
    verl = {"training/rollout_probs_diff_max": 0.25, "timing_s/step": 2.0}
    for step in range(3):
        tracking.log(verl if step else {"val": 1.0}, step)
    tracking.finish()
    wandb.teardown()

    for step in range(3):
        record = step_record(step, elapsed_s=1.0, verl=verl if step else {}, outcomes=read_outcomes(run.folder))
        run.add_step(record)
    summary = summarise(run.steps(), RunSummary(recipe="r", seed=1, status="finished"))
    run.write_summary(summary)
    page = write_report(run.folder).read_text()
    assert (summary.eval_success_start, summary.eval_success_end) == (3 / 8, 5 / 8)
    assert '"eval_success":0.625' in page
    for shown in (tensorboard(run.logs / "tensorboard"), wandb_offline(run.logs)):
        assert shown["rlfactory/eval_success"] == {0: 3 / 8, 2: 5 / 8}
        assert shown["rlfactory/success"] == {1: 6 / 8, 2: 3 / 8}
        assert shown["rlfactory/eval_task/task0"] == {0: 0.5, 2: 0.75}
        assert shown["rlfactory/voids"] == {0: 0, 1: 1, 2: 0}
        assert shown["rlfactory/blame/tool"] == {1: 1 / 16, 2: 1 / 16}
        assert shown["rlfactory/drift_max"] == {1: 0.25, 2: 0.25}
    [_, *rows] = [json.loads(line)["data"] for line in (run.logs / "verl.jsonl").read_text().splitlines()]
    assert [row["rlfactory/success"] for row in rows] == [6 / 8, 3 / 8]


def test_a_run_whose_engine_samples_from_another_policy_is_stopped_with_the_reason() -> None:
    differs = {"training/rollout_probs_diff_mean": 0.06}
    record = step_record(7, elapsed_s=0.0, verl=differs, outcomes=[])
    check_drift(record, 0.07)
    check_drift(step_record(7, elapsed_s=0.0, verl=differs | {STALENESS: 1.0}, outcomes=[]), 0.05)
    with pytest.raises(Exception, match=r"step 7: .* differ by 0.060 .* over rlfactory.prob_diff_limit=0.05"):
        check_drift(record, 0.05)


def test_ray_gets_another_try_where_it_was_too_slow_to_start_and_nothing_else_does() -> None:
    def fails(with_error: str, times: int) -> list[str]:
        tries: list[str] = []

        def work() -> None:
            tries.append(with_error)
            if len(tries) <= times:
                raise RuntimeError(with_error)

        with contextlib.suppress(RuntimeError):
            patiently(work)
        return tries

    assert len(fails(f"{TOO_SLOW}. This could happen ...", 2)) == 3
    assert len(fails(f"{TOO_SLOW}.", 99)) == RAY_STARTS
    assert len(fails("no space left on device", 99)) == 1


@pytest.mark.parametrize(("rows", "each"), [(64, 32), (60, 32), (130, 96), (192, 96), (3, 32)])
def test_a_step_is_as_many_updates_as_its_recipe_says_whatever_rows_there_are(rows: int, each: int) -> None:
    class Trainer:
        """What is used of verl's."""

        parameter_sync_step = 1

        def __init__(self, config: Any) -> None:
            self.config = config

        def _balance_batch(self, batch: Any) -> int:
            own = self.config.actor_rollout_ref
            return int(own.actor.ppo_mini_batch_size * own.rollout.n)

    config = composed("tiny_phone", overrides=["actor_rollout_ref.actor.ppo_mini_batch_size=4"])
    trainer = even_updates(Trainer)(config)
    assert trainer._balance_batch(SimpleNamespace(keys=["row"] * rows)) == each
    assert trainer._balance_batch(SimpleNamespace(keys=["row"] * 64)) == 32, "of each batch anew"
