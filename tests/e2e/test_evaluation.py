"""Evaluations as a user runs them: real service in its own process, real phones, real command line."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from PIL import Image

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import ClientConfig, EnvClient, RetryPolicy
from rlfactory.trainer.episode.policies import OraclePolicy, PolicyConfig
from rlfactory.trainer.episode.rollout import RolloutConfig
from rlfactory.trainer.episode.session import BLANK_GREY, Ablation, EpisodeSpec, RecordedSession
from rlfactory.trainer.record.evaluate import EvalConfig, evaluate
from rlfactory.trainer.record.runlog import RunLog
from rlfactory.trainer.run.evaluation import make_policy
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from tests.commands import RLFACTORY, rlfactory_json

SMALL = ServiceConfig(phones=4, width_px=540, height_px=1200)
MAX_EPISODE_BYTES = 320_000
"""Of a recorded evaluation, with all that it leaves. The first six are longer than most: 24 take 5 MB."""
MARK = "TEST_MARK"
"""All processes that a command starts carry it in their environment."""


def marked(mark: str) -> list[str]:
    """Return the names of the processes that carry the mark."""
    names = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                names.append(process.name())
    return names


def test_the_oracle_solves_what_it_plays_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    result = rlfactory_json("eval", "--policy", "oracle", "--episodes", "6", "--out", run, environment={MARK: run})
    assert result["failures"] == []
    assert (result["success"], result["episodes"], result["infra_dropped"]) == (1.0, 6, 0)
    assert result["step_ms"]["observe"] > 0
    episodes = RunLog(tmp_path / "run").episodes()
    assert len(episodes) == 6
    assert all((tmp_path / "run" / turn.image.path).exists() for turn in episodes[0].turns if turn.image)
    assert (tmp_path / "run" / "report.html").stat().st_size > 50_000
    assert sum(path.stat().st_size for path in (tmp_path / "run").rglob("*")) < 6 * MAX_EPISODE_BYTES
    assert marked(run) == []


OWN_TASK = """
from rlfactory.envs.tasks.phone.clock import StartTimer


class Mine(StartTimer):
    name = "mine.timer"
    suite = "mine"


class Endless(Mine):
    name = "mine.endless"

    async def solve(self, ui):
        await ui.key("HOME")


class Unknown(Mine):
    name = "mine.unknown"

    async def solve(self, ui):
        await ui.click("Start")
"""


async def test_tasks_of_a_file_have_their_oracle(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN_TASK)
    asked = ("eval", "--policy", "oracle", "--episodes", "3")
    result = rlfactory_json(*asked, "--tasks-file", str(path))
    assert {each["task"]: (each["episodes"], each["success"]) for each in result["tasks"]} == {
        "mine.timer": (1, 1.0),
        "mine.endless": (1, 0.0),
        "mine.unknown": (1, 0.0),
    }
    assert sorted(result["failures"]) == [
        "mine.endless-0-0: oracle stuck: the oracle of mine.endless ended without `await ui.finish()`, so it earns "
        f"nothing ({path}:13)",
        f"mine.unknown-0-0: oracle stuck: the oracle of mine.unknown failed: {path}:21: AttributeError: 'UiDriver' "
        "object has no attribute 'click'",
    ]
    async with local_service(replace(SMALL, task_files=(path,))) as service, EnvClient(service.address) as client:
        with pytest.raises(TaskError, match=r"the oracle of 'mine\.timer' is not known here.*--tasks-file FILE"):
            await evaluate(client, OraclePolicy(), EvalConfig(episodes=1, tasks=("mine.timer",)))


def test_chance_solves_little() -> None:
    result = rlfactory_json("eval", "--policy", "random", "--episodes", "6", "--attempts", "2")
    assert result["success"] < 0.5
    assert set(result["pass_at"]) == {"1", "2"}


@pytest.mark.parametrize(("model", "malformed"), [("good", False), ("malformed", True)])
async def test_an_endpoint_plays(chat_stub: str, model: str, malformed: bool) -> None:
    policy = make_policy(f"openai:{chat_stub}/v1,{model}", PolicyConfig())
    async with local_service(SMALL) as service, EnvClient(service.address) as client:
        await policy.open()
        result = await evaluate(client, policy, EvalConfig(episodes=3, tasks=("clock.add_alarm",), concurrency=3))
        await policy.close()
    assert result.success == 0.0
    assert result.infra_dropped == 0
    assert result.step_ms["generate"] > 0
    assert result.malformed == (result.steps if malformed else 0)


async def test_blanked_screenshots_are_grey_and_of_equal_size() -> None:
    options = SessionOptions(max_pixels=90_000)
    async with (
        local_service(SMALL) as service,
        EnvClient(service.address) as client,
        client.session("settings.wifi_on", seed=1, options=options) as session,
    ):
        spec = EpisodeSpec(id="0", task=session.task, seed=1, split=session.split)
        blank = RecordedSession(session, spec=spec, ablation=Ablation.IMAGE).observation.image
        real = session.observation.image
    assert blank is not None
    assert real is not None
    assert (blank.width_px, blank.height_px, blank.format) == (real.width_px, real.height_px, real.format)
    assert Image.open(io.BytesIO(blank.data)).convert("L").getextrema() == (BLANK_GREY, BLANK_GREY)
    assert Image.open(io.BytesIO(real.data)).convert("L").getextrema() != (BLANK_GREY, BLANK_GREY)


async def test_a_service_that_dies_drops_episodes_and_fails_none() -> None:
    async with local_service(SMALL) as service:
        config = ClientConfig(call_timeout_s=2, reset_timeout_s=2, retry=RetryPolicy(patience_s=0.5))
        async with EnvClient(service.address, config=config) as client:
            played = 0

            def kill_after_two(_played: object) -> None:
                nonlocal played
                played += 1
                if played == 2:
                    os.kill(service.pid, signal.SIGKILL)

            eval_config = EvalConfig(
                episodes=4, concurrency=1, rollout=RolloutConfig(infra_retries=1), tasks=("settings.wifi_on",)
            )
            result = await evaluate(client, OraclePolicy(), eval_config, progress=kill_after_two)
    assert (result.episodes, result.success) == (2, 1.0)
    assert (result.infra_dropped, result.infra_retries) == (2, 2)
    assert all("settings.wifi_on-" in line for line in result.failures)


async def test_ctrl_c_ends_the_evaluation_and_its_service() -> None:
    process = await asyncio.create_subprocess_exec(
        *RLFACTORY, "eval", "--policy", "random", "--episodes", "5000", stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(200):
        while not any(map(listens, services := psutil.Process(process.pid).children())):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # another process: there is no event to wait for
        process.send_signal(signal.SIGINT)
        await process.wait()
    assert process.returncode == 130
    _, alive = psutil.wait_procs(services, timeout=60)
    assert alive == []


def listens(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.net_connections(kind="tcp"))
    return False
