"""Exported trajectories, opened by the programs that they are for; records that cannot be exported are named."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from atif import ImageSource, Trajectory
from PIL import Image

from rlfactory import cli
from rlfactory.trainer.record.export.run import ExportConfig, run_export
from rlfactory.trainer.record.runlog import RECORD_FORMAT, RunLog
from tests.recorded import record_run

INSPECT_PYTHON = os.environ.get("INSPECT_PYTHON", sys.executable)
WHOLE = 23
"""Of the 24 episodes one was lost."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_run(tmp_path_factory.mktemp("runs") / "recorded")


def test_atif_is_opened_by_its_models(run: Path, tmp_path: Path) -> None:
    out = run_export(ExportConfig(run=run, format="atif", out=tmp_path / "atif"))
    read = [Trajectory.model_validate_json(path.read_text()) for path in out.glob("*.json")]
    assert len(read) == WHOLE
    assert all(each.has_multimodal_content() for each in read)
    (one,) = (each for each in read if each.trajectory_id == "episode-1")
    recorded = next(each for each in RunLog(run).episodes() if each.id == "episode-1")
    goal, *turns = one.steps
    assert goal.message[0].text == recorded.goal
    assert one.agent.model_name == "tiny_phone"
    assert one.extra is not None
    assert one.extra["reward"] == recorded.reward_total
    for step, turn in zip(turns, recorded.turns, strict=True):
        assert step.message == turn.model_text
        assert step.metrics is not None
        assert step.metrics.completion_token_ids == list(turn.token_ids)
        assert step.tool_calls is not None
        assert [call.arguments for call in step.tool_calls] == [call.arguments for call in turn.calls]
        assert step.observation is not None
        *_, screen = step.observation.results
        source = screen.content[0].source  # type: ignore[index]
        assert isinstance(source, ImageSource)
        with Image.open(out / source.path) as picture:
            assert picture.size == (252, 560)
    (malformed,) = (each for each in read if each.trajectory_id == "episode-6")
    assert malformed.steps[1].observation is not None
    assert "no action found" in str(malformed.steps[1].observation.results[0].content)


@pytest.mark.train
@pytest.mark.filterwarnings("ignore")
def test_parquet_is_opened_by_datasets_with_its_pictures(run: Path, tmp_path: Path) -> None:
    from datasets import Dataset

    out = run_export(ExportConfig(run=run, format="parquet", out=tmp_path / "parquet"))
    rows = Dataset.from_parquet(str(out / "episodes.parquet"), cache_dir=str(tmp_path / "cache"))
    assert len(rows) == WHOLE
    row = rows[1]
    recorded = next(each for each in RunLog(run).episodes() if each.id == row["episode"])
    assert row["images"][row["turns"][1]["image"]].size == (252, 560)
    assert row["final_image"] == len(row["images"]) - 1 == 2
    assert [turn["token_ids"] for turn in row["turns"]] == [list(turn.token_ids) for turn in recorded.turns]
    assert json.loads(row["turns"][0]["calls"][0]["arguments"]) == recorded.turns[0].calls[0].arguments
    assert (row["agent"], row["success"], row["reward"]) == ("tiny_phone", True, 0.9)


READ_BY_INSPECT = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1], resolve_attachments=True)
sample = next(each for each in log.samples if each.metadata["episode"] == "episode-1")
print(json.dumps({
    "status": log.status, "model": log.eval.model, "summaries": len(read_eval_log_sample_summaries(sys.argv[1])),
    "samples": len(log.samples), "success": log.results.scores[0].metrics["mean"].value,
    "roles": [message.role for message in sample.messages], "reward": sample.scores["reward"].value,
    "arguments": sample.messages[1].tool_calls[0].arguments,
    "picture": sample.messages[0].content[1].image[:40],
}))
"""


@pytest.mark.inspect
async def test_inspect_opens_its_log(run: Path, tmp_path: Path) -> None:
    out = run_export(ExportConfig(run=run, format="inspect", out=tmp_path / "inspect"))
    process = await asyncio.create_subprocess_exec(
        *(INSPECT_PYTHON, "-c", READ_BY_INSPECT, str(out / "run.eval")), stdout=-1, stderr=-1
    )
    said, errors = await process.communicate()
    if b"No module named 'inspect_ai'" in errors:
        pytest.skip("needs inspect_ai; INSPECT_PYTHON names an interpreter that has it")
    assert process.returncode == 0, errors.decode()
    read = json.loads(said)
    assert (read["status"], read["model"]) == ("success", "rlfactory/tiny_phone")
    assert read["samples"] == read["summaries"] == WHOLE
    assert read["roles"] == ["user", "assistant", "tool", "user", "assistant", "tool", "user"]
    assert (read["success"], read["reward"]) == (pytest.approx(16 / WHOLE), 0.9)
    assert read["arguments"]["action"] == "tap"
    assert read["picture"].startswith("data:image/jpeg;base64,/9j/")


def test_what_cannot_be_exported_is_one_line_each(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = RunLog(tmp_path / "run")
    log.create()
    first, second, *_ = (run / "episodes.jsonl").read_text().splitlines()
    newer = json.dumps(json.loads(first) | {"format": 99})
    log.episodes_path.write_text("\n".join([newer, second, first[:200]]))

    def said(*arguments: str) -> str:
        cli.run(["export", str(log.folder), *arguments])
        return capsys.readouterr().err

    newer_line, cut_line = said("--format", "atif").splitlines()
    assert f"has format 99, this version reads up to {RECORD_FORMAT}; `rlfactory report` still shows it" in newer_line
    assert cut_line.endswith("line 3 is cut off: the other records are exported")
    assert len(list((log.folder / "export-atif").glob("*.json"))) == 1
    assert "is not empty, and what is in it is kept" in said("--format", "atif")
    assert "no format 'hdf5'" in said("--format", "hdf5")
    assert "has no whole record of episode 'x'" in said(
        "--format", "atif", "--episode", "x", "--out", str(tmp_path / "x")
    )
    log.episodes_path.write_text(newer)
    assert "has format 99" in said("--format", "inspect")
    log.episodes_path.unlink()
    assert "no episode was recorded there" in said("--format", "inspect")
