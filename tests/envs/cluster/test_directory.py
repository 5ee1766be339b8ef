"""The directory of a cluster: who is alive, who drains, and what it knows after a restart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlfactory.envs.api.errors import InfrastructureError, ProtocolMismatch, TaskError, Unauthenticated, UnknownName
from rlfactory.envs.client import ClientConfig, EnvClient
from rlfactory.envs.client.ray_cluster import HostReport, cluster_of, connect
from rlfactory.envs.cluster.demand import Demand
from rlfactory.envs.cluster.directory import LOST_S, Directory
from rlfactory.envs.cluster.run import new_credentials, wanted_of
from rlfactory.envs.service.serve_options import ServeOptions
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.trust import ServerTrust


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def directory(clock):
    return Directory(new_credentials(), version="1", clock=clock)


def report(address: str, *, load: Load | None = None, version: str = "1", drained: bool = False) -> HostReport:
    return HostReport(address=address, node="a" * 8, load=load or Load(free=3), version=version, drained=drained)


async def test_who_reports_no_more_is_gone(directory, clock):
    await directory.report(report("a:1"))
    clock.now_s += LOST_S - 0.1
    await directory.report(report("b:1", load=Load(free=7)))
    assert {name: each.load.free for name, each in (await directory.listing()).hosts.items()} == {"a:1": 3, "b:1": 7}
    clock.now_s += 0.2
    assert list((await directory.listing()).hosts) == ["b:1"]
    await directory.leave("b:1")
    assert not (await directory.listing()).hosts


async def test_a_host_is_told_to_drain_when_it_reports(directory):
    assert not await directory.drain("a:1")
    await directory.report(report("a:1"))
    assert await directory.drain("a:1")
    assert await directory.report(report("a:1"))
    assert not await directory.report(report("b:1"))


async def test_a_host_that_has_drained_is_listed_as_that_until_it_is_ended(directory, clock):
    await directory.report(report("a:1"))
    await directory.report(report("a:1", drained=True))
    listing = await directory.listing()
    assert (list(listing.hosts), listing.drained) == ([], {"a" * 8})
    clock.now_s += LOST_S + 0.1
    assert not (await directory.listing()).drained


async def test_restarted_it_says_that_it_has_not_heard_of_all_yet(directory, clock):
    await directory.report(report("a:1"))
    assert not (await directory.listing()).settled
    clock.now_s += 2 * LOST_S
    assert (await directory.listing()).settled


async def test_hosts_of_other_versions_are_refused(directory):
    with pytest.raises(ProtocolMismatch, match="node aaaaaaaa runs version 2, the cluster 1"):
        await directory.report(report("a:1", version="2"))


async def test_credentials_of_a_run_let_its_clients_in_and_no_others():
    ours, theirs = new_credentials(), new_credentials()
    trust = ServerTrust(tokens=tuple(ours.tokens.values()), certificate=ours.certificate, key=ours.key)
    async with serving(ServerConfig(drain_s=0.1, trust=trust)) as server:
        async with EnvClient(server.address, trust=ours.trust) as client:
            assert await client.list_tasks()
        with pytest.raises(Unauthenticated):  # a token of another run
            async with EnvClient(server.address, trust=replace(ours, tokens=theirs.tokens).trust):
                pass
        with pytest.raises(InfrastructureError, match=r"TLS handshake failed|no environment service"):
            async with EnvClient(server.address, trust=theirs.trust, config=ClientConfig(connect_timeout_s=0.5)):
                pass
    assert ours.trust.token not in repr(ours)
    assert "PRIVATE" not in repr(ours)


async def test_a_trainer_is_known_by_its_name_and_gets_no_other_ones_token(clock):
    credentials = new_credentials(["ann", "bob"])
    directory = Directory(credentials, version="1", clock=clock)
    ann = await directory.credentials("ann")
    assert (ann.tokens, ann.key) == ({"ann": credentials.tokens["ann"]}, b"")
    with pytest.raises(UnknownName, match=r"no trainer 'eve'; known: ann, bob"):
        await directory.credentials("eve")
    assert cluster_of("ray://head:6379/ann") == ("head:6379", "ann")
    assert cluster_of("ray://") == ("auto", "")


def test_each_service_is_asked_for_what_was_asked_of_the_cluster():
    wanted = wanted_of(ServeOptions(ray=True, phones_per_node=3, width=540, nodes="2", port=9))
    assert wanted.options == {"phones": 3, "width": 540}
    assert wanted.nodes == 2


@pytest.mark.parametrize(
    "options",
    [
        {"nodes": "all", "most_nodes": 4, "node_resource": "phones"},
        {"nodes": "5", "most_nodes": 4, "node_resource": "phones"},
        {"nodes": "2", "most_nodes": 4},
        {"nodes": "2", "most_nodes": 4, "node_resource": "phones", "phones_per_node": 0},
    ],
)
def test_what_cannot_grow_is_said(options):
    with pytest.raises(TaskError, match="--most-nodes"):
        wanted_of(ServeOptions(ray=True, **options))


def test_nodes_come_at_once_when_somebody_waits_and_go_when_they_are_idle_for_long():
    demand = Demand(least=1, most=3, phones_per_node=4, idle_s=60.0)
    full, idle = Load(phones=4, free=0), Load(phones=4, free=4)
    assert demand.nodes([full], now_s=0.0) == 1
    assert demand.nodes([Load(phones=4, free=0, waiting=1)], now_s=1.0) == 2
    assert demand.nodes([full, Load(phones=4, free=0, waiting=90)], now_s=2.0) == 3, "as many as there may be"
    assert demand.nodes([full, full, idle], now_s=3.0) == 3
    assert demand.nodes([full, full, Load(phones=4, free=3)], now_s=50.0) == 3, "all are needed again"
    assert demand.nodes([full, idle, idle], now_s=60.0) == 3
    assert demand.nodes([full, idle, idle], now_s=119.0) == 3
    assert demand.nodes([full, idle, idle], now_s=121.0) == 1
    assert demand.nodes([], now_s=122.0) == 1


@pytest.mark.parametrize("nodes", ["0", "some", "-1"])
def test_a_number_of_nodes_that_is_none_is_said(nodes):
    with pytest.raises(TaskError, match="--nodes is"):
        wanted_of(ServeOptions(ray=True, nodes=nodes))


@pytest.mark.train
@pytest.mark.parametrize("address", ["127.0.0.1:1", "head", "127.0.0.1:port", "127.0.0.1:99999"])
def test_no_cluster_is_said_at_once(address):
    with pytest.raises(InfrastructureError, match=f"no Ray cluster at {address}: "):
        connect(address)
