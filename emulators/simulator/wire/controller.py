"""The phone's gRPC endpoint, as Android's emulator has one (`-grpc PORT`): status, frames, touches, keys.

With it works the accessibility forwarder, which goes the other way. A phone without it imports no gRPC.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import grpc
import PIL.Image
from google.protobuf.empty_pb2 import Empty

from rlfactory.emulators.device.controller import emulator_controller_pb2 as pb
from rlfactory.emulators.device.errors import ActionRejected
from rlfactory.emulators.device.keys import KEYCODES
from rlfactory.emulators.simulator.view.drawing.render import rgba
from rlfactory.emulators.simulator.wire.forwarder import Forwarder
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer
from rlfactory.emulators.simulator.wire.uia2_methods import Finger

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

CONTROLLER: Final = "android.emulation.control.EmulatorController"
VERSION: Final = "36.1.9.0 (simulated)"
_LOOK_S: Final = 0.02
"""Between two looks whether the screen has changed."""
_DOWN, _UP, _MOVE = range(3)
_NAMED: Final = {
    **{"GoHome": "HOME", "GoBack": "BACK", "Escape": "BACK", "AppSwitch": "APP_SWITCH", "Enter": "ENTER"},
    **{
        "Backspace": "DEL",
        "Delete": "FORWARD_DEL",
        "Tab": "TAB",
        "Power": "POWER",
        "Home": "MOVE_HOME",
        "End": "MOVE_END",
    },
    **{f"Arrow{side}": f"DPAD_{side.upper()}" for side in ("Left", "Right", "Up", "Down")},
}
"""Keys by the W3C's names, and the emulator's own -> Android's."""
_EVDEV: Final = {
    **{
        1: "BACK",
        14: "DEL",
        15: "TAB",
        28: "ENTER",
        57: "SPACE",
        102: "HOME",
        111: "FORWARD_DEL",
        116: "POWER",
        158: "BACK",
    },
    **{103: "DPAD_UP", 105: "DPAD_LEFT", 106: "DPAD_RIGHT", 108: "DPAD_DOWN", 139: "MENU", 580: "APP_SWITCH"},
    **{
        first + place: letter
        for first, row in ((2, "1234567890"), (16, "QWERTYUIOP"), (30, "ASDFGHJKL"), (44, "ZXCVBNM"))
        for place, letter in enumerate(row)
    },
}
"""Linux's key codes (input-event-codes.h) -> Android's names."""
_XKB_OFFSET: Final = 8


class ControllerServer:
    """Serves one phone's gRPC port. Whoever reaches it may use it: open it on loopback."""

    def __init__(self, phone: PhoneServer) -> None:
        self._thread = phone.thread
        self._forwarder = Forwarder(phone.thread)
        phone.services.on_command = self._forwarder.notice
        self._finger = Finger()
        self._fingers_down: set[int] = set()
        self._server: grpc.aio.Server | None = None

    async def start(self, host: str, port: int = 0) -> int:
        """Listen, and return the port (the kernel's choice for 0). Raises: OSError: it is in use."""
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        unary = grpc.unary_unary_rpc_method_handler
        handlers = {
            "getStatus": unary(self._status, Empty.FromString, pb.EmulatorStatus.SerializeToString),
            "getScreenshot": unary(self._screenshot, pb.ImageFormat.FromString, pb.Image.SerializeToString),
            "streamScreenshot": grpc.unary_stream_rpc_method_handler(
                self._screenshots, pb.ImageFormat.FromString, pb.Image.SerializeToString
            ),
            "sendTouch": unary(self._touch, pb.TouchEvent.FromString, Empty.SerializeToString),
            "sendKey": unary(self._key, pb.KeyboardEvent.FromString, Empty.SerializeToString),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(CONTROLLER, handlers),))
        try:
            bound = server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise OSError(f"gRPC cannot listen on {host}:{port}: {error}") from None
        await server.start()
        self._server = server
        return int(bound)

    async def close(self) -> None:
        if self._server is not None:
            await self._server.stop(0)
        await self._forwarder.close()

    async def _status(self, request: Empty, context: Any) -> pb.EmulatorStatus:
        uptime_ms = await self._thread.call(lambda phone: phone.state.clock.uptime_ms())
        return pb.EmulatorStatus(version=VERSION, uptime=uptime_ms, booted=True)

    async def _screenshot(self, request: pb.ImageFormat, context: Any) -> pb.Image:
        return await self._thread.call(lambda phone: picture(phone, request))

    async def _screenshots(self, request: pb.ImageFormat, context: Any) -> AsyncIterator[pb.Image]:
        shown, sequence = "", 0
        while True:
            digest = await self._thread.call(lambda phone: f"{phone.scene().digest} {phone.state.view.screen_on}")
            if digest != shown:
                shown, sequence = digest, sequence + 1
                image = await self._screenshot(request, context)
                image.seq = sequence
                yield image
            await asyncio.sleep(_LOOK_S)

    async def _touch(self, request: pb.TouchEvent, context: Any) -> Empty:
        """The first finger alone is followed; one that is lifted without having been down does nothing."""
        for touch in request.touches:
            if touch.identifier == 0:
                action = (_MOVE if self._fingers_down else _DOWN) if touch.pressure > 0 else _UP
                self._fingers_down = {0} if touch.pressure > 0 else set()
                await self._thread.call(lambda phone, a=action, t=touch: self._finger.move(phone, a, t.x, t.y))  # type: ignore[misc]
        return Empty()

    async def _key(self, request: pb.KeyboardEvent, context: Any) -> Empty:
        if request.text:
            await self._thread.call(lambda phone: phone.type_text(request.text))
        elif request.eventType != pb.KeyboardEvent.keyup:  # a key acts as it goes down
            name = key_name(request)
            if not name:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no such key: {request.key or request.keyCode}")
            try:
                await self._thread.call(lambda phone: phone.key(name))
            except ActionRejected as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        return Empty()


def key_name(event: pb.KeyboardEvent) -> str:
    """Return Android's name of a key, "" for one that is not known."""
    if event.key:
        name = _NAMED.get(event.key, event.key.upper())
        return name if name in KEYCODES else ""
    shift = _XKB_OFFSET if event.codeType == pb.KeyboardEvent.XKB else 0
    known = event.codeType in {pb.KeyboardEvent.XKB, pb.KeyboardEvent.Evdev}
    return _EVDEV.get(event.keyCode - shift, "") if known else ""


def picture(phone: Phone, wanted: pb.ImageFormat) -> pb.Image:
    """Return the screen in the format asked for, scaled to fit; without bytes where the display is off."""
    if not phone.state.view.screen_on:
        return pb.Image(format=pb.ImageFormat(format=wanted.format))
    scene = phone.scene()
    size, data = (scene.width_px, scene.height_px), rgba(scene)
    whole = not (wanted.width and wanted.height) or (wanted.width, wanted.height) == size
    if not whole or wanted.format != pb.ImageFormat.RGBA8888:
        image = PIL.Image.frombuffer("RGBA", size, data, "raw", "RGBA", 0, 1)
        if not whole:
            scale = min(wanted.width / size[0], wanted.height / size[1])
            image = image.resize((max(1, round(size[0] * scale)), max(1, round(size[1] * scale))))
        size, data = image.size, _encoded(image, wanted.format)
    found = pb.ImageFormat(format=wanted.format, width=size[0], height=size[1])
    return pb.Image(format=found, image=data, timestampUs=phone.state.clock.wall_ns() // 1000)


def _encoded(image: PIL.Image.Image, form: int) -> bytes:
    if form == pb.ImageFormat.PNG:
        file = io.BytesIO()
        image.convert("RGB").save(file, "PNG", compress_level=1)
        return file.getvalue()
    return image.convert("RGB").tobytes() if form == pb.ImageFormat.RGB888 else image.tobytes()
