"""A service of our own: `rlfactory serve` as a child process, gone when the block ends or this process dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.wire.trust_options import VARIABLES
from rlfactory.processes.child import Child
from rlfactory.processes.errors import ProcessError, ProgramEnded

TEXT_SESSIONS: Final = 512
"""Open at once where there are no phones to share."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceConfig:
    """What `rlfactory serve` is asked for."""

    phones: int
    """0: text-only tasks."""
    spares: int = 1
    transport: Literal["direct", "adb", "docker"] = "direct"
    width_px: int = 1080
    height_px: int = 2400
    task_files: tuple[Path, ...] = ()
    """Served beside the tasks that ship with RLFactory."""
    app_files: tuple[Path, ...] = ()
    """On its simulated phones, beside the apps that ship with RLFactory."""
    tools_file: Path | None = None
    """Of tools beside those that ship with it."""
    questions: Path | None = None
    """JSONL, for the task search_qa.NAME."""
    search_index: str = ""
    """A folder or a URL, for `questions`."""
    text2sql: Path | None = None
    """A folder laid out as Spider or BIRD, for the task text2sql.NAME."""
    ray: str = ""
    """The Ray cluster whose nodes serve `phones` each: its head's address, or auto; "": this machine serves."""
    node_resource: str = ""
    """With `ray`: only on nodes with this custom resource."""
    answers: Path | None = None
    """For a replay: what its calls of tools are answered with."""
    unsafe_local: bool = False
    """Code of models runs as processes of this machine, not in containers."""
    start_timeout_s: float = 180.0
    """A service starts within seconds; on a machine that is busy or has slow disks it takes minutes."""
    stop_timeout_s: float = 15.0
    """After the end of its input; then it is killed."""
    log_path: Path | None = None
    """Where its stderr goes; None: to a file that is gone with it."""

    @classmethod
    def from_config(
        cls, wanted: Any, *, cluster: str = "", phones: int | None = None, log_path: Path | None = None
    ) -> ServiceConfig:
        """Read `rlfactory.service` of a composed recipe.

        Args: cluster: the Ray cluster that serves if the recipe says so; phones: other than the recipe's.
        """
        return cls(
            ray=cluster if wanted.ray else "",
            node_resource=wanted.node_resource,
            phones=wanted.phones if phones is None else phones,
            transport=wanted.transport,
            width_px=wanted.width_px,
            height_px=wanted.height_px,
            task_files=tuple(map(Path, wanted.tasks)),
            app_files=tuple(map(Path, wanted.apps)),
            tools_file=Path(wanted.tools) if wanted.tools else None,
            questions=Path(wanted.questions) if wanted.questions else None,
            search_index=wanted.search_index,
            text2sql=Path(wanted.text2sql) if wanted.text2sql else None,
            log_path=log_path,
        )

    def arguments(self) -> list[str]:
        return [
            *("serve", "--json", "--port", "0", "--stop-on-eof"),
            *(("--ray", "--address", self.ray, "--phones-per-node", str(self.phones)) if self.ray else ()),
            *(("--node-resource", self.node_resource) if self.node_resource else ()),
            *("--phones", str(self.phones), "--spares", str(self.spares), "--transport", self.transport),
            *("--width", str(self.width_px), "--height", str(self.height_px)),
            *("--max-sessions", str(max(64, 2 * self.phones) if self.phones else TEXT_SESSIONS)),
            *(word for path in self.task_files for word in ("--tasks", str(path))),
            *(word for path in self.app_files for word in ("--apps", str(path))),
            *(("--tools", str(self.tools_file)) if self.tools_file else ()),
            *(("--questions", str(self.questions)) if self.questions else ()),
            *(("--search-index", self.search_index) if self.search_index else ()),
            *(("--text2sql", str(self.text2sql)) if self.text2sql else ()),
            *(("--answers", str(self.answers)) if self.answers else ()),
            *(("--unsafe-local",) if self.unsafe_local else ()),
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
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rlfactory-"))
        log_path = config.log_path or Path(folder, "service.log")
        # Tokens in our environment are for services of others; this one is on loopback and ours alone.
        try:
            child = await Child.start(
                *(sys.executable, "-m", "rlfactory", *config.arguments()),
                name="service",
                stderr=stack.enter_context(log_path.open("ab")),
                environment={name: value for name, value in os.environ.items() if name not in VARIABLES},
            )
        except ProcessError as error:
            raise InfrastructureError(f"the service did not start: {error}") from None
        try:
            yield await _announced(child, config.start_timeout_s, log_path)
        finally:
            await child.stop(patience_s=config.stop_timeout_s)


async def _announced(child: Child, timeout_s: float, log_path: Path) -> LocalService:
    try:
        async with asyncio.timeout(timeout_s):
            line = await child.receive()
    except TimeoutError:
        raise InfrastructureError(
            f"the service did not come up within {timeout_s:g} s: {last_words(log_path) or 'it said nothing'}"
        ) from None
    except ProgramEnded:
        words = last_words(log_path) or await child.process.wait()
        raise InfrastructureError(f"the service did not start: {words}") from None
    return LocalService(address=json.loads(line)["address"], pid=child.pid)


def last_words(log_path: Path) -> str:
    """Return the last line that a service said, "" if it said nothing."""
    lines = log_path.read_text(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("error: ") if lines else ""
