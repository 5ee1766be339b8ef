"""A checkout of AndroidWorld and the process that runs its code (`judge.py`), spoken to by lines of JSON."""

from __future__ import annotations

import asyncio
import json
import posixpath
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from rlfactory.emulators.device.device import Device, Wait
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.ui import UiNode
from rlfactory.envs.api.errors import JudgeError, TaskError
from rlfactory.envs.tools.runtime.threads import in_thread

JUDGE: Final = Path(__file__).with_name("judge.py")
INTERPRETERS: Final = (".venv/bin/python", "venv/bin/python", "../venv/bin/python", "../.venv/bin/python")
"""Where a checkout's own interpreter is looked for."""
START_TIMEOUT_S: Final = 120.0
"""For its interpreter, which imports AndroidWorld."""
DRAW_TIMEOUT_S: Final = 60.0
"""For what needs no phone."""
_FLAGS: Final = ("checkable", "checked", "clickable", "enabled", "focusable", "focused", "long_clickable", "password")


class Asked(Protocol):
    """Answers what AndroidWorld's code asks of a phone."""

    def __call__(self, message: dict[str, Any]) -> dict[str, Any]: ...


class AndroidWorld:
    """One process of AndroidWorld's code; started on first use, and again after it failed. Thread-safe."""

    def __init__(self, checkout: Path, *, interpreter: Path | None = None) -> None:
        """Raises: TaskError: no checkout, or no interpreter."""
        self.checkout = checkout.absolute()
        if not (self.checkout / "android_world" / "registry.py").is_file():
            raise TaskError(f"{checkout} is no checkout of AndroidWorld: it has no android_world/registry.py")
        own = (self.checkout / place for place in INTERPRETERS)
        self.interpreter = interpreter or next((each for each in own if each.exists()), Path(sys.executable))
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    # --- what it is asked for ----------------------------------------------------------------------------------------

    def list(self) -> dict[str, dict[str, Any]]:
        """Return template, complexity and apps of each task, by name. Raises: TaskError: it does not start."""
        try:
            return dict(self._request({"do": "list"}, _no_phone, DRAW_TIMEOUT_S))
        except JudgeError as error:
            raise TaskError(str(error)) from None

    def draw(self, task: str, seed: int) -> dict[str, Any]:
        """Return a task's goal and parameters, and the answer expected where it is a question."""
        return dict(self._request({"do": "draw", "task": task, "seed": seed}, _no_phone, DRAW_TIMEOUT_S))

    async def on(self, device: Device, request: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Let AndroidWorld's code work on a phone, and return its answer.

        Raises: JudgeError: its code failed, or took longer. DeviceError: the phone did.
        """
        asked = partial(_on_device, device, asyncio.get_running_loop(), timeout_s)
        return dict(await in_thread(lambda: self._request(request, asked, timeout_s)))

    # --- the conversation --------------------------------------------------------------------------------------------

    def _request(self, request: dict[str, Any], asked: Asked, timeout_s: float) -> Any:
        with self._lock:
            process = self._process = self._process or self._start()
            try:
                with _deadline(process, timeout_s):
                    reply = _converse(process, request, asked)
            except BaseException:
                self.close()  # in the middle of a conversation: the next one starts afresh
                raise
            return _answer(reply)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(self.interpreter), str(JUDGE), str(self.checkout)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        try:
            with _deadline(process, START_TIMEOUT_S):
                _answer(_receive(process))
        except JudgeError as error:
            process.communicate()
            raise JudgeError(f"AndroidWorld does not start with {self.interpreter}: {error}") from None
        return process


@contextmanager
def _deadline(process: subprocess.Popen[str], timeout_s: float) -> Iterator[None]:
    """End a process whose answer does not come in time: who waits for it finds its output closed.

    Raises: JudgeError: the time was over.
    """
    over = threading.Event()

    def end() -> None:
        over.set()
        process.kill()

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except JudgeError:
        if over.is_set():
            raise JudgeError(f"AndroidWorld's code did not answer within {timeout_s:g} seconds") from None
        raise
    finally:
        timer.cancel()


def _converse(process: subprocess.Popen[str], request: dict[str, Any], asked: Asked) -> dict[str, Any]:
    message = request
    while True:
        _send(process, message)
        reply = _receive(process)
        if "ask" not in reply:
            return reply
        message = asked(reply)


def _send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    except OSError:
        raise JudgeError("the process of AndroidWorld ended") from None


def _receive(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise JudgeError("the process of AndroidWorld ended")
    return dict(json.loads(line))


def _answer(reply: dict[str, Any]) -> Any:
    if "error" in reply:
        raise JudgeError(f"AndroidWorld: {reply['error']}")
    return reply["answer"]


# --- the phone's side ------------------------------------------------------------------------------------------------


def _no_phone(message: dict[str, Any]) -> dict[str, Any]:
    if message["ask"] == "sleep":
        return {}
    raise JudgeError(f"AndroidWorld asks for a phone where there is none: {message}")


def _on_device(
    device: Device, loop: asyncio.AbstractEventLoop, timeout_s: float, message: dict[str, Any]
) -> dict[str, Any]:
    answering = _answered(device, message, timeout_s)
    return asyncio.run_coroutine_threadsafe(answering, loop).result()


async def _answered(device: Device, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    match message["ask"]:
        case "sleep":
            await device.act(Wait(message["seconds"]), timeout_s=timeout_s)
            return {}
        case "tree":
            screen = await device.observe(None, with_tree=True, timeout_s=timeout_s)
            assert screen.tree is not None
            return {"nodes": list(_nodes(screen.tree, screen.width_px, screen.height_px))}
        case "adb":
            return await _adb(device, message["arguments"], timeout_s)
        case unknown:
            raise JudgeError(f"AndroidWorld asks for {unknown!r}, which is not known")


async def _adb(device: Device, arguments: list[str], timeout_s: float) -> dict[str, Any]:
    """Do what `adb ARGUMENTS` does."""
    output, exit_code = "", 0
    match arguments:
        case ["shell", *words]:
            result = await device.shell(" ".join(words), timeout_s=timeout_s)
            output, exit_code = result.stdout + result.stderr, result.exit_code
        case ["push", local, remote]:
            is_folder = (await device.shell(f"[ -d '{remote}' ]", timeout_s=timeout_s)).exit_code == 0
            path = f"{remote.rstrip('/')}/{posixpath.basename(local)}" if is_folder else remote
            await device.push(path, _read(local), timeout_s=timeout_s)
        case ["pull", remote, local]:
            try:
                _write(local, posixpath.basename(remote), await device.pull(remote, timeout_s=timeout_s))
            except DeviceError as error:
                output, exit_code = str(error), 1
        case ["emu", *words]:
            output = await device.console(" ".join(words), timeout_s=timeout_s)
        case ["root" | "devices" | "kill-server" | "start-server" | "install", *_]:
            """The phone is there, rooted, and has its apps."""
        case _:
            output, exit_code = f"adb: unknown command {' '.join(arguments)}", 1
    return {"output": output, "exit_code": exit_code}


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _write(path: str, name: str, data: bytes) -> None:
    target = Path(path)
    (target / name if target.is_dir() else target).write_bytes(data)


def _nodes(tree: UiNode, width_px: int, height_px: int) -> Iterator[dict[str, Any]]:
    """Yield the nodes in drawing order, named as AndroidWorld's protos name them; children by their places."""
    ordered = list(tree.walk())
    places = {id(node): number for number, node in enumerate(ordered)}
    for node in ordered:
        left, top, right, bottom = node.bounds
        shown = left < right and top < bottom and left < width_px and top < height_px and right > 0 and bottom > 0
        yield {
            "bounds": tuple(node.bounds),
            "class_name": node.class_name,
            "content_description": node.description,
            "hint_text": node.hint,
            "package_name": node.package,
            "text": node.text,
            "view_id_resource_name": node.resource_id,
            "is_visible_to_user": shown,
            "is_editable": node.class_name.endswith("EditText"),
            "is_scrollable": node.scrollable,
            "is_selected": node.selected,
            "child_ids": [places[id(child)] for child in node.children],
            **{f"is_{flag}": getattr(node, flag) for flag in _FLAGS},
        }
