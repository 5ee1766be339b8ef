"""What a service may ask the Docker engine for, when it asks through the broker.

The engine can do anything to its machine, so all is refused that is not listed here: the calls that `engine` makes, on
containers and networks that carry our label, with bodies as `engine` makes them. What a rule does not name has to be
empty, and is not passed on: no mounts, no namespaces of the host, no capabilities. Only the helper that raises the
firewall has more, and its program is compared word by word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

from rlfactory.processes.docker.guard import HOST_ROOT, raised_around, raised_on_host
from rlfactory.processes.docker.seccomp import PROFILE
from rlfactory.processes.docker.spec import EGRESS_KIND, LABEL_CELL, LABEL_KIND, PREFIX

_VERSION: Final = re.compile(r"/v1\.\d+(?=/)")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_IMAGE: Final = re.compile(r"[a-z0-9]+(?:(?:[:/]|[._-]+)[A-Za-z0-9]+)*")
_OUR_NETWORK: Final = re.compile(rf"{PREFIX}-[0-9a-f]{{12}}")
_INTERFACES: Final = re.compile(r'iifname != \{ ((?:\\"[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}\\"(?:, )?)+) \}')
SHORT_ID_CHARS: Final = 12
_CALLS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "containers": {"GET": ("json", "stats", "logs"), "POST": ("start", "attach", "wait", "rename"), "DELETE": ("",)},
    "networks": {"GET": ("",), "POST": ("connect", "disconnect"), "DELETE": ("",)},
    "images": {"GET": ("json",)},
}
"""What may be asked of a thing that exists."""
_OF_A_STRANGER: Final = ("Id", "State")
"""What is shown of containers that are not ours: whether the owner of a cell lives still."""
_OF_THE_ENGINE: Final = ("Runtimes", "DockerRootDir")

_CREATED: Final = ("Image", "Cmd", "Env", "Labels", "HostConfig", "Healthcheck", "OpenStdin", "StdinOnce")
_GUARDED: Final = ("Image", "Cmd", "Labels", "HostConfig", "Entrypoint", "User")
_ATTACHED: Final = ("AttachStdin", "AttachStdout", "AttachStderr")
_HOST_CONFIG: Final = (
    *("AutoRemove", "CapDrop", "Devices", "Dns", "GroupAdd", "Init", "LogConfig", "Memory", "MemorySwap", "NanoCpus"),
    *("NetworkMode", "PidsLimit", "ReadonlyRootfs", "Runtime", "SecurityOpt", "Tmpfs"),
)
_NETWORK: Final = ("Name", "Driver", "Options", "CheckDuplicate", "Internal", "Labels")
_BRIDGE: Final = "com.docker.network.bridge"
_NETWORK_OPTIONS: Final = {f"{_BRIDGE}.name", f"{_BRIDGE}.inhibit_ipv4"}


class Refused(Exception):
    """The request is not one of ours; the message says why not, the code is HTTP's."""

    def __init__(self, why: str, *, code: int = 403) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One request, taken apart."""

    method: str
    version: str
    """Of the API: "/v1.41", or ""."""
    kind: str
    """containers, networks, images; or the call itself, where it is about none of them."""
    names: str
    """The thing that it is about; "" for none."""
    verb: str
    query: str
    body: bytes
    shown: tuple[str, ...] = ()
    """Keys of the answer that are passed on; none: all of it."""

    @classmethod
    def of(cls, method: str, target: str, body: bytes) -> Self:
        """Raises: Refused: it makes no sense."""
        url = urlsplit(target)
        version = _VERSION.match(url.path)
        parts = url.path[version.end() if version else 0 :].strip("/").split("/")
        kind, names, verb = parts[0], "", ""
        if kind == "images":
            names, verb = unquote("/".join(parts[1:-1])), parts[-1]
        elif len(parts) == 2 and parts[1] in ("create", "json"):
            verb = parts[1]
        elif len(parts) in (2, 3):
            names, verb = parts[1], parts[2] if len(parts) == 3 else ""
        elif len(parts) > 3:
            raise Refused(f"{method} {url.path[:200]}")
        if names and not (_IMAGE if kind == "images" else _NAME).fullmatch(names):
            raise Refused(f"a name like {names[:80]!r}")
        return cls(
            method=method,
            version=version[0] if version else "",
            kind=kind,
            names=names,
            verb=verb,
            query=url.query,
            body=body,
        )

    @property
    def target(self) -> str:
        path = "/".join(part for part in (self.version, self.kind, quote(self.names), self.verb) if part)
        return f"/{path.lstrip('/')}" + (f"?{self.query}" if self.query else "")

    @property
    def also(self) -> str:
        """The other container that it is about: that joins a network, or whose network a helper shares; "" for none.

        Raises: Refused: its body makes no sense.
        """
        said = self.said()
        if self.kind == "networks" and self.verb in ("connect", "disconnect"):
            name = said.get("Container")
        elif self.kind == "containers" and self.verb == "create":
            mode = str(_mapping(said.get("HostConfig")).get("NetworkMode"))
            name = mode.removeprefix("container:") if mode.startswith("container:") else ""
        else:
            return ""
        if name and not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise Refused("a name that no container has")
        return name or ""

    def saying(self, said: Mapping[str, Any]) -> Ask:
        """Return this request with another body."""
        return replace(self, body=json.dumps(said).encode())

    def said(self) -> Mapping[str, Any]:
        """Return the body. Raises: Refused: it is no JSON object."""
        try:
            return _mapping(json.loads(self.body)) if self.body else {}
        except (ValueError, RecursionError):
            raise Refused("a body that is no JSON") from None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What is granted beyond containers of our own images."""

    images: tuple[str, ...] = (f"{PREFIX}-*",)
    """Patterns of the images that containers may be made of."""
    service: str = ""
    """Name or id of the container that asks, which may join its cells' networks; "": it does not run in one."""
    devices: tuple[str, ...] = ()
    """Of the host, such as /dev/kvm."""
    privileged: tuple[str, ...] = ()
    """Patterns of images whose containers may be privileged, as redroid's have to be: they can do anything."""
    runtime: str = ""
    """Such as gVisor's `runsc`: the only one that may be asked for beside the engine's default."""
    max_containers: int = 512

    def makes_container(self, ask: Ask) -> bool:
        return (ask.method, ask.kind, ask.names, ask.verb) == ("POST", "containers", "", "create")

    def granted(self, ask: Ask, found: Mapping[str, Any] | None, also: Mapping[str, Any] | None) -> Ask:
        """Return what is passed on.

        Args:
            found: what the engine says of the thing that the request names; None: nothing.
            also: the same of `Ask.also`.

        Raises: Refused.
        """
        if not ask.names:
            return self._granted_of_nothing(ask, also)
        if ask.verb not in _CALLS.get(ask.kind, {}).get(ask.method, ()):
            raise Refused(f"{ask.method} /{ask.kind}/.../{ask.verb}")
        if ask.kind == "images":
            _require(_matches(ask.names, self.images), f"the image {ask.names[:100]!r}")
            return ask
        if found is None:
            raise Refused(f"no such thing: {ask.names[:80]}", code=404)
        if ask.kind == "containers" and (ask.method, ask.verb) == ("GET", "json") and not _is_ours(found):
            return replace(ask, shown=_OF_A_STRANGER)
        _require(_is_ours(found), f"{ask.kind[:-1]} {ask.names[:80]}, which is not ours")
        if ask.verb == "rename":
            name = parse_qs(ask.query).get("name", [""])[0]
            _require(name.startswith(f"{PREFIX}-"), f"the name {name[:80]!r}")
        if ask.verb in ("connect", "disconnect"):
            _require(
                also is not None and (_is_ours(also) or self._is_the_service(also)),
                "a container that is not ours in a network",
            )
            ask = ask.saying(_only(ask.said(), ("Container", "Force"), "a connection"))
        return replace(ask, names=str(found["Id"]))

    def _granted_of_nothing(self, ask: Ask, also: Mapping[str, Any] | None) -> Ask:
        match ask.method, ask.kind, ask.verb:
            case "GET", "version" | "_ping", "":
                return ask
            case "GET", "info", "":
                return replace(ask, shown=_OF_THE_ENGINE)
            case "GET", "containers", "json":
                _require(_filters_ours(ask.query), "a list of all containers")
                return ask
            case "GET", "networks", "":
                return ask
            case "POST", "networks", "create":
                return ask.saying(_network(ask.said()))
            case "POST", "containers", "create":
                return ask.saying(self._container(ask.said(), parse_qs(ask.query), also))
        raise Refused(f"{ask.method} /{ask.kind[:80]}/{ask.verb}")

    def _container(
        self, said: Mapping[str, Any], query: Mapping[str, list[str]], also: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Return the container. Raises: Refused: the machine or others would not be safe from it."""
        labels, host, image = _mapping(said.get("Labels")), _mapping(said.get("HostConfig")), str(said.get("Image"))
        _require(LABEL_CELL in labels, "a container without our label")
        _require(_matches(image, self.images), f"a container of the image {image[:100]!r}")
        if labels.get(LABEL_KIND) == "guard":
            return self._guard(said, host, also)
        name = query.get("name", [""])[0]
        _require(name.startswith(f"{PREFIX}-"), f"the name {name[:80]!r}")
        if host.get("Privileged"):
            _require(_matches(image, self.privileged), "a privileged container")
            host = _only(host, (*_HOST_CONFIG, "Privileged"), "a container's host")
        else:
            host = _only(host, _HOST_CONFIG, "a container's host")
            _require(host.get("CapDrop") == ["ALL"], "a container with capabilities")
            options = host.get("SecurityOpt")
            _require(options in (["no-new-privileges"], ["no-new-privileges", f"seccomp={PROFILE}"]), "other rights")
        self._check_share(host)
        mode = str(host.get("NetworkMode"))
        outside = mode == "bridge" and labels.get(LABEL_KIND) == EGRESS_KIND and image == f"{PREFIX}-{EGRESS_KIND}"
        _require(mode == "none" or outside or bool(_OUR_NETWORK.fullmatch(mode)), f"the network {mode[:80]!r}")
        return {**_only(said, (*_CREATED, *_ATTACHED), "a container"), "HostConfig": host}

    def _check_share(self, host: Mapping[str, Any]) -> None:
        """Raises: Refused: a container may take more of its machine than it is meant to."""
        _require(bool(host.get("Memory") and host.get("PidsLimit")), "a container without limits")
        _require(host.get("Runtime") in (None, "", self.runtime), f"the runtime {str(host.get('Runtime'))[:80]!r}")
        _require(set(_mapping(host.get("Tmpfs"))) <= {"/tmp"}, "a file system in memory outside of /tmp")
        kept = _only(_mapping(host.get("LogConfig")), ("Type", "Config"), "a log")
        _require(kept.get("Type", "json-file") == "json-file", "a log elsewhere")
        devices = [_mapping(each) for each in host.get("Devices") or ()]
        for each in devices:
            _only(each, ("PathOnHost", "PathInContainer", "CgroupPermissions"), "a device")
            path = str(each.get("PathOnHost"))
            _require(path in self.devices and len(each) == 3, f"the device {path[:80]!r}")
        _require(len(host.get("GroupAdd") or ()) <= len(devices), "a group without a device")

    def _guard(
        self, said: Mapping[str, Any], host: Mapping[str, Any], also: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Return the container. Raises: Refused: it is not, to the letter, the helper that raises the firewall."""
        what = "another program as the firewall's helper"
        said = _only(said, (*_GUARDED, *_ATTACHED), what)
        host = _only(host, ("NetworkMode", "CapAdd", "Binds"), what)
        _require(said.get("Entrypoint") == ["chroot"] and said.get("User") == "0", what)
        _require(host.get("CapAdd") == ["NET_ADMIN"] and host.get("Binds") == [f"/:{HOST_ROOT}:ro"], what)
        command = said.get("Cmd") or [""]
        script = str(command[-1])
        if host.get("NetworkMode") == "host":
            _require(script == raised_on_host(), what)
        else:
            named = _INTERFACES.search(script)
            names = named[1].replace('\\"', "").split(", ") if named else []
            _require(script == raised_around(names) and self._is_the_service(also), what)
        _require(command[:-1] == [HOST_ROOT, "sh", "-c"], what)
        return {**said, "HostConfig": host}

    def _is_the_service(self, found: Mapping[str, Any] | None) -> bool:
        if not (self.service and found):
            return False
        by_id = len(self.service) >= SHORT_ID_CHARS and str(found.get("Id")).startswith(self.service)
        return by_id or found.get("Name") == f"/{self.service}"


def _network(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the network. Raises: Refused: it leads out, or is not ours."""
    said = _only(said, _NETWORK, "a network")
    _require(bool(_OUR_NETWORK.fullmatch(str(said.get("Name")))), "the name of a network")
    _require(said.get("Internal") is True and said.get("Driver") == "bridge", "a network that leads out")
    _require(LABEL_CELL in _mapping(said.get("Labels")), "a network without our label")
    _require(set(_mapping(said.get("Options"))) <= _NETWORK_OPTIONS, "options of a network")
    return said


def _is_ours(found: Mapping[str, Any]) -> bool:
    """Tell whether a container or a network bears our label."""
    return LABEL_CELL in (found.get("Labels") or _mapping(found.get("Config")).get("Labels") or {})


def _filters_ours(query: str) -> bool:
    try:
        labels = json.loads(parse_qs(query).get("filters", ["{}"])[0]).get("label", [])
    except (ValueError, AttributeError, RecursionError):
        return False
    return isinstance(labels, list | dict) and any(str(each).partition("=")[0] == LABEL_CELL for each in labels)


def _matches(image: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(image, pattern) or fnmatchcase(image, f"{pattern}:*") for pattern in patterns)


def _only(said: Mapping[str, Any], allowed: Collection[str], what: str) -> dict[str, Any]:
    """Return the allowed entries. Raises: Refused: there are others that say something.

    The SDK sends empty ones for what it was not asked for. They are left out: the engine does not tell `CapDrop` from
    `capdrop`, and would take the last.
    """
    filled = {key: value for key, value in said.items() if value not in (None, False, "", 0, [], {})}
    if more := sorted(set(filled) - set(allowed)):
        raise Refused(f"{what} with {', '.join(more)[:200]}")
    return filled


def _require(holds: bool, otherwise: str) -> None:
    """Raises: Refused: it does not hold."""
    if not holds:
        raise Refused(otherwise)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
