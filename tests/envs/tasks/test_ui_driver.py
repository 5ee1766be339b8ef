"""The driver that oracles use, and what becomes of an oracle that does not find its way."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from benchmarks.slow_phones import Waiting
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.envs.api.types import CoordinateFrame, EpisodeState, SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver

TREE = SessionOptions(with_tree=True)
SETTINGS = "com.android.settings"


class Lost(Waiting):
    """Its oracle looks for what is not there."""

    name = "bench.lost"
    max_turns = 6

    async def solve(self, ui: UiDriver) -> None:
        await ui.tap("a button that no phone has")


@pytest.fixture
async def client(client_of) -> AsyncIterator[EnvClient]:
    """Of a service with one small phone."""
    source = DirectSource(PhoneConfig(width_px=540, height_px=1200))
    async with client_of(phones=source, tasks=TaskRegistry((*default_registry(), Lost))) as connected:
        yield connected


@pytest.mark.parametrize("frame", CoordinateFrame)
async def test_an_oracle_plays_in_every_coordinate_frame(client, frame):
    options = SessionOptions(coordinates=frame, max_pixels=200_000)
    record = await play(client, "settings.wifi_on", seed=3, options=options)
    assert record.stuck == ""
    assert record.reward.total == 1.0
    assert record.state is EpisodeState.FINISHED
    assert record.first.tree_xml
    assert record.steps[-1].calls[0].name == "finish"


async def test_an_oracle_that_is_stuck_says_what_the_screen_shows(client):
    record = await play(client, "bench.lost", seed=0, registry=TaskRegistry((Lost,)))
    assert record.stuck.startswith("no 'a button that no phone has' on ")
    assert "it shows: " in record.stuck
    assert (record.reward.total, record.state) == (0.0, EpisodeState.RUNNING)


async def test_the_hand_needs_the_tree(client):
    async with client.session("bench.lost", seed=0) as session:
        with pytest.raises(ValueError, match="with_tree"):
            UiDriver(session)


async def test_the_hand_finds_scrolls_types_and_clears(client):
    async with client.session("contacts.add_two", seed=0, options=TREE) as session:
        ui = UiDriver(session)
        await ui.open("Settings")
        assert session.observation.activity.startswith(SETTINGS)
        assert ui.find("network")
        assert not ui.sees("network")
        await ui.scroll_to("About phone")
        await ui.tap("about PHONE")
        with pytest.raises(OracleStuck, match="by scrolling"):
            await ui.scroll_to("Not in this list")
        with pytest.raises(OracleStuck, match="was rejected"):
            await ui.open("No such app")
        with pytest.raises(OracleStuck, match="asked for \\[9\\]"):
            await ui.tap("About phone", index=9)
        await ui.key("HOME")
        with pytest.raises(OracleStuck, match="no focused field"):
            await ui.type("x", clear=True)
        with pytest.raises(OracleStuck, match="nothing scrollable with id shelf"):
            await ui.scroll_to("Not here", resource_id="shelf")


async def test_the_hand_moves_presses_and_waits(client):
    async with client.session("contacts.add_two", seed=0, options=TREE) as session:
        ui = UiDriver(session)
        home = session.observation
        await ui.swipe("up")
        await ui.key("HOME")
        await ui.wait(0.5)
        await ui.long_press(ui.find()[-1].text or ui.find()[-1].description or "Settings")
        await ui.key("HOME")
        assert session.observation.activity == home.activity
        assert ui.reward.total == 0.0


async def test_typing_replaces_what_a_field_holds(client):
    async with client.session("contacts.add_two", seed=0, options=TREE) as session:
        ui = UiDriver(session)
        await ui.open("Settings")
        await ui.tap(ui.find("search")[0].text or ui.find("search")[0].description)
        fields = [node for node in ui.tree.walk() if node.class_name == "android.widget.EditText"]
        field_id = fields[0].resource_id.rpartition("/")[2]
        await ui.type("displayed twenty times", into=field_id)
        await ui.type("wifi", into=field_id, clear=True)
        assert ui.find(resource_id=field_id)[0].text == "wifi"
        await ui.type("z", clear=True)
        await ui.type("", clear=True)
