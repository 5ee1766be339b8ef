"""The command of the broker: `rlfactory broker`."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from rlfactory.processes.docker.broker import Broker
from rlfactory.processes.docker.broker_rules import Rules

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def broker(
    listen: Annotated[Path, typer.Option(help="The Unix socket that a service is given as its DOCKER_HOST.")],
    engine: Annotated[Path, typer.Option(help="The Docker engine's own socket.")] = Path("/var/run/docker.sock"),
    service: Annotated[str, typer.Option(help="Name of the container that asks; empty: it does not run in one.")] = "",
    image: Annotated[
        list[str] | None, typer.Option(help="A pattern of images beside rlfactory-*; repeat it for more.")
    ] = None,
    device: Annotated[list[str] | None, typer.Option(help="Of the host, such as /dev/kvm; repeat it for more.")] = None,
    privileged: Annotated[
        list[str] | None, typer.Option(help="A pattern of images that may do anything, as redroid has to.")
    ] = None,
    runtime: Annotated[str, typer.Option(help="That may be asked for beside the engine's own, such as runsc.")] = "",
    max_containers: Annotated[int, typer.Option(min=1, help="Of ours, on the whole engine.")] = 512,
) -> None:
    """Stand between a service and the Docker engine: containers as ours are, and nothing else."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    rules = Rules(
        images=(*Rules().images, *(image or ())),
        service=service,
        devices=tuple(device or ()),
        privileged=tuple(privileged or ()),
        runtime=runtime,
        max_containers=max_containers,
    )
    asyncio.run(_serve(Broker(rules, listen=listen, engine=engine), listen))


async def _serve(broker: Broker, listen: Path) -> None:
    """Serve until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with broker:
        print(f"the broker listens on {listen}; Ctrl-C stops", flush=True)
        await stop.wait()
