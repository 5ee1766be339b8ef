"""What apps offer to the phone's shell besides screens: content providers and broadcast receivers.

An `App` lists its providers and receivers; the phone finds a provider by the authority of a `content://` URI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.android.app import Intent
    from rlfactory.emulators.simulator.android.system import System

Row = Mapping[str, object]
"""Column -> str, int, float, bytes or None (printed as NULL), in the provider's column order."""


class UnsupportedUriError(ValueError):
    """No provider answers for this URI, or the provider does not know its path or the operation."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What a query, update or deletion applies to: SQL fragments as `content` hands them over."""

    where: str = ""
    arguments: tuple[str, ...] = ()
    sort: str = ""


class ContentProvider:
    """Rows behind a `content://<authority>/<path>` URI. Stateless: data lives in a database of the file tree.

    `path` is the URI's part after the authority, without slashes at the ends ("phones", "people/3", "").
    Raises: UnsupportedUriError: unknown path or operation; sqlite3.Error: wrong column or selection.
    """

    authorities: ClassVar[tuple[str, ...]]

    def query(self, system: System, path: str, projection: Sequence[str], selection: Selection) -> list[Row]:
        """Return the rows; an empty projection asks for all columns."""
        raise UnsupportedUriError(f"{self.authorities[0]}/{path} cannot be queried")

    def insert(self, system: System, path: str, values: Row) -> int:
        """Add a row and return its `_id`."""
        raise UnsupportedUriError(f"{self.authorities[0]}/{path} takes no rows")

    def update(self, system: System, path: str, values: Row, selection: Selection) -> int:
        """Change rows and return how many."""
        raise UnsupportedUriError(f"{self.authorities[0]}/{path} cannot be updated")

    def delete(self, system: System, path: str, selection: Selection) -> int:
        """Remove rows and return how many."""
        raise UnsupportedUriError(f"{self.authorities[0]}/{path} cannot be deleted from")


@dataclass(frozen=True, kw_only=True)
class BroadcastResult:
    """What `am broadcast` prints: `Broadcast completed: result=<code>[, data="<data>"]`."""

    code: int = 0
    data: str | None = None


class Receiver(Protocol):
    """Answers a broadcast; may change the phone through `system`."""

    def __call__(self, system: System, intent: Intent) -> BroadcastResult: ...
