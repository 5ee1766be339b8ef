"""What a tool is. The executor runs tools; a session owns one instance of each for its episode.

To add one: subclass `Tool`, give it a schema, and name it in the registry (`envs.tools.registry`) by a factory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from envs.types import JSON, ToolSchema


class Rejected(Exception):
    """The call was malformed or made no sense, and nothing was done. The message is what the model reads."""


class ToolError(Exception):
    """The tool failed; its mistake, not the model's. The message is what the model reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallContext:
    """What a tool is told about one call beside its arguments."""

    timeout_s: float
    """What is left for this call; the executor cancels the call when it has passed."""


class Tool(ABC):
    """A tool of one session. Calls reach it only through the executor."""

    schema: ToolSchema
    resource: str | None = None
    """Calls that name the same resource run one after another in call order; None runs beside anything."""
    ends_episode: bool = False
    """The call waits for all calls before it, and those after it are cancelled."""

    @abstractmethod
    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        """Carry out one call and return what the model reads.

        Raises:
            Rejected: the arguments make no sense; nothing was done.
            ToolError: the tool failed.
            DeviceError, InfrastructureError: what the tool stands on failed; the episode is void.
        """

    async def close(self) -> None:
        """Let go of what the tool holds. Never raises."""
        return
