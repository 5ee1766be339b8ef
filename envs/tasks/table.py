"""Tables of data that lie beside the code that reads them, in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C, where it is there: tables are read whenever tasks are listed."""


def read_table(module: str, name: str) -> Any:
    """Return the table `name` in the folder of a module, given as its `__file__`."""
    return yaml.load(Path(module).with_name(name).read_bytes(), Loader=LOADER)


def frozen(value: Any) -> Any:
    """Return a table with its lists as tuples, all the way down."""
    match value:
        case list():
            return tuple(frozen(each) for each in value)
        case dict():
            return {key: frozen(each) for key, each in value.items()}
        case _:
            return value
