"""The services that a client plays on, and the choice of one for each session.

A session stays where it was begun, and so do its forks. A new one begins at the freer of two services drawn at random
among those with free phones: nobody is asked by everybody at once, whoever's figures are stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

from rlfactory.envs.api.errors import InfrastructureError, LimitExceeded, RLFactoryError, SessionNotFound
from rlfactory.envs.client.addresses import Addresses, Found
from rlfactory.envs.client.connection import Connection, NoAnswer

T = TypeVar("T")

AVOIDED_S: Final = 1.0
"""How long a service that did not answer is asked for no session."""
PATIENCE_S: Final = 2.0
"""How long to wait for a phone at one of several services before another is asked."""
OTHERS: Final = 3
"""Services that may fail to begin a session before the last failure is told."""
LOOKED_AT: Final = 8
"""Services drawn at random, of which the first two that can be asked are compared; all where there are not two."""
ABOUT: Final = 1
"""Sessions by which two services are as free as each other: one may end while we choose."""
FRESH_S: Final = 2.0
"""What a service said itself is not replaced for so long by what a directory has of it, which may be older."""


def freer(one: Connection, other: Connection) -> Connection:
    """Return the one with more room. Of two about as free, that which had fewer sessions of ours: else a host whose
    processor others use less would always be the first to have room again, and get most episodes."""
    if abs(one.room - other.room) <= ABOUT:
        return one if (one.begun, -one.room) <= (other.begun, -other.room) else other
    return one if one.room > other.room else other


class Hosts:
    """The connections of one client."""

    def __init__(self, addresses: Addresses, connect: Callable[[str], Connection]) -> None:
        """Args: connect: makes a connection that is not open yet."""
        self._addresses = addresses
        self._connect = connect
        self._connections: dict[str, Connection] = {}
        self._avoided: dict[Connection, float] = {}
        self._homes: dict[str, Connection] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def several(self) -> bool:
        return self._addresses.several

    @property
    def phones(self) -> int:
        return sum(each.load.phones for each in self._connections.values() if not each.load.draining)

    async def open(self) -> None:
        """Connect; with several services, to at least one. Raises: what `Connection.open` does."""
        watch = self._addresses.watch()
        found = await anext(watch)
        connections = [self._connect(address) for address in found]
        self._connections = {each.address: each for each in connections}
        failures = await asyncio.gather(*(each.open() for each in connections), return_exceptions=True)
        wrong = [each for each in failures if isinstance(each, BaseException)]
        if not self.several and wrong:
            raise wrong[0]
        if wrong and len(wrong) == len(connections):
            raise wrong[0]
        for connection, failure in zip(connections, failures, strict=True):
            if failure is not None:
                self._reconnect(connection)
        if self.several:
            self._begin(self._follow(watch), "services: follow")

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connections, self._connections = tuple(self._connections.values()), {}
        await asyncio.gather(*(each.aclose() for each in connections))

    # --- who is asked ------------------------------------------------------------------------------------------------

    def open_ones(self) -> tuple[Connection, ...]:
        """Return those that can be asked just now; all where none answers.

        Raises: InfrastructureError: there are none.
        """
        if not self._connections:
            raise InfrastructureError(
                "the client is not open (use `async with EnvClient(...)`), or its services are gone"
            )
        if not self._avoided:
            return tuple(self._connections.values())
        now_s = time.monotonic()
        fine = tuple(each for each in self._connections.values() if self._avoided.get(each, 0.0) <= now_s)
        return fine or tuple(self._connections.values())

    def any(self) -> Connection:
        """Return one that any question can be put to. Raises: InfrastructureError: there is none."""
        return self.open_ones()[0]

    def of(self, session: str) -> Connection:
        """Return where a session is. Raises: SessionNotFound, InfrastructureError."""
        if not self.several:
            return self.any()
        home = self._homes.get(session)
        if home is None:
            raise SessionNotFound(f"session {session[:64]!r} was not begun by this client, or is closed")
        return home

    def keep(self, session: str, home: Connection) -> None:
        """Remember where a session is."""
        if self.several:
            self._homes[session] = home

    def forget(self, session: str) -> None:
        """The session is closed."""
        self._homes.pop(session, None)

    # --- where a session begins --------------------------------------------------------------------------------------

    async def begun(self, begin: Callable[[Connection, float | None], Awaitable[T]], *, timeout_s: float) -> T:
        """Begin a session where there is room for it.

        Args: begin: begins it at a service, which waits for a phone so many seconds at most; None: as long as it likes.

        Raises: what `begin` does, when others fail, too, or `timeout_s` has passed.
        """
        if not self.several:
            return await begin(self.any(), None)
        end_s, failures = time.monotonic() + timeout_s, 0
        failure: RLFactoryError | None = None
        while True:
            home = self._chosen()
            left_s = end_s - time.monotonic()
            if home is None:
                await self._change(left_s, failure)
                continue
            free = home.free > 0
            try:
                with home.one_more():
                    return await begin(home, 0.0 if free else min(PATIENCE_S, max(left_s / 2, 0.0)))
            except LimitExceeded as error:
                failure = error
                home.load = home.load._replace(free=0)
                if left_s <= 0:
                    raise
                await asyncio.sleep(0 if free else random.uniform(0.0, 0.1))
            except NoAnswer as error:
                failure = failure or error
                self._avoid(home)
                if left_s <= 0:
                    raise
            except InfrastructureError:
                failures += 1
                self._avoid(home)
                if failures >= min(OTHERS, len(self._connections)):
                    raise

    def _chosen(self) -> Connection | None:
        """Return the freer of two drawn at random, of those with free phones if any have; None: nobody can be asked."""
        now_s, every = time.monotonic(), tuple(self._connections.values())
        drawn = [each for each in random.sample(every, min(LOOKED_AT, len(every))) if self._able(each, now_s)]
        drawn = [each for each in drawn if each.free > 0]
        if len(drawn) < 2:  # few are left: look at all
            able = [each for each in every if self._able(each, now_s)]
            drawn = [each for each in able if each.free > 0] or [each for each in able if each.room > 0] or able
            random.shuffle(drawn)
        return freer(drawn[0], drawn[1]) if len(drawn) > 1 else next(iter(drawn), None)

    def _able(self, connection: Connection, now_s: float) -> bool:
        avoided = self._avoided.get(connection, 0.0) > now_s
        return not (avoided or connection.gone or connection.load.draining)

    def _avoid(self, connection: Connection) -> None:
        self._avoided[connection] = time.monotonic() + AVOIDED_S

    async def _change(self, left_s: float, failure: RLFactoryError | None) -> None:
        """Wait until there may be somebody to ask. Raises: `failure` when there is no time left."""
        if left_s <= 0:
            raise failure or InfrastructureError(f"none of {len(self._connections)} services takes sessions")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(left_s, AVOIDED_S / 4)):
                await self._changed.wait()

    # --- who is there ------------------------------------------------------------------------------------------------

    async def _follow(self, watch: AsyncIterator[Found]) -> None:
        async for found in watch:
            for address, load in found.items():
                connection = self._connections.get(address)
                if connection is None:
                    self._reconnect(self._connect(address))
                elif load is not None and connection.heard_s < time.monotonic() - FRESH_S:
                    connection.load = load
            for address in self._connections.keys() - found.keys():
                await self._lose(self._connections.pop(address))
            self._changed.set()
            self._changed = asyncio.Event()

    async def _lose(self, connection: Connection) -> None:
        self._avoided.pop(connection, None)
        await connection.aclose(gone=f"environment service at {connection.address} is gone")
        self._homes = {session: home for session, home in self._homes.items() if home is not connection}

    def _reconnect(self, connection: Connection) -> None:
        """Connect in the background, for as long as the service is named."""
        self._connections[connection.address] = connection
        self._avoided[connection] = float("inf")

        async def until_open() -> None:
            while self._connections.get(connection.address) is connection:
                with contextlib.suppress(InfrastructureError):
                    await connection.open()
                    self._avoided.pop(connection, None)
                    self._changed.set()
                    return
                await asyncio.sleep(AVOIDED_S)

        self._begin(until_open(), f"services: connect to {connection.address}")

    def _begin(self, work: Awaitable[None], name: str) -> None:
        task = asyncio.ensure_future(work)
        task.set_name(name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
