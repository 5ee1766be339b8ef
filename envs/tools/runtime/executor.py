"""Runs the calls of one step: side by side where they may, in call order where they share something."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.api.errors import RLFactoryError, UnknownName
from rlfactory.envs.api.tracing import part
from rlfactory.envs.api.types import ToolCall, ToolResult, ToolStatus
from rlfactory.envs.tools.runtime.runtime import ToolRuntime
from rlfactory.envs.tools.tool import Tool

NOT_RUN: Final = "not run: the call before it ended the episode"


class Executor:
    """Runs calls of one session. Results come in call order, one for each call."""

    def __init__(self, tools: Mapping[str, Tool], *, max_output_chars: int, runtime: ToolRuntime | None = None) -> None:
        """`runtime` is shared by the sessions of a service; None: one of its own."""
        self.tools = tools
        self._runtime = runtime or ToolRuntime()
        self._max_output_chars = max_output_chars
        self.failed = ""
        """The tool whose call ended a step by an error, if one did."""

    async def run(self, calls: Sequence[ToolCall], *, timeout_s: float) -> tuple[ToolResult, ...]:
        """Carry out the calls within `timeout_s`. A call's failure is its result, never an exception.

        Raises: DeviceError, RLFactoryError: what the tools stand on failed; other calls were cancelled.
        """
        deadline = time.monotonic() + timeout_s
        if len(calls) == 1:
            return (await self._run_one(calls[0], deadline),)
        results: list[ToolResult] = []
        batch: list[ToolCall] = []
        for index, call in enumerate(calls):
            tool = self.tools.get(call.name)
            if tool is None or not tool.ends_episode:
                batch.append(call)
                continue
            results += await self._run_batch(batch, deadline)
            batch = []
            results.append(await self._run_one(call, deadline))
            if results[-1].status is ToolStatus.OK:
                results += [_result(each, ToolStatus.CANCELLED, NOT_RUN) for each in calls[index + 1 :]]
                return tuple(results)
        return (*results, *await self._run_batch(batch, deadline))

    async def _run_batch(self, calls: Sequence[ToolCall], deadline: float) -> list[ToolResult]:
        """Run calls that do not end the episode: one chain for each shared resource, chains side by side."""
        if len(calls) == 1:
            return [await self._run_one(calls[0], deadline)]
        chains: dict[object, list[int]] = {}
        for index, call in enumerate(calls):
            tool = self.tools.get(call.name)
            chains.setdefault(tool.resource if tool and tool.resource else index, []).append(index)
        done: dict[int, ToolResult] = {}

        async def run_chain(chain: Sequence[int]) -> None:
            for index in chain:
                done[index] = await self._run_one(calls[index], deadline)

        if len(chains) == 1:
            await run_chain(*chains.values())
        else:
            await _gather_or_cancel([run_chain(chain) for chain in chains.values()])
        return [done[index] for index in range(len(calls))]

    async def _run_one(self, call: ToolCall, deadline: float) -> ToolResult:
        started = time.monotonic()
        if started >= deadline:
            for each in self.tools.values():
                each.answer_for_lateness()
        tool = self.tools.get(call.name)
        max_chars = self._max_output_chars
        if tool is None:
            status, text = ToolStatus.REJECTED, str(UnknownName.of("tool", call.name, self.tools))
        elif call.unreadable:
            status, text = ToolStatus.REJECTED, call.unreadable
        else:
            try:
                with part("execute_tool", gen_ai__operation__name="execute_tool", gen_ai__tool__name=call.name):
                    status, text = await self._runtime.run(tool, call, deadline - started)
            except (DeviceError, RLFactoryError):
                self.failed = call.name
                raise
            max_chars = min(max_chars, tool.policy.max_output_chars or max_chars)
        return ToolResult(
            call_id=call.id,
            name=call.name,
            status=status,
            text=shorten(text, max_chars),
            duration_s=time.monotonic() - started,
        )


async def _gather_or_cancel(work: Sequence[asyncio._CoroutineLike[None]]) -> None:
    """Run side by side; the first error cancels the others and is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(each)
    except* (DeviceError, RLFactoryError) as errors:
        raise errors.exceptions[0] from None


def _result(call: ToolCall, status: ToolStatus, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, status=status, text=text)


def shorten(text: str, max_chars: int) -> str:
    """Return the text, or its head and tail with a note of how much was cut out between them."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no character, and cannot be sent
    if len(text) <= max_chars:
        return text
    head = max_chars // 2
    tail = max_chars - head
    return f"{text[:head]}\n[... {len(text) - max_chars} characters cut ...]\n{text[len(text) - tail :]}"
