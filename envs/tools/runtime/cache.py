"""Answers of pure tools, kept in memory and, where a file is named, on disk for other runs."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rlfactory.envs.api.types import JSON

log = logging.getLogger(__name__)


def cache_key(tool: str, version: str, identity: str, arguments: Mapping[str, JSON]) -> str:
    """Return the key of one call: equal for equal arguments, whatever their order."""
    text = json.dumps([tool, version, identity, arguments], sort_keys=True, separators=(",", ":"), default=dict)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheConfig:
    max_bytes: int = 64 << 20
    """Of answers in memory; those not asked for longest go first."""
    path: Path | None = None
    """An SQLite file; None: memory only. Several services of one host may share it."""
    max_rows: int = 1_000_000
    """On disk; the oldest go first, when the cache is opened."""

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_rows < 1:
            raise ValueError("max_bytes and max_rows must be at least 1")


@dataclass(frozen=True, slots=True)
class _Kept:
    text: str
    expires_s: float
    size: int


class ResultCache:
    """An async context manager. Its disk is worked by one thread; a disk that fails is left out, never an error."""

    def __init__(self, config: CacheConfig | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.config = config or CacheConfig()
        """Why the disk is left out, if it is."""
        self._clock = clock
        self._memory: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0
        self._disk: sqlite3.Connection | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Self:
        if self.config.path is not None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tool-cache")
            await self._on_disk(self._open)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._thread is not None:
            await self._on_disk(self._close)
            self._thread.shutdown(wait=False)
            self._thread = None

    def in_memory(self, key: str) -> str | None:
        """Return the answer if it is at hand."""
        kept = self._memory.get(key)
        if kept is None:
            return None
        if kept.expires_s <= self._clock():
            self._forget(key)
            return None
        self._memory.move_to_end(key)
        return kept.text

    async def get(self, key: str) -> str | None:
        """Return the answer, from disk if it is not in memory."""
        text = self.in_memory(key)
        if text is not None or self._thread is None:
            return text
        found = await self._on_disk(lambda: self._read(key))
        if found is None or found[1] <= self._clock():
            return None
        self._keep(key, *found)
        return found[0]

    async def put(self, key: str, text: str, *, ttl_s: float) -> None:
        """Keep an answer for so long."""
        expires_s = self._clock() + ttl_s
        self._keep(key, text, expires_s)
        if self._thread is not None:
            await self._on_disk(lambda: self._write(key, text, expires_s))

    def _keep(self, key: str, text: str, expires_s: float) -> None:
        self._forget(key)
        size = len(text) * 2 + 200
        self._memory[key] = _Kept(text, expires_s, size)
        self._bytes += size
        while self._bytes > self.config.max_bytes:
            self._forget(next(iter(self._memory)))

    def _forget(self, key: str) -> None:
        kept = self._memory.pop(key, None)
        if kept is not None:
            self._bytes -= kept.size

    # --- on the disk's thread ----------------------------------------------------------------------------------------

    async def _on_disk(self, work: Callable[[], tuple[str, float] | None]) -> tuple[str, float] | None:
        assert self._thread is not None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            log.warning("answers are not kept on disk: %s: %s", type(error).__name__, error)
            return None

    def _open(self) -> None:
        path = self.config.path
        assert path is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        disk = sqlite3.connect(path, timeout=5.0, check_same_thread=False, isolation_level=None)
        self._disk = disk
        disk.execute("PRAGMA journal_mode = WAL")
        disk.execute("PRAGMA synchronous = OFF")  # what a crash takes away is only asked for again
        disk.execute(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, text TEXT NOT NULL, expires_s REAL NOT NULL)"
            " WITHOUT ROWID"
        )
        disk.execute("DELETE FROM answers WHERE expires_s <= ?", (self._clock(),))
        disk.execute(
            "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY expires_s DESC LIMIT -1 OFFSET ?)",
            (self.config.max_rows,),
        )

    def _read(self, key: str) -> tuple[str, float] | None:
        if self._disk is None:
            return None
        row = self._disk.execute("SELECT text, expires_s FROM answers WHERE key = ?", (key,)).fetchone()
        return (str(row[0]), float(row[1])) if row else None

    def _write(self, key: str, text: str, expires_s: float) -> None:
        if self._disk is not None:
            with contextlib.suppress(UnicodeEncodeError):  # half a surrogate pair stays in memory
                self._disk.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, text, expires_s))

    def _close(self) -> None:
        if self._disk is not None:
            self._disk.close()
            self._disk = None
