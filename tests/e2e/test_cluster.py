"""`rlfactory serve --ray` on two nodes: joined, played on, drained, left with nothing running; and what is said when
that cannot be."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys

import pytest

from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.ray_cluster import (
    DIRECTORY,
    NAMESPACE,
    SERVER_NAME,
    Listing,
    answer,
    connect,
    directory,
)
from rlfactory.envs.cluster.directory import Directory
from rlfactory.envs.cluster.host import START_S, Host, version
from rlfactory.envs.cluster.run import new_credentials
from rlfactory.processes.child import Child
from tests.family import family

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.train, pytest.mark.training, pytest.mark.timeout(600)]


RAYS_OWN = re.compile(r"\[[-0-9]+ [:0-9,]+ [EW] ")
"""A line that Ray's own processes wrote."""
IMPATIENT = "from rlfactory.envs.cluster import fleet; fleet.PLACE_S = 10; from rlfactory.cli import main; main()"
"""The command line, which would give Ray a minute to place a service: for nodes that never have room."""


async def run(*arguments: str, program: tuple[str, str] = ("-m", "rlfactory")) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *program, *arguments), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes, and no more of them afterwards."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    for attempt in range(3):  # Ray gives itself 30 s to start, which are too few on a busy machine
        nodes = Cluster()
        try:
            nodes.add_node(num_cpus=2, include_dashboard=False)
            nodes.add_node(num_cpus=2)
            break
        except Exception as error:
            nodes.shutdown()
            if attempt == 2 or "timed out" not in str(error):
                raise
    yield nodes
    ray.shutdown()
    nodes.shutdown()


SMALL = ("--width", "320", "--height", "480", "--spares", "0", "--phones-per-node", "1")


async def until_listed(hosts: set[str], *, not_by: int = 0) -> int:
    """Wait until the directory lists these hosts and no others, and not in this process; return its process."""
    while True:
        with contextlib.suppress(RLFactoryError):
            listing: Listing = await answer(directory().listing.remote())
            process: int = await answer(directory().__ray_call__.remote(lambda _: os.getpid()))
            if listing.hosts.keys() == hosts and process != not_by:
                return process
        await asyncio.sleep(0.1)


async def said_wrong(*arguments: str, program: tuple[str, str] = ("-m", "rlfactory")) -> str:
    """Run a command that fails, and return the one line that it says."""
    code, out, err = await run(*arguments, program=program)
    assert code != 0, out
    lines = [line for line in err.strip().splitlines() if not RAYS_OWN.match(line)]
    assert len(lines) == 1, err
    return lines[0]


async def test_a_cluster_serves_and_leaves_nothing_behind(cluster, program, eventually, tmp_path):
    serve = ("serve", "--ray", "--address", cluster.address, *SMALL, "--stop-on-eof", "--json")
    trainers = ("--trainer", "ann", "--trainer", "bob")
    async with program(*serve, *trainers, stdin=asyncio.subprocess.PIPE) as (process, said):
        assert len(said["hosts"]) == 2
        assert len(family("rlfactory serve")) == 3
        async with EnvClient(f"{said['address']}/ann") as client:
            begun = [await client.reset("settings.rename_device", seed=seed) for seed in range(2)]
            assert {client.home(each.session) for each in begun} == set(said["hosts"])
            code, out, err = await run("status", f"{said['address']}/ann", "--json")
            assert code == 0, err
            assert [(each["phones"], each["sessions"]) for each in json.loads(out)] == [(1, 1), (1, 1)]

            drained, left = (client.home(each.session) for each in begun)
            code, _, err = await run("status", f"{said['address']}/ann", "--drain", drained, "--json")
            assert code == 0, err
            assert "no host 'nowhere:1'" in await said_wrong("status", said["address"], "--drain", "nowhere:1")
            assert "no trainer 'eve'; known: ann, bob" in await said_wrong("status", f"{said['address']}/eve")
            await client.close(begun[0].session)
            process_of_directory = await until_listed({left})
            await eventually(lambda: client.services == (left,))

            for name, trust in (("ours", client.known_trust), ("theirs", new_credentials().trust)):
                (tmp_path / f"{name}.token").write_text(trust.token)
                (tmp_path / f"{name}.pem").write_bytes(trust.ca)
            for token, ca, why in (("theirs", "ours", "token"), ("ours", "theirs", "TLS handshake")):
                files = ("--token-file", f"{tmp_path}/{token}.token", "--tls-ca", f"{tmp_path}/{ca}.pem")
                assert why in await said_wrong("status", left, *files, "--tls-server-name", SERVER_NAME)

            ray.kill(directory(), no_restart=False)
            await until_listed({left}, not_by=process_of_directory)
            assert client.services == (left,)
            await client.renew(begun[1].session)
            await client.close(begun[1].session)
        assert "serves phones already" in await said_wrong(*serve)
        process.stdin.close()
        assert await process.wait() == 0
    await nothing_serves()


async def test_what_is_wrong_with_a_cluster_is_said_in_a_line_and_nothing_goes_on(cluster):
    serve = ("serve", "--ray", "--address", cluster.address, *SMALL, "--json")
    line = await said_wrong(*serve, "--cpus-per-node", "64")
    assert "0 nodes of the cluster have 64 CPUs; 1 are wanted" in line
    assert "serves no phones" in await said_wrong("status", f"ray://{cluster.address}")

    connect(cluster.address)
    taken = ray.remote(Directory).options(num_cpus=2).remote(new_credentials(), version=version())
    await asyncio.wrap_future(taken.listing.remote().future())
    line = await said_wrong(*serve, program=("-c", IMPATIENT))
    assert re.search(r"no room for a service on \d of 2 nodes \(.*\): 1 CPUs are not free there", line)
    await nothing_serves()
    async with asyncio.timeout(400):  # a minute of it for the node that has no room
        argv = (sys.executable, "-m", "rlfactory", *serve, "--nodes", "1", "--stop-on-eof")
        service = await Child.start(*argv, name="serve")
        assert len(json.loads(await service.receive())["hosts"]) == 1, "on the node that has room"
        await service.stop(patience_s=60.0)
    await nothing_serves()
    ray.kill(taken)
    named = {"name": DIRECTORY, "namespace": NAMESPACE, "num_cpus": 0}
    old = ray.remote(Directory).options(**named).remote(new_credentials(), version="0.0")
    options = {"phones": 1, "width": 320, "height": 480, "spares": 0}
    host = ray.remote(Host).options(num_cpus=1, max_concurrency=4).remote(options, new_credentials())
    said = await asyncio.wrap_future(host.ready.remote(START_S).future())
    ray.kill(old)  # held until here: Ray ends an actor that nobody refers to any more
    assert re.fullmatch(rf"node \w{{8}} runs version {re.escape(version())}, the cluster 0\.0", said)
    assert family("rlfactory serve") == []


async def nothing_serves() -> None:
    """Wait until no service runs and the cluster knows of none: Ray ends its actors after it was told to."""
    while family("rlfactory serve") or known():  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.1)


def known() -> bool:
    with contextlib.suppress(InfrastructureError):
        directory()
        return True
    return False
