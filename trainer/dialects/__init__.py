"""How each model family writes actions. One module per family; `get_dialect` finds them by name."""

from __future__ import annotations

from types import MappingProxyType

from envs.errors import UnknownName
from trainer.dialects.dialect import Dialect, Parsed, ParseError, Unrenderable
from trainer.dialects.qwen import QWEN2_5_VL, QWEN3_VL

DIALECTS = MappingProxyType({dialect.name: dialect for dialect in (QWEN2_5_VL, QWEN3_VL)})

__all__ = ["DIALECTS", "Dialect", "ParseError", "Parsed", "Unrenderable", "get_dialect"]


def get_dialect(name: str) -> Dialect:
    """Return a dialect. Raises: UnknownName: there is none; the message lists close names."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise UnknownName.of("dialect", name, DIALECTS) from None
