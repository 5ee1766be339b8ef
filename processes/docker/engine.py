"""The Docker engine, by its SDK: this and `connection` know it. All calls block; asyncio callers use a thread.

A *cell* is a container with an internal network of its own: nothing in it has a route out, and no cell can reach
another. The host reaches it by its address; a service that runs in a container joins the networks of its cells.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import LogConfig

from rlfactory.processes.docker.connection import DEFAULT_URL, connect, told
from rlfactory.processes.docker.guard import HOST_ROOT, OWN_INTERFACES, bridge_name, raised_around, raised_on_host
from rlfactory.processes.docker.owner import Owner
from rlfactory.processes.docker.seccomp import PROFILE
from rlfactory.processes.docker.spec import (
    EGRESS_IMAGE,
    EGRESS_KIND,
    EGRESS_PORT,
    LABEL_CELL,
    LABEL_KIND,
    LABEL_OWNER,
    LABEL_PHONES,
    LABEL_SCOPE,
    PREFIX,
    STARTING,
    CellInfo,
    CellSpec,
    Scope,
)
from rlfactory.processes.errors import EngineError, ImageMissing


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A container that runs, in its network."""

    id: str
    name: str
    label: str
    """Value of `rlfactory.cell` on everything that belongs to it."""
    address: str
    """"" without a network."""
    stdio: socket.socket | None
    """Its standard input and outputs, when it was made attached: the engine's multiplexed stream."""


class DockerEngine:
    """One Docker engine. A context manager that closes its connections."""

    def __init__(self, url: str = DEFAULT_URL, *, runtime: str = "", timeout_s: float = 60.0) -> None:
        """Args: runtime: of the containers, such as gVisor's `runsc`; "" is the engine's default.

        Raises: EngineUnavailable: nothing answers there. EngineError: it has no such runtime.
        """
        self._docker = connect(url, timeout_s=timeout_s)
        self._api = self._docker.api
        self._runtime = runtime
        if runtime and runtime not in (known := self.runtimes()):
            self.close()
            raise EngineError(f"the Docker engine has no runtime {runtime!r}; it has: {', '.join(known)}")
        self._owner = Owner.this_process()
        self._self_id = self._own_container()
        self._guarded = False
        self._guarding = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._docker.close()

    # --- making

    def make_cell(self, spec: CellSpec, *, attach: bool = False) -> Cell:
        """Start a container in a network of its own; nothing is left when that fails.

        With `attach` its standard input is ours: when we go, the engine closes it, and removes the container once it
        has ended.

        Raises: ImageMissing, EngineError.
        """
        labels = self._labels(spec.kind, spec.scope, spec.phones)
        token = labels[LABEL_CELL]
        prefix = STARTING if spec.scope is Scope.STANDING else f"{PREFIX}-{spec.kind}-"
        name = f"{prefix}{token}"
        with told(f"starting {spec.image}"):
            self.require_image(spec.image)
            try:
                return self._make(spec, name, f"{PREFIX}-{token}", labels, attach=attach)
            except BaseException:
                self.remove_cell(token)
                raise

    def _labels(self, kind: str, scope: Scope, phones: int = 0) -> dict[str, str]:
        """Return what everything of a new cell carries: by these it is found and reaped."""
        return {
            LABEL_CELL: uuid.uuid4().hex[:12],
            LABEL_KIND: kind,
            LABEL_SCOPE: str(scope),
            LABEL_OWNER: str(self._owner),
            LABEL_PHONES: str(phones),
        }

    def _make(self, spec: CellSpec, name: str, network: str, labels: dict[str, str], *, attach: bool) -> Cell:
        options = {"com.docker.network.bridge.name": bridge_name(labels[LABEL_CELL])}
        if self._self_id:  # we join the network ourselves, so the host needs no address in it
            options["com.docker.network.bridge.inhibit_ipv4"] = "true"
        if spec.network:
            self._api.create_network(
                network, driver="bridge", internal=True, options=options, labels=labels, check_duplicate=True
            )
        limits = spec.limits
        hardening = (
            {"privileged": True}
            if spec.privileged
            else {"cap_drop": ["ALL"], "security_opt": _no_more(ours=spec.read_only), "read_only": spec.read_only}
        )
        container = self._api.create_container(
            spec.image,
            list(spec.command),
            name=name,
            labels=labels,
            environment={**spec.environment, **self._way_out(spec, name, network, labels)},
            detach=not attach,
            stdin_open=attach,
            healthcheck={"test": ["NONE"]} if attach else None,  # a process each time; whoever holds it asks it anyway
            host_config=self._api.create_host_config(
                init=spec.init,
                runtime=self._runtime or None,
                auto_remove=attach,
                network_mode=network if spec.network else "none",
                dns=["127.0.0.1"],  # else older engines look up names of the world for it (CVE-2024-29018)
                mem_limit=f"{limits.memory_mb}m",
                memswap_limit=f"{limits.memory_mb}m",
                pids_limit=limits.pids,
                nano_cpus=int(limits.cpus * 1e9) or None,
                tmpfs={"/tmp": f"size={limits.tmp_mb}m,mode=1777,nosuid,nodev,noexec"},
                devices=[f"{device}:{device}:rwm" for device in spec.devices],
                group_add=[str(Path(device).stat().st_gid) for device in spec.devices if Path(device).exists()],
                log_config=LogConfig(type="json-file", config={"max-size": "2m", "max-file": "2"}),
                **hardening,
            ),
        )["Id"]
        if spec.network:
            self._guard(spec.image)  # only now: while one thread does it, others come as far as this
        stdio = self._attach(container) if attach else None
        try:
            self._api.start(container)
            if self._self_id and spec.network:
                self._api.connect_container_to_network(self._self_id, network)
            address = self._address(container)
        except BaseException:
            if stdio is not None:
                stdio.close()
            raise
        return Cell(id=container, name=name, label=labels[LABEL_CELL], address=address, stdio=stdio)

    def _way_out(self, spec: CellSpec, name: str, network: str, labels: dict[str, str]) -> dict[str, str]:
        """Start the proxy by which a cell reaches the hosts of its list; return the variables that name it."""
        if not spec.allow:
            return {}
        self.require_image(EGRESS_IMAGE)
        limits = {"mem_limit": "128m", "memswap_limit": "128m", "pids_limit": 64}
        hardening = {"cap_drop": ["ALL"], "security_opt": _no_more(ours=True), "read_only": True}
        proxy = self._api.create_container(
            EGRESS_IMAGE,
            [f"--allow={rule}" for rule in spec.allow],
            name=f"{name}-{EGRESS_KIND}",
            labels={**labels, LABEL_KIND: EGRESS_KIND},
            host_config=self._api.create_host_config(init=True, network_mode="bridge", **limits, **hardening),
        )["Id"]
        self._api.connect_container_to_network(proxy, network)
        self._api.start(proxy)
        joined = self._api.inspect_container(proxy)["NetworkSettings"]["Networks"][network]
        url = f"http://{joined['IPAddress']}:{EGRESS_PORT}"
        return dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), url)

    def _guard(self, image: str) -> None:
        """Keep what we are about to start from this machine or, where we join its network, from ourselves."""
        with self._guarding:
            if not self._guarded:
                self._raise_guard(image)
                self._guarded = True

    def _raise_guard(self, image: str) -> None:
        """Raises: EngineError."""
        if self._self_id:
            network = f"container:{self._self_id}"
            script = raised_around(each.name for each in OWN_INTERFACES.iterdir())
        else:
            network, script = "host", raised_on_host()
        helper = self._api.create_container(
            image,
            [HOST_ROOT, "sh", "-c", script],
            entrypoint="chroot",
            user="0",
            labels=self._labels("guard", Scope.SERVICE),
            host_config=self._api.create_host_config(
                network_mode=network, cap_add=["NET_ADMIN"], binds=[f"/:{HOST_ROOT}:ro"]
            ),
        )["Id"]
        try:
            self._api.start(helper)
            if self._api.wait(helper)["StatusCode"]:
                words = " ".join(self._api.logs(helper).decode("utf-8", "replace").split())
                raise EngineError(f"no firewall rule keeps containers from this machine and its service: {words}")
        finally:
            self._remove_container(helper)

    def _attach(self, container: str) -> socket.socket:
        """Return a socket of our own; the SDK's is tied to a response that closes it."""
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        raw = self._api.attach_socket(container, streams)
        sdk_socket = getattr(raw, "_sock", raw)
        try:
            return socket.socket(fileno=sdk_socket.dup().detach())
        finally:
            raw.close()
            sdk_socket.close()

    def _address(self, container: str) -> str:
        attributes = self._api.inspect_container(container)
        if not attributes["State"]["Running"]:
            logs = self._api.logs(container, tail=5).decode("utf-8", "replace")
            raise EngineError(f"{attributes['Name'].strip('/')} ended as it started: {' '.join(logs.split())}")
        networks = attributes["NetworkSettings"]["Networks"].values()
        return next((str(each["IPAddress"]) for each in networks if each["IPAddress"]), "")

    def settle_name(self, cell: CellInfo) -> str:
        """Give a standing container its lasting name: what it was started with is complete. Returns the name."""
        name = f"{PREFIX}-{cell.kind}-{cell.cell}"
        with told(f"renaming {cell.name}"):
            self._api.rename(cell.id, name)
        return name

    # --- looking

    def version(self) -> str:
        with told("asking its version"):
            return str(self._api.version()["Version"])

    def runtimes(self) -> list[str]:
        with told("asking for its runtimes"):
            return sorted(self._api.info()["Runtimes"])

    def storage(self) -> Path:
        """Return the folder that the engine keeps images and containers in."""
        with told("asking for its storage"):
            return Path(self._api.info()["DockerRootDir"])

    def networks(self) -> int:
        """Return how many networks take an address range."""
        with told("listing networks"):
            return len(self._api.networks(filters={"driver": "bridge"}))

    def require_image(self, image: str) -> str:
        """Return the image's id. Raises: ImageMissing."""
        with told(f"looking for {image}"):
            try:
                return str(self._api.inspect_image(image)["Id"])
            except ImageNotFound:
                raise ImageMissing(
                    f"there is no image {image} on this machine; build it: make image-{_base_name(image)}"
                ) from None

    def cells(self) -> list[CellInfo]:
        """Return all containers of ours, whatever state they are in, oldest first."""
        with told("listing containers"):
            listed = self._api.containers(all=True, filters={"label": LABEL_CELL})
        main = (each for each in listed if each["Labels"].get(LABEL_KIND) != EGRESS_KIND)
        return sorted((_info(each) for each in main), key=lambda info: (info.created_s, info.name))

    def memory_bytes(self, container: str) -> int:
        """Return the memory in use, without what the kernel can drop; 0 when the container does not run."""
        with told("asking for memory"):
            try:
                stats = self._api.stats(container, stream=False, one_shot=True)
            except NotFound:
                return 0
        memory = stats.get("memory_stats", {})
        details = memory.get("stats", {})
        reclaimable = details.get("total_inactive_file", details.get("inactive_file", 0))
        return max(0, int(memory.get("usage", 0)) - int(reclaimable))

    def logs(self, container: str, *, tail: int) -> str:
        with told("reading logs"):
            return str(self._api.logs(container, tail=tail).decode("utf-8", "replace"))

    # --- removing

    def remove_cell(self, cell: str) -> None:
        """Remove a cell's container and network, by its label. Fine when they are gone."""
        filters = {"label": f"{LABEL_CELL}={cell}"}
        with told(f"removing cell {cell}"):
            for container in self._api.containers(all=True, filters=filters):
                self._remove_container(container["Id"])
            for network in self._api.networks(filters=filters):
                self._remove_network(network["Id"])

    def reap(self) -> list[str]:
        """Remove what processes that are dead left behind; return the cells."""
        dead = self._dead_cells()
        for cell in dead:
            self.remove_cell(cell)
        return dead

    def remove_all(self, *, scope: Scope | None = None) -> list[str]:
        """Remove cells of a scope, or all of them, and what dead processes left; return the cells."""
        cells = {info.cell for info in self.cells() if scope is None or info.scope == scope}
        if scope is None:
            with told("listing networks"):
                cells |= {each["Labels"][LABEL_CELL] for each in self._api.networks(filters={"label": LABEL_CELL})}
        cells |= set(self._dead_cells())
        for cell in sorted(cells):
            self.remove_cell(cell)
        return sorted(cells)

    def _dead_cells(self) -> list[str]:
        """Return cells whose owner is dead, but for standing ones that stand."""
        infos = self.cells()
        with told("listing networks"):
            networks = [each["Labels"] for each in self._api.networks(filters={"label": LABEL_CELL})]
        standing = {info.cell for info in infos if info.scope == Scope.STANDING and not info.name.startswith(STARTING)}
        owner_of = {labels[LABEL_CELL]: labels.get(LABEL_OWNER, "") for labels in networks}
        owner_of.update({info.cell: info.owner for info in infos})
        lives = {label: self._lives(label) for label in set(owner_of.values())}
        return sorted(cell for cell, owner in owner_of.items() if cell not in standing and not lives[owner])

    def _lives(self, label: str) -> bool:
        owner = Owner.parse(label)
        return owner is not None and owner.lives(self._runs)

    def _runs(self, container: str) -> bool:
        try:
            return bool(self._api.inspect_container(container)["State"]["Running"])
        except NotFound:
            return False

    def _own_container(self) -> str:
        """Return the id of the container that this process runs in, "" outside of this engine's containers."""
        host = socket.gethostname()
        try:
            container = str(self._api.inspect_container(host)["Id"])
        except (DockerException, requests.RequestException):
            return ""
        return container if container.startswith(host) else ""

    def _remove_container(self, container: str) -> None:
        try:
            self._api.remove_container(container, force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != requests.codes.conflict:  # the engine removes it already
                raise

    def _remove_network(self, network: str) -> None:
        with contextlib.suppress(NotFound):
            for container in self._api.inspect_network(network)["Containers"] or ():
                with contextlib.suppress(NotFound):
                    self._api.disconnect_container_from_network(container, network, force=True)
            self._api.remove_network(network)


def _info(listed: dict[str, Any]) -> CellInfo:
    labels = listed["Labels"]
    networks = listed["NetworkSettings"]["Networks"].values()
    state = str(listed["State"])
    if listed["Names"][0].strip("/").startswith(STARTING):
        state = "starting"
    elif "(unhealthy)" in listed["Status"]:
        state = "unhealthy"
    return CellInfo(
        id=listed["Id"],
        name=listed["Names"][0].strip("/"),
        cell=labels[LABEL_CELL],
        kind=labels.get(LABEL_KIND, ""),
        scope=labels.get(LABEL_SCOPE, ""),
        owner=labels.get(LABEL_OWNER, ""),
        image=listed["Image"],
        state=state,
        created_s=float(listed["Created"]),
        address=next((each["IPAddress"] for each in networks if each["IPAddress"]), ""),
        phones=int(labels.get(LABEL_PHONES, "0")),
    )


def _no_more(*, ours: bool) -> list[str]:
    """Return what takes rights from a container; a program that is not ours may need more calls of the kernel."""
    return ["no-new-privileges", *([f"seccomp={PROFILE}"] if ours else [])]


def _base_name(image: str) -> str:
    """Return the name of the image's folder in containers/."""
    return image.rpartition("/")[2].partition(":")[0].removeprefix(f"{PREFIX}-")
