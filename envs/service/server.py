"""A running environment service: gRPC, health checking and reflection around a `SessionManager`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry

from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.pool import PhoneSource, Pool, PoolConfig, PoolMetrics
from rlfactory.envs.perturb.catalogue import PERTURBATIONS
from rlfactory.envs.perturb.perturbation import parse
from rlfactory.envs.rewards.rubric import Rubric
from rlfactory.envs.service import health
from rlfactory.envs.service.authentication import TokenInterceptor
from rlfactory.envs.service.limits import Limits, Quotas, share
from rlfactory.envs.service.manager import SessionManager
from rlfactory.envs.service.metrics import ServiceMetrics
from rlfactory.envs.service.restart.journal import Journal
from rlfactory.envs.service.restart.resume import resume_sessions
from rlfactory.envs.service.servicer import EnvService
from rlfactory.envs.service.services import Services
from rlfactory.envs.service.watchdog import Watchdog
from rlfactory.envs.tasks.provenance import build
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tools.registry import ToolRegistry, default_tools
from rlfactory.envs.tools.runtime.cache import CacheConfig, ResultCache
from rlfactory.envs.tools.runtime.metrics import ToolMetrics
from rlfactory.envs.tools.runtime.recorded import tool_runtime
from rlfactory.envs.tools.runtime.runtime import Ended, RuntimeConfig
from rlfactory.envs.wire.stub import SERVICE
from rlfactory.envs.wire.trust import ServerTrust

log = logging.getLogger(__name__)

SERVICE_NAME: Final = SERVICE.full_name
MAX_CALLS: Final = 2048
"""Of one tenant at a time; a stream of steps is one."""
MAX_CONNECTIONS: Final = 4096
OWN_FILES: Final = 512
"""That are left for what the service opens itself, however many connect."""
DRAIN_POLL_S: Final = 0.05
AGE_GRACE_S: Final = 60.0
"""For the calls of a connection that has become too old; steps go on without it."""
CONNECTIONS: Final = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # A client that is gone without a word is noticed; clients may ask as often whether we are.
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.so_reuseport", 0),
    ("grpc.max_metadata_size", 8 << 10),
    ("grpc.absolute_max_metadata_size", 16 << 10),
)
"""Of a connection without a call, and of the headers of one: calls with more than the first are refused at random, with
more than the second always. So it is for health, too."""


class AddressInUse(OSError):
    """The address cannot be listened on."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EADDRINUSE, "cannot listen, the port is in use", address)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerConfig:
    """Where and how a service listens."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: a free one, chosen by the kernel."""
    drain_s: float = 5.0
    """How long calls under way may go on when the server stops."""
    max_concurrent_calls: int = 4096
    tool_calls: RuntimeConfig = field(default_factory=RuntimeConfig)
    tool_cache: CacheConfig = field(default_factory=CacheConfig)
    perturb: str = ""
    """What happens to the phones of sessions that do not ask for anything else: `rlfactory.envs.perturb`."""
    recorded_answers: Mapping[str, Ended] = field(default_factory=dict)
    """By call id: what a replay's calls of tools that are not deterministic are answered with."""
    limits: Limits = field(default_factory=Limits)
    quotas: Quotas = field(default_factory=Quotas)
    connection_age_s: float = 3600.0
    """Then a connection is asked to end, and its calls have a minute to; clients make another, and go on."""
    health_port: int | None = None
    """Where health is told instead, to anyone; 0: a free one. None: on the port of everything else."""
    trust: ServerTrust = field(default_factory=ServerTrust)
    journal: Path | None = None
    """A file by which sessions without phones go on when the service is started again; None: they end with it."""

    def __post_init__(self) -> None:
        self.trust.require_safe(self.host)
        parse(self.perturb, PERTURBATIONS)
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port must be from 0 to 65535, got {self.port}")
        if self.connection_age_s <= 0:
            raise ValueError(f"connection_age_s must be above 0, got {self.connection_age_s}")
        if self.drain_s < 0:
            raise ValueError(f"drain_s must not be below 0, got {self.drain_s}")
        if self.max_concurrent_calls < 1:
            raise ValueError(f"max_concurrent_calls must be at least 1, got {self.max_concurrent_calls}")


class EnvServer:
    """A server that listens. Use `serving`."""

    def __init__(self, manager: SessionManager, config: ServerConfig) -> None:
        self.manager = manager
        self.config = config
        self.address = ""
        """host:port, once it listens."""
        self.health_address = ""
        """As `address`, of where health is told."""
        self._health = health.HealthChecks()
        self._service = EnvService(
            manager,
            max_calls=config.quotas.calls or min(MAX_CALLS, share(config.max_concurrent_calls, config.trust.parties)),
            quotas=config.quotas,
            tenants=config.trust.parties,
        )
        self._servers: list[grpc.aio.Server] = []

    async def start(self) -> None:
        """Listen. Raises: AddressInUse."""
        config = self.config
        server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", 2 * config.limits.max_request_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_allowed_incoming_connections", _most_connections()),
                ("grpc.max_connection_age_ms", int(1000 * config.connection_age_s)),
                ("grpc.max_connection_age_grace_ms", int(1000 * AGE_GRACE_S)),
                *CONNECTIONS,
            ),
            maximum_concurrent_rpcs=config.max_concurrent_calls,
            interceptors=(TokenInterceptor(config.trust.tokens, config.trust.tenants),) if config.trust.tokens else (),
        )
        server.add_generic_rpc_handlers((self._service.handlers,))
        reflection.enable_server_reflection((SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        beside = server if config.health_port is None else grpc.aio.server(options=CONNECTIONS)
        beside.add_generic_rpc_handlers((self._health.handlers,))
        self.address = await self._listen(server, config.port)
        self.health_address = (
            self.address if config.health_port is None else await self._listen(beside, config.health_port)
        )
        for each in self._servers:
            await each.start()
        self._health.set(("", SERVICE_NAME), health_pb2.HealthCheckResponse.SERVING)

    async def drain(self, timeout_s: float) -> None:
        """Begin no more sessions, and return when those that are open have ended, after `timeout_s` at the latest."""
        self.manager.draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.manager.sessions:  # noqa: ASYNC110 - leases end at times of their own
                    await asyncio.sleep(DRAIN_POLL_S)

    async def stop(self) -> None:
        """Refuse new sessions, let calls under way end within `drain_s`, then stop listening. Idempotent.

        A call that waits for a phone is refused, too: it would get one only to lose it.
        """
        servers, self._servers = self._servers, []
        if not servers:
            return
        self.manager.draining = True
        if self.manager.pool is not None:
            self.manager.pool.lend_no_more()
        self.manager.events.close()
        self._health.set(("", SERVICE_NAME), health_pb2.HealthCheckResponse.NOT_SERVING)
        self._service.end_step_streams()
        await asyncio.gather(*(each.stop(self.config.drain_s) for each in servers))

    async def _listen(self, server: grpc.aio.Server, port: int) -> str:
        """Take a port; return host:port. Raises: AddressInUse."""
        address, credentials = f"{self.config.host}:{port}", self.config.trust.credentials()
        self._servers.append(server)
        try:
            got = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        except RuntimeError:
            got = 0
        if not got:
            servers, self._servers = self._servers, []
            await asyncio.gather(*(each.stop(None) for each in servers))
            raise AddressInUse(address)
        return f"{self.config.host}:{got}"


@asynccontextmanager
async def serving(
    config: ServerConfig,
    *,
    phones: PhoneSource | None = None,
    pool: PoolConfig | None = None,
    tasks: TaskRegistry | None = None,
    tools: ToolRegistry | None = None,
    rubric: Rubric | None = None,
    metrics: CollectorRegistry | None = None,
    services: Services | None = None,
) -> AsyncIterator[EnvServer]:
    """Run a service for the block: phones started, port listened on; afterwards all of it is gone.

    Args:
        phones: where phones come from; None for a service without phones.
        pool: how many and how patiently; needed with `phones`.
        tasks, tools, rubric: by default those that ship with RLFactory.
        metrics: where to register the figures of pool and sessions; None: they are for nobody.
        services: what tools and verdicts share, where it needs other settings than the defaults; closed at the end.

    Raises:
        AddressInUse: the port is taken.
        DeviceError: not one phone could be started.
        TaskError: the journal cannot be used.
    """
    async with contextlib.AsyncExitStack() as stack:
        await asyncio.to_thread(build)  # asks git, once
        held = None
        if phones is not None:
            held = await stack.enter_async_context(
                Pool(phones, pool or PoolConfig(phones=1), metrics=PoolMetrics(metrics))
            )
            await _warm_up(held)
            stack.push_async_callback(_drain, held, timeout_s=config.drain_s)
        shared = await stack.enter_async_context(services or Services())
        journal = stack.enter_context(contextlib.closing(Journal(config.journal)))
        runtime = await stack.enter_async_context(
            tool_runtime(
                config.tool_calls,
                config.recorded_answers,
                cache=ResultCache(config.tool_cache),
                metrics=ToolMetrics(metrics),
            )
        )
        manager = await stack.enter_async_context(
            SessionManager(
                tasks=tasks or default_registry(),
                tools=tools or default_tools(),
                pool=held,
                limits=config.limits,
                rubric=rubric,
                metrics=ServiceMetrics(metrics),
                runtime=runtime,
                services=shared,
                tenants=config.trust.parties,
                quotas=config.quotas,
                journal=journal,
                perturb=config.perturb,
            )
        )
        await resume_sessions(manager, journal)
        await stack.enter_async_context(Watchdog(metrics))
        server = EnvServer(manager, config)
        await server.start()
        stack.push_async_callback(server.stop)
        yield server


def _most_connections() -> int:
    """Return how many connections leave files for others: each is one, also of who says nothing."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MAX_CONNECTIONS, max(files // 2, files - OWN_FILES))


async def _drain(pool: Pool, *, timeout_s: float) -> None:
    """Wait until the sessions that were closed have given their phones back."""
    if not await pool.drain(timeout_s=timeout_s):
        log.warning("phones lent still after %g s, and stopped now: %d", timeout_s, pool.summary().leases)


async def _warm_up(pool: Pool) -> None:
    """Look at a phone once before clients come: fonts, codecs and connections are made on first use."""
    with contextlib.suppress(DeviceError):  # a phone that cannot be looked at is the pool's to replace
        async with pool.lease(timeout_s=pool.config.start_timeout_s) as lease:
            await lease.device.observe(ImageSpec(), with_tree=True, timeout_s=pool.config.start_timeout_s)
