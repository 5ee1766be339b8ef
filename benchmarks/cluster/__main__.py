"""Phones on several Ray nodes: balance, and what becomes of episodes when nodes die, join and drain.

Needs root: each node is a network namespace of this machine with an address of its own. `--train` plays one GRPO step
of `tiny_phone` on the cluster, too (minutes).

    python -m benchmarks.cluster --json
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.cluster import nodes
from benchmarks.cluster.steps import overhead
from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import OracleStuck, solve
from rlfactory.envs.client.ray_cluster import answer, connect, directory
from rlfactory.envs.client.seen import drain_host
from rlfactory.processes.child import Child

NODES: Final = 4
PHONES: Final = 4
"""Of each node."""
PLAYERS: Final = 12
"""As many as three nodes have phones for."""
TASKS: Final = ("settings.wifi_on", "settings.bluetooth_on", "notes.create", "contacts.add")
OPTIONS: Final = SessionOptions(with_image=False, with_tree=True, lease_s=30.0)
HOME: Final = ToolCall(id="0", name="phone", arguments={"action": "key", "key": "HOME"})


@dataclass(kw_only=True, slots=True)
class Figures:
    """What is reported."""

    nodes: int = NODES
    episodes: int = 0
    balance: float = 0.0
    """Sessions begun at the busiest host over the mean, before any node died."""
    wrong_verdicts: int = 0
    infra_lost: int = 0
    """Episodes that a dead node made void."""
    played_again: int = 0
    noticed_s: float = 0.0
    """The longest from a node's death until clients begin nothing there."""
    back_to_three_quarters_s: float = 0.0
    """The longest from a node's death until as many episodes end as three of four nodes would end."""
    joined_s: float = 0.0
    """From the start of a service on a node that joined until its first episode began."""
    drain_lost: int = 0
    overhead: float = 0.0
    """Steps a second through the directory over those of a client that is told the address."""
    directory_sessions_lost: int = 0
    directory_back_s: float = 0.0
    trained: bool | None = None
    """Whether a GRPO step was trained with phones on all nodes; null: not run."""
    trained_balance: float | None = None
    """Steps at the busiest host over the mean, in that training with its demonstrations and evaluations."""
    wall_s: float = 0.0


@dataclass(eq=False)
class Seen:
    """What the players met."""

    client: EnvClient
    at: Counter[str] = field(default_factory=Counter)
    """Sessions begun, by host."""
    first_s: dict[str, float] = field(default_factory=dict)
    """When a host began its first session."""
    ended_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    void: int = 0
    again: int = 0


async def episode(seen: Seen, seed: int) -> None:
    """Play an episode by its oracle to a verdict; again, elsewhere, when it was void."""
    task = TASKS[seed % len(TASKS)]
    for attempt in range(10):
        try:
            async with seen.client.session(task, seed=seed, options=OPTIONS) as session:
                host = seen.client.home(session.id)
                seen.at[host] += 1
                seen.first_s.setdefault(host, time.monotonic())
                with contextlib.suppress(OracleStuck):  # then it has no success, which is wrong, too
                    await solve(session, task=task, seed=seed, split="train")
                success = session.reward.success
        except RLFactoryError:
            seen.void += 1
            await asyncio.sleep(0.1)
            continue
        seen.again += attempt > 0
        seen.ended_s.append(time.monotonic())
        if not success:
            seen.wrong.append(f"{task} seed {seed}")
        return
    raise SystemExit(f"error: {task} seed {seed} was void ten times")


@contextlib.asynccontextmanager
async def playing(seen: Seen, episodes: int) -> AsyncIterator[asyncio.Future[Any]]:
    """Play in the background of the block, at least so many episodes, each to its end."""
    seeds, over = itertools.count(), False
    least = len(seen.ended_s) + episodes

    async def player() -> None:
        while not over or len(seen.ended_s) < least:
            await episode(seen, next(seeds))

    players = asyncio.gather(*(player() for _ in range(PLAYERS)))
    try:
        yield players
        over = True
        await players
    finally:
        players.cancel()
        await asyncio.gather(players, return_exceptions=True)


def rate(seen: Seen, since_s: float, until_s: float) -> float:
    return sum(since_s <= each < until_s for each in seen.ended_s) / max(until_s - since_s, 1e-9)


async def until(condition: Callable[[], object], players: asyncio.Future[Any], *, every_s: float = 0.02) -> None:
    """Return when something holds while they play. Raises: what has ended the players."""
    while not condition():
        if players.done():
            await players
        await asyncio.sleep(every_s)


async def lose(seen: Seen, node: int, players: asyncio.Future[Any], figures: Figures) -> None:
    """Kill a node and see how long it takes until that is known, and until the others do its work."""
    began_s = min(seen.ended_s[-40:])
    before = rate(seen, began_s, time.monotonic())
    dead_s = time.monotonic()
    await asyncio.to_thread(nodes.kill, node)
    await until(lambda: not served(seen, node), players)
    figures.noticed_s = max(figures.noticed_s, time.monotonic() - dead_s)

    def back() -> bool:
        now_s = time.monotonic()
        return now_s - dead_s > 2.0 and rate(seen, now_s - 2.0, now_s) >= 0.75 * before

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + 60.0):
            await until(back, players)
    figures.back_to_three_quarters_s = max(figures.back_to_three_quarters_s, time.monotonic() - dead_s)


def served(seen: Seen, node: int) -> bool:
    """Tell whether sessions may begin on a node just now."""
    return any(each.startswith(f"{nodes.address(node)}:") for each in seen.client.services)


async def join(seen: Seen, node: int, players: asyncio.Future[Any], figures: Figures) -> None:
    """Start a node again; its first episode comes some time after its service has begun to start."""
    prefix = f"{nodes.address(node)}:"
    known = {host for host in seen.first_s if host.startswith(prefix)}
    await asyncio.to_thread(nodes.start, node)
    await until(lambda: began_s(node), players, every_s=0.5)  # Ray has placed an actor there, which starts a service
    await until(lambda: any(host.startswith(prefix) for host in seen.first_s.keys() - known), players)
    first_s = min(at_s for host, at_s in seen.first_s.items() if host.startswith(prefix) and host not in known)
    figures.joined_s = max(figures.joined_s, first_s - min(began_s(node)))


def began_s(node: int) -> list[float]:
    """Return when the services on a node began, by the monotonic clock."""
    found = subprocess.run(("ip", "netns", "pids", nodes.namespace(node)), capture_output=True, text=True, check=False)
    began = []
    for process in (Path("/proc", pid) for pid in found.stdout.split()):
        with contextlib.suppress(OSError):
            if b"rlfactory\0serve" in process.joinpath("cmdline").read_bytes():
                ticks = int(process.joinpath("stat").read_text().rpartition(")")[2].split()[19])
                began.append(ticks / os.sysconf("SC_CLK_TCK"))
    return began


async def forget_directory(seen: Seen, figures: Figures) -> None:
    """Kill the directory; sessions go on, and it knows all hosts again."""
    import ray

    sessions = [seen.client.session(TASKS[0], seed=seed, options=OPTIONS) for seed in range(4)]
    async with contextlib.AsyncExitStack() as stack:
        for session in sessions:
            await stack.enter_async_context(session)
        known = (await answer(directory().listing.remote())).hosts
        wanted = {host for host, report in known.items() if not report.load.draining}
        killed_s = time.monotonic()
        await asyncio.to_thread(ray.kill, directory(), no_restart=False)
        back = False
        while time.monotonic() - killed_s < 20.0:
            for session in sessions:
                try:
                    await (session.step([HOME]) if session.seq < 10 else seen.client.renew(session.id))
                except RLFactoryError:
                    figures.directory_sessions_lost += 1
            if not back:
                with contextlib.suppress(RLFactoryError):
                    listing = await answer(directory().listing.remote())
                    # One that has just begun has not settled: until it is killed, the old one may still answer.
                    back = not listing.settled and wanted <= listing.hosts.keys()
                figures.directory_back_s = round(time.monotonic() - killed_s, 2)
            if back and time.monotonic() - killed_s > 8.0:  # by then a client would have lost what is not listed
                break
            if max(session.seq for session in sessions) > 12:
                await asyncio.sleep(0.5)


async def inside(episodes: int, *, also_train: bool) -> Figures:
    """Measure, on the head node."""
    figures, began_s = Figures(), time.monotonic()
    serve = ("serve", "--ray", "--address", nodes.head(), "--phones-per-node", str(PHONES), "--spares", "0")
    small = ("--width", "320", "--height", "480", "--cpus-per-node", "0.5", "--json", "--stop-on-eof")
    service = await Child.start(sys.executable, "-m", "rlfactory", *serve, *small, name="serve")
    try:
        said = json.loads(await service.receive())
        await asyncio.to_thread(connect, nodes.head())
        async with EnvClient(said["address"]) as client:
            seen = Seen(client)
            async with playing(seen, 2 * episodes) as players:
                await until(lambda: len(seen.ended_s) >= episodes, players)
                figures.balance = round(max(seen.at.values()) / (seen.at.total() / NODES), 3)
                for node in (NODES - 1, NODES - 2):
                    _tell(f"{len(seen.ended_s)} episodes; node {node} dies")
                    await lose(seen, node, players, figures)
                    _tell(f"{len(seen.ended_s)} episodes; node {node} comes back")
                    await join(seen, node, players, figures)
            _tell("all nodes are back; one drains")
            void = seen.void
            async with playing(seen, episodes // 4) as players:
                some = len(seen.ended_s) + episodes // 16
                await until(lambda: len(seen.ended_s) >= some, players)
                await drain_host(said["address"], next(each for each in seen.client.services))
            figures.drain_lost = seen.void - void
            _tell("the directory dies")
            await forget_directory(seen, figures)
            _tell("steps through the directory, and without")
            figures.overhead = round(await overhead(client), 3)
            figures.episodes = len(seen.ended_s)
            figures.wrong_verdicts, figures.infra_lost, figures.played_again = len(seen.wrong), seen.void, seen.again
            for line in seen.wrong:
                print(line, file=sys.stderr)
    finally:
        await service.stop(patience_s=20.0)
    figures.noticed_s, figures.joined_s = round(figures.noticed_s, 2), round(figures.joined_s, 2)
    figures.back_to_three_quarters_s = round(figures.back_to_three_quarters_s, 2)
    figures.wall_s = round(time.monotonic() - began_s, 1)
    if also_train:
        _tell(json.dumps(asdict(figures)))  # a training takes minutes
        await train(figures)
    return figures


async def train(figures: Figures) -> None:
    """Play one GRPO step of `tiny_phone` with phones on all nodes, started on the head node."""
    command = (sys.executable, "-m", "rlfactory", "train", "tiny_phone", "rlfactory.service.ray=true")
    ray = f"ray_kwargs.ray_init.address={nodes.head()}"
    few = ("rlfactory.service.phones=4", "trainer.total_training_steps=1", "rlfactory.warm_start.episodes=40")
    training = await asyncio.create_subprocess_exec(*command, ray, *few, stdout=sys.stderr)
    steps: dict[str, float] = {}
    while training.returncode is None:
        with contextlib.suppress(RLFactoryError):  # before the services are there, and after
            listing = await answer(directory().listing.remote())
            steps.update({host: report.steps for host, report in listing.hosts.items()})
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(training.wait(), timeout=1.0)
    figures.trained = training.returncode == 0 and len(steps) == NODES and min(steps.values()) > 0
    figures.trained_balance = round(max(steps.values()) / (sum(steps.values()) / NODES), 3) if steps else None


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as one JSON object")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--train", action="store_true", help="also play one GRPO step on the cluster")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(json.dumps(asdict(asyncio.run(inside(arguments.episodes, also_train=arguments.train)))))
        return
    if os.geteuid() != 0:
        sys.exit("error: the nodes are network namespaces, which only root can make")
    with nodes.machines(NODES):
        for node in range(NODES):
            _tell(f"Ray on node {node} of {NODES}")
            nodes.start(node, cpus=2 if node else 16, slots=0 if node else 1)
        own = (sys.executable, "-m", "benchmarks.cluster", "--inside", "--episodes", str(arguments.episodes))
        done = subprocess.run(
            nodes.within(0, *own, *(("--train",) if arguments.train else ())),
            check=False,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **nodes.RAY},
        )
    if done.returncode:
        sys.exit(done.returncode)
    said = done.stdout.splitlines()[-1]  # what Ray's workers print comes before it
    print(json.dumps(json.loads(said), indent=2) if arguments.json else said)


if __name__ == "__main__":
    main()
