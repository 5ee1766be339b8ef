"""The screen of Android's emulator over its own gRPC endpoint: raw frames without adb, and word of every change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import grpc
import numpy as np
from google.protobuf.empty_pb2 import Empty

from rlfactory.emulators.device.controller import emulator_controller_pb2 as pb
from rlfactory.emulators.device.errors import DeviceError, DeviceLost

CONTROLLER: Final = "android.emulation.control.EmulatorController"
_MAX_FRAME_BYTES: Final = 64 << 20
_THUMBNAIL_PX: Final = 32
"""Side of the frames by which changes are noticed: what they show does not matter, only that they come."""
_GONE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class EmulatorScreen:
    """One emulator's display. Deadlines are the caller's."""

    name = "emulator gRPC"
    lossless = True

    def __init__(self, address: str, *, token: str = "") -> None:
        """Args: address: host:port; token: of `-grpc-use-token`, "" without."""
        self.address = address
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._channel = grpc.aio.insecure_channel(
            address, options=(("grpc.max_receive_message_length", _MAX_FRAME_BYTES), ("grpc.enable_http_proxy", 0))
        )
        self._get_screenshot: Any = self._channel.unary_unary(
            f"/{CONTROLLER}/getScreenshot", pb.ImageFormat.SerializeToString, pb.Image.FromString
        )
        self._stream_screenshot: Any = self._channel.unary_stream(
            f"/{CONTROLLER}/streamScreenshot", pb.ImageFormat.SerializeToString, pb.Image.FromString
        )
        self._get_status: Any = self._channel.unary_unary(
            f"/{CONTROLLER}/getStatus", Empty.SerializeToString, pb.EmulatorStatus.FromString
        )

    async def frame(self) -> np.ndarray:
        """Return the screen as it is now: uint8 [H, W, 4]; the fourth channel means nothing.

        Raises: DeviceLost: nobody answers; DeviceError: the display is off, or the frame is not what it says it is.
        """
        with self._translated():
            image = await self._get_screenshot(pb.ImageFormat(format=pb.ImageFormat.RGBA8888), metadata=self._metadata)
        return self._pixels(image)

    async def until_still(self, *, quiet_s: float) -> None:
        """Return when no new frame came for `quiet_s`. Raises: as `frame`."""
        small = pb.ImageFormat(format=pb.ImageFormat.RGBA8888, width=_THUMBNAIL_PX, height=_THUMBNAIL_PX)
        stream = self._stream_screenshot(small, metadata=self._metadata)
        try:
            with self._translated():
                await self._next(stream)  # the present frame, which always comes; changes follow
                while True:
                    try:
                        async with asyncio.timeout(quiet_s) as patience:
                            await self._next(stream)
                    except TimeoutError:
                        if not patience.expired():
                            raise  # the caller's deadline
                        return
        finally:
            stream.cancel()

    async def version(self) -> str:
        """Return the emulator's version. Raises: as `frame`."""
        with self._translated():
            return str((await self._get_status(Empty(), metadata=self._metadata)).version)

    async def close(self) -> None:
        await self._channel.close()

    async def _next(self, stream: Any) -> None:
        if await stream.read() is grpc.aio.EOF:
            raise DeviceLost(f"the emulator at {self.address} ended its stream of frames")

    def _pixels(self, image: pb.Image) -> np.ndarray:
        width, height = image.format.width, image.format.height
        if not image.image:
            raise DeviceError(f"the emulator at {self.address} shows nothing: its display is off")
        if image.format.format != pb.ImageFormat.RGBA8888 or len(image.image) != width * height * 4:
            raise DeviceError(
                f"the emulator at {self.address} sent {len(image.image)} bytes for {width}x{height} pixels"
            )
        return np.frombuffer(image.image, np.uint8).reshape(height, width, 4)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Tell errors of gRPC as ours."""
        try:
            yield
        except grpc.aio.AioRpcError as error:
            kind = DeviceLost if error.code() in _GONE else DeviceError
            raise kind(f"the emulator at {self.address}: {error.code().name}: {error.details()}") from error


def discovered_screen(console_port: int, folders: tuple[Path, ...]) -> EmulatorScreen | None:
    """Return the screen of a local emulator, found as Android Studio finds it; None where it offers no gRPC.

    A running emulator writes `pid_N.ini` with port.serial, grpc.port and grpc.token (`$XDG_RUNTIME_DIR/avd/running` or
    `~/.android/avd/running`).
    """
    for file in (file for folder in folders for file in sorted(folder.glob("pid_*.ini"))):
        lines = (line.partition("=") for line in file.read_text(errors="replace").splitlines())
        facts = {key.strip(): value.strip() for key, _, value in lines}
        if facts.get("port.serial") == str(console_port) and facts.get("grpc.port", "").isdecimal():
            return EmulatorScreen(f"127.0.0.1:{facts['grpc.port']}", token=facts.get("grpc.token", ""))
    return None
