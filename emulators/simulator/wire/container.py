"""What a container of simulated phones runs: `python -m rlfactory.emulators.simulator.wire.container`.

It serves in one of two ways, on the container's own address:

- for a service, which is attached to standard input and asks for phones by `wire.host`'s protocol. The
  engine closes standard input when the service goes, however it goes, and the container ends;
- with `--phones N`, standing phones until SIGTERM: phone K has its console on port 5554 + 2K, adb on the port above.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.simulator.wire.health import serve_pulse
from rlfactory.emulators.simulator.wire.host import PhoneHost, serve
from rlfactory.processes import event_loop
from rlfactory.processes.malloc import keep_large_blocks

FIRST_CONSOLE_PORT = 5554


async def main(arguments: Sequence[str]) -> None:
    """Serve phones until the service that asked for them is gone, or until SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="rlfactory.emulators.simulator.wire.container", description="Serve simulated phones."
    )
    parser.add_argument("--phones", type=int, default=0, help="standing phones; 0: what a service asks for")
    parser.add_argument("--width", type=int, default=1080, help="of the screen, in pixels")
    parser.add_argument("--height", type=int, default=2400, help="of the screen, in pixels")
    parser.add_argument("--realtime", action="store_true", help="the phones' time runs with the host's clock")
    options = parser.parse_args(arguments)
    host = PhoneHost(listen="0.0.0.0")
    async with await serve_pulse(lambda: len(host.phones)):
        if not options.phones:
            await serve(host, sys.stdin, sys.stdout)
        config = PhoneConfig(
            width_px=options.width, height_px=options.height, clock="realtime" if options.realtime else "virtual"
        )
        await _stand(host, config, options.phones)


async def _stand(host: PhoneHost, config: PhoneConfig, phones: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        for phone in range(phones):
            console_port = FIRST_CONSOLE_PORT + 2 * phone
            await host.start(config, console_port=console_port, adb_port=console_port + 1)
        print(f"{phones} phones", flush=True)
        await stopped.wait()
    finally:
        await host.close()


if __name__ == "__main__":
    keep_large_blocks(os.environ)
    event_loop.run(main(sys.argv[1:]))
