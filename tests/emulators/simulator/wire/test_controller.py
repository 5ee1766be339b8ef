"""The phone's gRPC endpoint under the client of Android's emulator, and the accessibility forwarder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import numpy as np
import pytest

from rlfactory.emulators.adb.emulator_screen import CONTROLLER, EmulatorScreen
from rlfactory.emulators.device.controller import accessibility_pb2 as a11y
from rlfactory.emulators.device.controller import emulator_controller_pb2 as pb
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.wire.controller import ControllerServer
from rlfactory.emulators.simulator.wire.phone_server import PhoneServer
from tests.emulators.simulator.wire.adb_peer import connected

INSERT = "am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact -e name Ada"
FORWARDER = "com.google.androidenv.accessibilityforwarder"
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


class Emulator:
    """A phone with its gRPC endpoint, and calls on it."""

    def __init__(self, server: PhoneServer, address: str, channel: grpc.aio.Channel) -> None:
        self.server, self.phone, self.address, self._channel = server, server.phone, address, channel

    async def touch(self, x: int, y: int, pressure: int) -> None:
        await self._call("sendTouch", pb.TouchEvent(touches=[pb.Touch(x=x, y=y, pressure=pressure)]))

    async def key(self, **event: Any) -> None:
        await self._call("sendKey", pb.KeyboardEvent(**event))

    async def frame(self, **wanted: Any) -> pb.Image:
        image: pb.Image = pb.Image.FromString(await self._call("getScreenshot", pb.ImageFormat(**wanted)))
        return image

    async def _call(self, method: str, request: Any) -> bytes:
        call: Any = self._channel.unary_unary(f"/{CONTROLLER}/{method}")
        return bytes(await call(request.SerializeToString()))


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    server = PhoneServer(Phone(PhoneConfig(width_px=270, height_px=600)), SnapshotStore())
    await server.start()
    controller = ControllerServer(server)
    address = f"127.0.0.1:{await controller.start('127.0.0.1')}"
    # As android_env connects.
    async with grpc.aio.secure_channel(address, grpc.local_channel_credentials()) as channel:
        yield Emulator(server, address, channel)
    await controller.close()
    await server.close()


async def test_the_emulators_client_sees_frames_and_when_they_rest(emulator: Emulator) -> None:
    screen = EmulatorScreen(emulator.address)
    frame = await screen.frame()
    assert (frame[:, :, :3] == emulator.phone.rgb()).all()
    await screen.until_still(quiet_s=0.1)
    assert "simulated" in await screen.version()
    small = await emulator.frame(format=pb.ImageFormat.RGB888, width=100, height=100)
    assert (small.format.width, small.format.height, len(small.image)) == (45, 100, 45 * 100 * 3)
    assert (await emulator.frame(format=pb.ImageFormat.PNG)).image.startswith(b"\x89PNG")
    await emulator.key(key="Power")
    assert (await emulator.frame()).image == b""
    await screen.close()


async def test_touches_and_keys_act_as_fingers_and_keys_do(emulator: Emulator) -> None:
    phone = emulator.phone
    phone.system.open_app("com.android.settings")
    before = phone.state_hash()
    await emulator.touch(0, 0, 0)  # android_env lifts a finger that was never down, with each look
    assert phone.state_hash() == before
    row = next(node for node in phone.ui_tree().walk() if "Network" in node.text)
    await emulator.touch(*row.bounds.center, 1)
    await emulator.touch(*row.bounds.center, 0)
    assert "Network" in phone.foreground
    await emulator.key(key="GoBack")
    assert phone.foreground.endswith(".Settings")
    at_top = phone.rgb().copy()
    for y in (500, 400, 300, 200):
        await emulator.touch(135, y, 1)
    await emulator.touch(135, 200, 0)
    assert (np.asarray(phone.rgb()) != at_top).any()
    await emulator.key(codeType=pb.KeyboardEvent.XKB, keyCode=166, eventType=pb.KeyboardEvent.keypress)
    assert phone.state.tasks.front.home
    await emulator.key(codeType=pb.KeyboardEvent.Evdev, keyCode=28, eventType=pb.KeyboardEvent.keyup)
    with pytest.raises(grpc.aio.AioRpcError, match="no such key: Hyper"):
        await emulator.key(key="Hyper")


async def test_the_forwarder_sends_forests_to_the_host(emulator: Emulator, eventually: Eventually) -> None:
    forests: list[a11y.AndroidAccessibilityForest] = []

    async def send_forest(request: a11y.AndroidAccessibilityForest, context: object) -> a11y.ForestResponse:
        forests.append(request)
        return a11y.ForestResponse()

    host = grpc.aio.server()
    parse, show = a11y.AndroidAccessibilityForest.FromString, a11y.ForestResponse.SerializeToString
    handler = grpc.unary_unary_rpc_method_handler(send_forest, parse, show)
    host.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("android_env.A11yService", {"SendForest": handler}),)
    )
    port = host.add_secure_port("localhost:0", grpc.local_server_credentials())
    await host.start()
    emulator.phone.shell(INSERT)
    broadcast = f'am broadcast -a accessibility_forwarder.intent.action.SET_GRPC --ei "port" {port} -n {FORWARDER}/.F'
    service = f"settings put secure enabled_accessibility_services {FORWARDER}/{FORWARDER}.AccessibilityForwarder"
    async with connected(emulator.server) as peer:
        await peer.hear()
        assert b"completed: result=0" in await peer.run(1, b"shell:" + broadcast.encode())
        assert b"package:" in await peer.run(2, f"shell:pm path {FORWARDER}".encode())
        assert not forests  # the service is not enabled
        await peer.run(3, b"shell:" + service.encode())
        await eventually(lambda: bool(forests))
        nodes = forests[-1].windows[0].tree.nodes
        (field,) = (node for node in nodes if node.text == "Ada")
        assert (field.hint_text, field.is_editable, field.is_visible_to_user) == ("First name", True, True)
        parents = [node for node in nodes if field.unique_id in node.child_ids]
        assert [node.depth for node in parents] == [field.depth - 1]
        emulator.phone.key("HOME")
        await eventually(lambda: all(node.text != "Ada" for node in forests[-1].windows[0].tree.nodes))
    await host.stop(0)
