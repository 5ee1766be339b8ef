"""Another environment as a tool: one call begins an episode of its task, later calls play it on.

An agent that is to get something done on a phone, say, may so be given a whole phone session behind one tool, over the
same wire that trainers use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from rlfactory.emulators.device.ui import from_xml
from rlfactory.envs.api.errors import SessionError, TaskError
from rlfactory.envs.api.types import (
    JSON,
    EpisodeState,
    Observation,
    SessionOptions,
    Split,
    StepResult,
    ToolCall,
    ToolStatus,
)
from rlfactory.envs.client import EnvClient, Session
from rlfactory.envs.tools.arguments import object_schema, refuse_unknown
from rlfactory.envs.tools.runtime.policy import ToolPolicy
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolError

ENVIRONMENT_POLICY: Final = ToolPolicy(counted=False)
"""Its calls wait for tools of the other session, which are counted where they run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentConfig:
    """Which task of which service."""

    address: str
    task: str
    seed: int = 0
    split: Split = "train"
    description: str = ""
    """By default made of the task's own."""


class EnvironmentTool(Tool):
    """Plays an episode of its own, begun by the first call and ended with the session."""

    policy = ENVIRONMENT_POLICY

    def __init__(self, name: str, config: EnvironmentConfig, client: EnvClient) -> None:
        about = config.description or f"Play the task {config.task!r} in an environment of its own."
        self.schema = object_schema(
            name,
            f"{about} Without arguments it says the goal, the tools there and what is seen.",
            {
                "tool": {"type": "string", "description": "Which of the tools there to call."},
                "arguments": {"type": "object", "description": "Its arguments."},
            },
        )
        self._name = name
        self._config = config
        self._client = client
        self._session: Session | None = None
        self.resource = f"environment {name}"

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("tool", "arguments"))
        name, inner = arguments.get("tool"), arguments.get("arguments", {})
        if not (name is None or isinstance(name, str)) or not isinstance(inner, dict):
            raise Rejected("'tool' must be a name, and 'arguments' an object")
        try:
            session = await self._begun()
            if name is None:
                return self._introduction(session)
            if session.over:
                raise Rejected(f"the episode there is {session.state}; it ended with reward {session.reward.total:g}")
            result = await session.step([ToolCall(id="0", name=name, arguments=inner)], timeout_s=context.timeout_s)
        except (SessionError, TaskError) as error:
            raise ToolError(f"the environment refused: {error}") from None
        return _told(result)

    async def _begun(self) -> Session:
        if self._session is None:
            config = self._config
            session = self._client.session(
                config.task,
                seed=config.seed,
                split=config.split,
                options=SessionOptions(with_image=False, with_tree=True),
            )
            self._session = await session.__aenter__()
        return self._session

    def _introduction(self, session: Session) -> str:
        tools = "\n".join(f"- {tool.name}: {tool.description}" for tool in session.tools)
        return f"Goal: {session.goal}\nTools:\n{tools}{_seen(session.observation)}"

    def fork(self, context: ToolContext) -> Tool:
        """Raises: TaskError: the inner episode has begun; two agents cannot go on from it."""
        if self._session is not None:
            raise TaskError(f"a session cannot be forked once its tool {self._name!r} has begun an episode")
        return EnvironmentTool(self._name, self._config, self._client)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.aclose()


def _told(result: StepResult) -> str:
    """Return what a step there brought. Raises: Rejected, ToolError: its call was, or failed."""
    (inner,) = result.results
    text = f"{inner.text}{_seen(result.observation)}"
    match inner.status:
        case ToolStatus.OK:
            return text if result.state is EpisodeState.RUNNING else f"{text}\nThe episode there is {result.state}."
        case ToolStatus.REJECTED:
            raise Rejected(text)
        case ToolStatus.TIMEOUT:
            raise TimeoutError(text)
        case ToolStatus.ERROR | ToolStatus.CANCELLED:
            raise ToolError(text)
        case _:
            assert_never(inner.status)


def _seen(observation: Observation) -> str:
    """Return what is there to see, for readers of text: the labels on the screen, or what the environment says."""
    lines = [observation.text] if observation.text else []
    if observation.tree_xml:
        labels = (label for node in from_xml(observation.tree_xml).walk() for label in (node.text, node.description))
        lines.append(f"On the screen ({observation.activity}): {', '.join(filter(None, labels))}")
    return "".join(f"\n{line}" for line in lines)
