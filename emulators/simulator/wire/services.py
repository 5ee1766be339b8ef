"""The services of a phone's adbd, by the name that a stream is opened with."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.view.drawing.render import rgba
from rlfactory.emulators.simulator.wire.adbd import Service, Stream
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread
from rlfactory.emulators.simulator.wire.shell_service import EXIT, STDOUT, Prompt, packet, run_script_v2, run_v1, run_v2
from rlfactory.emulators.simulator.wire.sync import serve_sync
from rlfactory.emulators.simulator.wire.uia2 import Uia2Server

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

FEATURES: Final = "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"
_LOGCAT_THAT_ENDS: Final = frozenset({"-d", "-c", "-g", "-t", "--clear", "--help", "-S", "-p", "-L"})
_FRAMEBUFFER = struct.Struct("<13I")


def banner(phone: Phone) -> str:
    """Return what the phone says of itself when an adb server connects."""
    model = phone.config.model.replace(" ", "_")
    return f"device::ro.product.name=sdk_phone;ro.product.model={model};ro.product.device=emu;features={FEATURES}"


class PhoneServices:
    """Opens services on one phone."""

    def __init__(self, thread: PhoneThread, uia2: Uia2Server) -> None:
        self._thread = thread
        self._uia2 = uia2
        self.on_command: Callable[[str], None] = lambda _: None
        """Called with each shell command that is opened."""
        self._kinds: dict[str, Callable[[str], Service | None]] = {
            "exec": lambda command: partial(run_v1, thread=thread, command=command),
            "sync": lambda _: partial(serve_sync, thread=thread),
            "tcp": self._open_port,
            "root": lambda _: partial(_answer, data=b"adbd is already running as root\n"),
            "unroot": lambda _: partial(_answer, data=b"adbd cannot run as non-root on this phone\n"),
            "remount": lambda _: partial(_answer, data=b"remount succeeded\n"),
            "reverse": lambda _: partial(_answer, data=_failure("this phone opens no connections to the host")),
            "framebuffer": lambda _: self._framebuffer,
        }

    def open(self, name: str) -> Service | None:
        """Return what serves the stream; None for a service that this phone does not have."""
        kind, _, argument = name.partition(":")
        options = kind.split(",")
        if options[0] == "shell":
            return self._open_shell(options[1:], argument)
        opener = self._kinds.get(kind)
        return None if opener is None else opener(argument)

    def _open_port(self, argument: str) -> Service | None:
        port = argument.partition(":")[0]
        return self._uia2.serve if port.isdecimal() and self._uia2.listens(int(port)) else None

    def _open_shell(self, options: list[str], command: str) -> Service:
        version_2 = "v2" in options
        self.on_command(command)
        port = Uia2Server.launch_port(command)
        if port is not None:
            return partial(self._run_uia2, port=port, version_2=version_2)
        words = command.split()
        if not words:
            if version_2 and "raw" in options:
                return partial(run_script_v2, thread=self._thread)
            return lambda stream: Prompt(stream, self._thread, version_2=version_2).run()
        if words[0] == "logcat" and not _LOGCAT_THAT_ENDS.intersection(words):
            return _wait_for_the_end
        return partial(run_v2 if version_2 else run_v1, thread=self._thread, command=command)

    async def _run_uia2(self, stream: Stream, *, port: int, version_2: bool) -> None:
        """uiautomator2's server lives as long as the stream that started it."""

        def printed(text: str) -> bytes:
            return packet(STDOUT, text.encode()) if version_2 else text.encode()

        if not self._uia2.start(port):
            refusal = "java.lang.IllegalStateException: UiAutomationService already registered!\n"
            await stream.write(printed(refusal) + (packet(EXIT, b"\x01") if version_2 else b""))
            return
        try:
            await stream.write(printed("[server] INFO: [UiAutomator2Server] Starting Server\n"))
            await _wait_for_the_end(stream)
        finally:
            self._uia2.stop()

    async def _framebuffer(self, stream: Stream) -> None:
        """One frame in version 1 of the format (AOSP, framebuffer_service.cpp): header, then RGBA rows."""
        width, height, pixels = await self._thread.call(_rgba)
        size = width * height * 4
        await stream.write(_FRAMEBUFFER.pack(1, 32, size, width, height, 0, 8, 16, 8, 8, 8, 24, 8) + pixels)


def _rgba(phone: Phone) -> tuple[int, int, bytes]:
    scene = phone.scene()
    return scene.width_px, scene.height_px, rgba(scene)


async def _wait_for_the_end(stream: Stream) -> None:
    while await stream.read():
        pass


async def _answer(stream: Stream, *, data: bytes) -> None:
    await stream.write(data)


def _failure(message: str) -> bytes:
    """Return a refusal in the form of adb's host services."""
    return b"FAIL" + f"{len(message):04x}{message}".encode()
