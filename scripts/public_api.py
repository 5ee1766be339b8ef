"""What users may rely on: the names that docs/api.md shows, with their parameters.

`python scripts/public_api.py` publishes them, as part of a release. A test compares them with what is published.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "docs/public_api.json"
ENTRY = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)

Api = Mapping[str, list[str]]
"""Parameters by name: "NAME" where a call has to give it, else "NAME="; with "*" before it where by keyword alone."""


def offered() -> Api:
    """Return what the page shows of the code as it is."""
    found: dict[str, list[str]] = {}
    for path, options in ENTRY.findall((ROOT / "docs/api.md").read_text()):
        members = (yaml.safe_load(options) or {}).get("options", {}).get("members")
        for name, thing in _shown(path, members):
            found[name] = _parameters(thing)
            if inspect.isclass(thing):
                own = {each: value for each, value in vars(thing).items() if not each.startswith("_")}
                found |= {f"{name}.{each}": _parameters(value) for each, value in own.items()}
    return dict(sorted(found.items()))


def _shown(path: str, members: list[str] | None) -> Iterator[tuple[str, Any]]:
    thing = _resolve(path)
    if not isinstance(thing, ModuleType):
        yield path, thing
        return
    for name, value in vars(thing).items():
        if name in members if members else not name.startswith("_") and getattr(value, "__module__", "") == path:
            yield f"{path}.{name}", value


def _resolve(path: str) -> Any:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def _parameters(thing: Any) -> list[str]:
    function = thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing
    try:
        parameters = inspect.signature(function).parameters.values() if callable(function) else ()
    except ValueError:  # of a type that is not written in Python
        return []
    return [
        f"{'*' * (each.kind is each.KEYWORD_ONLY)}{each.name}{'=' * (each.default is not each.empty)}"
        for each in parameters
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


def broken(published: Api, now: Api) -> list[str]:
    """Return what a program that kept to `published` could no longer do."""
    problems = [f"{name} is gone" for name in published if name not in now]
    for name in published.keys() & now.keys():
        before, after = ({each.strip("*="): each for each in api[name]} for api in (published, now))
        lost = {
            each for each, form in before.items() if after.get(each, "") not in {form, f"{form.rstrip('=')}=", form[1:]}
        }
        wanted = {each for each, form in after.items() if each not in before and not form.endswith("=")}
        problems += [f"{name} takes {each} otherwise, or no more" for each in sorted(lost)]
        problems += [f"{name} wants {each}" for each in sorted(wanted)]
    return sorted(problems)


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(parameters)}" for name, parameters in offered().items())
    PUBLISHED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
