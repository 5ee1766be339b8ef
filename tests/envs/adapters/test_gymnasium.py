"""The Gymnasium adapter passes Gymnasium's own checks, without a phone and with one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.envs.adapters.gymnasium import LETTERS, MAX_TEXT, EnvironmentGym, plain, read_action
from rlfactory.envs.api.errors import RLFactoryError, UnknownName
from rlfactory.envs.api.types import SessionOptions


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A service with one small phone, in a process of its own: Gymnasium blocks."""
    options = ("--phones", "1", "--spares", "0", "--width", "270", "--height", "600", "--port", "0", "--json")
    with subprocess.Popen([sys.executable, "-m", "rlfactory", "serve", *options], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()


def test_it_passes_gymnasiums_checks(address):
    env = EnvironmentGym(address, task="settings.wifi_on", render_mode="rgb_array")
    try:
        check_env(env, skip_render_check=True)
        assert env.render().shape == (600, 270, 3)
    finally:
        env.close()
        env.close()


def test_an_episode_is_played(address):
    env = EnvironmentGym(address, task="settings.wifi_on", options=SessionOptions(max_turns=3, with_tree=True))
    try:
        observation, info = env.reset(seed=7)
        again, _ = env.reset(seed=7)
        assert observation["text"] == info["goal"] == again["text"]
        assert np.array_equal(observation["image"], again["image"])
        assert [tool["name"] for tool in info["tools"]] == ["phone", "finish"]
        home = json.dumps([{"name": "phone", "arguments": {"action": "open_app", "app": "Settings"}}])
        observation, reward, terminated, truncated, info = env.step(home)
        assert (observation["text"], reward, terminated, truncated) == ("Done.", 0.0, False, False)
        assert info["statuses"] == ["ok"]
        assert "settings" in info["activity"]
        assert "<node" in info["tree_xml"]
        observation, *_, info = env.step("tap the button")
        assert observation["text"].startswith("not JSON")
        assert info["statuses"] == []
        *_, terminated, truncated, info = env.step('{"name": "finish", "arguments": {}}')
        assert (terminated, info["success"]) == (True, False)
        with pytest.raises(RLFactoryError):
            env.step("{}")
    finally:
        env.close()


def test_what_is_not_there_is_said(address):
    with pytest.raises(UnknownName):
        EnvironmentGym(address, task="settings.wify_on")
    env = EnvironmentGym(address, task="settings.wifi_on")
    env._wait(env._end())
    with pytest.raises(ResetNeeded):
        env.step("[]")
    env.close()


@given(st.text())
def test_any_text_fits_the_space(text):
    fitted = plain(text * 30)
    assert len(fitted) <= MAX_TEXT
    assert LETTERS.issuperset(fitted)


@given(st.text() | st.recursive(st.none() | st.integers(), st.lists).map(json.dumps))
def test_any_action_is_read(action):
    calls, complaint = read_action(action)
    assert not calls or not complaint


def test_calls_are_read_in_order():
    text = '[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"x": 1}}]'
    assert [(call.id, call.name, call.arguments) for call in read_action(text)[0]] == [
        ("0", "a", {}),
        ("1", "b", {"x": 1}),
    ]
