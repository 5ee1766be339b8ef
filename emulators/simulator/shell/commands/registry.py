"""Every command of the phone, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from rlfactory.emulators.simulator.shell.commands.android import (
    activity_manager,
    content,
    databases,
    dumpsys,
    events,
    identity,
    packages,
    platform,
    processes,
    settings,
    times,
    windows,
)
from rlfactory.emulators.simulator.shell.commands.context import Command
from rlfactory.emulators.simulator.shell.commands.files import attributes, checksums, find, listing, trees
from rlfactory.emulators.simulator.shell.commands.text import conditions, editing, filters, printing, search, text


def merged(tables: Iterable[Mapping[str, Command]]) -> Mapping[str, Command]:
    """Join command tables. Raises: ValueError: a name is in two of them."""
    joined: dict[str, Command] = {}
    for table in tables:
        doubled = joined.keys() & table.keys()
        if doubled:
            raise ValueError(f"two commands are called {', '.join(sorted(doubled))}")
        joined.update(table)
    return MappingProxyType(joined)


COMMANDS: Final = merged(
    module.COMMANDS
    for module in (
        activity_manager,
        attributes,
        checksums,
        conditions,
        content,
        databases,
        dumpsys,
        editing,
        events,
        filters,
        find,
        identity,
        listing,
        packages,
        platform,
        printing,
        processes,
        search,
        settings,
        text,
        times,
        trees,
        windows,
    )
)


def find_command(name: str) -> Command | None:
    return COMMANDS.get(name)
