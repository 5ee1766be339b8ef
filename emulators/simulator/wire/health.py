"""The pulse of a container of phones: its event loop answers on loopback, and the image's health check asks it.

`python -S -m rlfactory.emulators.simulator.wire.health` exits 0 when it does. It imports nothing that takes time.
"""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

PORT = 8007
"""Of loopback inside the container; nobody outside can reach it."""


async def serve_pulse(phones: Callable[[], int], *, port: int = PORT) -> asyncio.Server:
    """Answer each connection with the number of phones, for as long as the event loop turns. Raises: OSError."""
    import asyncio

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{phones()} phones\n".encode())
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", port)


def pulse(*, port: int = PORT, timeout_s: float = 3.0) -> str:
    """Return what a container of phones says of itself. Raises: OSError: it does not answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
        answer = connection.recv(64)
    if not answer:
        raise ConnectionResetError("the phones' process closed the connection")
    return answer.decode().strip()


if __name__ == "__main__":
    try:
        print(pulse())
    except OSError as error:
        sys.exit(f"error: {error}")
