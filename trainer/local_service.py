"""A service of our own: `rlfactory serve` as a child process, gone when the block ends or this process dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from envs.errors import InfrastructureError


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceConfig:
    """What `rlfactory serve` is asked for."""

    phones: int
    transport: Literal["direct", "adb"] = "direct"
    width_px: int = 1080
    height_px: int = 2400
    start_timeout_s: float = 60.0
    stop_timeout_s: float = 15.0
    """After SIGTERM; then SIGKILL."""
    log_path: Path | None = None
    """Where its stderr goes; None: to ours."""

    def arguments(self) -> list[str]:
        return [
            *("serve", "--json", "--port", "0", "--parent-pid", str(os.getpid())),
            *("--phones", str(self.phones), "--transport", self.transport),
            *("--width", str(self.width_px), "--height", str(self.height_px)),
            *("--max-sessions", str(max(64, 2 * self.phones))),
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalService:
    address: str
    pid: int


@asynccontextmanager
async def local_service(config: ServiceConfig) -> AsyncIterator[LocalService]:
    """Run a service for the block.

    Raises: InfrastructureError: it did not come up; the message is its own last word.
    """
    with contextlib.ExitStack() as stack:
        stderr = stack.enter_context(config.log_path.open("ab")) if config.log_path else None
        # A session of its own: Ctrl-C reaches us alone, and we end the service when the episodes have let go of it.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rlfactory", *config.arguments()),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            yield await _announced(process, config)
        finally:
            await asyncio.shield(_stop(process, config.stop_timeout_s))


async def _announced(process: Process, config: ServiceConfig) -> LocalService:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(config.start_timeout_s):
            line = await process.stdout.readline()
    except TimeoutError:
        raise InfrastructureError(f"the service did not come up within {config.start_timeout_s:g} s") from None
    if not line:
        where = f"; see {config.log_path}" if config.log_path else ""
        raise InfrastructureError(f"the service ended with exit code {await process.wait()} before it listened{where}")
    return LocalService(address=json.loads(line)["address"], pid=process.pid)


async def _stop(process: Process, timeout_s: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(timeout_s):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
