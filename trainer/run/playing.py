"""`rlfactory play`: a task tried by hand. Actions are typed; each writes the screen to a file and shows the verdict.

tap 540 900            long_press X Y, double_tap X Y, swipe X Y X2 Y2, drag X Y X2 Y2: pixels of the phone
tap Network & internet the same by what is written there
type some text         into the focused field
key BACK               HOME, ENTER, ..
open_app Settings      scroll down, wait 1
finish                 ends the episode; finish failure, or an answer: finish success 42
TOOL name=value ..     any other tool of the task; values are JSON, or else text
look                   what is written on the screen, and where; no turn
solve                  the oracle plays on
help, quit
"""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from rlfactory.envs.api.types import (
    JSON,
    EpisodeState,
    ImageFormat,
    Reward,
    SessionOptions,
    Split,
    StepResult,
    ToolCall,
    ToolStatus,
)
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.client.oracle import OracleStuck, UiDriver, solve, tasks_with
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

HELP: Final = str(__doc__).partition("\n\n")[2]
_POINTS: Final = {"tap": 1, "double_tap": 1, "long_press": 1, "swipe": 2, "drag": 2}
_WORDS: Final = {"key": "key", "open_app": "app", "scroll": "direction", "type": "text"}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayConfig:
    task: str
    seed: int = 0
    split: Split = "train"
    picture: Path = Path("screen.png")
    """Written anew after each action."""
    address: str = ""
    """Of a running service; "": one is started."""
    task_files: tuple[Path, ...] = ()
    app_files: tuple[Path, ...] = ()
    tools_file: Path | None = None


class Unclear(Exception):
    """What was typed is no action; the message says what would be."""


def read_action(line: str, find: Callable[[str], tuple[int, int]]) -> ToolCall:
    """Return the call that a typed line means.

    Args:
        find: the middle of what is written on the screen, in pixels of the phone. Raises: Unclear: it is not there.

    Raises: Unclear.
    """
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    arguments: dict[str, JSON] = {"action": word}
    if word in _POINTS:
        numbers = rest.split()
        if len(numbers) != 2 * _POINTS[word] or not all(map(str.isdecimal, numbers)):
            if _POINTS[word] == 2 or not rest:
                raise Unclear(f"{word} takes {2 * _POINTS[word]} numbers, as in {word} {'540 900 ' * _POINTS[word]}")
            numbers = list(map(str, find(rest)))
        arguments["coordinate"] = [int(numbers[0]), int(numbers[1])]
        if _POINTS[word] == 2:
            arguments["coordinate2"] = [int(numbers[2]), int(numbers[3])]
    elif word in _WORDS:
        if not rest:
            raise Unclear(f"{word} takes a word behind it; help shows what there is")
        arguments[_WORDS[word]] = rest
    elif word == "wait":
        arguments["seconds"] = _value(rest or "1")
    elif word == "finish":
        status, _, answer = rest.partition(" ")
        if status not in ("", "success", "failure"):
            raise Unclear(f"finish takes success or failure, then an answer: finish success {rest}")
        said: dict[str, JSON] = {"answer": answer} if answer else {}
        return ToolCall(id="0", name="finish", arguments={"status": status or "success", **said})
    else:
        return ToolCall(id="0", name=word, arguments=_named(rest))
    return ToolCall(id="0", name="phone", arguments=arguments)


def _named(text: str) -> dict[str, JSON]:
    try:
        pairs = [word.partition("=") for word in shlex.split(text)]
    except ValueError as error:
        raise Unclear(f"{error}: {text}") from None
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise Unclear(f"{wrong[0]!r} is no argument: a tool is called as NAME argument=value, an action as help shows")
    return {name: _value(value) for name, _, value in pairs}


def _value(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return text
    return value


async def play_by_hand(config: PlayConfig, console: Console, lines: Callable[[], str]) -> bool:
    """Play one episode as it is typed. Returns whether the task was solved.

    Args:
        lines: returns the next line that was typed, or raises EOFError.

    Raises: RLFactoryError: no such task, no phone, or the service failed.
    """
    registry = tasks_with(config.task_files)
    async with AsyncExitStack() as stack:
        address = config.address
        if not address:
            console.print("starting a service ..", style="dim")
            own = ServiceConfig(
                phones=1,
                spares=0,
                task_files=config.task_files,
                app_files=config.app_files,
                tools_file=config.tools_file,
            )
            address = (await stack.enter_async_context(local_service(own))).address
        client = await stack.enter_async_context(EnvClient(address))
        options = SessionOptions(image_format=ImageFormat.PNG, with_tree=True, lease_s=600.0)
        session = await stack.enter_async_context(
            client.session(config.task, seed=config.seed, split=config.split, options=options)
        )
        console.print(f"[bold]{session.goal}[/]", soft_wrap=True)
        tools = ", ".join(tool.name for tool in session.tools)
        console.print(f"{session.max_turns} turns; tools: {tools}; type help for the actions", style="dim")
        _show_screen(session, config.picture, console)
        async for line in _typed(lines):
            match line.strip():
                case "":
                    continue
                case "quit":
                    break
                case "help":
                    console.print(HELP, markup=False)
                case "look":
                    _show_texts(session, console)
                case "solve":
                    try:
                        await solve(session, task=config.task, seed=config.seed, split=config.split, registry=registry)
                    except OracleStuck as error:
                        console.print(f"the oracle is stuck: {error}", markup=False)
                    _show_verdict(session, console)
                case _:
                    await _act(session, line, console)
                    _show_screen(session, config.picture, console)
            if session.over:
                break
    return session.reward.success


async def _act(session: Session, line: str, console: Console) -> None:
    try:
        call = read_action(line, lambda text: _middle(session, text))
        if call.name not in {tool.name for tool in session.tools}:
            names = ", ".join(tool.name for tool in session.tools)
            raise Unclear(f"no action or tool {call.name!r}; the tools are: {names}; help shows the actions")
        result = await session.step([call])
    except Unclear as error:
        console.print(str(error), style="yellow", markup=False)
        return
    _show_results(result, console)
    _show_verdict(session, console)


def _middle(session: Session, text: str) -> tuple[int, int]:
    found = UiDriver(session).find(text)
    if not found:
        raise Unclear(f"nothing on the screen says {text!r}; look lists what does")
    return found[0].bounds.center


async def _typed(lines: Callable[[], str]) -> AsyncIterator[str]:
    """Yield what is typed, while the session's lease is renewed; a thread that waits for a person keeps nobody."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Queue[str | None] = asyncio.Queue()
    asked = threading.Semaphore(0)

    def read() -> None:
        while asked.acquire():
            try:
                line = lines()
            except (EOFError, KeyboardInterrupt):
                loop.call_soon_threadsafe(typed.put_nowait, None)
                return
            loop.call_soon_threadsafe(typed.put_nowait, line)

    threading.Thread(target=read, daemon=True).start()
    while True:
        asked.release()
        line = await typed.get()
        if line is None:
            return
        yield line


# --- what is shown ---------------------------------------------------------------------------------------------------


def _show_results(result: StepResult, console: Console) -> None:
    for each in result.results:
        if each.status is not ToolStatus.OK or each.name != "phone":
            style = "" if each.status is ToolStatus.OK else "red"
            console.print(f"{each.name}: {each.text}", style=style, markup=False)


def _show_verdict(session: Session, console: Console) -> None:
    reward: Reward = session.reward
    words = [f"turn {session.seq} of {session.max_turns}", f"progress {reward.progress:.0%}"]
    words.append(f"reward {reward.total:.2f}")
    if session.state is not EpisodeState.RUNNING:
        words.append(f"{session.state}: {'solved' if reward.success else 'not solved'}")
    console.print("  ".join(words), style="green" if reward.success else "cyan")
    for effect in reward.side_effects:
        console.print(f"  side effect: {effect}", style="red", markup=False, soft_wrap=True)


def _show_screen(session: Session, path: Path, console: Console) -> None:
    image, activity = session.observation.image, session.observation.activity
    if image is not None:
        path.write_bytes(image.data)
        console.print(
            f"{path}  {image.width_px}x{image.height_px}  {activity}", style="dim", markup=False, soft_wrap=True
        )


def _show_texts(session: Session, console: Console) -> None:
    shown: set[Sequence[Any]] = set()
    for node in UiDriver(session).tree.walk():
        words = (node.text or node.description, node.bounds.center)
        if words[0] and words not in shown:
            shown.add(words)
            x, y = words[1]
            console.print(f"{x:>5} {y:>5}  {words[0]}", markup=False, soft_wrap=True)


def play_in_terminal(config: PlayConfig) -> bool:
    """See `play_by_hand`; lines come from standard input."""
    return asyncio.run(play_by_hand(config, Console(highlight=False), lambda: input("> ")))
