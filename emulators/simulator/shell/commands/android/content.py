"""content: queries and changes of content providers, and of the settings tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.simulator.android.content import ContentProvider, Row, Selection, UnsupportedUriError
from rlfactory.emulators.simulator.android.radios import put_setting
from rlfactory.emulators.simulator.machine.settings_tables import NAMESPACES
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError

table = CommandTable()
_EMPTY_AUTHORITIES: Final = frozenset(
    {"call_log", "com.android.calendar", "downloads", "media", "mms", "mms-sms", "sms", "telephony", "user_dictionary"}
)
"""Providers every phone has; without an app that owns one, it holds no rows."""


@dataclass(kw_only=True, slots=True)
class _Request:
    verb: str
    uri: str = ""
    projection: tuple[str, ...] = ()
    where: str = ""
    arguments: list[str] = field(default_factory=list)
    sort: str = ""
    values: dict[str, object] = field(default_factory=dict)

    @property
    def selection(self) -> Selection:
        return Selection(where=self.where, arguments=tuple(self.arguments), sort=self.sort)


@table.command("content")
def _content(context: Context) -> int:
    request = _parsed(context.args)
    scheme, _, rest = request.uri.partition("://")
    authority, _, path = rest.partition("/")
    if scheme != "content" or not authority:
        raise UsageError(f"bad --uri '{request.uri}'")
    path = path.split("?")[0].strip("/")
    provider = _provider(context, authority)
    failure = ""
    if provider is None:
        failure = f"java.lang.IllegalStateException: Could not find provider: {authority}"
    else:
        try:
            _call(context, provider, request, path)
        except UnsupportedUriError as error:
            failure = f"java.lang.IllegalArgumentException: Unknown URI: {error}"
        except sqlite3.Error as error:
            failure = f"android.database.sqlite.SQLiteException: {error}"
    return context.complain(f"Error while accessing provider:{authority}\n{failure}") if failure else 0


def _parsed(args: list[str]) -> _Request:
    if not args or args[0] not in {"query", "insert", "update", "delete", "gettype", "call", "read"}:
        raise UsageError("usage: content <query|insert|update|delete> --uri URI [...]")
    request = _Request(verb=args[0])
    words = args[1:]
    while words:
        option = words.pop(0)
        if not words:
            raise UsageError(f"missing argument to {option}")
        value = words.pop(0)
        match option:
            case "--uri" | "--where" | "--sort":
                setattr(request, option[2:], value)
            case "--projection":
                request.projection = tuple(value.split(":"))
            case "--arg":
                request.arguments.append(value)
            case "--bind":
                name, bound = _bound(value)
                request.values[name] = bound
            case "--user" | "--method" | "--extra":
                pass
            case _:
                raise UsageError(f"Unsupported argument: {option}")
    return request


_READ: Final[Mapping[str, Callable[[str], object]]] = {
    **{"s": str, "b": lambda value: int(value == "true"), "n": lambda _: None},
    **{"i": int, "l": int, "f": float, "d": float},
}
"""Type of a binding -> how its value is read."""


def _bound(text: str) -> tuple[str, object]:
    """Read `column:type:value`; the value may hold colons."""
    name, _, rest = text.partition(":")
    kind, separator, value = rest.partition(":")
    if not name or not separator:
        raise UsageError(f"Binding not well formed: {text}")
    if kind not in _READ:
        raise UsageError(f"Unsupported type: {kind}")
    try:
        return name, _READ[kind](value)
    except ValueError:
        raise UsageError(f"Binding not well formed: {text}") from None


def _provider(context: Context, authority: str) -> ContentProvider | None:
    found = context.phone.catalog.provider(authority)
    if found is not None and found[0].package in context.state.packages.installed:
        return found[1]
    if authority == "settings":
        return _SettingsProvider(context)
    return _EmptyProvider() if authority in _EMPTY_AUTHORITIES else None


def _call(context: Context, provider: ContentProvider, request: _Request, path: str) -> None:
    system = context.phone.system
    match request.verb:
        case "query":
            rows = provider.query(system, path, request.projection, request.selection)
            for number, row in enumerate(rows):
                cells = ", ".join(f"{name}={_cell(value)}" for name, value in row.items())
                context.line(f"Row: {number} {cells}")
            if not rows:
                context.line("No result found.")
            return
        case "insert":
            provider.insert(system, path, request.values)
        case "update":
            provider.update(system, path, request.values, request.selection)
        case "delete":
            provider.delete(system, path, request.selection)
        case "gettype":
            context.line("Result: null")
        case _:
            raise UnsupportedUriError(f"{request.verb} is not supported")
    context.phone.invalidate()


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return "BLOB" if isinstance(value, bytes) else str(value)


class _EmptyProvider(ContentProvider):
    authorities = tuple(sorted(_EMPTY_AUTHORITIES))

    def query(self, system: object, path: str, projection: Sequence[str], selection: Selection) -> list[Row]:
        return []

    def delete(self, system: object, path: str, selection: Selection) -> int:
        return 0


class _SettingsProvider(ContentProvider):
    """`content://settings/<namespace>[/<key>]`: what scripts of older Androids use."""

    authorities = ("settings",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def query(self, system: object, path: str, projection: Sequence[str], selection: Selection) -> list[Row]:
        namespace, key = self._split(path)
        wanted = key or _named(selection.where)
        rows: list[Row] = [
            {"_id": number, "name": name, "value": value}
            for number, (name, value) in enumerate(self._context.state.settings.items(namespace), 1)
            if not wanted or name == wanted
        ]
        return [{name: row.get(name) for name in projection} for row in rows] if projection else rows

    def insert(self, system: object, path: str, values: Row) -> int:
        namespace, _ = self._split(path)
        put_setting(self._context.state, namespace, str(values.get("name", "")), str(values.get("value", "")))
        return 1

    def update(self, system: object, path: str, values: Row, selection: Selection) -> int:
        namespace, key = self._split(path)
        put_setting(self._context.state, namespace, key or _named(selection.where), str(values.get("value", "")))
        return 1

    def delete(self, system: object, path: str, selection: Selection) -> int:
        namespace, key = self._split(path)
        return int(self._context.state.settings.delete(namespace, key or _named(selection.where)))

    def _split(self, path: str) -> tuple[str, str]:
        namespace, _, key = path.partition("/")
        if namespace not in NAMESPACES:
            raise UnsupportedUriError(f"settings/{path}")
        return namespace, key


def _named(where: str) -> str:
    """Return K of a selection like `name='K'`."""
    name, _, value = where.partition("=")
    return value.strip().strip("'\"") if name.strip() == "name" else ""
