"""An actor for each node: the environment service as its child, and its reports to the directory."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

from rlfactory.envs.api.errors import InfrastructureError, ProtocolMismatch
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.ray_cluster import REPORT_S, Credentials, HostReport, answer, directory
from rlfactory.envs.wire.trust_options import VARIABLES
from rlfactory.processes.child import Child

START_S: Final = 120.0
"""For a service's phones to come up."""


class Host:
    """One node's service. Ends, and is restarted by Ray, when the service ends without having been asked to."""

    def __init__(self, options: Mapping[str, Any], credentials: Credentials) -> None:
        """Args: options: of `rlfactory serve`, as its file has them."""
        import ray

        context = ray.get_runtime_context()
        self._node = context.get_node_id()
        self._ip = ray.util.get_node_ip_address()
        self._options = dict(options)
        self._credentials = credentials
        self._problem = ""
        self._ready = threading.Event()
        threading.Thread(target=self._run, name="host", daemon=True).start()

    def placed(self) -> None:
        """Return: Ray has found room for the actor."""

    def ready(self, timeout_s: float) -> str:
        """Return "" once the service takes sessions, or why it does not."""
        self._ready.wait(timeout_s)
        return self._problem or ("" if self._ready.is_set() else f"no service came up within {timeout_s:g} s")

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except (InfrastructureError, ProtocolMismatch) as error:
            self._problem = str(error)
            if not self._ready.is_set():
                self._ready.set()
                return
            os._exit(1)
        except BaseException:  # noqa: BLE001 - Ray starts the actor again
            os._exit(1)

    async def _serve(self) -> None:
        with tempfile.TemporaryDirectory(prefix="rlfactory-") as folder, _log(folder) as log:
            child = await Child.start(
                *(sys.executable, "-m", "rlfactory", "serve", "--config", str(self._written(Path(folder)))),
                name="service",
                stderr=log,
                environment={name: value for name, value in os.environ.items() if name not in VARIABLES},
            )
            try:
                address = await _announced(child, Path(log.name))
                async with EnvClient(address, trust=self._credentials.trust) as client:
                    await self._report(client, child, address)
            finally:
                await child.stop(patience_s=10.0)

    def _written(self, folder: Path) -> Path:
        """Write the service's configuration, with what it takes to be trusted, for nobody else to read."""
        folder.chmod(0o700)
        Path(folder, "token").write_text(
            "".join(f"{name} {token}\n" for name, token in self._credentials.tokens.items())
        )
        Path(folder, "cert.pem").write_bytes(self._credentials.certificate)
        Path(folder, "key.pem").write_bytes(self._credentials.key)
        own = {
            "host": self._ip,
            "port": 0,
            "token_file": str(folder / "token"),
            "tls_cert": str(folder / "cert.pem"),
            "tls_key": str(folder / "key.pem"),
            "stop_on_eof": True,
            "json": True,
        }
        path = folder / "service.json"
        path.write_text(json.dumps({**self._options, **own}))
        return path

    async def _report(self, client: EnvClient, child: Child, address: str) -> None:
        """Tell the directory how it goes until the service ends; that it has drained, until this actor is ended."""
        suites = tuple(sorted({task.suite for task in await client.list_tasks()}))
        report = HostReport(address=address, node=self._node, load=client.load, version=version(), suites=suites)
        told_s, draining = time.monotonic(), False
        while child.process.returncode is None:
            with contextlib.suppress(InfrastructureError):  # the directory is being restarted, or the service is ending
                status = await client.status()
                now_s, steps = time.monotonic(), status.counters.get("steps", 0.0)
                rate = (steps - report.steps) / max(now_s - told_s, 1e-3)
                report, told_s = replace(report, load=client.load, steps=steps, steps_per_s=rate), now_s
                drain = await answer(directory().report.remote(report))
                self._ready.set()
                if drain and not draining:
                    draining = True
                    child.process.send_signal(signal.SIGUSR1)
            await asyncio.sleep(REPORT_S)
        if not draining:
            with contextlib.suppress(InfrastructureError):
                await answer(directory().leave.remote(address))
            raise InfrastructureError(f"the service on node {self._node[:8]} ended with {child.process.returncode}")
        while True:
            with contextlib.suppress(InfrastructureError):
                await answer(directory().report.remote(replace(report, drained=True)))
            await asyncio.sleep(REPORT_S)


def _log(folder: str) -> IO[bytes]:
    return Path(folder, "log").open("wb")


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("error: ") if lines else ""


async def _announced(child: Child, log: Path) -> str:
    try:
        async with asyncio.timeout(START_S):
            return str(json.loads(await child.receive())["address"])
    except Exception as error:  # noqa: BLE001 - the service's own words say what was wrong
        words = _last_words(log) or f"{type(error).__name__}: {error}"
        raise InfrastructureError(f"the service did not start: {words}") from None


def version() -> str:
    """Return the version of what is installed here."""
    return importlib.metadata.version("rlfactory")
