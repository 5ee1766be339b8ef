"""Tools from a file, YAML or JSON.

    tools:
      population:
        function: mytools.py:population          # path/to/file.py:name, or package.module:name; a class will do as well
        policy: {pure: true, timeout_s: 5, cache_ttl_s: 3600}
      image_search:
        qwen_agent: my_package.tools:ImageSearch  # a qwen-agent BaseTool
        options: {top_k: 3}
      second_opinion:
        model: {url: "http://127.0.0.1:8000/v1", model: qwen3, key: "${API_KEY}"}
      phone:
        environment: {address: "127.0.0.1:7000", task: settings.wifi_on}
    mcpServers:                                   # as in the configuration of other MCP clients
      time: {command: uvx, args: [mcp-server-time]}
      docs: {url: "https://example.org/mcp", headers: {Authorization: "Bearer ${TOKEN}"}}
      old:  {url: "http://127.0.0.1:9000/sse", transport: sse, tools: [lookup], prefix: old_}

`${NAME}` is filled in from the environment that the caller gives. Paths are relative to the file.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.api.user_code import import_file
from rlfactory.envs.tools.environment import EnvironmentConfig
from rlfactory.envs.tools.mcp.transport import McpConfig
from rlfactory.envs.tools.model import ModelConfig
from rlfactory.envs.tools.runtime.policy import ToolPolicy

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
KINDS: Final = ("function", "qwen_agent", "model", "environment")

C = TypeVar("C")


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionSource:
    """A function, a class, or a qwen-agent tool."""

    subject: Callable[..., Any]
    options: Mapping[str, Any]
    qwen_agent: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEntry:
    """One tool of the file."""

    name: str
    source: FunctionSource | ModelConfig | EnvironmentConfig
    policy: ToolPolicy | None
    """None: the source's usual one."""
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolsConfig:
    """What a file offers."""

    tools: tuple[ToolEntry, ...] = ()
    servers: tuple[McpConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class _Location:
    """Where in the file something stands, for messages."""

    path: tuple[str, ...] = field(default=())

    def at(self, key: object) -> _Location:
        return _Location((*self.path, str(key)))

    def wrong(self, problem: object) -> TaskError:
        return TaskError(f"{'.'.join(self.path)}: {problem}")


def load_tools(path: Path, *, environ: Mapping[str, str]) -> ToolsConfig:
    """Read a file of tools.

    Args:
        environ: what `${NAME}` stands for.

    Raises: TaskError: the file cannot be read, or something in it makes no sense; the message says where.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise TaskError(f"tools file {path}: {reason}") from None
    location = _Location((str(path),))
    mapping = _mapping(_filled(content if content is not None else {}, environ, location), location)
    _known(mapping, ("tools", "mcpServers"), location)
    tools, servers = (_mapping(mapping.get(key, {}), location.at(key)) for key in ("tools", "mcpServers"))
    return ToolsConfig(
        tools=tuple(
            _tool(name, _mapping(each, location.at(name)), location.at("tools").at(name), path.parent)
            for name, each in tools.items()
        ),
        servers=tuple(
            _server(name, _mapping(each, location.at(name)), location.at("mcpServers").at(name))
            for name, each in servers.items()
        ),
    )


def _tool(name: str, entry: Mapping[str, Any], location: _Location, folder: Path) -> ToolEntry:
    kinds = [kind for kind in KINDS if kind in entry]
    if not kinds:
        _known(entry, (*KINDS, "policy", "description", "options"), location)
    if len(kinds) != 1:
        raise location.wrong(f"one of {', '.join(KINDS)} must be given, and only one")
    (kind,) = kinds
    made_with = ("options",) if kind in ("function", "qwen_agent") else ()
    _known(entry, (kind, "policy", "description", *made_with), location)
    policy = _made(ToolPolicy, entry["policy"], location.at("policy")) if "policy" in entry else None
    description = entry.get("description", "")
    if not isinstance(description, str):
        raise location.at("description").wrong("must be a text")
    return ToolEntry(name=name, source=_source(kind, entry, location, folder), policy=policy, description=description)


def _source(
    kind: str, entry: Mapping[str, Any], location: _Location, folder: Path
) -> FunctionSource | ModelConfig | EnvironmentConfig:
    match kind:
        case "model":
            return _made(ModelConfig, entry[kind], location.at(kind))
        case "environment":
            return _made(EnvironmentConfig, entry[kind], location.at(kind))
    return FunctionSource(
        subject=_imported(entry[kind], location.at(kind), folder),
        options=_mapping(entry.get("options", {}), location.at("options")),
        qwen_agent=kind == "qwen_agent",
    )


def _server(name: str, entry: Mapping[str, Any], location: _Location) -> McpConfig:
    """Return one MCP server, as MCP clients usually write it (`type` for transport), with our additions."""
    given = dict(entry)
    if "type" in given:
        given["transport"] = {"streamable-http": "http", "streamable_http": "http"}.get(
            given["type"], given.pop("type")
        )
        given.pop("type", None)
    for key in ("args", "tools"):
        if key in given:
            if not isinstance(given[key], list) or not all(isinstance(each, str) for each in given[key]):
                raise location.at(key).wrong("must be a list of texts")
            given[key] = tuple(given[key])
    if "policy" in given:
        given["policy"] = _made(ToolPolicy, given["policy"], location.at("policy"))
    return _made(McpConfig, {"name": name, **given}, location)


def _made(kind: Callable[..., C], content: object, location: _Location) -> C:
    """Return a config object from its mapping."""
    given = _mapping(content, location)
    fields = {each.name for each in dataclasses.fields(kind) if each.init}  # type: ignore[arg-type]
    _known(given, fields, location)
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise location.wrong(str(error).replace(f"{getattr(kind, '__name__', '')}.__init__() ", "")) from None


def _imported(content: object, location: _Location, folder: Path) -> Callable[..., Any]:
    """Return what `module:name` or `file.py:name` names."""
    if not isinstance(content, str) or content.count(":") != 1:
        raise location.wrong("must be module:name or file.py:name")
    where, name = content.split(":")
    try:
        module = import_file(folder / where) if where.endswith(".py") else importlib.import_module(where)
    except TaskError as error:
        raise location.wrong(str(error).replace(str(folder / where), where, 1)) from error
    except Exception as error:
        raise location.wrong(f"cannot import {where}: {type(error).__name__}: {error}") from error
    subject = getattr(module, name, None)
    if not callable(subject):
        raise location.wrong(f"{where} has no function or class {name!r}")
    found: Callable[..., Any] = subject
    return found


def _filled(content: Any, environ: Mapping[str, str], location: _Location) -> Any:
    """Return the content with `${NAME}` filled in, everywhere in its texts."""
    match content:
        case str():
            return _VARIABLE.sub(lambda found: _variable(found[1], environ, location), content)
        case list():
            return [_filled(each, environ, location.at(index)) for index, each in enumerate(content)]
        case dict():
            return {key: _filled(value, environ, location.at(key)) for key, value in content.items()}
        case _:
            return content


def _variable(name: str, environ: Mapping[str, str], location: _Location) -> str:
    if name not in environ:
        raise location.wrong(f"the environment has no variable {name}")
    return environ[name]


def _mapping(content: object, location: _Location) -> Mapping[str, Any]:
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise location.wrong("must be a mapping of names")
    return content


def _known(given: Mapping[str, Any], known: Any, location: _Location) -> None:
    unknown = sorted(given.keys() - set(known))
    if unknown:
        raise location.wrong(f"unknown {', '.join(map(repr, unknown))}; known: {', '.join(sorted(known))}")
