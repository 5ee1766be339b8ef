"""An environment as Gymnasium knows them.

    env = EnvironmentGym("127.0.0.1:7000", task="settings.wifi_on")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step('{"name": "phone", "arguments": {...}}')

An action is a text: one call as a JSON object with `name` and `arguments`, or an array of them. What is no such text is
a turn without a call; `observation["text"]` says what is wrong with it. The observation is a dictionary: `text` is what
the tools said (at first the goal), `image` the screen (one pixel of black in tasks without a phone). `info` holds what
has no place there: goal, tool schemas, parts of the reward, UI tree. The reward of a step is what the total rose by.

Gymnasium is synchronous; this adapter runs the client's event loop in a thread of its own.
"""

from __future__ import annotations

import asyncio
import io
import json
import string
import threading
from collections.abc import Coroutine
from dataclasses import asdict
from typing import Any, Final, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from PIL import Image

from rlfactory.envs.api.types import EpisodeState, Observation, SessionOptions, Split, StepResult, ToolCall
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.wire.trust import ClientTrust

MAX_TEXT: Final = 20_000
MAX_ACTION: Final = 8_000
MAX_SEED: Final = 2**31 - 1
LETTERS: Final = frozenset(string.printable)
"""Of observations' texts: Gymnasium wants them listed. Others are written as their Unicode escapes."""

T = TypeVar("T")
Seen = dict[str, Any]


class EnvironmentGym(gymnasium.Env[Seen, str]):
    """One task of an environment service. `close` ends its episode and lets go of the service."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own way

    def __init__(
        self,
        address: str,
        *,
        task: str,
        split: Split = "train",
        options: SessionOptions | None = None,
        trust: ClientTrust | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Connect, and look at the task once, to know the size of its screen.

        Raises: RLFactoryError: the service cannot be reached, or has no such task.
        """
        self.render_mode = render_mode
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gymnasium", daemon=True)
        self._thread.start()
        self._task, self._split = task, split
        self._options = options or SessionOptions()
        self._client = EnvClient(address, trust=trust)
        self._session: Session | None = None
        self._image = np.zeros((1, 1, 3), np.uint8)
        try:
            self._wait(self._client.__aenter__())
            first = self._wait(self._begin(0)).observation
        except BaseException:
            self.close()
            raise
        image = first.image
        shape = (image.height_px, image.width_px, 3) if image is not None else (1, 1, 3)
        self.observation_space = spaces.Dict(
            {
                "text": spaces.Text(MAX_TEXT, min_length=0, charset=LETTERS),
                "image": spaces.Box(0, 255, shape, np.uint8),
            }
        )
        self.action_space = spaces.Text(MAX_ACTION, min_length=0, charset=LETTERS)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode; without a seed, one that is drawn. Equal seeds give equal observations."""
        super().reset(seed=seed)
        drawn = seed if seed is not None else int(self.np_random.integers(MAX_SEED))
        session = self._wait(self._begin(drawn))
        tools = [asdict(each) for each in session.tools]
        info = {"goal": session.goal, "tools": tools, "max_turns": session.max_turns}
        return self._seen(session.goal, session.observation), info

    def step(self, action: str) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Play one turn. Raises: RLFactoryError: the episode is void, or over."""
        if self._session is None:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        calls, complaint = read_action(action)
        result = self._wait(self._session.step(calls))
        said = complaint or "\n".join(each.text for each in result.results)
        over = result.state is EpisodeState.FINISHED, result.state is EpisodeState.TRUNCATED
        return self._seen(said, result.observation), self._session.gained, *over, _info(result)

    def render(self) -> Any:
        """Return the screen as RGB, uint8 [H, W, 3], if the render mode is "rgb_array"."""
        return self._image if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """End the episode and let go of the service. Idempotent."""
        if self._loop.is_closed():
            return
        self._wait(self._end())
        self._wait(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- below -------------------------------------------------------------------------------------------------------

    async def _begin(self, seed: int) -> Session:
        await self._end()
        session = self._client.session(self._task, seed=seed, split=self._split, options=self._options)
        self._session = await session.__aenter__()
        return self._session

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.aclose()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _seen(self, said: str, observation: Observation) -> Seen:
        text = "\n".join(filter(None, (said, observation.text)))
        if observation.image is not None:
            with Image.open(io.BytesIO(observation.image.data)) as picture:
                self._image = np.asarray(picture.convert("RGB"))
        return {"text": plain(text), "image": self._image}


def read_action(action: str) -> tuple[list[ToolCall], str]:
    """Return the calls that a text means, or none and what is wrong with it."""
    try:
        content = json.loads(action)
    except (ValueError, RecursionError) as error:
        return [], f"not JSON: {error}"
    calls: list[ToolCall] = []
    for index, each in enumerate(content if isinstance(content, list) else [content]):
        match each:
            case {"name": str() as name, "arguments": dict() as arguments}:
                calls.append(ToolCall(id=str(index), name=name, arguments=arguments))
            case _:
                return [], 'a call is an object with "name" and "arguments"'
    return calls, ""


def plain(text: str) -> str:
    """Return the text in the letters of the observation space, no longer than it allows."""
    if not (text.isascii() and LETTERS.issuperset(text)):
        text = "".join(each if each in LETTERS else each.encode("unicode_escape").decode() for each in text)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 4] + " ..."


def _info(result: StepResult) -> dict[str, Any]:
    reward = result.reward
    return {
        "statuses": [each.status.value for each in result.results],
        "parts": dict(reward.parts),
        "progress": reward.progress,
        "success": reward.success,
        "side_effects": list(reward.side_effects),
        "activity": result.observation.activity,
        "tree_xml": result.observation.tree_xml,
    }
