"""Simulated phones in this process, called without a wire: the fast way to train."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, TypeVar, assert_never

import numpy as np

from rlfactory.emulators.device.deadline import in_thread, within
from rlfactory.emulators.device.device import (
    Device,
    DeviceAction,
    DeviceInfo,
    DoubleTap,
    Drag,
    ImageSpec,
    LongPress,
    OpenApp,
    PressKey,
    Screen,
    Settled,
    ShellResult,
    Snapshot,
    Swipe,
    Tap,
    TypeText,
    Wait,
    require_on_screen,
)
from rlfactory.emulators.device.errors import ActionRejected, CommandFailed, DeviceError, DeviceLost, DeviceTimeout
from rlfactory.emulators.device.keys import key_name
from rlfactory.emulators.device.launching import LaunchableApp, find_app, launch_command
from rlfactory.emulators.device.probes import PROBES, Probe
from rlfactory.emulators.device.state import DeviceState, joined, parse_part
from rlfactory.emulators.device.typing_plan import Enter, Keystrokes, Paste, plan_typing
from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.machine.packages import short_component
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.view.scene import Scene
from rlfactory.emulators.simulator.wire.console_commands import ConsoleError, run_console

Result = TypeVar("Result")

_BESIDE_FILES: Final = tuple(each for each in PROBES if not each.reads.startswith("/") and each.reads != "clock")


class DirectDevice:
    """A simulated phone of this process as a `Device`."""

    def __init__(self, phone: Phone, *, executor: ThreadPoolExecutor, snapshots: SnapshotStore) -> None:
        self.phone = phone
        self._executor = executor
        self._snapshots = snapshots
        self._sequence = itertools.count(1)
        self._parts: dict[str, tuple[object, DeviceState]] = {}
        """By part of the state: what it was read from, and its keys."""
        self._root: object = None
        """The files at the last reading."""
        self._read: Sequence[DeviceState | None] = (None,) * len(PROBES)
        """The parts of `_state`."""
        self._state: DeviceState = {}
        self._looked: tuple[Scene, tuple[ImageSpec | None, bool], Screen] | None = None
        """The last look: at what, what was asked for, and what it showed."""
        self._is_same = False
        """Nothing has happened since the last action, and that has not changed what is shown."""
        self._now: DeviceState | None = None
        """The state, if nothing has happened since the last action, and that has changed nothing but the time."""
        self._closed = False

    @property
    def info(self) -> DeviceInfo:
        config = self.phone.config
        return DeviceInfo(
            serial=config.serial,
            width_px=config.width_px,
            height_px=config.height_px,
            density_dpi=config.density,
            model=config.model,
            sdk=33,
            simulated=True,
        )

    async def act(self, action: DeviceAction, *, timeout_s: float) -> None:
        await self._call("act", lambda: self._perform(action), timeout_s)

    async def settle(self, *, timeout_s: float) -> Settled:
        """A simulated screen has come to rest when the action returns: it has no animations."""
        return Settled(reason="idle", waited_s=0.0)

    async def observe(self, spec: ImageSpec | None, *, with_tree: bool, timeout_s: float) -> Screen:
        """What the last action left as it was is returned at once: the way to a thread and back costs more."""
        if self._is_same and self._looked and self._looked[1] == (spec, with_tree) and self.phone.looked_ms is not None:
            return replace(self._looked[2], sequence=next(self._sequence))
        return await self._call("observe", lambda: self._observe(spec, with_tree), timeout_s)

    async def screenshot(self, *, timeout_s: float) -> np.ndarray:
        return await self._call("screenshot", lambda: self.phone.rgb().copy(), timeout_s)

    async def shell(self, command: str, *, timeout_s: float) -> ShellResult:
        output = await self._call("shell", lambda: self.phone.shell(command), timeout_s)
        return ShellResult(
            stdout=output.stdout.decode(errors="replace"),
            stderr=output.stderr.decode(errors="replace"),
            exit_code=output.exit_code,
        )

    async def push(self, path: str, data: bytes, *, timeout_s: float) -> None:
        await self._call("push", lambda: self._push(path, data), timeout_s)

    async def pull(self, path: str, *, timeout_s: float) -> bytes:
        return await self._call("pull", lambda: self._pull(path), timeout_s)

    async def state(self, *, timeout_s: float) -> DeviceState:
        if self._now is not None and self.phone.looked_ms is not None:
            return self._now
        return await self._call("state", self.read_state, timeout_s)

    async def console(self, command: str, *, timeout_s: float) -> str:
        return await self._call("console", lambda: self._say(command), timeout_s)

    async def save_snapshot(self, *, timeout_s: float) -> Snapshot:
        snapshot = Snapshot(name=uuid.uuid4().hex)
        await self._call("save_snapshot", lambda: self._snapshots.save(self.phone, snapshot.name), timeout_s)
        return snapshot

    async def load_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        await self._call("load_snapshot", lambda: self._load_snapshot(snapshot.name), timeout_s)

    async def delete_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        self._snapshots.delete(snapshot.name)

    async def close(self) -> None:
        self._closed, self._is_same, self._now = True, False, None

    # --- in the thread, under the phone's lock

    async def _call(self, what: str, function: Callable[[], Result], timeout_s: float) -> Result:
        """Run `function` in a thread under the phone's lock; every failure is about this phone."""
        if self._closed:
            raise DeviceLost(f"{self.phone.config.serial} is closed")
        name = f"{what} on {self.phone.config.serial}"
        self._is_same, self._now = False, None

        def locked() -> Result:
            if not self.phone.lock.acquire(timeout=timeout_s):
                raise DeviceTimeout(f"{name}: the phone was busy for {timeout_s:g} s")
            try:
                return function()
            except (ActionRejected, DeviceError):
                raise
            except Exception as error:
                raise DeviceError(f"{name} failed inside the simulated phone: {error!r}") from error
            finally:
                self.phone.lock.release()

        async with within(timeout_s, name):
            return await in_thread(self._executor, locked)

    def _perform(self, action: DeviceAction) -> None:
        """Carry out the action and see whether it changed anything: most calls that follow ask for that."""
        self._act(action)
        if self.phone.config.clock == "virtual":
            self._is_same = self._looked is not None and self.phone.scene() is self._looked[0]
            self._now = self.read_state() if self._is_read() else None

    def _act(self, action: DeviceAction) -> None:
        phone = self.phone
        require_on_screen(action, phone.width_px, phone.height_px)
        match action:
            case Tap(x, y):
                phone.tap(x, y)
            case DoubleTap(x, y):
                phone.double_tap(x, y)
            case LongPress(x, y, duration_s):
                phone.long_press(x, y, _ms(duration_s))
            case Swipe(x1, y1, x2, y2, duration_s):
                phone.swipe(x1, y1, x2, y2, _ms(duration_s))
            case Drag(x1, y1, x2, y2, duration_s):
                phone.drag(x1, y1, x2, y2, _ms(duration_s))
            case TypeText(text):
                self._type(text)
            case PressKey(key):
                phone.key(key_name(key))
            case OpenApp(name):
                self._open(name)
            case Wait(duration_s):
                phone.advance(_ms(duration_s))
            case _:
                assert_never(action)

    def _type(self, text: str) -> None:
        for piece in plan_typing(text):
            match piece:
                case Keystrokes(characters) | Paste(characters):
                    self.phone.type_text(characters)
                case Enter():
                    self.phone.key("ENTER")
                case _:
                    assert_never(piece)

    def _open(self, name: str) -> None:
        apps = (
            LaunchableApp(
                package=app.package, component=short_component(app.package, app.activities[0].name), label=app.label
            )
            for app in self.phone.system.apps()
            if not app.hidden
        )
        command = launch_command(find_app(name, apps))
        output = self.phone.shell(command)
        if output.exit_code:
            raise CommandFailed(command, output.exit_code, output.stdout.decode(errors="replace"))

    def _observe(self, spec: ImageSpec | None, with_tree: bool) -> Screen:
        phone = self.phone
        screen = Screen(
            sequence=next(self._sequence),
            image=phone.encode(spec) if spec else None,
            tree=phone.ui_tree() if with_tree else None,
            activity=phone.foreground,
            width_px=phone.width_px,
            height_px=phone.height_px,
        )
        self._looked = phone.scene(), (spec, with_tree), screen
        return screen

    def _push(self, path: str, data: bytes) -> None:
        files = self.phone.system.files
        try:
            files.make_dirs(path.rpartition("/")[0] or "/")
            files.write(path, data, mode=0o660)
        except OSError as error:
            raise CommandFailed(f"push {path}", 1, error.strerror or str(error)) from error
        self.phone.invalidate()

    def _pull(self, path: str) -> bytes:
        try:
            return self.phone.system.files.read(path)
        except OSError as error:
            raise CommandFailed(f"pull {path}", 1, error.strerror or str(error)) from error

    def _say(self, command: str) -> str:
        try:
            return run_console(self.phone, self._snapshots, command)
        except ConsoleError as error:
            raise CommandFailed(f"console: {command}", 1, str(error)) from error

    def _load_snapshot(self, name: str) -> None:
        try:
            self._snapshots.load(self.phone, name)
        except KeyError:
            raise DeviceError(f"{self.phone.config.serial}: no snapshot {name!r}") from None

    def read_state(self) -> DeviceState:
        """Return the state, read in the caller's thread: for who has the phone to himself."""
        root, before = self.phone.system.files.identity("/"), self._root
        self._root = root
        parts = tuple(
            known if root is before and known is not None and probe.reads.startswith("/") else self._part(probe)
            for probe, known in zip(PROBES, self._read, strict=True)
        )
        if any(now is not before for now, before in zip(parts, self._read, strict=True)):
            self._state, self._read = joined(parts), parts
        return self._state

    def _is_read(self) -> bool:
        """Tell whether nothing but time has changed since the state was read."""
        return self._root is self.phone.system.files.identity("/") and all(
            self._read_by(probe) == self._parts[probe.name][0] for probe in _BESIDE_FILES
        )

    def _part(self, probe: Probe) -> DeviceState:
        """Return the keys of a part of the state; not read again while what it reads is the same."""
        known, part = self._parts.get(probe.name, (None, {}))
        read = self._read_by(probe)
        if read is None or read != known:
            part = parse_part(probe.name, self._printed(probe))
            self._parts[probe.name] = read, part
        return part

    def _printed(self, probe: Probe) -> str:
        """Return what the command prints; the time, which each step asks for, without a shell."""
        if probe.reads == "clock":
            clock = self.phone.state.clock
            return f"{clock.now():%Y-%m-%d %H:%M:%S}\n{clock.booted():%Y-%m-%d %H:%M:%S}\n"
        return self.phone.shell(probe.command).stdout.decode(errors="replace")

    def _read_by(self, probe: Probe) -> object:
        """Return what a part is read from, to be compared; None for more than can be told."""
        match probe.reads.split():
            case ["clock"]:
                return None
            case ["foreground"]:
                return self.phone.foreground
            case ["settings", namespace]:
                return self.phone.state.settings.table(namespace)
            case _:
                return self.phone.system.files.identity(probe.reads)


class DirectSource:
    """Starts simulated phones in this process."""

    def __init__(self, config: PhoneConfig, *, threads: int = 4) -> None:
        self._config = config
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="phone")
        self._snapshots = SnapshotStore()
        self._golden = GoldenImages()
        self._numbers = itertools.count(1)

    async def start(self) -> DirectDevice:
        config = replace(self._config, serial=f"direct-{next(self._numbers)}")
        try:
            phone = await in_thread(self._executor, lambda: Phone(config, golden=self._golden))
        except Exception as error:
            raise DeviceError(f"{config.serial} did not boot: {error!r}") from error
        return DirectDevice(phone, executor=self._executor, snapshots=self._snapshots)

    async def stop(self, device: Device) -> None:
        await device.close()

    async def reconnect(self, device: Device) -> None:
        """There is no connection that could be lost."""

    async def memory_bytes(self, device: Device) -> int:
        """Not known: the phones share this process."""
        return 0

    def host(self, device: Device) -> str:
        return "direct"

    async def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def _ms(duration_s: float) -> int:
    return round(duration_s * 1000)
