"""What takes long to draw is drawn in a process of its own, a user's own tasks too; what breaks there stays there."""

import os
from pathlib import Path

import pytest

from rlfactory.envs.api.errors import EnvironmentFault, InfrastructureError, TaskError
from rlfactory.envs.tasks.drawing import Drawing, DrawingConfig
from rlfactory.envs.tasks.drawing_worker import draw_whole
from rlfactory.envs.tasks.file import add_tasks
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry

FILE = Path(__file__).with_name("drawing_example.py")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the tasks of the example are told what goes wrong, and say which processes they were drawn in."""
    monkeypatch.setenv("DRAWING_EXAMPLE", str(tmp_path))
    tmp_path.joinpath("what").write_text("nothing")
    return tmp_path


@pytest.fixture
def tasks(folder):
    registry = default_registry()
    add_tasks(registry, FILE)
    return registry


async def test_what_takes_long_is_drawn_in_a_process_and_what_breaks_there_costs_that_draw_alone(tasks, folder):
    def draw(name, seed, **more):
        return drawing.draw(tasks, name, seed=seed, split="train", **more)

    async with Drawing(DrawingConfig(processes=1, files=(FILE,))) as drawing:
        for name, apart in (("own.quick", False), ("own.slow", True), ("own.bound", False), ("own.broken", True)):
            assert (await draw(name, 1)).pid == os.getpid()  # before it is known how long it takes
            assert ((await draw(name, 2)).pid != os.getpid()) is apart
        for name in ("text2sql.join", "travel.cheapest"):
            *_, there = await draw(name, 1), await draw(name, 2)
            here = tasks.draw(name, seed=2, split="train")
            assert type(there) is type(here) and there.goal == here.goal
            assert getattr(there, "databases", None) == getattr(here, "databases", None)

        assert (await draw("own.slow", 3, alone=True)).pid == os.getpid()
        with pytest.raises(TaskError, match="no split 'tomorrow'"):
            await drawing.draw(tasks, "own.slow", seed=3, split="tomorrow")  # type: ignore[arg-type]
        folder.joinpath("what").write_text("raises")
        with pytest.raises(EnvironmentFault, match=r"drawing_example.py:\d+: KeyError: 'oops'"):
            await draw("own.broken", 3)
        folder.joinpath("what").write_text("dies")
        with pytest.raises(InfrastructureError, match="two processes ended while they drew"):
            await draw("own.broken", 4)
        assert (await draw("own.slow", 5)).pid != os.getpid()

    folder.joinpath("what").write_text("nothing")
    async with Drawing(DrawingConfig(processes=1, files=(FILE,), timeout_s=2)) as drawing:
        await draw("own.broken", 1)
        folder.joinpath("what").write_text("hangs")
        with pytest.raises(EnvironmentFault, match="took more than 2 s to draw"):
            await draw("own.broken", 6)


def test_one_pattern_in_place_of_a_tuple_is_told_with_its_line():
    members = {"name": "own.careless", "allowed": lambda self: "settings/*"}
    careless = type("Careless", (default_registry().get("tiny.wifi"),), members)
    with pytest.raises(EnvironmentFault, match=r"test_drawing\.py:\d+: allowed returns 'settings/\*'; a tuple"):
        draw_whole(TaskRegistry((careless,)), "own.careless", seed=1, split="train")
