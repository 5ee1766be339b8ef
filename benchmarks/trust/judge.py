"""What judging costs: the state read and the verdict formed, after each step of oracles on the suite `phone`."""

from __future__ import annotations

import asyncio
from typing import Final

from benchmarks.trust.check import Check, Finding, Size
from rlfactory.envs.api.types import SessionOptions
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import play
from rlfactory.trainer.run.local_service import ServiceConfig, local_service

MAX_JUDGE_MS: Final = 2.0
OPTIONS: Final = SessionOptions(with_tree=True, with_image=False)


async def judging_s() -> list[float]:
    """Return what judging took, for each step of one episode of each template."""
    async with local_service(ServiceConfig(phones=1)) as service, EnvClient(service.address) as client:
        names = [task.name for task in await client.list_tasks(suite="phone", split="train")]
        records = [await play(client, name, seed=10_000, options=OPTIONS) for name in names]
    return [step.result.timing.judge_s for record in records for step in record.steps]


def run(size: Size) -> Finding:
    samples = size.of(asyncio.run(judging_s()))
    mean_ms = round(1000 * sum(samples) / len(samples), 2)
    faults = () if mean_ms <= MAX_JUDGE_MS else (f"judging takes {mean_ms} ms a step, more than {MAX_JUDGE_MS}",)
    return Finding(figures={"judge_ms": mean_ms}, faults=faults)


CHECK: Final = Check(
    name="judge", what=f"The verdict on a step takes at most {MAX_JUDGE_MS} ms on average (`judge_ms`).", run=run
)
