"""Placement beyond this machine: the client's choice of a host and the directory, over hosts that are only simulated.

The choosing code is the client's own (`rlfactory.envs.client.hosts`), the directory the cluster's own, by a clock that
the benchmark turns. Only the services are simulated: phones that are lent, resets that take time, hosts that die.

    python -m benchmarks.scale --json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

from rlfactory.envs.api.errors import LimitExceeded
from rlfactory.envs.client.addresses import Found
from rlfactory.envs.client.config import ClientConfig
from rlfactory.envs.client.connection import Connection, NoAnswer
from rlfactory.envs.client.hosts import Hosts
from rlfactory.envs.client.ray_cluster import REPORT_S, Credentials, HostReport
from rlfactory.envs.cluster.directory import Directory
from rlfactory.envs.wire.load import Load
from rlfactory.envs.wire.trust import ClientTrust


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What is reported."""

    hosts: int
    phones: int
    placements: int
    placements_per_s: float
    waited_while_free: int
    """Sessions that had to wait although phones were free somewhere."""
    asked_twice: int
    """Sessions that the first host had no phone for, since another client was quicker."""
    imbalance: float
    """The busiest host over the mean, in lent phones, with half of all phones lent."""
    noticed_s: float
    """The longest that a dead host stayed in the directory, by its clock."""
    reports_per_s: float
    """Reports that the directory takes."""
    killed: int
    lost_placements: int
    """Sessions that could not be begun because hosts died."""


class Simulated(Connection):
    """A host with phones, and no network in between."""

    def __init__(self, address: str, phones: int) -> None:
        super().__init__(address, config=ClientConfig(), trust=ClientTrust())
        self.phones, self.lent, self.dead = phones, 0, False
        self.load = Load(phones=phones, free=phones)

    async def open(self) -> None:
        """It is there."""

    def lend(self) -> None:
        """Lend a phone. Raises: LimitExceeded, NoAnswer."""
        if self.dead:
            raise NoAnswer("it is dead")
        if self.lent >= self.phones:
            raise LimitExceeded("no phone is free")
        self.lent += 1
        self._say()

    def give_back(self) -> None:
        self.lent -= 1
        self._say()

    def _say(self) -> None:
        self.load = self.load._replace(free=self.phones - self.lent, sessions=self.lent)


class Farm:
    """Addresses of simulated hosts."""

    several = True
    trust: ClientTrust | None = None

    def __init__(self, hosts: int, phones: int) -> None:
        self.hosts = {f"10.{n >> 8}.{n & 255}.1:7000": phones for n in range(hosts)}

    async def watch(self) -> AsyncIterator[Found]:
        yield dict.fromkeys(self.hosts)


async def placed(farm: Farm, rng: random.Random) -> dict[str, Any]:
    """Lend all phones, with gives-back between, then let hosts die."""
    hosts = Hosts(farm, lambda address: Simulated(address, farm.hosts[address]))
    await hosts.open()
    every: list[Simulated] = [each for each in hosts.open_ones() if isinstance(each, Simulated)]
    seen = {"placements": 0, "waited_while_free": 0, "asked_twice": 0}
    held: list[Simulated] = []

    async def begin(home: Connection, wait_s: float | None) -> Simulated:
        assert isinstance(home, Simulated)
        if wait_s and any(not each.dead and each.lent < each.phones for each in every):
            seen["waited_while_free"] += 1
        try:
            home.lend()
        except LimitExceeded:
            seen["asked_twice"] += 1
            raise
        return home

    total, began_s = sum(farm.hosts.values()), time.perf_counter()
    while len(held) < total // 2:
        held.append(await hosts.begun(begin, timeout_s=5.0))
        seen["placements"] += 1
    busiest = max(each.lent for each in every)
    imbalance = busiest / (total / 2 / len(every))
    while len(held) < total:
        held.append(await hosts.begun(begin, timeout_s=5.0))
        seen["placements"] += 1
        if rng.random() < 0.2:
            held.pop(rng.randrange(len(held))).give_back()
    passed_s = time.perf_counter() - began_s
    lost, killed = 0, rng.sample(every, len(every) // 20)
    for each in killed:
        each.dead = True
    for home in [each for each in held if not each.dead][: total // 10]:
        home.give_back()
        try:
            await hosts.begun(begin, timeout_s=5.0)
        except NoAnswer:
            lost += 1
    await hosts.aclose()
    return {
        **seen,
        "placements_per_s": round(seen["placements"] / passed_s, 1),
        "imbalance": round(imbalance, 3),
        "killed": len(killed),
        "lost_placements": lost,
    }


async def heard(hosts: int, rng: random.Random) -> dict[str, Any]:
    """Let hosts report to a directory by a clock of ours, and some of them die."""
    now_s = 0.0
    directory = Directory(Credentials(tokens={"": ""}, certificate=b"", key=b""), version="1", clock=lambda: now_s)
    reports = [
        HostReport(address=f"host{n}:7000", node=str(n), load=Load(phones=100, free=50), version="1")
        for n in range(hosts)
    ]
    dead_since_s = {report.address: 10 + 10 * rng.random() for report in rng.sample(reports, hosts // 20)}
    noticed_s, taken, spent_s = 0.0, 0, 0.0
    gone: set[str] = set()
    while now_s < 30.0:
        now_s += REPORT_S
        began_s = time.perf_counter()
        for report in reports:
            if now_s < dead_since_s.get(report.address, float("inf")):
                await directory.report(report)
                taken += 1
        spent_s += time.perf_counter() - began_s
        alive = (await directory.listing()).hosts
        for address, since_s in dead_since_s.items():
            if since_s <= now_s and address not in alive and address not in gone:
                gone.add(address)
                noticed_s = max(noticed_s, now_s - since_s)
    assert gone == set(dead_since_s)
    return {"noticed_s": round(noticed_s, 2), "reports_per_s": round(taken / spent_s, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--phones", type=int, default=100, help="of each host")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    found = asyncio.run(placed(Farm(arguments.hosts, arguments.phones), rng))
    found |= asyncio.run(heard(arguments.hosts, rng))
    figures = Figures(hosts=arguments.hosts, phones=arguments.hosts * arguments.phones, **found)
    print(json.dumps(asdict(figures), indent=2) if arguments.json else figures)


if __name__ == "__main__":
    main()
