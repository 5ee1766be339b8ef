"""The phone's own words in another language, and back: what an English screen of the simulated phone says in German."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import yaml

from rlfactory.emulators.device.ui import UiNode

LANGUAGE_KEY: Final = "system_locales"
"""In the settings table `system`, as on Android: "de-DE,en-US"."""


@lru_cache(maxsize=64)
def words_of(locales: str) -> Mapping[str, str]:
    """Return what English words are called in the first of these locales; empty for English and whatever is unknown."""
    if locales.partition(",")[0].partition("-")[0] != "de":
        return {}
    words: dict[str, str] = yaml.safe_load(Path(__file__).with_name("german.yaml").read_text(encoding="utf-8"))
    return words


@cache
def _english() -> Mapping[str, str]:
    return {german: english for english, german in words_of("de").items()}


def in_english(node: UiNode) -> UiNode:
    """Return a tree as it reads in English: for programs that look for words, whatever the phone's language is."""
    english = _english()
    texts = {name: english.get(said, said) for name in ("text", "description", "hint") if (said := getattr(node, name))}
    return replace(node, **texts, children=tuple(map(in_english, node.children)))
