"""Training over adb as a user runs it, cut short: Ctrl-C in the midst of a run, which then goes on to its end."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

pytest.importorskip("verl", reason="needs the train extra")
from rlfactory.trainer.episode.policies import PolicyConfig
from rlfactory.trainer.record.runlog import RunLog, read_lines
from rlfactory.trainer.run.warm_start import WINDOW
from rlfactory.trainer.verl.checkpoint import CheckpointPolicy
from tests.commands import RLFACTORY, SHORT_PHONE, assert_checkpoint_plays, assert_finished

pytestmark = [pytest.mark.train, pytest.mark.timeout(900)]

SHORT = (
    *SHORT_PHONE,
    "rlfactory.warm_start.lessons=[{sloppiness: 0.5, steps: 99, until_loss: 100, lr: 1.0e-3, lr_warmup_steps: 1}]",
    "trainer.save_freq=1",
)


def start(runs: Path, *arguments: str, deaf: bool = False) -> subprocess.Popen[str]:
    """Start a run; `deaf`: to SIGINT, as a shell starts what is to run in the background."""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if deaf else []
    command += [*RLFACTORY, "train", "tiny_phone", "--runs", str(runs), "--name", "short", "--transport", "adb"]
    return subprocess.Popen(
        [*command, *arguments, *SHORT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )


@pytest.mark.training
def test_a_run_over_adb_stopped_by_ctrl_c_leaves_nothing_running_and_goes_on_to_a_policy_that_plays(
    tmp_path: Path,
) -> None:
    saved = stop_at_step(1, tmp_path)
    process = start(tmp_path, "--resume", f"trainer.total_training_steps={saved + 1}", f"trainer.test_freq={saved + 1}")
    output, _ = process.communicate()
    assert process.returncode == 0, output
    log = RunLog(tmp_path / "short")
    assert_finished(log, steps=saved + 1, transport="adb")
    assert [record.step for record in log.steps()][-1] == saved + 1
    assert len(list(read_lines(log.logs / "lesson-0.jsonl"))) == WINDOW  # so easily pleased, the lesson ends early
    assert "held-out success" in output
    assert (log.folder / "report.html").exists()
    assert CheckpointPolicy(folder=log.policy, config=PolicyConfig()).screen_px == (480, 800)  # as in training
    assert assert_checkpoint_plays(log.policy, "tiny", "--ablate", "image")["ablation"] == "image"


def test_a_background_job_that_is_told_to_end_leaves_nothing_running(tmp_path: Path) -> None:
    process = start(tmp_path, deaf=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "demonstrations" in line:
            break
    family = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    rest, _ = process.communicate()
    assert process.returncode == 130, rest
    _, alive = psutil.wait_procs(family, timeout=30)
    assert [child.name() for child in alive] == []


def stop_at_step(step: int, runs: Path) -> int:
    """Start a run, press Ctrl-C when this step is done, see that all is in order; return the step that was saved."""
    process = start(runs, "trainer.total_training_steps=1000")
    family: dict[int, psutil.Process] = {}
    assert process.stdout is not None
    for line in process.stdout:  # ends when the process does; the marker's timeout bounds it
        family.update({child.pid: child for child in psutil.Process(process.pid).children(recursive=True)})
        if f"step   {step} of 1000" in line:
            process.send_signal(signal.SIGINT)
            break
    rest, _ = process.communicate()
    assert process.returncode == 130, rest
    assert "go on with: rlfactory train --resume" in rest
    _, alive = psutil.wait_procs(family.values(), timeout=30)
    assert [child.name() for child in alive] == []
    summary = json.loads((runs / "short" / "summary.json").read_text())
    assert summary["status"] == "stopped"
    assert (runs / "short" / "report.html").exists()
    saved = int((runs / "short" / "checkpoints" / "latest_checkpointed_iteration.txt").read_text())
    assert saved >= 1
    return saved
