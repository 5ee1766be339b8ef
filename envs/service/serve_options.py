"""The options of `rlfactory serve`, which are also the keys of its file: `--phones-per-host 8` is `phones_per_host: 8`.

An option on the command line comes before its variable in the environment, that before the file, and that before the
default. A path means in the file what it means on the command line.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final

import typer

from rlfactory.emulators.sources.kinds import SERVED, SourceKind, read_kind
from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.wire.trust_options import (
    ClientAuthority,
    ServerCertificate,
    ServerKey,
    ServerPlaintext,
    TokenFile,
)

_WORDS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_SHORT: Final = reprlib.Repr()
"""Shows a wrong value: a few lines of YAML can stand for a list of any size."""
_SHORT.maxlevel, _SHORT.maxstring = 2, 100
MAX_FILE_BYTES: Final = 64 << 10
"""Of the file; the parser of YAML takes seconds for a megabyte."""
MAX_PROBLEMS: Final = 8
"""Of a file that are told at once."""
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
MAX_PHONES: Final = 4096
"""One service's, and as many spares: each takes megabytes, with any transport."""
MAX_SESSIONS: Final = 65_536
MAX_DRAIN_S: Final = 3600.0


def _take_file(context: typer.Context, path: Path | None) -> Path | None:
    """Let the values of the file stand where the command line and the environment say nothing."""
    if path is not None:
        context.default_map = _read_file(path, context)
    return path


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeOptions:
    """What a service is asked for. Numbers are checked by their options' bounds, in a file too."""

    config: Annotated[
        Path | None, typer.Option(is_eager=True, callback=_take_file, help="A file with options, YAML or JSON.")
    ] = None
    host: Annotated[str, typer.Option(help="Address to listen on; off loopback with token and TLS.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 7000
    phones: Annotated[int, typer.Option(min=0, max=MAX_PHONES, help="Phones to keep running. 0: text-only tasks.")] = 4
    spares: Annotated[
        int, typer.Option(min=0, max=MAX_PHONES, help="Phones kept warm beside them: a reset then waits for none.")
    ] = 1
    transport: Annotated[
        SourceKind,
        typer.Option(parser=read_kind(SERVED), metavar=f"[{'|'.join(SERVED)}]", help="How phones are reached."),
    ] = SourceKind.DIRECT
    phones_per_host: Annotated[
        int, typer.Option(min=1, max=64, help="Phones that share a process or a container; forks need it shared.")
    ] = 16
    serial: Annotated[list[str] | None, typer.Option(help="Transport attached: a phone; repeat it for more.")] = None
    adb_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Transport attached: of the adb server. 0: our own, for HOST:PORT.")
    ] = 5037
    image: Annotated[str, typer.Option(help="Transport docker: of the phones' containers.")] = "rlfactory-simulator"
    runtime: Annotated[
        str, typer.Option(help="Of containers, phones' and sandboxes': runsc for gVisor; empty: the engine's default.")
    ] = ""
    docker_host: Annotated[
        str, typer.Option(envvar="DOCKER_HOST", help="The Docker engine; empty: this machine's socket.")
    ] = ""
    width: Annotated[int, typer.Option(min=160, max=8192, help="Of a phone's screen, in pixels.")] = 1080
    height: Annotated[int, typer.Option(min=160, max=8192, help="Of a phone's screen, in pixels.")] = 2400
    max_sessions: Annotated[int, typer.Option(min=1, max=MAX_SESSIONS, help="Open at once.")] = 512
    quota: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT=NUMBER",
            help="The most that one tenant may have: sessions, calls, streams, under_way_bytes, unwritten_bytes, "
            "phones, sql_workers, sandboxes; repeat it for more.",
        ),
    ] = None
    connection_age_s: Annotated[float, typer.Option(min=1, help="Then a connection has to make way for a new one.")] = (
        3600.0
    )
    health_port: Annotated[
        int, typer.Option(min=-1, max=65535, help="Health checks on a port of their own. 0: a free one, -1: none.")
    ] = -1
    drain_s: Annotated[
        float, typer.Option(min=0, max=MAX_DRAIN_S, help="How long calls under way may go on at the end.")
    ] = 5.0
    journal: Annotated[
        Path | None,
        typer.Option(help="A file by which text-only sessions outlive the service."),
    ] = None
    metrics_port: Annotated[
        int, typer.Option(min=-1, max=65535, help="Prometheus metrics over HTTP. 0: a free port, -1: none.")
    ] = -1
    metrics_host: Annotated[str, typer.Option(help="Address of --metrics-port; who reaches it reads.")] = "127.0.0.1"
    otlp_endpoint: Annotated[
        str, typer.Option(envvar="OTEL_EXPORTER_OTLP_ENDPOINT", help="URL to send traces to, by OTLP; empty: none.")
    ] = ""
    log_json: Annotated[bool, typer.Option(help="Log as lines of JSON on standard error.")] = False
    tools: Annotated[Path | None, typer.Option(help="A file of tools, YAML or JSON, beside those that ship.")] = None
    tool_cache: Annotated[Path | None, typer.Option(help="Keeps answers of pure tools from run to run.")] = None
    perturb: Annotated[
        str, typer.Option(metavar="NAME[:STRENGTH],...", help="What happens to phones in use: popup,rotation:0.8; all.")
    ] = ""
    answers: Annotated[Path | None, typer.Option(help="Answers that a replay's calls of tools are given.")] = None
    tasks: Annotated[
        list[Path] | None, typer.Option(help="A Python file of tasks beside those that ship; repeat it for more.")
    ] = None
    apps: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file of apps for simulated phones, beside those that ship; repeat it for more."),
    ] = None
    android_world: Annotated[
        Path | None, typer.Option(help="A checkout of AndroidWorld: its tasks as android_world.<Task>.")
    ] = None
    android_world_python: Annotated[
        Path | None, typer.Option(help="Its interpreter; else .venv or venv in or beside the checkout.")
    ] = None
    questions: Annotated[
        Path | None, typer.Option(help="JSONL of questions (NQ, HotpotQA): the task search_qa.<its name>.")
    ] = None
    search_index: Annotated[str, typer.Option(help="For --questions: a folder made by `index`, or a URL.")] = ""
    judge: Annotated[str, typer.Option(help="For --questions: URL,MODEL of an OpenAI-compatible judge.")] = ""
    text2sql: Annotated[
        Path | None, typer.Option(help="A folder laid out as Spider or BIRD: the task text2sql.<its name>.")
    ] = None
    unsafe_local: Annotated[
        bool, typer.Option(help="Run code of models as processes of this machine, not in containers.")
    ] = False
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUITE=HOST:PORT", help="Code of this suite's sandboxes may reach this; repeat it for more."
        ),
    ] = None
    token_file: TokenFile = None
    tls_cert: ServerCertificate = None
    tls_key: ServerKey = None
    tls_client_ca: ClientAuthority = None
    plaintext: ServerPlaintext = False
    ray: Annotated[
        bool, typer.Option(help="Serve on the nodes of a Ray cluster; then --port and the like are made up.")
    ] = False
    address: Annotated[str, typer.Option(help="With --ray: of the cluster's head node; auto: this machine's.")] = "auto"
    nodes: Annotated[str, typer.Option(help="With --ray: on so many nodes; all: those that join later, too.")] = "all"
    most_nodes: Annotated[
        int, typer.Option(min=0, help="With --ray: while sessions wait, up to so many nodes of Ray's autoscaler.")
    ] = 0
    trainer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --ray: a tenant by this name, as ray://HEAD/NAME; again for more."),
    ] = None
    phones_per_node: Annotated[int, typer.Option(min=0, max=MAX_PHONES, help="With --ray: each node's phones.")] = 4
    cpus_per_node: Annotated[float, typer.Option(min=0, help="With --ray: CPUs that Ray keeps for a service.")] = 1.0
    node_resource: Annotated[
        str, typer.Option(help="With --ray: only on nodes with this custom resource of Ray's, such as kvm.")
    ] = ""
    stop_on_eof: Annotated[
        bool, typer.Option(help="Stop when standard input ends: for a program whose child the service is.")
    ] = False
    json: Annotated[bool, typer.Option(help="Say where it listens as one line of JSON.")] = False


def _read_file(path: Path, context: typer.Context) -> dict[str, Any]:
    """Return the options that a file names. Raises: TaskError: what is wrong, and where."""
    import yaml

    try:
        content = _parsed(_text(path), json_text=path.suffix == ".json")
        _check(content, context)
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise TaskError(f"{path}: nested too deeply") from None
    except (ValueError, yaml.YAMLError) as error:
        raise TaskError(f"{path}: {' '.join(str(error).split())}") from None
    return content


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe or a device may never end
        raise ValueError("not a regular file")
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
    return data.decode()


def _parsed(text: str, *, json_text: bool) -> dict[str, Any]:
    """Return what the text says. Raises: ValueError, RecursionError, YAMLError."""
    import yaml

    if json_text:
        content = json.loads(text, object_pairs_hook=_each_once)
    else:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if isinstance(node, yaml.MappingNode):
            named = _each_once((key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode))
            _require_decimals(named)
        content = loader.construct_document(node) if node is not None else {}
    if not isinstance(content, dict | NoneType):
        raise ValueError("options are written `key: value`, one a line")  # noqa: TRY004 - of a text
    return content or {}


def _each_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Join pairs. Raises: ValueError: a key that is there twice; parsers would take the last one."""
    joined: dict[str, Any] = {}
    for key, value in pairs:
        if key in joined:
            raise ValueError(f"the key {_SHORT.repr(key)} is there twice")
        joined[key] = value
    return joined


def _require_decimals(named: dict[str, Any]) -> None:
    """Raises: ValueError: YAML 1.1 would read a number otherwise than a reader does: 0700 as 448, 1:20 as 80."""
    for key, node in named.items():
        if node.tag == "tag:yaml.org,2002:int" and not _DECIMAL.fullmatch(node.value):
            raise ValueError(f"{_SHORT.repr(key)}: numbers are written in plain digits, got {_SHORT.repr(node.value)}")


def _check(content: dict[str, Any], context: typer.Context) -> None:
    """Raises: ValueError: keys that are no options, and values that their options do not take: all of them."""
    known = typing.get_type_hints(ServeOptions)
    del known["config"]
    parameters: dict[str, Any] = {str(each.name): each for each in context.command.params}
    problems = []
    for key, value in content.items():
        try:
            if key not in known:
                raise UnknownName.of("key", str(key), known)
            if key == "nodes" and type(value) is int:  # a number, or all
                content[key] = str(value)
                continue
            _require(value, known[key], key)
            parameters[key].process_value(context, value)
        except typer.BadParameter as error:
            problems.append(f"{key}: {error.message}")
        except (ValueError, UnknownName) as error:
            problems.append(str(error))
        if len(problems) == MAX_PROBLEMS:
            break
    if problems:
        raise ValueError("; ".join(problems))


def _require(value: object, wanted: Any, key: str) -> None:
    """Raises: ValueError: the value is of another type than the option, an empty path, or no finite number."""
    (kind,) = [each for each in typing.get_args(wanted) or (wanted,) if each is not NoneType]
    if typing.get_origin(kind) is list:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ValueError(f"{key} must be a list of texts, got {_SHORT.repr(value)}")
        if "" in value:
            raise ValueError(f"no text of {key} must be empty")
        return
    scalar = kind if kind in (bool, int, float) else str
    fits = (int, float) if scalar is float else scalar
    if not isinstance(value, fits) or isinstance(value, bool) is not (scalar is bool):
        raise ValueError(f"{key} must be {_WORDS[scalar]}, got {_SHORT.repr(value)}")
    if kind is Path and not value:
        raise ValueError(f"{key} must not be empty")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key} must be a finite number, got {value}")
