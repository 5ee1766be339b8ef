"""A checkpoint too large for the engine on CPU: a server of ours serves it for as long as it plays."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import httpx

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.types import SessionOptions
from rlfactory.processes.descendants import last_words, python_child
from rlfactory.trainer.episode.openai_policy import OpenAIPolicy
from rlfactory.trainer.episode.policies import PolicyConfig

VLLM: Final = ("-m", "vllm.entrypoints.cli.main", "serve")
"""Of Python: `vllm serve`, which takes the model's folder next."""
_POLL_S: Final = 0.2


class ServedCheckpoint(OpenAIPolicy):
    """Plays with a Hugging Face directory, served at an OpenAI-compatible endpoint from `open` to `close`."""

    def __init__(
        self,
        *,
        folder: Path,
        config: PolicyConfig,
        options: SessionOptions | None = None,
        screen_px: tuple[int, int] | None = None,
        server: Sequence[str] = VLLM,
        start_timeout_s: float = 1800.0,
    ) -> None:
        """Args: options, screen_px: as the checkpoint was trained; None: what the config and any model's defaults say.

        Raises: UnknownName: no such dialect.
        """
        port = _free_port()
        super().__init__(url=f"http://127.0.0.1:{port}/v1", model=str(folder), config=config)
        self.name = f"checkpoint:{folder}"
        self.options = options or self.options
        self.screen_px = screen_px
        self._health = f"http://127.0.0.1:{port}/health"
        self._command = (*server, str(folder), "--host", "127.0.0.1", "--port", str(port))
        self._start_timeout_s = start_timeout_s
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        """Start the server and wait until it answers. Raises: TaskError: it ended, or did not answer in time."""
        place = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="rlfactory-serve-")))
        log = place / "server.log"
        try:
            server = python_child(self._command, log_path=log, environment={})
            child = await self._stack.enter_async_context(server)
            deadline = time.monotonic() + self._start_timeout_s
            async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
                while True:
                    with contextlib.suppress(httpx.HTTPError):
                        if (await client.get(self._health)).is_success:
                            return
                    if child.returncode is not None:
                        raise TaskError(f"the server of {self.name} ended: {last_words(log)}")
                    if time.monotonic() > deadline:
                        waited = f"did not answer in {self._start_timeout_s:g} s"
                        raise TaskError(f"the server of {self.name} {waited}: {last_words(log)}")
                    await asyncio.sleep(_POLL_S)
        except BaseException:
            await self._stack.aclose()
            raise

    async def close(self) -> None:
        await super().close()
        await self._stack.aclose()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
