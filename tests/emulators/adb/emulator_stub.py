"""A gRPC server that speaks the part of EmulatorController we use, for a simulated phone: an emulator's other face."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import numpy as np
from google.protobuf.empty_pb2 import Empty

from rlfactory.emulators.adb.emulator_screen import CONTROLLER
from rlfactory.emulators.device.controller import emulator_controller_pb2 as pb
from rlfactory.emulators.simulator.phone import Phone


class ControllerStub:
    """Serves the pixels of a phone; what is wrong with it is set by tests."""

    def __init__(self, phone: Phone, *, token: str = "") -> None:
        self.phone = phone
        self.token = token
        self.display_off = False
        self.restless = False
        """A new frame every few milliseconds, whatever the phone shows: a video."""
        self.hangs = False
        self.frames_served = 0
        self.watched = False

    async def getStatus(self, request, context):
        await self._authorize(context)
        return pb.EmulatorStatus(version="36.1.9", booted=True)

    async def getScreenshot(self, request: pb.ImageFormat, context) -> pb.Image:
        await self._authorize(context)
        if self.hangs:
            await asyncio.Event().wait()
        self.frames_served += 1
        return await asyncio.to_thread(self._image, request)

    async def streamScreenshot(self, request: pb.ImageFormat, context) -> AsyncIterator[pb.Image]:
        await self._authorize(context)
        shown, self.watched = None, True
        while True:
            digest = await asyncio.to_thread(self._digest)
            if digest != shown or self.restless:
                shown = digest
                yield await asyncio.to_thread(self._image, request)
            await asyncio.sleep(0.005)

    async def _authorize(self, context) -> None:
        sent = dict(context.invocation_metadata()).get("authorization")
        if self.token and sent != f"Bearer {self.token}":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "invalid_token")

    def _digest(self) -> str:
        with self.phone.lock:
            return self.phone.scene().digest

    def _image(self, wanted: pb.ImageFormat) -> pb.Image:
        if self.display_off:
            return pb.Image()
        with self.phone.lock:
            pixels = self.phone.rgb()
        if wanted.width:
            step = -(-pixels.shape[0] // wanted.height)
            pixels = pixels[::step, ::step]
        height, width = pixels.shape[:2]
        opaque = np.full((height, width, 1), 255, np.uint8)
        return pb.Image(
            format=pb.ImageFormat(format=pb.ImageFormat.RGBA8888, width=width, height=height),
            image=np.concatenate((pixels, opaque), axis=2).tobytes(),
        )


@asynccontextmanager
async def served(stub: ControllerStub, *, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback for the block; yield the address."""
    server = grpc.aio.server()
    ask, image = pb.ImageFormat.FromString, pb.Image.SerializeToString
    handlers = {
        "getStatus": grpc.unary_unary_rpc_method_handler(
            stub.getStatus, Empty.FromString, pb.EmulatorStatus.SerializeToString
        ),
        "getScreenshot": grpc.unary_unary_rpc_method_handler(stub.getScreenshot, ask, image),
        "streamScreenshot": grpc.unary_stream_rpc_method_handler(stub.streamScreenshot, ask, image),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(CONTROLLER, handlers),))
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield f"127.0.0.1:{bound}"
    finally:
        await server.stop(None)
