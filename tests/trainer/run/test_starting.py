"""What is told while verl starts: by verl's own log, whose words are held to what verl writes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from rlfactory.trainer.run.starting import STAGES, Starting

LOG = """\
before: all initialize finished, ready to fit
"""


def test_each_part_is_told_once_and_nothing_of_an_earlier_run(tmp_path: Path) -> None:
    log = tmp_path / "grpo.log"
    log.write_text(LOG)
    starting = Starting(log, engine="hf_cpu", first="8 held-out episodes")
    assert starting.news() == []
    with log.open("a") as stream:
        print("INFO worker.py:2038 -- Started a local Ray instance.", file=stream)
        print("(TaskRunnerV1 pid=9) INFO:worker group kwargs: {}", file=stream)
        print("(TaskRunnerV1 pid=9) INFO:create worker gro", end="", file=stream)
    assert [line.partition(";")[0] for line in starting.news()] == ["Ray runs", "data read"]
    with log.open("a") as stream:
        print("up dict_keys(['actor_rollout_ref'])\nINFO:actor and ref model engine initialized", file=stream)
        print("INFO:all initialize finished, ready to fit", file=stream)
    *_, engine, last = starting.news()
    assert engine == "model loaded; waiting for the rollout engine: hf_cpu"
    assert last == "rollout engine runs; waiting for 8 held-out episodes"
    assert starting.news() == []


@pytest.mark.train
def test_verl_and_ray_write_these_lines() -> None:
    texts = [
        (Path(str(find_spec(package).origin)).parent / file).read_text()
        for package, file in (("verl", "trainer/ppo/v1/trainer_base.py"), ("ray", "_private/worker.py"))
    ]
    assert [mark for mark, _ in STAGES if not any(mark in text for text in texts)] == []
