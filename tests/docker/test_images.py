"""The images as built: small, not root, checked, labelled, and with nothing of the machine that built them."""

from __future__ import annotations

import json
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.commands import ROOT, docker
from tests.docker.conftest import IMAGES

pytestmark = pytest.mark.docker
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
MAX_MB = {"simulator": 400, "envd": 480, "sandbox": 200, "search": 300, "egress": 200}


def inspect(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(docker("image", "inspect", f"rlfactory-{name}"))[0]
    return found


def run(name: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ("--rm", "--network", "none", "--entrypoint", program)
    return commands.run("docker", "run", *options, f"rlfactory-{name}", *arguments, timeout_s=60)


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_small_labelled_checked_and_not_root(name: str) -> None:
    image = inspect(name)
    assert image["Size"] / 1e6 < MAX_MB[name]
    labels = image["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == VERSION
    assert labels["org.opencontainers.image.revision"] not in {"", "unknown"}
    assert image["Config"]["User"] not in {"", "0", "root"}
    assert image["Config"]["Healthcheck"]["Test"]


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_holds_nothing_of_the_machine_that_built_it(name: str) -> None:
    found = run(name, "find", "/", "-xdev", "(", "-name", "host-ca.crt", "-o", "-name", "pip.conf", ")", "-print")
    assert found.stdout == ""
    assert not [line for line in inspect(name)["Config"]["Env"] or [] if "PROXY" in line.upper() or "CERT" in line]


def test_the_service_starts_only_with_a_way_to_know_its_clients() -> None:
    done = commands.run("docker", "run", "--rm", "--read-only", "--tmpfs", "/tmp", "rlfactory-envd", timeout_s=60)
    assert done.returncode == 2
    assert "0.0.0.0 is not loopback" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_line_in_the_image_knows_its_version_and_tasks() -> None:
    assert run("envd", "python", "-m", "rlfactory", "--version").stdout == f"rlfactory {VERSION}\n"
    tasks = json.loads(run("envd", "python", "-m", "rlfactory", "tasks", "--json").stdout)
    assert len(tasks) >= 24


def test_the_service_in_the_image_has_what_tools_need() -> None:
    modules = ("fastapi", "jsonschema", "mcp", "psycopg", "sqlglot", "tantivy", "yaml")
    done = run("envd", "python", "-c", f"import {', '.join(modules)}")
    assert (done.returncode, done.stderr) == (0, "")


ASK = """
import json, urllib.request
body = json.dumps({"queries": ["Oslo"], "topk": 1}).encode()
request = urllib.request.Request("http://127.0.0.1:8000/retrieve", body, {"Content-Type": "application/json"})
with urllib.request.urlopen(request) as answer, urllib.request.urlopen("http://127.0.0.1:8000/health") as health:
    print(json.dumps([json.load(answer)["result"], json.load(health)["passages"]]))
"""


@pytest.mark.parametrize("mounted", [False, True])
def test_the_search_image_serves_the_shipped_corpus_or_a_mounted_one(mounted: bool, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "7", "title": "Oslo", "text": "Oslo is a town."}\n')
    corpus.chmod(0o644)
    limits = ("--read-only", "--tmpfs", "/tmp", "--network", "none")
    mount = ("--mount", f"type=bind,src={corpus},dst=/data/corpus.jsonl,readonly") if mounted else ()
    container = docker("run", "-d", "--rm", *limits, *mount, "rlfactory-search")
    try:
        deadline_s = time.monotonic() + 120
        while time.monotonic() < deadline_s:
            if commands.run("docker", "exec", container, *HEALTH).returncode == 0:
                break
        found, passages = json.loads(docker("exec", container, "python", "-c", ASK))
    finally:
        docker("rm", "-f", container)
    if mounted:
        assert (found, passages) == ([[{"id": "7", "contents": '"Oslo"\nOslo is a town.'}]], 1)
    else:
        assert passages > 700


HEALTH = ("python3", "/opt/rlfactory/health.py", "8000")
