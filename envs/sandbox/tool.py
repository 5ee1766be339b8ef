"""The tool `python`: code in the session's own interpreter, whose variables live from call to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.api.types import JSON, ToolCall, ToolResult, ToolSchema, ToolStatus
from rlfactory.envs.sandbox.sandboxes import GRACE_S, Interpreter, Ran, RunStatus, Sandboxes
from rlfactory.envs.tools.arguments import read_text, refuse_unknown
from rlfactory.envs.tools.tool import CallContext, Tool, ToolContext, ToolError

MAX_CODE_CHARS: Final = 40_000
CODE_TIMEOUT_S: Final = 10.0
NO_OUTPUT: Final = "(no output)"
GONE: Final = "variables are gone"
"""The end of what is told of code that cost the session its interpreter."""
MAX_FATE_CHARS: Final = 200
"""Where that stands."""

PYTHON_SCHEMA: Final = ToolSchema(
    name="python",
    description=(
        "Run Python code and see what it prints, and the value of its last line. "
        "Variables live on from call to call; there is no network, and only the standard library."
    ),
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "maxLength": MAX_CODE_CHARS, "description": "Python 3 code."}},
        "required": ["code"],
        "additionalProperties": False,
    },
)


class PythonTool(Tool):
    """Runs code of one session. Its interpreter is opened by the first call."""

    schema = PYTHON_SCHEMA
    resource = "python"
    lives_on = True
    acts_outside = False
    keeps_deadline = False

    def __init__(
        self, context: ToolContext, *, suite: str = "", timeout_s: float = CODE_TIMEOUT_S, history: Sequence[str] = ()
    ) -> None:
        """Use the service's sandboxes.

        Args:
            suite: of the session's task; says what code may reach.
            history: code that was run before, in the session that this one was forked from.
        """
        self._suite = suite
        self._sandboxes = context.services.of(Sandboxes)
        self._timeout_s = timeout_s
        self._interpreter: Interpreter | None = None
        self._history = list(history)
        """What made the variables that there are now."""
        self._replayed = not history

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        refuse_unknown(arguments, ("code",))
        code = read_text(arguments, "code", max_chars=MAX_CODE_CHARS)
        timeout_s = min(self._timeout_s, max(0.5 * context.timeout_s, context.timeout_s - 2 * GRACE_S))
        interpreter = await self._opened()
        if not self._replayed:
            for earlier in self._history:
                await interpreter.run(earlier, timeout_s=timeout_s)
            self._replayed = True
        ran = await interpreter.run(code, timeout_s=timeout_s)
        self._history = [*self._history, code] if ran.kept else []
        return _told(ran, timeout_s)

    async def _opened(self) -> Interpreter:
        if self._interpreter is not None and self._interpreter.ended_idle:
            await self._sandboxes.release(self._interpreter)
            if self._history:
                raise InfrastructureError("the session's sandbox has ended, and with it the variables of its code")
        if self._interpreter is not None and self._interpreter.lost:
            await self._sandboxes.release(self._interpreter)
        if self._interpreter is None or self._interpreter.lost:
            self._interpreter = await self._sandboxes.open(self._suite)
        return self._interpreter

    def recall(self, calls: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Have the first call run the code again whose variables there were."""
        for call, result in calls:
            not_run = result.status is ToolStatus.TIMEOUT and result.text.startswith("not run")
            ran = result.status in (ToolStatus.OK, ToolStatus.ERROR, ToolStatus.TIMEOUT) and not not_run
            if ran and GONE in result.text[-MAX_FATE_CHARS:]:
                self._history = []
            elif ran:
                self._history.append(read_text(call.arguments, "code", max_chars=MAX_CODE_CHARS))
        self._replayed = not self._history

    def fork(self, context: ToolContext) -> PythonTool:
        """Return a tool whose first call runs the code of this one again: an interpreter cannot be copied."""
        return PythonTool(context, suite=self._suite, timeout_s=self._timeout_s, history=self._history)

    async def close(self) -> None:
        if self._interpreter is not None:
            await self._sandboxes.release(self._interpreter)


def _told(ran: Ran, timeout_s: float) -> str:
    """Return what the model reads. Raises: ToolError, TimeoutError: the code failed, and this is what came of it."""
    output = ran.output.rstrip("\n")
    match ran.status:
        case RunStatus.OK:
            return output or NO_OUTPUT
        case RunStatus.TIMEOUT:
            fate = "variables are kept" if ran.kept else GONE
            raise TimeoutError(f"{output}\n[stopped after {timeout_s:g} seconds; {fate}]".lstrip())
        case RunStatus.ERROR | RunStatus.ENDED:
            raise ToolError(output)
