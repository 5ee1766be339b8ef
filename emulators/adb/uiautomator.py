"""uiautomator2's server on a phone, reached through adb: started when needed, asked over one connection that stays.

The server is uiautomator2's own jar (its Python client is blocking and repeats a call whose connection broke, which
must not happen to an action; here a look-up whose connection broke is asked once more, an action never).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import resources
from typing import Any, Final

from rlfactory.emulators.adb.client import AdbClient, AdbStream
from rlfactory.emulators.device.errors import DeviceError, DeviceLost

PORT: Final = 9008
JAR: Final = "/data/local/tmp/u2.jar"
_LAUNCH: Final = f"CLASSPATH={JAR} app_process / com.wetest.uia2.Main -p {PORT}"
_POLL_S: Final = 0.05


class Uiautomator:
    """The server of one phone. One call at a time; deadlines are the caller's."""

    def __init__(self, adb: AdbClient, serial: str) -> None:
        self._adb = adb
        self._serial = serial
        self._stack = AsyncExitStack()
        self._stream: AdbStream | None = None
        self._launched: asyncio.Task[bytes] | None = None
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Make sure that the server runs. Raises: DeviceError: it does not come up."""
        if await self._answers():
            return
        await self._install()
        self._launched = asyncio.create_task(self._run_server())
        while not await self._answers():
            if self._launched.done():
                printed = self._launched.result().decode("utf-8", "replace")
                raise DeviceError(f"{self._serial}: uiautomator2's server ended: {printed.strip()[-300:]}")
            await asyncio.sleep(_POLL_S)

    async def look(self, method: str, *params: object) -> Any:
        """Return the result of a JSON-RPC method that may be asked twice.

        Raises: DeviceError: the server answered with an error; DeviceLost: it cannot be reached.
        """
        async with self._turn:
            try:
                return await self._call(method, params)
            except DeviceLost:
                # The server may have closed the idle connection, or have died: bring it back and ask once more.
                await self.start()
                return await self._call(method, params)

    async def act(self, method: str, *params: object) -> Any:
        """Call a JSON-RPC method that changes something, exactly once. Raises: as `look`."""
        async with self._turn:
            await self._hang_up()
            await self.start()
            return await self._call(method, params)

    async def close(self) -> None:
        """Let go of the server; one that was started here ends."""
        await self._hang_up()
        if self._launched is not None:
            self._launched.cancel()
            await asyncio.gather(self._launched, return_exceptions=True)
            self._launched = None

    # --- the server process

    async def _install(self) -> None:
        """Push uiautomator2's jar unless the phone has it."""
        jar = await asyncio.to_thread(resources.files("uiautomator2").joinpath("assets/u2.jar").read_bytes)
        there = await self._adb.shell(self._serial, f"toybox md5sum {JAR}")
        if hashlib.md5(jar, usedforsecurity=False).hexdigest().encode() not in there.stdout:
            await self._adb.push(self._serial, JAR, jar, mode=0o644, modified_s=0)

    async def _run_server(self) -> bytes:
        """Hold the stream that keeps the server alive; return what it printed when it ended."""
        async with self._adb.open(self._serial, f"shell:{_LAUNCH}") as stream:
            return await stream.reader.read(-1)

    async def _answers(self) -> bool:
        with contextlib.suppress(DeviceError):
            async with self._connected() as stream:
                return await _request(stream, "GET", "/ping", b"") == b"pong"
        return False

    # --- the connection that stays

    async def _call(self, method: str, params: tuple[object, ...]) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = json.loads(await self._post(body))
        if "error" in answer:
            raise DeviceError(f"{self._serial}: {method}: {answer['error'].get('message', '')[:300]}")
        return answer.get("result")

    async def _post(self, body: bytes) -> bytes:
        try:
            if self._stream is None:
                self._stream = await self._stack.enter_async_context(self._connected())
            return await _request(self._stream, "POST", "/jsonrpc/0", body)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            await self._hang_up()
            raise DeviceLost(f"{self._serial}: uiautomator2's server went away ({error!r})") from error
        except BaseException:
            # Half an answer may be on its way: this connection is of no use any more.
            await self._hang_up()
            raise

    async def _hang_up(self) -> None:
        self._stream = None
        with contextlib.suppress(DeviceError, ConnectionError):
            await self._stack.aclose()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AdbStream]:
        async with self._adb.open(self._serial, f"tcp:{PORT}") as stream:
            yield stream


async def _request(stream: AdbStream, method: str, path: str, body: bytes) -> bytes:
    """Send an HTTP request and return the body of the answer. Raises: DeviceError: its status is not 200."""
    head = f"{method} {path} HTTP/1.1\r\nHost: phone\r\nContent-Type: application/json\r\n"
    stream.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = (await stream.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in answer[1:])}
    if "content-length" in headers:
        content = await stream.reader.readexactly(int(headers["content-length"]))
    elif headers.get("transfer-encoding", "").lower() == "chunked":
        content = await _read_chunks(stream)
    else:
        content = await stream.reader.read(-1)
    if answer[0].split(" ")[1:2] != ["200"]:
        raise DeviceError(f"uiautomator2's server answered {answer[0]!r}")
    return content


async def _read_chunks(stream: AdbStream) -> bytes:
    parts: list[bytes] = []
    while length := int((await stream.reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await stream.reader.readexactly(length))
        await stream.reader.readexactly(2)
    await stream.reader.readuntil(b"\r\n")
    return b"".join(parts)
