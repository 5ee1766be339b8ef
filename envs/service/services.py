"""What the sessions of one service share beside phones: worker processes, sandboxes, connections, indexes."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Final, Protocol, Self, TypeVar, runtime_checkable


@runtime_checkable
class SharedService(Protocol):
    """Made once, used by many sessions, closed at the end. Starting what it needs is its own affair, on first use."""

    async def close(self) -> None: ...


S = TypeVar("S", bound=SharedService)


SESSION: Final[ContextVar[str]] = ContextVar("session", default="")
"""For whom a shared service is working just now: what is scarce is shared out evenly between sessions."""
TENANT: Final[ContextVar[str]] = ContextVar("tenant", default="")
"""Whose call is being answered, by its token; "" for all whose token names nobody. Tenants come before sessions."""


class Services:
    """One of each kind, made when it is first asked for. An async context manager that closes them."""

    def __init__(self, *given: SharedService) -> None:
        """Args: given: made with other settings than the defaults; of the other kinds one is made with the defaults."""
        self._made: dict[type[SharedService], SharedService] = {type(each): each for each in given}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        made, self._made = list(self._made.values()), {}
        await asyncio.gather(*(each.close() for each in made))

    def give(self, service: SharedService) -> None:
        """Let this be the service of its kind. Raises: ValueError: there is one already."""
        if type(service) in self._made:
            raise ValueError(f"there is a {type(service).__name__} already")
        self._made[type(service)] = service

    def of(self, kind: type[S]) -> S:
        """Return the service of this kind."""
        found = self._made.get(kind)
        if found is None:
            found = self._made[kind] = kind()
        assert isinstance(found, kind)
        return found
