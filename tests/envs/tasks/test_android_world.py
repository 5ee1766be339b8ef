"""AndroidWorld as a suite, as far as it can be tested without a checkout: `benchmarks.android_world` runs the rest."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectDevice, DirectSource
from rlfactory.envs.api.errors import JudgeError, TaskError
from rlfactory.envs.tasks.android_world.checkout import JUDGE, AndroidWorld
from rlfactory.envs.tasks.android_world.oracles import ORACLES
from rlfactory.envs.tasks.android_world.tasks import android_world_tasks
from rlfactory.envs.tasks.file import add_tasks
from rlfactory.envs.tasks.registry import TaskRegistry

TIMEOUT_S = 20.0
STAND_IN = {
    "android_world/registry.py": """
from android_world.suite_utils import CreateFile
class TaskRegistry:
    def get_registry(self, family):
        return {"CreateFile": CreateFile}
""",
    "android_world/suite_utils.py": """
import random, time
from android_env.components import errors
class CreateFile:
    template, complexity, app_names = "Create {name}", 1.5, ["markor"]
    def __init__(self, params):
        self.params, self.goal = params, self.template.format(**params)
    def initialize_task(self, env):
        assert env.adb(["shell", "mkdir", "-p", "/sdcard/Here"])[1] == 0
        started = time.time()
        time.sleep(60)
        assert time.time() - started == 60
        env.adb(["emu", "sms", "send", "+1555", "Hello"])
    def is_successful(self, env):
        there = self.params["name"] in env.adb(["shell", "ls", "/sdcard/Here"])[0]
        return float(there and env.interaction_cache == "ok")
    def tear_down(self, env):
        env.adb(["shell", "rm", "-r", "/sdcard/Here"])
def _instantiate_task(kind, seed, env):
    while seed == 666:
        pass
    random.seed(seed)
    return kind({"name": f"note{random.randint(0, 9999)}", "seed": seed})
""",
    "android_world/task_evals/information_retrieval/proto_utils.py": "",
    "android_world/task_evals/information_retrieval/proto/task_pb2.py": "",
    "android_world/task_evals/single/markor.py": "import datetime",
    "android_world/env/interface.py": """
class AsyncAndroidEnv:
    interaction_cache = ""
    def __init__(self, controller):
        self.controller = controller
    def adb(self, arguments):
        return self.controller._env.execute_adb_call(arguments)
""",
    "android_world/env/android_world_controller.py": """
import types
A11yMethod = types.SimpleNamespace(A11Y_FORWARDER_APP="app")
class AndroidWorldController: ...
""",
    "android_world/env/setup_device/setup.py": "_APPS = ()",
    "android_env/components/adb_controller.py": "class AdbController: ...",
    "android_env/components/adb_call_parser.py": """
class AdbCallParser:
    def __init__(self, adb):
        self._adb = adb
    def parse(self, call):
        return self._adb.execute_command(call).decode(), 0
""",
    "android_env/components/errors.py": "class AdbControllerError(Exception): ...",
    "android_env/proto/a11y/android_accessibility_forest_pb2.py": "",
    "dm_env.py": "",
}
"""A checkout of the same shape: AndroidWorld's own needs packages that are not ours."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in STAND_IN.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def world(checkout: Path) -> Iterator[AndroidWorld]:
    made = AndroidWorld(checkout)
    yield made
    made.close()


def test_tasks_are_drawn_the_same_from_the_same_seed(world: AndroidWorld) -> None:
    (task,) = android_world_tasks(world)
    assert (task.name, task.suite, task.apps) == ("android_world.CreateFile", "android_world", ("markor",))
    goals = [world.draw("CreateFile", seed)["goal"] for seed in (1, 1, 2)]
    assert goals[0] == goals[1] != goals[2]


def test_its_code_sets_a_phone_up_and_judges_it(world: AndroidWorld) -> None:
    async def play(device: DirectDevice) -> list[object]:
        (kind,) = android_world_tasks(world)
        task = kind(seed=5, facts=world.draw("CreateFile", 5))
        before = device.phone.system.uptime_ms()
        await task.setup(device, timeout_s=TIMEOUT_S)
        waited_ms = device.phone.system.uptime_ms() - before
        request = {"do": "judge", "task": "CreateFile", "seed": 5, "answer": "ok"}
        untouched = await world.on(device, request, timeout_s=TIMEOUT_S)
        await device.shell(f"touch /sdcard/Here/{task.facts['params']['name']}", timeout_s=TIMEOUT_S)
        done = await world.on(device, request, timeout_s=TIMEOUT_S)
        inbox = await device.shell("content query --uri content://sms/inbox", timeout_s=TIMEOUT_S)
        await task.tear_down(device, timeout_s=TIMEOUT_S)
        gone = await device.shell("[ -d /sdcard/Here ]", timeout_s=TIMEOUT_S)
        return [waited_ms >= 60_000, untouched["score"], done["score"], "body=Hello" in inbox.stdout, gone.exit_code]

    async def main() -> list[object]:
        source = DirectSource(PhoneConfig(width_px=320, height_px=640), threads=1)
        try:
            return await play(await source.start())
        finally:
            await source.close()

    assert asyncio.run(main()) == [True, 0.0, 1.0, True, 1]


def test_what_its_code_raises_is_told_and_the_next_request_works(world: AndroidWorld) -> None:
    with pytest.raises(JudgeError, match="KeyError"):
        world.draw("NoSuchTask", 1)
    assert world.draw("CreateFile", 1)["goal"].startswith("Create note")


def test_code_that_hangs_costs_one_request(world: AndroidWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.list()  # it has started
    monkeypatch.setattr("rlfactory.envs.tasks.android_world.checkout.DRAW_TIMEOUT_S", 0.2)
    with pytest.raises(JudgeError, match=r"did not answer within 0\.2 seconds"):
        world.draw("CreateFile", 666)
    monkeypatch.undo()
    assert world.draw("CreateFile", 1)["goal"].startswith("Create note")


def test_code_that_hangs_ends_with_who_asked_for_it(checkout: Path) -> None:
    command = (sys.executable, str(JUDGE), str(checkout))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdin is not None
        assert judge.stdout is not None
        assert "ready" in judge.stdout.readline()
        judge.stdin.write('{"do": "draw", "task": "CreateFile", "seed": 666}\n')
        judge.stdin.flush()
        judge.stdin.close()
        try:
            assert judge.wait(timeout=TIMEOUT_S) == 0
        finally:
            judge.kill()


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"no checkout of AndroidWorld: it has no android_world/registry\.py"):
        AndroidWorld(tmp_path)


def test_an_interpreter_without_its_packages_is_told_in_a_line(checkout: Path) -> None:
    (checkout / "dm_env.py").unlink()
    world = AndroidWorld(checkout)
    with pytest.raises(TaskError, match="No module named 'dm_env'"):
        world.list()


def test_a_checkout_is_a_file_of_tasks_and_another_version_is_told(
    checkout: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = TaskRegistry()
    add_tasks(registry, checkout)
    (task,) = registry
    assert task.name == "android_world.CreateFile"
    assert "another version of AndroidWorld than d9c569f: it has no AudioRecorderRecordAudio, " in caplog.text
    task.world.close()  # type: ignore[attr-defined]


def test_an_oracle_solves_each_task_but_the_hard_ones() -> None:
    assert len(ORACLES) == 109
