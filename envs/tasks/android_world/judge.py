"""AndroidWorld's own code as a program: started by its own interpreter, with a checkout of it as the one argument.

Requests come as lines of JSON on standard input, answers go as such to standard output. While a request is worked on,
this program asks back for what it needs of the phone, and the answer comes as the next line:

    -> {"do": "draw", "task": "ClockTimerEntry", "seed": 7}
    <- {"answer": {"goal": "...", "params": {...}, "complexity": 1.0, "expected": null}}
    -> {"do": "initialize", "task": "ClockTimerEntry", "seed": 7}
    <- {"ask": "adb", "arguments": ["shell", "whoami"]}            -> {"output": "root\\n", "exit_code": 0}
    <- {"ask": "sleep", "seconds": 2.0}                            -> {}
    <- {"ask": "tree"}                                             -> {"nodes": [...], "width": 1080, "height": 2400}
    <- {"answer": {"goal": "..."}}

What goes wrong inside AndroidWorld is answered by {"error": "..."}. Nothing of it is changed: it is given an
environment whose adb, clock and accessibility tree are the phone's. Its sleeps let the phone's time pass.
No import of ours: this file runs where RLFactory is not installed.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import datetime
import json
import os
import random
import select
import sys
import tempfile
import threading
import time
import types
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EPOCH_S = 1_697_384_040.0
"""What its clock shows when a request begins: the same each time, so that what it makes of it is, too."""
PROTOS = "android_world/task_evals/information_retrieval/proto"


class Pipe:
    """The other side, which has the phone."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what AndroidWorld prints is no message

    def send(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def receive(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return dict(json.loads(line))

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        self.send({"ask": what, **details})
        return self.receive()


LOOK_S = 0.5
"""What a look at the tree takes: AndroidWorld polls for what is not there until its time is over."""


class VirtualTime:
    """Time that passes by sleeping and looking alone."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self.now_s = EPOCH_S
        time.sleep = self.sleep  # type: ignore[assignment]
        time.time = lambda: self.now_s

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.now_s += seconds
            self._pipe.ask("sleep", seconds=seconds)


def prepare(checkout: str) -> None:
    """Make the checkout importable, with what its installation would have added: compiled protos, an ffmpeg."""
    sys.path.insert(0, checkout)
    scratch = tempfile.mkdtemp(prefix="android_world_")
    if not (Path(checkout) / PROTOS / "task_pb2.py").exists():
        from grpc_tools import protoc

        sources = [f"{PROTOS}/{name}.proto" for name in ("state", "task")]
        if protoc.main(["protoc", f"-I{checkout}", f"--python_out={scratch}", *sources]):
            raise RuntimeError(f"cannot compile the protos of {checkout}")
        import android_world.task_evals.information_retrieval.proto as package

        package.__path__.append(f"{scratch}/{PROTOS}")
    with contextlib.suppress(ImportError):
        import imageio_ffmpeg

        Path(scratch, "ffmpeg").symlink_to(imageio_ffmpeg.get_ffmpeg_exe())
        os.environ["PATH"] += os.pathsep + scratch


def make_environment(pipe: Pipe, clock: VirtualTime) -> Any:
    """Return AndroidWorld's own environment over a phone at the other end."""
    import dm_env
    import numpy as np
    from android_env.components import adb_call_parser, adb_controller, errors
    from android_env.proto.a11y import android_accessibility_forest_pb2
    from android_world.env import android_world_controller, interface

    class Adb(adb_controller.AdbController):  # type: ignore[misc]
        def __init__(self) -> None:
            """There is no server to be configured."""

        def execute_command(self, args: list[str], timeout: float | None = None, device_specific: bool = True) -> bytes:
            result = pipe.ask("adb", arguments=list(args))
            if result["exit_code"]:
                raise errors.AdbControllerError(f"adb {' '.join(args)}: {result['output']}")
            return str(result["output"]).encode()

    class Phone:
        def __init__(self) -> None:
            self._parser = adb_call_parser.AdbCallParser(Adb())

        def execute_adb_call(self, call: Any) -> Any:
            return self._parser.parse(call)

        def close(self) -> None:
            """The phone lives on."""

    class Controller(android_world_controller.AndroidWorldController):  # type: ignore[misc]
        def __init__(self) -> None:
            self._env = self._original_env = Phone()
            self._a11y_method = android_world_controller.A11yMethod.A11Y_FORWARDER_APP

        def _get_a11y_forest(self) -> Any:
            forest = android_accessibility_forest_pb2.AndroidAccessibilityForest()
            nodes = forest.windows.add().tree.nodes
            clock.now_s += LOOK_S
            for number, node in enumerate(pipe.ask("tree")["nodes"]):
                bounds = dict(zip(("left", "top", "right", "bottom"), node.pop("bounds"), strict=True))
                nodes.add(unique_id=number, bounds_in_screen=bounds, **node)
            return forest

        def step(self, action: Any) -> Any:
            observation = {"pixels": np.zeros((1, 1, 3), np.uint8)}
            return self._process_timestep(dm_env.transition(reward=0.0, observation=observation))

        def reset(self) -> Any:
            return self.step(None)

    return interface.AsyncAndroidEnv(Controller())


class Judge:
    """Draws tasks, and asks them to set a phone up and to judge it."""

    def __init__(self, pipe: Pipe, clock: VirtualTime) -> None:
        from android_world import registry
        from android_world.task_evals.single import markor

        markor.datetime = dates_of(clock)
        self._clock = clock
        self._classes = registry.TaskRegistry().get_registry("android_world")
        self._env = make_environment(pipe, clock)
        self._begun: dict[tuple[str, int], Any] = {}

    def answer(self, request: dict[str, Any]) -> Any:
        """Do what a request names, from a state of chance and clock that depends on its seed alone."""
        self._settle_chance(request.get("seed", 0))
        match request["do"]:
            case "list":
                return {name: self._describe(name) for name in sorted(self._classes)}
            case "setup":
                return self._set_up()
            case "draw":
                task = self._drawn(request)
                expected = self._expected(request)
                return {"goal": task.goal, "params": plain(task.params), "expected": expected}
            case "initialize":
                task = self._drawn(request)
                task.initialize_task(self._env)
                self._begun[request["task"], request["seed"]] = task
                # Rounded by then to what the app can show.
                known = {"expected": expected_answer(task)} if hasattr(task, "task") else {}
                return {"goal": task.goal, **known}
            case "judge":
                self._env.interaction_cache = request["answer"]
                with self._copied(request) as task:
                    return {"score": float(task.is_successful(self._env))}
            case "tear_down":
                with self._copied(request) as task:
                    task.tear_down(self._env)
                return {}
            case unknown:
                raise ValueError(f"unknown request {unknown!r}")

    def _settle_chance(self, seed: int) -> None:
        import numpy as np

        random.seed(seed)
        np.random.seed(seed)
        uuid.uuid4 = lambda: uuid.UUID(int=random.getrandbits(128), version=4)
        self._clock.now_s = EPOCH_S

    def _describe(self, name: str) -> dict[str, Any]:
        task = self._drawn({"task": name, "seed": 0})
        return {"template": task.template, "complexity": float(task.complexity), "apps": list(task.app_names)}

    def _drawn(self, request: dict[str, Any]) -> Any:
        from android_world import suite_utils

        kind = self._classes[request["task"]]
        return suite_utils._instantiate_task(kind, seed=request["seed"], env=self._env)

    def _expected(self, request: dict[str, Any]) -> list[str] | None:
        """Return what a question's answer is, for the oracle; None for tasks that ask for something to be done."""
        from android_world.task_evals.information_retrieval import proto_utils

        task = self._drawn(request)
        if not hasattr(task, "task"):
            return None
        random.seed(request["seed"])  # as `initialize_task` does before it fills the question in
        proto_utils.initialize_proto(task.task, task.params)
        return expected_answer(task)

    @contextlib.contextmanager
    def _copied(self, request: dict[str, Any]) -> Iterator[Any]:
        """Give a task as it was after `initialize`, to be used up: siblings of the same seed are judged by it, too."""
        begun = self._begun[request["task"], request["seed"]]
        yield copy.deepcopy(begun)

    def _set_up(self) -> dict[str, Any]:
        """Take the apps through their first runs, as AndroidWorld does; what it cannot set up is told."""
        from android_world.env.setup_device import setup

        failed = {}
        for app in setup._APPS:
            try:
                setup.setup_app(app, self._env)
            except Exception as error:  # noqa: BLE001 - an app that is not there; it says so for the tasks that need it
                failed[app.app_name] = " ".join(str(error).split())[:200]
        return {"failed": failed}


def expected_answer(task: Any) -> list[str]:
    """Return what the answer to a question is, once it has been filled in."""
    from android_world.task_evals.information_retrieval import proto_utils

    return [str(each) for each in proto_utils.get_expected_answer(task.task)]


def dates_of(clock: VirtualTime) -> Any:
    """Return the module `datetime` with a clock of ours: a task's name for a folder is the time of its drawing."""

    class VirtualDatetime(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> VirtualDatetime:
            return cls.fromtimestamp(clock.now_s, tz or datetime.UTC)

    names = {name: getattr(datetime, name) for name in datetime.__all__}
    return types.SimpleNamespace(**{**names, "datetime": VirtualDatetime})


def plain(value: Any) -> Any:
    """Return a task's parameters as JSON can say them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def end_with_parent() -> None:
    """End when nobody holds the other end of standard input any more, whatever AndroidWorld's code is at."""
    hangup = select.poll()
    hangup.register(0, 0)  # an end is told even to those who ask for nothing
    hangup.poll()
    os._exit(0)


def main() -> None:
    """Answer requests until standard input ends."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    pipe = Pipe()
    try:
        prepare(sys.argv[1])
        judge = Judge(pipe, VirtualTime(pipe))
    except Exception as error:  # noqa: BLE001 - the other side tells it
        pipe.send({"error": f"{type(error).__name__}: {error}"})
        return
    pipe.send({"answer": "ready"})
    while True:
        request = pipe.receive()
        try:
            pipe.send({"answer": judge.answer(request)})
        except Exception as error:  # noqa: BLE001 - the other side tells it
            pipe.send({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
