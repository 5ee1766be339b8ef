"""What a task's goal and parameters are drawn from: the seed and the split, and nothing else. No phone is needed."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections import Counter
from dataclasses import replace

import pytest

from rlfactory.emulators.device.device import DeviceInfo
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone import PHONE_TASKS, pools
from rlfactory.envs.tasks.phone.base import PhoneTask, literal
from rlfactory.envs.tasks.phone.look import Look
from rlfactory.envs.tasks.registry import WORLDS, TaskRegistry
from rlfactory.envs.tasks.suites import TINY
from rlfactory.envs.tasks.task import Task

REGISTRY = TaskRegistry(PHONE_TASKS)
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
SEEDS = range(40)
CASES = [(task, split) for task in PHONE_TASKS for split in task.splits]
LACKING = [(task, split) for task in PHONE_TASKS for split in SPLITS if split not in task.splits]
IN_SEVERAL_SPLITS = [task for task in (*PHONE_TASKS, *TINY) if len(task.splits) > 1]


def _id(value: object) -> str:
    return value.name if isinstance(value, type) and issubclass(value, Task) else str(value)


def test_the_suite_is_large_and_varied() -> None:
    assert len(PHONE_TASKS) >= 28
    apps = Counter(app for task in PHONE_TASKS for app in task.apps)
    assert len(apps) == 5, "Settings, Contacts, Clock, Notes and Files"
    assert min(apps.values()) >= 5
    assert sum(len(task.apps) > 1 for task in PHONE_TASKS) >= 5, "tasks across apps"
    test_only = [task.name for task in PHONE_TASKS if task.splits == ("test",)]
    assert len(test_only) >= 4, "some templates are never seen in training"


@pytest.mark.parametrize("task", PHONE_TASKS, ids=_id)
def test_a_template_describes_itself(task: type[Task]) -> None:
    assert re.fullmatch(r"(settings|contacts|clock|notes|files|compound)\.[a-z_]+", task.name)
    assert task.suite == "phone"
    assert task.description
    assert not task.description.endswith(".")
    assert 5 <= task.max_turns <= 100


@pytest.mark.parametrize(("task", "split"), CASES, ids=_id)
def test_seed_and_split_fix_goal_and_parameters(task: type[Task], split: Split) -> None:
    for seed in SEEDS:
        first = REGISTRY.draw(task.name, seed=seed, split=split)
        again = REGISTRY.draw(task.name, seed=seed, split=split)
        assert first == again
        assert first.goal == again.goal
        assert re.search(r"[.?\"]$", first.goal), first.goal
        assert not re.search(r"[{}]", first.goal), first.goal


@pytest.mark.parametrize(("task", "split"), CASES, ids=_id)
def test_a_goal_is_asked_for_in_many_worlds(task: type[PhoneTask], split: Split) -> None:
    """What has to be so is so already in some of them, and the goal does not tell."""
    own = REGISTRY.draw(task.name, seed=3, split=split)
    others = [REGISTRY.draw(task.name, seed=3 + number * WORLDS, split=split) for number in range(1, 41)]
    assert {other.goal for other in others} == {own.goal}
    assert len({own, *others}) == 41
    starts = {other.is_so_already for other in others if isinstance(other, PhoneTask)}
    assert starts == ({True, False} if "state" in task.templates[task.name] else {False})


@pytest.mark.parametrize("task", IN_SEVERAL_SPLITS, ids=_id)
def test_no_goal_is_in_two_splits(task: type[Task]) -> None:
    draw = TaskRegistry([task]).draw
    goals = {split: {draw(task.name, seed=seed, split=split).goal for seed in SEEDS} for split in task.splits}
    for one, other in itertools.combinations(task.splits, 2):
        assert not goals[one] & goals[other]


@pytest.mark.parametrize("task", PHONE_TASKS, ids=_id)
def test_seeds_differ(task: type[Task]) -> None:
    """Even a task without parameters in its goal starts from different phones."""
    split = task.splits[0]
    drawn = {REGISTRY.draw(task.name, seed=seed, split=split) for seed in SEEDS}
    assert len(drawn) > 1


@pytest.mark.parametrize(("task", "split"), LACKING, ids=_id)
def test_a_split_that_a_template_lacks_is_refused(task: type[Task], split: Split) -> None:
    with pytest.raises(TaskError, match=f"has no split '{split}'"):
        REGISTRY.draw(task.name, seed=0, split=split)


@pytest.mark.parametrize("name", sorted(pools.POOLS))
def test_no_parameter_is_in_two_splits(name: str) -> None:
    assert set(pools.POOLS[name]) == set(SPLITS)
    values = [value for split in SPLITS for value in pools.POOLS[name][split]]
    assert len(values) == len(set(values))


@pytest.mark.parametrize(
    ("task", "split"), [case for case in CASES if REGISTRY.draw(case[0].name, seed=1, split=case[1]).allowed()], ids=_id
)
def test_what_may_change_is_narrow(task: type[Task], split: Split) -> None:
    """No pattern lets pass what no task is about: other settings, other people, other files."""
    bystanders = (
        "settings/secure/ui_night_mode",
        "contacts/Nobody Here/555",
        "alarms/03:07/Nothing",
        "files/Documents/Markor/other.md",
        "files/Download/other.bin",
    )
    drawn = REGISTRY.draw(task.name, seed=1, split=split)
    patterns = drawn.allowed()
    for key in bystanders:
        assert not any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns), (key, patterns)


def test_a_literal_pattern_matches_its_own_key_only() -> None:
    key = "files/Documents/a[1]*?.md"
    assert fnmatch.fnmatchcase(key, literal(key))
    assert not fnmatch.fnmatchcase("files/Documents/a1xx.md", literal(key))


@pytest.mark.parametrize(("height_px", "density_dpi", "wanted_dpi"), [(2400, 420, 538), (480, 124, 108)])
def test_a_short_phone_keeps_room_for_its_dialogs(height_px: int, density_dpi: int, wanted_dpi: int) -> None:
    info = DeviceInfo(
        serial="", width_px=320, height_px=height_px, density_dpi=density_dpi, model="", sdk=34, simulated=True
    )
    assert f"wm density {wanted_dpi}" in Look(density=1.28).commands(info, ())


def test_tasks_are_immutable() -> None:
    task = REGISTRY.draw("settings.wifi_on", seed=0, split="train")
    assert isinstance(task, PhoneTask)
    with pytest.raises(AttributeError):
        task.wording = "x"  # type: ignore[misc]
    assert replace(task, wording="x").goal == "x"
