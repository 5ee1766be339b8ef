"""Android's SharedPreferences: small typed values of an app in an XML file under its data folder."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from functools import lru_cache
from typing import overload
from xml.etree import ElementTree

from rlfactory.emulators.simulator.android.system import System

Value = str | int | bool


class Preferences:
    """One preferences file. Reads are cheap: the parse is kept per content; a write replaces the file."""

    def __init__(self, system: System, path: str) -> None:
        self._files = system.files
        self._path = path

    @classmethod
    def of(cls, system: System, package: str, name: str = "") -> Preferences:
        """Return the preferences `name` of a package, by default those that Android calls the default ones."""
        return cls(system, f"/data/data/{package}/shared_prefs/{name or f'{package}_preferences'}.xml")

    def all(self) -> Mapping[str, Value]:
        """Return everything in the file; a missing or broken file is empty."""
        return _parse(self._files.read(self._path)) if self._files.is_file(self._path) else {}

    @overload
    def get(self, key: str, default: bool) -> bool: ...
    @overload
    def get(self, key: str, default: int) -> int: ...
    @overload
    def get(self, key: str, default: str) -> str: ...
    def get(self, key: str, default: Value) -> Value:
        """Return a value, or the default when there is none of the default's type."""
        value = self.all().get(key, default)
        return value if type(value) is type(default) else default

    def put(self, **values: Value | None) -> None:
        """Write values; None removes one."""
        merged = {**self.all(), **values}
        kept = {key: value for key, value in merged.items() if value is not None}
        self._files.make_dirs(posixpath.dirname(self._path))
        self._files.write(self._path, _render(kept))


@lru_cache(maxsize=256)
def _parse(data: bytes) -> Mapping[str, Value]:
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError:
        return {}
    values: dict[str, Value] = {}
    for node in root:
        name, value = node.get("name", ""), node.get("value", "")
        if node.tag == "string":
            values[name] = node.text or ""
        elif node.tag == "boolean":
            values[name] = value == "true"
        elif node.tag in {"int", "long"} and value.removeprefix("-").isdecimal():
            values[name] = int(value)
    return values


def _render(values: Mapping[str, Value]) -> bytes:
    root = ElementTree.Element("map")
    for name, value in sorted(values.items()):
        if isinstance(value, bool):
            ElementTree.SubElement(root, "boolean", name=name, value="true" if value else "false")
        elif isinstance(value, int):
            ElementTree.SubElement(root, "long", name=name, value=str(value))
        else:
            ElementTree.SubElement(root, "string", name=name).text = value
    ElementTree.indent(root, "    ")
    head = "<?xml version='1.0' encoding='utf-8' standalone='yes' ?>\n"
    return (head + ElementTree.tostring(root, encoding="unicode") + "\n").encode()
