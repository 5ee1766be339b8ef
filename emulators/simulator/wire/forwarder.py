"""android_env's accessibility forwarder: the app that sends what is on the screen to a gRPC server on the host."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

import grpc

from rlfactory.emulators.device.controller import accessibility_pb2 as pb
from rlfactory.emulators.simulator.apps.forwarder import PACKAGE
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

METHOD: Final = "/android_env.A11yService/SendForest"
_SET_GRPC: Final = re.compile(r'accessibility_forwarder\.intent\.action\.SET_GRPC\b.*?--ei\s+"?port"?\s+(\d{1,5})')
_PERIOD_S: Final = 0.2
"""Between two forests: a host forgets those that it has looked at."""
_FLAGS: Final = ("checkable", "checked", "clickable", "enabled", "focusable", "focused", "long_clickable", "password")


class Forwarder:
    """Sends forests from the time that a broadcast named the port until `close`."""

    def __init__(self, thread: PhoneThread) -> None:
        self._thread = thread
        self._sending: asyncio.Task[None] | None = None

    def notice(self, command: str) -> None:
        """If a shell command is the broadcast that names a port of the host, send there from now on."""
        if (found := _SET_GRPC.search(command)) is None:
            return
        if self._sending is not None:
            self._sending.cancel()
        self._sending = asyncio.create_task(self._send(f"127.0.0.1:{found[1]}"))

    async def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self, address: str) -> None:
        # Servers of android_env take local connections only, for which nothing is encrypted.
        async with grpc.aio.insecure_channel(address, options=(("grpc.enable_http_proxy", 0),)) as channel:
            send: Any = channel.unary_unary(METHOD, response_deserializer=pb.ForestResponse.FromString)
            while True:
                data = await self._thread.call(_serialized)
                if data:
                    with contextlib.suppress(grpc.aio.AioRpcError):
                        await send(data, timeout=5)
                await asyncio.sleep(_PERIOD_S)


def _serialized(phone: Phone) -> bytes:
    """Return the forest as it goes over the wire; b"" where the service is not enabled or the network is off."""
    settings = phone.state.settings
    enabled = PACKAGE in settings.get("secure", "enabled_accessibility_services", "")
    return forest(phone).SerializeToString() if enabled and not settings.flag("global", "airplane_mode_on") else b""


def forest(phone: Phone) -> pb.AndroidAccessibilityForest:
    """Return the window that has the focus, with its tree: nodes in drawing order, children by their places."""
    tree = phone.ui_tree()
    ordered = list(tree.walk())
    places = {id(node): number for number, node in enumerate(ordered)}
    depths = {id(tree): 0}
    nodes = []
    for node in ordered:
        depths.update({id(child): depths[id(node)] + 1 for child in node.children})
        left, top, right, bottom = node.bounds
        seen = left < right and top < bottom and left < phone.width_px and top < phone.height_px
        nodes.append(
            pb.AndroidAccessibilityNodeInfo(
                unique_id=places[id(node)],
                bounds_in_screen=pb.ProtoRect(left=left, top=top, right=right, bottom=bottom),
                class_name=node.class_name,
                content_description=node.description,
                hint_text=node.hint,
                package_name=node.package,
                text=node.text,
                view_id_resource_name=node.resource_id,
                is_editable=node.class_name.endswith("EditText"),
                is_scrollable=node.scrollable,
                is_selected=node.selected,
                is_visible_to_user=seen,
                child_ids=[places[id(child)] for child in node.children],
                depth=depths[id(node)],
                **{f"is_{flag}": getattr(node, flag) for flag in _FLAGS},
            )
        )
    window = pb.AndroidAccessibilityWindowInfo(
        bounds_in_screen=pb.ProtoRect(right=phone.width_px, bottom=phone.height_px),
        window_type=pb.AndroidAccessibilityWindowInfo.TYPE_APPLICATION,
        is_active=True,
        is_focused=True,
        tree=pb.AndroidAccessibilityTree(nodes=nodes),
    )
    return pb.AndroidAccessibilityForest(windows=[window])
