"""What the broker of the Docker socket lets through, and what a service that was taken over could ask for in vain."""

from __future__ import annotations

import json

import docker
import pytest
from docker.types import ContainerConfig, LogConfig

from rlfactory.processes.docker.broker_rules import Ask, Refused, Rules
from rlfactory.processes.docker.guard import HOST_ROOT, raised_around, raised_on_host
from rlfactory.processes.docker.seccomp import PROFILE

RULES = Rules(service="rlfactory-envd-1", devices=("/dev/kvm",), runtime="runsc")
API = docker.APIClient(base_url="unix:///nowhere", version="1.41")
OURS = {"Id": "c0ffee", "Name": "/rlfactory-x", "Config": {"Labels": {"rlfactory.cell": "x"}}}
OUR_NETWORK = {"Id": "f00d", "Labels": {"rlfactory.cell": "x"}}
STRANGER = {"Id": "5712a", "Name": "/database", "Config": {"Labels": None, "Env": ["PASSWORD=1"]}}
SERVICE = {"Id": "5e57", "Name": "/rlfactory-envd-1", "Config": {"Labels": {}}}


def cell(*, guard: bool = False, host=None, **changes):
    """The body that creates a container as ours are, as the SDK writes it, with changes."""
    if guard:
        made = ContainerConfig(
            *("1.41", "rlfactory-simulator", [HOST_ROOT, "sh", "-c", raised_on_host()]),
            entrypoint="chroot",
            user="0",
            labels={"rlfactory.cell": "x", "rlfactory.kind": "guard"},
            host_config=API.create_host_config(network_mode="host", cap_add=["NET_ADMIN"], binds=[f"/:{HOST_ROOT}:ro"]),
        )
    else:
        options = {"mem_limit": "64m", "pids_limit": 8, "tmpfs": {"/tmp": "size=1m"}, "cap_drop": ["ALL"], "init": True}
        made = ContainerConfig(
            *("1.41", "rlfactory-sandbox", []),
            labels={"rlfactory.cell": "x"},
            stdin_open=True,
            host_config=API.create_host_config(
                network_mode="none",
                security_opt=["no-new-privileges", f"seccomp={PROFILE}"],
                log_config=LogConfig(type="json-file", config={}),
                **options,
            ),
        )
    return {**made, **changes, "HostConfig": {**made["HostConfig"], **(host or {})}}


def network(**changes):
    labels = {"rlfactory.cell": "x"}
    return {"Name": "rlfactory-0123456789ab", "Driver": "bridge", "Internal": True, "Labels": labels, **changes}


def granted(method, target, body=None, *, found=None, also=None):
    ask = Ask.of(method, f"/v1.41{target}", json.dumps(body).encode() if body is not None else b"")
    return RULES.granted(ask, found, also)


CREATE = "/containers/create?name=rlfactory-sandbox-x"
KVM = {"PathOnHost": "/dev/kvm", "PathInContainer": "/dev/kvm", "CgroupPermissions": "rwm"}
AROUND = {"Cmd": [HOST_ROOT, "sh", "-c", raised_around(["eth0", "lo"])], "host": {"NetworkMode": "container:5e57"}}


@pytest.mark.parametrize(
    ("method", "target", "body", "known"),
    [
        ("POST", CREATE, cell(), {}),
        ("POST", CREATE, cell(host={"Devices": [KVM], "GroupAdd": ["104"], "Runtime": "runsc"}), {}),
        ("POST", CREATE, cell(host={"NetworkMode": "rlfactory-0123456789ab"}), {}),
        ("POST", "/containers/create", cell(guard=True), {}),
        ("POST", "/containers/create", cell(guard=True, **AROUND), {"also": SERVICE}),
        ("POST", "/networks/create", network(), {}),
        ("POST", "/networks/n/connect", {"Container": "5e57"}, {"found": OUR_NETWORK, "also": SERVICE}),
        ("GET", "/images/rlfactory-sandbox:0.1.0/json", None, {}),
        ("DELETE", "/containers/c0ffee?force=1", None, {"found": OURS}),
    ],
)
def test_what_our_engine_asks_for_is_granted(method, target, body, known):
    assert granted(method, target, body, **known).method == method


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(cell(Image="debian"), id="another image"),
        pytest.param(cell(Labels={}), id="no label"),
        pytest.param(cell(Volumes={"/x": {}}), id="a volume"),
        pytest.param(cell(User="0"), id="root"),
        pytest.param(cell(Entrypoint=["sh"]), id="another program"),
        pytest.param(cell(hostconfig={"Privileged": True}), id="a key in other letters"),
        pytest.param(cell(host={"Privileged": True}), id="privileged"),
        pytest.param(cell(host={"Binds": ["/:/host"]}), id="a bind"),
        pytest.param(cell(host={"Mounts": [{"Type": "bind", "Source": "/", "Target": "/h"}]}), id="a mount"),
        pytest.param(cell(host={"VolumesFrom": ["database"]}), id="another's volumes"),
        pytest.param(cell(host={"PidMode": "host"}), id="the host's processes"),
        pytest.param(cell(host={"IpcMode": "container:database"}), id="another's memory"),
        pytest.param(cell(host={"CapAdd": ["SYS_ADMIN"]}), id="a capability"),
        pytest.param(cell(host={"CapDrop": []}), id="capabilities kept"),
        pytest.param(cell(host={"SecurityOpt": ["no-new-privileges", "seccomp=unconfined"]}), id="no seccomp"),
        pytest.param(cell(host={"NetworkMode": "host"}), id="the host's network"),
        pytest.param(cell(host={"NetworkMode": "bridge"}), id="the engine's network"),
        pytest.param(cell(host={"NetworkMode": "container:database"}), id="another's network"),
        pytest.param(cell(host={"Devices": [{**KVM, "PathOnHost": "/dev/sda"}]}), id="a disk"),
        pytest.param(cell(host={"Devices": [{**KVM, "pathonhost": "/dev/sda"}]}), id="a disk in other letters"),
        pytest.param(cell(host={"GroupAdd": ["docker"]}), id="a group"),
        pytest.param(cell(host={"Runtime": "runc-weak"}), id="another runtime"),
        pytest.param(cell(host={"Memory": 0}), id="no limit"),
        pytest.param(cell(host={"Tmpfs": {"/usr/bin": ""}}), id="a file system over programs"),
        pytest.param(cell(host={"LogConfig": {"Type": "syslog", "Config": {}}}), id="a log elsewhere"),
        pytest.param(cell(guard=True, Cmd=[HOST_ROOT, "sh", "-c", "cat /etc/shadow"]), id="a helper's other script"),
        pytest.param(cell(guard=True, Cmd=[HOST_ROOT, "sh", "-c", raised_on_host() + ";id"]), id="a longer script"),
        pytest.param(cell(guard=True, Env=["LD_PRELOAD=/x.so"]), id="a helper's library"),
        pytest.param(cell(guard=True, Healthcheck={"Test": ["CMD", "id"]}), id="a helper's health"),
        pytest.param(cell(guard=True, host={"Binds": [f"/:{HOST_ROOT}:rw"]}), id="a helper that writes"),
        pytest.param(cell(guard=True, **AROUND), id="a helper in another's network"),
    ],
)
def test_a_container_that_could_harm_is_refused(body):
    with pytest.raises(Refused):
        granted("POST", CREATE, body, also=STRANGER)


@pytest.mark.parametrize(
    ("method", "target", "body", "known"),
    [
        ("POST", "/containers/c0ffee/exec", {"Cmd": ["sh"]}, {"found": OURS}),
        ("PUT", "/containers/c0ffee/archive?path=/", None, {"found": OURS}),
        ("POST", "/containers/c0ffee/rename?name=database", None, {"found": OURS}),
        ("GET", "/containers/5712a/logs?stdout=1", None, {"found": STRANGER}),
        ("DELETE", "/containers/5712a?force=1", None, {"found": STRANGER}),
        ("GET", "/containers/nobody/json", None, {}),
        ("GET", "/containers/json?all=1", None, {}),
        ("GET", "/containers/../info/json", None, {"found": OURS}),
        ("POST", "/containers/create?name=database", cell(), {}),
        ("POST", "/networks/create", network(Internal=False), {}),
        ("POST", "/networks/create", network(IPAM={"Driver": "evil"}), {}),
        (
            "POST",
            "/networks/bridge/connect",
            {"Container": "c0ffee"},
            {"found": {"Id": "b", "Labels": {}}, "also": OURS},
        ),
        ("POST", "/networks/n/connect", {"Container": "database"}, {"found": OUR_NETWORK, "also": STRANGER}),
        ("POST", "/images/create?fromImage=evil", None, {}),
        ("POST", "/build", None, {}),
        ("GET", "/images/debian/json", None, {}),
        ("GET", "/images/rlfactory-x/../../secrets/json", None, {}),
        ("GET", "/secrets", None, {}),
        ("POST", "/swarm/init", {}, {}),
        ("POST", CREATE, [], {}),
    ],
)
def test_a_call_that_is_not_ours_is_refused(method, target, body, known):
    with pytest.raises(Refused):
        granted(method, target, body, **known)


def test_of_others_and_of_the_engine_only_what_is_needed_is_shown():
    assert granted("GET", "/containers/5712a/json", found=STRANGER).shown == ("Id", "State")
    assert granted("GET", "/info").shown == ("Runtimes", "DockerRootDir")
    assert granted("GET", "/containers/c0ffee/json", found=OURS).shown == ()


def test_what_the_rules_have_not_read_is_not_passed_on():
    """The engine takes `capdrop` for `CapDrop`, and the last of both."""
    asked = cell(user="", host={"capdrop": [], "CapDrop": ["ALL"]})
    passed = json.loads(granted("POST", CREATE, asked).body)
    assert "capdrop" not in passed["HostConfig"] and passed["HostConfig"]["CapDrop"] == ["ALL"] and "user" not in passed
