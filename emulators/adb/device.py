"""Any phone behind an adb serial: a real one, an emulator, a simulated one. It cannot tell which, and need not."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import shlex
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import numpy as np

from rlfactory.emulators.adb import settle as settling
from rlfactory.emulators.adb.client import AdbClient, RawShellResult
from rlfactory.emulators.adb.commands import (
    DEVICE_FACTS,
    FOREGROUND,
    FRAME,
    LAUNCHABLE_APPS,
    action_command,
    parse_apps,
    parse_component,
    parse_density,
    parse_frame,
    parse_size,
)
from rlfactory.emulators.adb.console import EmulatorConsole
from rlfactory.emulators.adb.emulator_screen import EmulatorScreen
from rlfactory.emulators.adb.frames import FrameChoice, ScreencapFrames, UiautomatorFrames, choose_frames
from rlfactory.emulators.adb.uiautomator import Uiautomator
from rlfactory.emulators.adb.watchdog import watched
from rlfactory.emulators.device.deadline import within
from rlfactory.emulators.device.device import (
    DeviceAction,
    DeviceInfo,
    Image,
    ImageSpec,
    OpenApp,
    Screen,
    Settled,
    ShellResult,
    Snapshot,
    TypeText,
    require_on_screen,
)
from rlfactory.emulators.device.errors import ActionRejected, CommandFailed, DeviceError, DeviceLost, DeviceUnsupported
from rlfactory.emulators.device.launching import LaunchableApp, find_app, launch_command
from rlfactory.emulators.device.pixels import encode, unchanged
from rlfactory.emulators.device.state import PROBE, DeviceState, parse_probe
from rlfactory.emulators.device.typing_plan import Enter, Paste, plan_typing
from rlfactory.emulators.device.ui import UiNode, from_xml

log = logging.getLogger(__name__)

_EMULATOR = re.compile(r"emulator-(\d+)")
_MAX_COMMAND: Final = 60_000
"""Bytes; longer ones are pushed as a script."""
_OBSERVE_TRIES: Final = 5
_BOOT_POLL_S: Final = 0.5
_ENTER: Final = "input keyevent KEYCODE_ENTER"


class AdbDevice:
    """A phone as a `Device`. Make one with `AdbDevice.connect`."""

    def __init__(
        self,
        adb: AdbClient,
        info: DeviceInfo,
        *,
        console: EmulatorConsole | None = None,
        screen: EmulatorScreen | None = None,
        quick_jpegs: bool = False,
    ) -> None:
        """Take over a phone that is there and booted.

        Args:
            console: the emulator's; None: where the serial says, if it does.
            screen: the emulator's gRPC endpoint, by which changes of the screen are noticed; None: there is none.
            quick_jpegs: the phone encodes a JPEG faster than its raw frame would come here.
        """
        self._adb = adb
        self._console_of_phone = console
        self._info = info
        self._serial = info.serial
        self._uiautomator = Uiautomator(adb, info.serial)
        self._screen = screen
        screencap = ScreencapFrames(adb, info.serial)
        self.frames = FrameChoice(
            source=screencap,
            lossless=screencap,
            reason="no other was tried",
            jpegs=UiautomatorFrames(self._uiautomator) if quick_jpegs else None,
        )
        """Where pictures come from, and why."""
        self._sequence = itertools.count(1)
        self._size = (info.width_px, info.height_px)
        """Of the screen in the orientation it was last seen in."""
        self._frame_bytes = 0
        """Of the latest look."""
        self._apps: tuple[LaunchableApp, ...] = ()
        self._closed = False

    @classmethod
    async def connect(
        cls,
        adb: AdbClient,
        serial: str,
        *,
        timeout_s: float,
        simulated: bool = False,
        console: EmulatorConsole | None = None,
        screen: EmulatorScreen | None = None,
        quick_jpegs: bool = False,
        compare_frames: bool = False,
    ) -> AdbDevice:
        """Return the phone once it is online, booted, and answers.

        Args:
            simulated: only for reports.
            console, screen, quick_jpegs: see `AdbDevice`; the screen is closed with the device.
            compare_frames: time every source of pictures, and keep the best; else `screencap` is taken.

        Raises: DeviceLost, DeviceTimeout.
        """
        async with within(timeout_s, f"connecting to {serial}"):
            facts = await _facts_once_booted(adb, serial)
            width, height = parse_size(facts)
            model, sdk, _ = facts.splitlines()[-3:]
            device = cls(
                adb,
                DeviceInfo(
                    serial=serial,
                    width_px=width,
                    height_px=height,
                    density_dpi=parse_density(facts),
                    model=model,
                    sdk=int(sdk) if sdk.isdecimal() else 0,
                    simulated=simulated,
                ),
                console=console,
                screen=screen,
                quick_jpegs=quick_jpegs,
            )
            try:
                await device._uiautomator.start()
                if compare_frames:
                    await device._choose_frames(patience_s=timeout_s / 6)
            except BaseException:
                await device.close()
                raise
        return device

    @property
    def info(self) -> DeviceInfo:
        return self._info

    # --- acting

    async def act(self, action: DeviceAction, *, timeout_s: float) -> None:
        require_on_screen(action, *self._size)
        async with self._prompt_call("act", timeout_s):
            match action:
                case TypeText(text):
                    await self._type(text)
                case OpenApp(name):
                    await self._must(launch_command(await self._find_app(name)))
                case _:
                    await self._must(action_command(action))

    async def _type(self, text: str) -> None:
        """Type text: pieces for `input` in one command, what it cannot enter by way of the clipboard."""
        commands: list[str] = []
        for piece in plan_typing(text):
            if isinstance(piece, Paste):
                await self._run_all(commands)
                await self._paste(piece.text)
            else:
                commands.append(_ENTER if isinstance(piece, Enter) else piece.command)
        await self._run_all(commands)

    async def _run_all(self, commands: list[str]) -> None:
        if commands:
            await self._must(" && ".join(commands))
            commands.clear()

    async def _paste(self, text: str) -> None:
        """Enter text through the clipboard, whose content is put back."""
        before = await self._uiautomator.look("getClipboard")
        await self._uiautomator.look("setClipboard", None, text)
        await self._uiautomator.act("pasteClipboard")
        await self._uiautomator.look("setClipboard", None, before or "")

    async def _find_app(self, name: str) -> LaunchableApp:
        try:
            return find_app(name, self._apps)
        except ActionRejected:
            # Not known yet, or installed since.
            listing = await self._must(LAUNCHABLE_APPS)
            self._apps = parse_apps(listing.stdout.decode("utf-8", "replace"))
            return find_app(name, self._apps)

    # --- looking

    async def settle(self, *, timeout_s: float) -> Settled:
        async with watched(self._ask, self._serial):
            if self._screen is None:
                return await settling.settle(self._dump, timeout_s=timeout_s)
            return await settling.settle_by_frames(self._screen.until_still, self._dump, timeout_s=timeout_s)

    async def observe(self, spec: ImageSpec | None, *, with_tree: bool, timeout_s: float) -> Screen:
        """Picture, tree and activity of one moment: the look is repeated while they change meanwhile.

        A screen that never rests (a video) is taken as it is after some tries.
        """
        async with self._prompt_call("observe", timeout_s):
            xml = await self._dump() if with_tree else ""
            for _ in range(_OBSERVE_TRIES):
                activity, picture, activity_after = await self._look(spec)
                xml_after = await self._dump() if with_tree else ""
                if (activity, xml) == (activity_after, xml_after):
                    break
                xml = xml_after
        image: Image | None
        if isinstance(picture, Image):
            self._size = picture.width_px, picture.height_px
            image = picture
        else:
            self._size = picture.shape[1], picture.shape[0]
            image = await asyncio.to_thread(encode, picture, spec) if spec else None  # other phones need not wait
        return Screen(
            sequence=next(self._sequence),
            image=image,
            tree=self._read_tree(xml_after) if with_tree else None,
            activity=activity_after,
            width_px=self._size[0],
            height_px=self._size[1],
        )

    async def _look(self, spec: ImageSpec | None) -> tuple[str, np.ndarray | Image, str]:
        """Return the foreground activity, a frame (encoded, if the phone does that well), and the activity again."""
        jpegs = self.frames.jpegs if spec and spec.format == "jpeg" and unchanged(self._size, spec) else None
        if jpegs is None and isinstance(self.frames.source, ScreencapFrames):  # all three in one stream
            output = await self._adb.execute(self._serial, FRAME, expected_bytes=self._frame_bytes)
            self._frame_bytes = len(output)
            return parse_frame(output)
        before = await self._foreground()
        picture = await jpegs.jpeg(spec.quality) if spec and jpegs else await self.frames.source.frame()
        return before, picture, await self._foreground()

    async def _foreground(self) -> str:
        return parse_component((await self._run(FOREGROUND)).stdout.decode("utf-8", "replace"))

    async def _choose_frames(self, *, patience_s: float) -> None:
        sources = (*((self._screen,) if self._screen else ()), self.frames.source, UiautomatorFrames(self._uiautomator))
        self.frames = await choose_frames(sources, patience_s=patience_s)
        log.info("%s: pictures by %s (%s)", self._serial, self.frames.source.name, self.frames.reason)

    async def _dump(self) -> str:
        return str(await self._uiautomator.look("dumpWindowHierarchy", False, 50))

    def _read_tree(self, xml: str) -> UiNode:
        try:
            return from_xml(xml)
        except ValueError as error:
            raise DeviceError(f"{self._serial}: {error}") from error

    async def screenshot(self, *, timeout_s: float) -> np.ndarray:
        async with self._prompt_call("screenshot", timeout_s):
            pixels = await self.frames.lossless.frame()
        return np.ascontiguousarray(pixels[:, :, :3])

    async def foreground(self, *, timeout_s: float) -> str:
        """Return `package/class` of the resumed activity; "" when none is."""
        async with self._prompt_call("foreground", timeout_s):
            return await self._foreground()

    # --- shell, files, state

    async def shell(self, command: str, *, timeout_s: float) -> ShellResult:
        async with self._prompt_call("shell", timeout_s):
            result = await self._run(command)
        return ShellResult(
            stdout=result.stdout.decode("utf-8", "replace"),
            stderr=result.stderr.decode("utf-8", "replace"),
            exit_code=result.exit_code,
        )

    async def push(self, path: str, data: bytes, *, timeout_s: float) -> None:
        """Write a file; it is as old as the phone's clock says, whatever ours says."""
        async with self._prompt_call("push", timeout_s):
            now_s = int((await self._must("date +%s")).stdout)
            await self._adb.push(self._serial, path, data, mode=0o660, modified_s=now_s)

    async def pull(self, path: str, *, timeout_s: float) -> bytes:
        async with self._prompt_call("pull", timeout_s):
            return await self._adb.pull(self._serial, path)

    async def state(self, *, timeout_s: float) -> DeviceState:
        return parse_probe((await self.shell(PROBE, timeout_s=timeout_s)).stdout)

    async def console(self, command: str, *, timeout_s: float) -> str:
        async with self._call("console", timeout_s):
            return await self._console().command(command)

    # --- snapshots

    async def save_snapshot(self, *, timeout_s: float) -> Snapshot:
        snapshot = Snapshot(name=f"rl{uuid.uuid4().hex}")
        async with self._call("save_snapshot", timeout_s):
            await self._console().save_snapshot(snapshot.name)
        return snapshot

    async def load_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        async with self._call("load_snapshot", timeout_s):
            await self._console().load_snapshot(snapshot.name)
            # An emulator that loads a snapshot drops its connections, and its apps may be others now.
            await self._adb.wait_for_device(self._serial)
            self._apps = ()

    async def delete_snapshot(self, snapshot: Snapshot, *, timeout_s: float) -> None:
        async with self._call("delete_snapshot", timeout_s):
            await self._console().delete_snapshot(snapshot.name)

    def _console(self) -> EmulatorConsole:
        """The emulator's console: its port is part of the serial, unless it was named."""
        if self._console_of_phone is not None:
            return self._console_of_phone
        emulator = _EMULATOR.fullmatch(self._serial)
        if emulator is None:
            raise DeviceUnsupported(
                f"{self._serial} has no emulator's console: it has no snapshots, so no episode can begin on it"
            )
        return EmulatorConsole(int(emulator[1]), self._adb.host)

    async def close(self) -> None:
        self._closed = True
        await self._uiautomator.close()
        if self._screen is not None:
            await self._screen.close()

    # --- inside

    @asynccontextmanager
    async def _call(self, what: str, timeout_s: float) -> AsyncIterator[None]:
        """Run a block on the phone. Raises: DeviceTimeout: it takes too long. DeviceLost: the phone is closed."""
        if self._closed:
            raise DeviceLost(f"{self._serial} is closed")
        async with within(timeout_s, f"{what} on {self._serial}"):
            yield

    @asynccontextmanager
    async def _prompt_call(self, what: str, timeout_s: float) -> AsyncIterator[None]:
        """Run a block during which the phone answers others, too. Raises: as `_call`; DeviceLost: it answers nobody."""
        async with self._call(what, timeout_s), watched(self._ask, self._serial):
            yield

    async def _ask(self) -> None:
        await self._adb.shell(self._serial, "echo here")

    async def _must(self, command: str) -> RawShellResult:
        """Run a command that has to succeed. Raises: CommandFailed."""
        result = await self._run(command)
        if result.exit_code:
            output = (result.stderr or result.stdout).decode("utf-8", "replace")
            raise CommandFailed(command, result.exit_code, output)
        return result

    async def _run(self, command: str) -> RawShellResult:
        if len(command.encode()) <= _MAX_COMMAND:
            return await self._adb.shell(self._serial, command)
        script = f"/data/local/tmp/{uuid.uuid4().hex}.sh"
        await self._adb.push(self._serial, script, command.encode(), mode=0o755, modified_s=0)
        quoted = shlex.quote(script)
        return await self._adb.shell(self._serial, f"sh {quoted}; code=$?; rm {quoted}; exit $code")


async def _facts_once_booted(adb: AdbClient, serial: str) -> str:
    """Return what `DEVICE_FACTS` prints, when the phone has booted (no later than the caller's deadline)."""
    await adb.wait_for_device(serial)
    while True:
        facts = (await adb.shell(serial, DEVICE_FACTS)).stdout.decode("utf-8", "replace")
        if facts.splitlines()[-1:] == ["1"]:
            return facts
        await asyncio.sleep(_BOOT_POLL_S)
