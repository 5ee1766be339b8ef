"""`rlfactory serve --ray` on a cluster of two nodes: joined, played on, drained, and left with nothing running."""

from __future__ import annotations

import asyncio
import json
import sys

import psutil
import pytest

pytestmark = [pytest.mark.train, pytest.mark.training, pytest.mark.timeout(300)]


async def run(*arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rlfactory", *arguments), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes, and no more of them afterwards."""
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    nodes.add_node(num_cpus=2)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


async def test_a_cluster_serves_and_leaves_nothing_behind(cluster, program, eventually):
    from rlfactory.envs.client import EnvClient

    size = ("--width", "320", "--height", "480", "--spares", "0")
    serve = ("serve", "--ray", "--address", cluster.address, "--phones-per-node", "1", *size, "--stop-on-eof", "--json")
    async with program(*serve, stdin=asyncio.subprocess.PIPE) as (process, said):
        assert len(said["hosts"]) == 2
        async with EnvClient(said["address"]) as client:
            begun = [await client.reset("settings.rename_device", seed=seed) for seed in range(2)]
            assert {client.home(each.session) for each in begun} == set(said["hosts"])
            code, out, err = await run("status", said["address"], "--json")
            assert code == 0, err
            assert [(each["phones"], each["sessions"]) for each in json.loads(out)] == [(1, 1), (1, 1)]

            drained = client.home(begun[0].session)
            code, out, err = await run("status", said["address"], "--drain", drained, "--json")
            assert code == 0, err
            code, _, err = await run("status", said["address"], "--drain", "nowhere:1")
            assert code != 0
            assert "no host 'nowhere:1'" in err
            await client.close(begun[0].session)
            await eventually(lambda: client.services == (client.home(begun[1].session),))
            await client.close(begun[1].session)
        code, _, err = await run(*serve)
        assert code != 0
        assert "serves phones already" in err
        process.stdin.close()
        assert await process.wait() == 0
    commands = [each.cmdline() for each in psutil.Process().children(recursive=True)]
    assert not [command for command in commands if "serve" in command]
