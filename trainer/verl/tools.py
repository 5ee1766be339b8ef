"""The tools of a session as verl's own tools, for those who train with verl's tool agent loop.

    python -m rlfactory.trainer.verl.tools_cli FOLDER --address 127.0.0.1:7000 --task search_qa.birthplace

asks the service and writes `FOLDER/tools.yaml` (for `multi_turn.tool_config_path`) and `FOLDER/train.jsonl` (for
`data.train_files`). Rows name the agent loop `session_tools`: verl's `tool_agent`, which also ends with the episode,
takes its reward from the session, and drops an episode whose phone or service failed. With verl's `tool_agent` itself
`score` is the reward function; it refuses such episodes, for that loop cannot drop them.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError, TaskError
from rlfactory.envs.api.types import CoordinateFrame, SessionOptions, ToolCall, ToolStatus
from rlfactory.envs.client import EnvClient, Session
from rlfactory.trainer.verl.images import picture

VOID: Final = "episode_void"
OVER: Final = "episode_over"
TOTAL: Final = "episode_total"
SUCCESS: Final = "episode_success"
"""What an agent's `extra_fields` tell of its session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSettings:
    """The `config` of a tool in verl's file."""

    address: str
    """host:port of the environment service."""
    images: bool = False
    """Show screenshots to the model; it has to be one that sees."""
    options: SessionOptions = field(default_factory=SessionOptions)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Raises: ValueError: the address is missing, or an option makes no sense."""
        if not config.get("address"):
            raise ValueError("a session's tool needs the address of its service: config.address")
        images = bool(config.get("images"))
        asked = SessionOptions(with_image=images, max_pixels=config.get("max_pixels"))
        frame = CoordinateFrame(config.get("coordinates", asked.coordinates))
        return cls(address=str(config["address"]), images=images, options=replace(asked, coordinates=frame))


@dataclass(slots=True)
class Held:
    """One episode that tools act in."""

    session: Session
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    shown: str = ""
    """Digest of the last screenshot that the model was shown."""


class Sessions:
    """The episodes of one event loop at one service. Tools of one agent share its episode."""

    def __init__(self, address: str) -> None:
        self._client = EnvClient(address)
        self._connected: asyncio.Future[EnvClient] | None = None
        self._of_agents: weakref.WeakKeyDictionary[AgentData, asyncio.Future[Held]] = weakref.WeakKeyDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    async def begin(self, wanted: Mapping[str, Any], options: SessionOptions) -> Held:
        """Raises: TaskError: the row names no task. RLFactoryError: the service has no such task, or no room."""
        if not wanted.get("task"):
            raise TaskError("no task: a row says it under extra_info.tools_kwargs.<tool>.create_kwargs")
        if self._connected is None:
            self._connected = asyncio.ensure_future(self._client.__aenter__())
        try:
            client = await asyncio.shield(self._connected)
        except Exception:
            self._connected = None  # the next episode tries again
            raise
        task, seed, split = str(wanted["task"]), int(wanted.get("seed", 0)), wanted.get("split", "train")
        return Held(await client.session(task, seed=seed, split=split, options=options).__aenter__())

    async def of(self, agent: AgentData, wanted: Mapping[str, Any], options: SessionOptions) -> Held:
        """Return an agent's episode, begun by whichever of its tools is called first; it ends with the agent."""
        beginning = self._of_agents.get(agent)
        if beginning is None:
            beginning = self._of_agents[agent] = asyncio.ensure_future(self.begin(wanted, options))
            weakref.finalize(agent, self._end_from_anywhere, asyncio.get_running_loop(), beginning)
        return await asyncio.shield(beginning)

    async def end(self, held: Held) -> None:
        await held.session.aclose()

    def _end_from_anywhere(self, loop: asyncio.AbstractEventLoop, beginning: asyncio.Future[Held]) -> None:
        """End an episode whose agent is no more; the service's leases see to it where the loop is gone, too."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._end_soon, beginning)

    def _end_soon(self, beginning: asyncio.Future[Held]) -> None:
        if beginning.done() and not beginning.cancelled() and beginning.exception() is None:
            task = asyncio.get_running_loop().create_task(self.end(beginning.result()))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


_SESSIONS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Sessions]] = weakref.WeakKeyDictionary()
"""verl makes its tools once for each worker process, whose event loop all agents share."""


class SessionTool(BaseTool):  # type: ignore[misc]
    """One tool of the session of an agent. verl makes an instance for each call; the episode outlives it."""

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema) -> None:
        super().__init__(config, tool_schema)
        self._settings = ToolSettings.from_config(config)
        self._wanted: dict[str, Mapping[str, Any]] = {}
        self._alone: dict[str, Held] = {}
        """Episodes of instances that no agent calls, by instance."""
        self._totals: dict[str, float] = {}

    async def create(
        self, instance_id: str | None = None, create_kwargs: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str, ToolResponse]:
        """`create_kwargs`: task, seed and split of the episode, from the row."""
        instance_id = instance_id or uuid4().hex
        self._wanted[instance_id] = create_kwargs or {}
        return instance_id, ToolResponse()

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], agent_data: AgentData | None = None, **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Play a turn of one call; the reward is what the session's total rose by.

        Raises: RLFactoryError: the episode is void, and `agent_data.extra_fields` says so.
        """
        try:
            held = await self._episode(instance_id, agent_data)
            async with held.lock:
                answer = await self._play(held, parameters)
        except RLFactoryError as error:
            if agent_data is not None:
                agent_data.extra_fields[VOID] = f"{error.reason}: {error}"
            raise
        self._totals[instance_id] = held.session.reward.total
        if agent_data is not None:
            reward = held.session.reward
            agent_data.extra_fields |= {TOTAL: reward.total, SUCCESS: reward.success, OVER: held.session.over}
        return answer

    async def calc_reward(self, instance_id: str, **kwargs: Any) -> float:
        """Return the session's total after the last call of this instance."""
        return self._totals.get(instance_id, 0.0)

    async def release(self, instance_id: str, **kwargs: Any) -> None:
        """Forget the instance; an episode of its own ends."""
        self._wanted.pop(instance_id, None)
        self._totals.pop(instance_id, None)
        held = self._alone.pop(instance_id, None)
        if held is not None:
            await self._sessions().end(held)

    def _sessions(self) -> Sessions:
        of_loop = _SESSIONS.setdefault(asyncio.get_running_loop(), {})
        return of_loop.setdefault(self._settings.address, Sessions(self._settings.address))

    async def _episode(self, instance_id: str, agent: AgentData | None) -> Held:
        wanted, options = self._wanted.get(instance_id, {}), self._settings.options
        if agent is not None:
            return await self._sessions().of(agent, wanted, options)
        if instance_id not in self._alone:
            self._alone[instance_id] = await self._sessions().begin(wanted, options)
        return self._alone[instance_id]

    async def _play(self, held: Held, parameters: dict[str, Any]) -> tuple[ToolResponse, float, dict[str, Any]]:
        session = held.session
        if session.over:
            return ToolResponse(text=f"not run: the episode is {session.state}"), 0.0, {"status": "cancelled"}
        result = await session.step([ToolCall(id="0", name=self.name, arguments=parameters)])
        (only,) = result.results
        text = only.text if only.status is ToolStatus.OK else f"{only.status}: {only.text}"
        image = result.observation.image
        metrics = {"status": only.status.value, "seconds": only.duration_s}
        if not self._settings.images or image is None or image.digest == held.shown:
            return ToolResponse(text=text), session.gained, metrics
        held.shown = image.digest
        return ToolResponse(text=text, image=[picture(image)]), session.gained, metrics


@register("session_tools")
class SessionToolLoop(ToolAgentLoop):  # type: ignore[misc]
    """verl's tool agent loop, that knows of the session behind its tools."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        """Return the episode's row, with the session's reward; none when the episode is void."""
        output = await super().run(sampling_params, **row)
        fields = output.extra_fields
        if VOID in fields:
            return []
        output.reward_score = float(fields.get(TOTAL, 0.0))
        fields["reward_extra_info"] = {"success": float(fields.get(SUCCESS, False))}
        return [output]

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        state = await super()._handle_processing_tools_state(agent_data)
        ended = agent_data.extra_fields.get(OVER) or VOID in agent_data.extra_fields
        return AgentState.TERMINATED if ended else state


def score(data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any], **_: Any) -> float:
    """Return the session's total, as a reward function of verl (`reward.custom_reward_function`).

    Raises: InfrastructureError: the episode is void; the agent loop `session_tools` drops such.
    """
    if extra_info.get(VOID):
        raise InfrastructureError(f"a void episode reached the reward function: {extra_info[VOID]}")
    return float(extra_info.get(TOTAL) or 0.0)
