"""Every command of the phone, by name: what the modules of `android`, `files` and `text` declare in their tables."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from rlfactory.emulators.simulator.shell.commands import android, files, text
from rlfactory.emulators.simulator.shell.commands.context import Command, CommandTable


def merged(tables: Iterable[CommandTable]) -> Mapping[str, Command]:
    """Join command tables. Raises: ValueError: a name is in two of them."""
    joined: dict[str, Command] = {}
    for table in tables:
        doubled = joined.keys() & table.commands.keys()
        if doubled:
            raise ValueError(f"two commands are called {', '.join(sorted(doubled))}")
        joined.update(table.commands)
    return MappingProxyType(joined)


def _tables() -> Iterable[CommandTable]:
    for package in (android, files, text):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            table = getattr(importlib.import_module(module.name), "table", None)
            if isinstance(table, CommandTable):
                yield table


COMMANDS: Final = merged(_tables())
