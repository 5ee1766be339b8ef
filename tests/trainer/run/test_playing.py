"""A task played by hand: what is typed, what it does, and what is shown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from rlfactory.trainer.run.playing import PlayConfig, Unclear, play_by_hand, read_action

TYPED = """\
look
tap Nowhere to be found
swipe 1 2
dance
open_app Settings
tap Connected devices
tap Connection preferences
help
solve
"""


def found(text: str) -> tuple[int, int]:
    return len(text), 7


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("tap 5 6", "phone", {"action": "tap", "coordinate": [5, 6]}),
        ("tap Wi-Fi", "phone", {"action": "tap", "coordinate": [5, 7]}),
        ("drag 1 2 3 4", "phone", {"action": "drag", "coordinate": [1, 2], "coordinate2": [3, 4]}),
        ("type two words", "phone", {"action": "type", "text": "two words"}),
        ("wait 2.5", "phone", {"action": "wait", "seconds": 2.5}),
        ("finish", "finish", {"status": "success"}),
        ("finish success 42 m", "finish", {"status": "success", "answer": "42 m"}),
        ("stock fruit='red apples' n=2", "stock", {"fruit": "red apples", "n": 2}),
    ],
)
def test_what_is_typed_is_a_call(line: str, tool: str, arguments: dict[str, object]) -> None:
    call = read_action(line, found)
    assert (call.name, call.arguments) == (tool, arguments)


@pytest.mark.parametrize("line", ["tap", "swipe 1 2 3", "type", "finish 42", "stock apples", "stock fruit='x"])
def test_what_is_no_action_is_told(line: str) -> None:
    with pytest.raises(Unclear):
        read_action(line, found)


async def test_a_task_is_tried_and_its_verdict_shown(tmp_path: Path) -> None:
    lines = iter(TYPED.splitlines())
    shown = io.StringIO()

    def typed() -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    config = PlayConfig(task="settings.wifi_on", seed=2, picture=tmp_path / "screen.png")
    assert await play_by_hand(config, Console(file=shown, width=200), typed)
    text = shown.getvalue()
    for words in (
        "nothing on the screen says 'Nowhere to be found'",
        "swipe takes 4 numbers",
        "no action or tool 'dance'",
        "turn 1 of 18  progress 0%",
        "finished: solved",
    ):
        assert words in text, text
    assert config.picture.read_bytes().startswith(b"\x89PNG")
