"""uiautomator2's server on the simulated phone: selectors and HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from uiautomator2 import Selector

from rlfactory.emulators.adb.uiautomator import Uiautomator
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.ui import Bounds, UiNode
from rlfactory.emulators.simulator.wire.uia2 import Uia2Server
from rlfactory.emulators.simulator.wire.uia2_selector import find_all
from tests.emulators.conftest import Lab, LabPhone

TREE = UiNode(
    class_name="android.widget.FrameLayout",
    children=(
        UiNode(
            class_name="android.widget.LinearLayout",
            resource_id="list",
            scrollable=True,
            children=(
                UiNode(text="Wi-Fi", class_name="android.widget.TextView"),
                UiNode(text="Bluetooth", class_name="android.widget.TextView", enabled=False),
                UiNode(class_name="android.widget.Switch", checkable=True, checked=True, description="Wi-Fi switch"),
            ),
        ),
        UiNode(
            class_name="android.widget.LinearLayout",
            children=(
                UiNode(text="Save", clickable=True, bounds=Bounds(1, 2, 3, 4)),
                UiNode(text="wi-fi calling", class_name="android.widget.TextView"),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("selector", "texts"),
    [
        (Selector(text="Wi-Fi"), ["Wi-Fi"]),
        (Selector(textContains="wi-fi"), ["Wi-Fi", "wi-fi calling"]),
        (Selector(textStartsWith="WI"), ["Wi-Fi", "wi-fi calling"]),
        (Selector(textMatches=r"Wi.F."), ["Wi-Fi"]),
        (Selector(className="android.widget.TextView", enabled=True), ["Wi-Fi", "wi-fi calling"]),
        (Selector(className="android.widget.TextView", instance=1), ["Bluetooth"]),
        (Selector(clickable=True, index=0), ["Save"]),
        (Selector(resourceId="list").child(className="android.widget.TextView"), ["Wi-Fi", "Bluetooth"]),
        (Selector(resourceId="list").child(className="android.widget.TextView", instance=1), ["Bluetooth"]),
        (Selector(text="Save").sibling(className="android.widget.TextView"), ["wi-fi calling"]),
        (Selector(descriptionContains="switch", checked=True), [""]),
        (Selector(text="nothing"), []),
        (Selector(instance=99), []),
    ],
)
def test_selectors_find_what_uiautomator_finds(selector: dict[str, Any], texts: list[str]) -> None:
    assert [node.text for node in find_all(TREE, json.loads(json.dumps(selector)))] == texts


@pytest.mark.parametrize(
    "selector", [{"mask": 4, "textMatches": "("}, {"mask": "x"}, {"mask": 1}, {"childOrSibling": 5}]
)
def test_bad_selectors_are_refused(selector: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError)):
        find_all(TREE, selector)


def test_the_launch_command_names_the_port() -> None:
    launch = "CLASSPATH=/data/local/tmp/u2.jar app_process / com.wetest.uia2.Main"
    assert Uia2Server.launch_port(f"{launch} -p 9123") == 9123
    assert Uia2Server.launch_port(launch) == 9008
    assert Uia2Server.launch_port("ls app_process") is None


async def test_the_server_lives_as_long_as_its_stream(lab: Lab, lab_phone: LabPhone) -> None:
    first = Uiautomator(lab.adb, lab_phone.serial)
    await first.start()
    assert (await first.look("deviceInfo"))["displayWidth"] == 360
    second = Uiautomator(lab.adb, lab_phone.serial)
    await second.start()  # the server runs already, and is shared
    assert "<hierarchy" in await second.look("dumpWindowHierarchy", False, 50)
    await first.close()
    assert (await second.look("deviceInfo"))["displayWidth"] == 360  # brought back by the second
    await second.close()


@pytest.fixture
async def uiautomator(lab: Lab, lab_phone: LabPhone) -> AsyncIterator[Uiautomator]:
    uiautomator = Uiautomator(lab.adb, lab_phone.serial)
    await uiautomator.start()
    yield uiautomator
    await uiautomator.close()


async def test_what_the_server_cannot_do_it_says(uiautomator: Uiautomator) -> None:
    for method, params, words in (
        ("noSuchMethod", (), "Method not found"),
        ("click", (), "IllegalArgument"),
        ("objInfo", ({"mask": 1, "text": "nothing"},), "UiObjectNotFoundException"),
        ("pressKey", ("hyper",), "unknown key"),
    ):
        with pytest.raises(DeviceError, match=words):
            await uiautomator.look(method, *params)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /ping HTTP/1.1\r\nHost: phone\r\nConnection: close\r\n\r\n",
        b"POST /jsonrpc/0 HTTP/1.1\r\nHost: phone\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{}}",
        b"POST /jsonrpc/0 HTTP/1.1\r\nHost: phone\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /ping HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /nowhere HTTP/1.1\r\nHost: phone\r\nConnection: close\r\n\r\n",
        b"\xff" * 100_000,
    ],
)
async def test_any_request_is_answered_or_cut_off(
    lab: Lab, lab_phone: LabPhone, uiautomator: Uiautomator, request_bytes: bytes
) -> None:
    async with lab.adb.open(lab_phone.serial, "tcp:9008") as stream:
        stream.writer.write(request_bytes)
        await stream.reader.read(-1)
    assert (await uiautomator.look("deviceInfo"))["displayWidth"] == 360
