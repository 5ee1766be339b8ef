"""Training as a user runs it, cut short: one GRPO step over both ways to the phone, and Ctrl-C in its midst."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from trainer.runlog import RunLog

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]

SHORT = (
    "rlfactory.service.phones=8",
    "rlfactory.warm_start.episodes=64",
    "rlfactory.warm_start.batch=8",
    "rlfactory.warm_start.micro_batch=8",
    "rlfactory.warm_start.steps=2",
    "data.episodes.validation.count=8",
    "data.val_batch_size=8",
    "trainer.save_freq=1",
    "rlfactory.stall_timeout_s=600",  # a busy machine is no failure
)


def start(runs: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rlfactory", "train", "tiny_phone", "--runs", str(runs), "--name", "short"]
    return subprocess.Popen(
        [*command, *arguments, *SHORT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )


@pytest.mark.parametrize("transport", ["direct", "adb"])
def test_one_step_over_each_way_to_the_phone(tmp_path: Path, transport: str) -> None:
    process = start(tmp_path, "--transport", transport, "trainer.total_training_steps=1", "trainer.test_freq=1")
    output, _ = process.communicate()
    assert process.returncode == 0, output
    log = RunLog(tmp_path / "short")
    summary = log.summary()
    assert summary is not None
    assert (summary.status, summary.steps, summary.transport) == ("finished", 1, transport)
    assert summary.infra_dropped == 0
    assert summary.rollout_train_prob_diff_max is not None
    assert summary.rollout_train_prob_diff_max < 2e-3
    assert (tmp_path / "latest" / "report.html").exists()
    assert (log.policy / "config.json").exists()
    assert "held-out success" in output
    if transport == "direct":
        assert_checkpoint_plays(log.policy)


def assert_checkpoint_plays(policy: Path) -> None:
    command = [sys.executable, "-m", "rlfactory", "eval", "--policy", f"checkpoint:{policy}", "--json"]
    options = ["--suite", "tiny", "--episodes", "4", "--ablate", "image"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["episodes"], result["ablation"], result["infra_dropped"]) == (4, "image", 0)
    assert result["step_ms"]["generate"] > 0


def test_ctrl_c_keeps_the_checkpoint_and_leaves_nothing_running(tmp_path: Path) -> None:
    process = start(tmp_path, "trainer.total_training_steps=1000", "trainer.val_before_train=false")
    family: dict[int, psutil.Process] = {}
    assert process.stdout is not None
    for line in process.stdout:  # ends when the process does; the marker's timeout bounds it
        family.update({child.pid: child for child in psutil.Process(process.pid).children(recursive=True)})
        if "step   2 of 1000" in line:
            process.send_signal(signal.SIGINT)
            break
    rest, _ = process.communicate()
    assert process.returncode == 130, rest
    assert "go on with: rlfactory train --resume" in rest
    _, alive = psutil.wait_procs(family.values(), timeout=20)
    assert [child.name() for child in alive] == []
    saved = tmp_path / "short" / "checkpoints" / "latest_checkpointed_iteration.txt"
    assert int(saved.read_text()) >= 1
    summary = json.loads((tmp_path / "short" / "summary.json").read_text())
    assert summary["status"] == "stopped"
    assert (tmp_path / "short" / "report.html").exists()
