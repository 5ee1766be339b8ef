"""How each model family writes actions. One module per family; `get_dialect` finds them by name."""

from __future__ import annotations

from types import MappingProxyType

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.user_code import import_name, installed
from rlfactory.trainer.dialects.androidlab import AndroidLab
from rlfactory.trainer.dialects.androidworld import AndroidWorld
from rlfactory.trainer.dialects.autoglm import AutoGlm
from rlfactory.trainer.dialects.deepseek import DEEPSEEK_V3, DEEPSEEK_V3_1
from rlfactory.trainer.dialects.dialect import Dialect, Parsed, ParseError, Unrenderable
from rlfactory.trainer.dialects.gpt_oss import GPT_OSS
from rlfactory.trainer.dialects.llama import LLAMA3
from rlfactory.trainer.dialects.mai_ui import MaiUi
from rlfactory.trainer.dialects.mistral import MISTRAL
from rlfactory.trainer.dialects.qwen import GUI_OWL, QWEN2_5_VL, QWEN3_VL
from rlfactory.trainer.dialects.qwen_text import QWEN2_5, QWEN3, SEARCH_R1
from rlfactory.trainer.dialects.ui_tars import UI_TARS, UI_TARS_1_5

_TOOL_FAMILIES: tuple[Dialect, ...] = (QWEN3, QWEN2_5, LLAMA3, MISTRAL, DEEPSEEK_V3, DEEPSEEK_V3_1, GPT_OSS, SEARCH_R1)
_PHONE_FAMILIES: tuple[Dialect, ...] = (
    *(QWEN2_5_VL, QWEN3_VL, GUI_OWL),
    *(MaiUi(), UI_TARS_1_5, UI_TARS, AutoGlm(), AndroidLab(), AndroidWorld()),
)
DIALECTS = MappingProxyType({dialect.name: dialect for dialect in (*_TOOL_FAMILIES, *_PHONE_FAMILIES)})

__all__ = ["DIALECTS", "Dialect", "ParseError", "Parsed", "Unrenderable", "get_dialect"]


def get_dialect(name: str) -> Dialect:
    """Return a dialect: of ours, of an installed package (entry point group `rlfactory.dialects`), or `file.py:NAME`.

    Raises:
        UnknownName: there is none; the message lists close names.
        TaskError: the file cannot be imported, or what is named of it is no dialect, or nothing is.
    """
    if found := DIALECTS.get(name):
        return found
    if name.endswith(".py"):
        raise TaskError(f"dialect {name!r} is a file; say which dialect of it: {name}:NAME")
    if ".py:" in name:
        dialect = import_name(name)
    else:
        others = installed("rlfactory.dialects")
        if name not in others:
            raise UnknownName.of("dialect", name, {*DIALECTS, *others})
        dialect = others[name]
    dialect = dialect() if isinstance(dialect, type) else dialect
    if not isinstance(dialect, Dialect):
        lacking = ", ".join(each for each in dir(Dialect) if each[0] != "_" and not hasattr(dialect, each))
        raise TaskError(f"{name} is no dialect: it lacks {lacking} of rlfactory.trainer.dialects.Dialect")
    return dialect
