"""Honest sessions in a process of their own: `python -m benchmarks.adversary.honest ADDRESS [--sessions 16]`.

Each plays one episode after the other, a turn every 0.1 s. Lines on standard output: `ok END LATENCY` of a turn, in
seconds of the monotonic clock, `lost END WHY` of an episode that failed or was judged wrong. Ends with its input.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from typing import Final

from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.api.types import SessionOptions, ToolCall
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.envs.wire.trust_options import token_from_environment
from rlfactory.processes.event_loop import run

PACE_S: Final = 0.1
TURNS: Final = 60
REST_S: Final = 0.2
"""After a loss."""


class WrongAnswer(Exception):
    """The service said something else than it should."""


async def play(client: EnvClient, number: int) -> None:
    """Play one episode. Raises: WrongAnswer, RLFactoryError."""
    options = SessionOptions(with_image=False, lease_s=60.0, group="honest")
    async with client.session("arena.sums", seed=number, options=options) as session:
        for turn in range(TURNS):
            begun_s = time.monotonic()
            result = await session.step(
                [ToolCall(id="0", name="calculator", arguments={"expression": f"{turn}*{number}+7"})]
            )
            took_s = time.monotonic() - begun_s
            if result.results[0].text != str(turn * number + 7):
                raise WrongAnswer(f"{turn}*{number}+7 gave {result.results[0].text[:80]!r}")
            print(f"ok {time.monotonic():.4f} {took_s:.5f}", flush=True)
            await asyncio.sleep(max(0.0, PACE_S - took_s))
        wanted = re.findall(r"\d+", session.goal)[0]
        result = await session.step([ToolCall(id="0", name="finish", arguments={"answer": wanted})])
        if not result.reward.success:
            raise WrongAnswer("a right answer was judged wrong")


async def player(client: EnvClient, first: int) -> None:
    number = first
    while True:
        try:
            await play(client, number)
        except (RLFactoryError, WrongAnswer) as error:
            print(f"lost {time.monotonic():.4f} {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
            await asyncio.sleep(REST_S)
        number += 1000


async def main_async(address: str, sessions: int) -> None:
    """Play until standard input ends."""
    loop = asyncio.get_running_loop()
    async with EnvClient(address, trust=ClientTrust(token=token_from_environment())) as client:
        players = [asyncio.create_task(player(client, number + 1)) for number in range(sessions)]
        over = loop.run_in_executor(None, sys.stdin.read)
        await asyncio.wait((over, *players), return_when=asyncio.FIRST_COMPLETED)
        for each in players:
            each.cancel()
        await asyncio.gather(*players, return_exceptions=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--sessions", type=int, default=16)
    arguments = parser.parse_args()
    run(main_async(arguments.address, arguments.sessions))
