"""`adb shell` and `adb exec-out` on the phone: the stream's two protocols around one command line, or a prompt."""

from __future__ import annotations

import shlex
import struct
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.simulator.shell.stdin_use import reads_stdin
from rlfactory.emulators.simulator.wire.adbd import ServiceMisused, Stream
from rlfactory.emulators.simulator.wire.phone_thread import PhoneThread

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.shell import ShellOutput

MAX_STDIN: Final = 512 * 1024 * 1024
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN, WINDOW_SIZE = range(6)
"""Packet ids of the shell protocol, version 2 (AOSP, packages/modules/adb/shell_protocol.h)."""
_PACKET = struct.Struct("<BI")
_MAX_PACKET: Final = 1024 * 1024


def packet(kind: int, data: bytes) -> bytes:
    """Return one packet of the shell protocol."""
    return _PACKET.pack(kind, len(data)) + data


async def run_v1(stream: Stream, thread: PhoneThread, command: str) -> None:
    """Run a command whose two outputs share the stream in the order they are written; the exit code is not told."""
    size = _streamed_bytes(command)
    if size is not None:
        stdin = await stream.read_exactly(size)
    else:
        stdin = await _read_to_end(stream) if reads_stdin(command) else b""
    output = await _run(thread, f"{{ {command}\n}} 2>&1", stdin)
    await stream.write(output.stdout + output.stderr)


async def run_v2(stream: Stream, thread: PhoneThread, command: str) -> None:
    """Run a command with its outputs apart, its input if it reads any, and its exit code."""
    stdin = await _read_packets(stream) if reads_stdin(command) else b""
    output = await _run(thread, command, stdin)
    parts = [packet(STDOUT, output.stdout)] if output.stdout else []
    parts += [packet(STDERR, output.stderr)] if output.stderr else []
    await stream.write(b"".join((*parts, packet(EXIT, bytes([output.exit_code & 0xFF])))))


async def run_script_v2(stream: Stream, thread: PhoneThread) -> None:
    """`adb shell < script`: no command and no terminal, the input is the command line."""
    command = (await _read_packets(stream)).decode("utf-8", "replace")
    output = await _run(thread, command, b"")
    await stream.write(
        packet(STDOUT, output.stdout) + packet(STDERR, output.stderr) + packet(EXIT, bytes([output.exit_code & 0xFF]))
    )


async def _run(thread: PhoneThread, command: str, stdin: bytes) -> ShellOutput:
    return await thread.call(lambda phone: phone.shell(command, stdin))


def _streamed_bytes(command: str) -> int | None:
    """Return how many bytes `adb install` sends to its command, which it then waits for; None for other commands.

    Raises: ServiceMisused: more than `MAX_STDIN`.
    """
    words = command.replace("'", "").split()
    installs = words[:2] == ["cmd", "package"] or words[:1] == ["pm"]
    if not installs or not {"install", "install-write"} & set(words) or "-S" not in words[:-1]:
        return None
    size = words[words.index("-S") + 1]
    if not size.isdecimal() or int(size) > MAX_STDIN:
        raise ServiceMisused(f"cannot take {size[:20]} bytes of input; the limit is {MAX_STDIN}")
    return int(size)


async def _read_to_end(stream: Stream) -> bytes:
    parts: list[bytes] = []
    total = 0
    while data := await stream.read():
        parts.append(data)
        total += len(data)
        if total > MAX_STDIN:
            raise ServiceMisused(f"more than {MAX_STDIN} bytes of input")
    return b"".join(parts)


async def _read_packets(stream: Stream) -> bytes:
    """Return all input up to CLOSE_STDIN."""
    parts: list[bytes] = []
    total = 0
    while True:
        kind, data = await _read_packet(stream)
        if kind == CLOSE_STDIN:
            return b"".join(parts)
        if kind == STDIN:
            parts.append(data)
            total += len(data)
        if total > MAX_STDIN:
            raise ServiceMisused(f"more than {MAX_STDIN} bytes of input")


async def _read_packet(stream: Stream) -> tuple[int, bytes]:
    kind, length = _PACKET.unpack(await stream.read_exactly(_PACKET.size))
    if length > _MAX_PACKET:
        raise ServiceMisused(f"shell packet of {length} bytes")
    return kind, await stream.read_exactly(length)


class Prompt:
    """An interactive `adb shell`: echoes what is typed, runs each line, remembers the directory."""

    def __init__(self, stream: Stream, thread: PhoneThread, *, version_2: bool) -> None:
        self._stream = stream
        self._thread = thread
        self._version_2 = version_2
        self._directory = "/"
        self._line = bytearray()

    async def run(self) -> None:
        """Serve the stream until `exit`, Ctrl-D or its end."""
        await self._ask()
        going_on = True
        while going_on:
            going_on = await self._typed(await self._read())
        if self._version_2:
            await self._stream.write(packet(EXIT, b"\0"))

    async def _typed(self, data: bytes) -> bool:
        if not data:
            return False
        for byte in data:
            match byte:
                case 0x0A | 0x0D:
                    await self._print(b"\r\n")
                    if not await self._run_line(bytes(self._line).decode("utf-8", "replace").strip()):
                        return False
                    self._line.clear()
                    await self._ask()
                case 0x03:
                    self._line.clear()
                    await self._print(b"^C\r\n")
                    await self._ask()
                case 0x04 if not self._line:
                    await self._print(b"\r\n")
                    return False
                case 0x08 | 0x7F:
                    if self._line:
                        del self._line[-1]
                        await self._print(b"\b \b")
                case _:
                    self._line.append(byte)
                    await self._print(bytes([byte]))
        return True

    async def _run_line(self, line: str) -> bool:
        if line.split()[:1] == ["exit"]:
            return False
        command = f"cd {shlex.quote(self._directory)}\n{{ {line or ':'}\n}} 2>&1\nprintf '\\0%s' \"$PWD\""
        output = await _run(self._thread, command, b"")
        text, found, directory = output.stdout.rpartition(b"\0")
        if found:
            self._directory = directory.decode("utf-8", "replace")
        await self._print(((text if found else output.stdout) + output.stderr).replace(b"\n", b"\r\n"))
        return True

    async def _ask(self) -> None:
        await self._print(f"emulator64_x86_64:{self._directory} # ".encode())

    async def _print(self, data: bytes) -> None:
        if data:
            await self._stream.write(packet(STDOUT, data) if self._version_2 else data)

    async def _read(self) -> bytes:
        if not self._version_2:
            return await self._stream.read()
        while True:
            kind, data = await _read_packet(self._stream)
            if kind == CLOSE_STDIN:
                return b""
            if kind == STDIN and data:
                return data
