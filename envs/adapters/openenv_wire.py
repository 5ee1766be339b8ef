"""What OpenEnv's clients send and receive, as its version 0.3 has it. See `envs.adapters.openenv` for the routes."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from rlfactory.envs.api.errors import EpisodeOver, LimitExceeded, RLFactoryError, TaskError
from rlfactory.envs.api.types import Observation, SessionOptions, Split, StepResult, ToolResult, ToolSchema, ToolStatus

MAX_CALLS: Final = 32
MAX_ID_CHARS: Final = 255
ERROR_TYPES: Final = {
    ToolStatus.REJECTED: "invalid_args",
    ToolStatus.ERROR: "execution_error",
    ToolStatus.TIMEOUT: "timeout",
    ToolStatus.CANCELLED: "execution_error",
}
"""OpenEnv's words for why a call failed."""


class Sent(BaseModel):
    """What clients send. Unknown fields are refused: most are misspelt."""

    model_config = ConfigDict(extra="forbid")


class Reset(Sent):
    """Begins an episode."""

    seed: int | None = Field(default=None, ge=0, lt=2**64, description="None: one is drawn; the state tells it.")
    episode_id: str | None = Field(default=None, max_length=MAX_ID_CHARS)
    task: str | None = Field(default=None, description="None: the server's own.")
    split: Split = "train"
    with_image: bool = True
    with_tree: bool = False
    max_pixels: int | None = Field(default=None, ge=1, description="Of a screenshot.")
    max_turns: int | None = Field(default=None, ge=1)

    def options(self, usual: SessionOptions) -> dict[str, Any]:
        """Return the options of the session that are asked for."""
        return {
            "with_image": self.with_image,
            "with_tree": self.with_tree,
            "max_pixels": self.max_pixels or usual.max_pixels,
            "max_turns": self.max_turns,
        }


class Call(Sent):
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class CallTool(Sent):
    """One call: a turn."""

    type: Literal["call_tool"] = "call_tool"
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def calls(self) -> list[Call]:
        return [Call(name=self.tool_name, arguments=self.arguments)]


class Turn(Sent):
    """Several calls of one turn, side by side where they may; none is a turn without a call."""

    type: Literal["turn"] = "turn"
    calls: list[Call] = Field(max_length=MAX_CALLS)
    metadata: dict[str, Any] = Field(default_factory=dict)


class ListTools(Sent):
    """Asks for the tools; no turn."""

    type: Literal["list_tools"] = "list_tools"
    metadata: dict[str, Any] = Field(default_factory=dict)


Action = CallTool | Turn | ListTools
ACTION: Final[TypeAdapter[Action]] = TypeAdapter(Annotated[Action, Field(discriminator="type")])


def read_action(data: dict[str, Any]) -> Action:
    """Return the action; without `type` it is told by its fields. Raises: pydantic.ValidationError."""
    kind = "turn" if "calls" in data else "call_tool"
    return ACTION.validate_python({"type": kind, **data})


class Step(Sent):
    """A step over HTTP."""

    action: dict[str, Any]
    timeout_s: float | None = Field(default=None, gt=0)
    request_id: str | None = Field(default=None, max_length=MAX_ID_CHARS)
    episode_id: str | None = Field(default=None, max_length=MAX_ID_CHARS)


class Message(Sent):
    """A message over the WebSocket."""

    type: Literal["reset", "step", "state", "close"]
    data: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def named(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError("a message is an object")  # noqa: TRY004 - what pydantic turns into its own error
        return value


# --- what is answered ------------------------------------------------------------------------------------------------


class Tool(BaseModel):
    name: str
    description: str
    input_schema: dict[str, Any]


class Picture(BaseModel):
    """A screenshot."""

    mime_type: str
    data: str = Field(description="base64")
    width: int
    height: int


class Result(BaseModel):
    """What came of one call."""

    name: str
    status: str
    text: str


class Failure(BaseModel):
    error_type: str
    message: str


class Seen(BaseModel):
    """An observation. Fields that have no meaning at a step are left out of it."""

    episode_id: str | None = Field(default=None, description="At the beginning: what requests over HTTP name.")
    goal: str | None = Field(default=None, description="At the beginning.")
    tools: list[Tool] | None = Field(default=None, description="At the beginning, and when they are asked for.")
    text: str | None = None
    tool_name: str | None = Field(default=None, description="After `call_tool`, with `result` or `error`.")
    result: str | None = None
    error: Failure | None = None
    results: list[Result] | None = Field(default=None, description="After `turn`: one for each call, in order.")
    image: Picture | None = None
    tree_xml: str | None = None
    activity: str | None = None


class State(BaseModel):
    episode_id: str | None = None
    step_count: int = 0
    task: str | None = None
    seed: int | None = None
    split: str | None = None
    goal: str | None = None
    status: str | None = Field(default=None, description="running, finished or truncated")
    max_turns: int | None = None
    reward: float | None = Field(default=None, description="The total so far; steps tell what it rose by.")
    parts: dict[str, float] | None = None
    progress: float | None = None
    success: bool | None = None
    side_effects: list[str] | None = None


def tools_told(schemas: tuple[ToolSchema, ...]) -> list[Tool]:
    return [Tool(name=each.name, description=each.description, input_schema=dict(each.parameters)) for each in schemas]


def seen(observation: Observation, **more: Any) -> Seen:
    """Return an observation with what else there is to say."""
    image = observation.image
    picture = None
    if image is not None:
        data = base64.b64encode(image.data).decode()
        mime_type = f"image/{image.format.value}"
        picture = Picture(mime_type=mime_type, data=data, width=image.width_px, height=image.height_px)
    return Seen(
        text=observation.text or None,
        image=picture,
        tree_xml=observation.tree_xml or None,
        activity=observation.activity or None,
        **more,
    )


def played(action: CallTool | Turn, result: StepResult) -> Seen:
    """Return what came of a turn, in the form that its action is answered in."""
    if isinstance(action, Turn):
        told = [Result(name=each.name, status=each.status, text=each.text) for each in result.results]
        return seen(result.observation, results=told)
    (only,) = result.results
    if only.status is ToolStatus.OK:
        return seen(result.observation, tool_name=only.name, result=only.text)
    return seen(result.observation, tool_name=only.name, error=failure(only))


def failure(result: ToolResult) -> Failure:
    return Failure(error_type=ERROR_TYPES[result.status], message=result.text)


def answered(observation: Seen, *, reward: float | None, done: bool) -> dict[str, Any]:
    return {"observation": observation.model_dump(exclude_none=True), "reward": reward, "done": done}


def schemas() -> dict[str, Any]:
    """Return what GET /schema says."""
    return {
        "action": ACTION.json_schema(),
        "observation": Seen.model_json_schema(),
        "state": State.model_json_schema(),
    }


def error_told(error: RLFactoryError) -> dict[str, Any]:
    codes = {TaskError: "VALIDATION_ERROR", LimitExceeded: "CAPACITY_REACHED", EpisodeOver: "SESSION_ERROR"}
    return {
        "message": str(error),
        "code": next((code for kind, code in codes.items() if isinstance(error, kind)), "EXECUTION_ERROR"),
        "reason": error.reason,
        "blame": error.blame.value,
        "retryable": error.retryable,
    }
