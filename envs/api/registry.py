"""A list of named things: explicit, without duplicates; a miss says what is close."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from rlfactory.envs.api.errors import UnknownName

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things of one kind."""

    def __init__(self, kind: str, entries: Iterable[tuple[str, T]] = ()) -> None:
        """Raises: ValueError: a name is given twice."""
        self._kind = kind
        self._entries: dict[str, T] = {}
        for name, entry in entries:
            self.add(name, entry)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        """Yield the names, sorted."""
        return iter(sorted(self._entries))

    def add(self, name: str, entry: T) -> None:
        """Raises: ValueError: the name is taken."""
        if name in self._entries:
            raise ValueError(f"two entries are called {name!r}: {self._entries[name]!r} and {entry!r}")
        self._entries[name] = entry

    def get(self, name: str) -> T:
        """Raises: UnknownName: there is none of this name; the message lists close ones."""
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownName.of(self._kind, name, self._entries) from None
