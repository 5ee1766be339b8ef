"""Settings: the pages that are nothing but switches, of switches.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rlfactory.emulators.simulator.apps.settings.page import Heading, Item, Page, Toggle


def _item(row: str | Mapping[str, Any]) -> Item:
    return Heading(row) if isinstance(row, str) else Toggle(**row)


def _page(title: str, table: Mapping[str, Any]) -> type[Page]:
    return type(
        table["activity"], (Page,), {"name": table["activity"], "title": title, "items": [*map(_item, table["items"])]}
    )


_TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
SWITCHES: Mapping[str, type[Page]] = {title: _page(title, table) for title, table in _TABLES.items()}
"""The pages, by title."""
DARK_THEME = next(item for item in SWITCHES["Wallpaper & style"].items if item.title == "Dark theme")
