"""The way out of an internal network: hosts of the list, and nothing else."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from containers.egress.server import Rule

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def running(*arguments: str):
    """Run the proxy; yield its port, and what it wrote once the block has ended."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "containers.egress.server", "--host", "127.0.0.1", "--port", "0", *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    words: list[str] = []
    try:
        announced = re.search(rb"port (\d+)", await process.stdout.readline())
        assert announced
        yield int(announced[1]), words
        process.send_signal(signal.SIGTERM)
        rest, _ = await asyncio.wait_for(process.communicate(), 20)
        words += rest.decode().splitlines()
        assert process.returncode == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@asynccontextmanager
async def web_server():
    """A server that answers each request with its head; yield the port."""

    async def answer(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def ask(port: int, request: str) -> str:
    """Send a request to the proxy and return all that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    async with asyncio.timeout(20):
        answer = await reader.read(-1)
    writer.close()
    await writer.wait_closed()
    return answer.decode()


async def test_a_listed_host_is_reached_and_others_are_not():
    async with web_server() as web, running("--allow", f"localhost:{web}", "--allow-private") as (port, words):
        plain = await ask(
            port,
            f"GET http://localhost:{web}/a?b=1 HTTP/1.1\r\nHost: elsewhere\r\nProxy-Secret: x\r\nX-Mine: y\r\n\r\n",
        )
        assert "GET /a?b=1 HTTP/1.1\r\n" in plain
        assert f"Host: localhost:{web}\r\n" in plain
        assert "X-Mine: y" in plain
        assert "elsewhere" not in plain
        assert "Proxy-Secret" not in plain
        tunnel = await ask(port, f"CONNECT localhost:{web} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n")
        assert tunnel.startswith("HTTP/1.1 200 Connected\r\n\r\nHTTP/1.1 200 OK")
        for target in (f"127.0.0.1:{web}", "localhost:1", "example.com:443", f"localhost.example.com:{web}"):
            refusal = await ask(port, f"CONNECT {target} HTTP/1.1\r\n\r\n")
            assert refusal.startswith("HTTP/1.1 403 ")
            assert f"{target} is not on the list" in refusal
    assert "refused: example.com:443 is not on the list" in words


async def test_a_listed_name_is_no_way_to_this_machine():
    async with web_server() as web, running("--allow", f"localhost:{web}") as (port, _):
        refusal = await ask(port, f"CONNECT localhost:{web} HTTP/1.1\r\n\r\n")
        assert refusal.startswith("HTTP/1.1 403 ")
        assert "leads to an address that is not public" in refusal


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        ("GET / HTTP/1.1", 400),
        ("GET ftp://example.com/ HTTP/1.1", 400),
        ("CONNECT :443 HTTP/1.1", 400),
        ("CONNECT example.com:x HTTP/1.1", 400),
        ("nonsense", 400),
        ("CONNECT localhost:1 HTTP/1.1", 502),
    ],
)
async def test_what_is_no_request_for_a_host_is_refused(request_line, code):
    async with running("--allow", "localhost:1", "--allow-private") as (port, _):
        assert (await ask(port, f"{request_line}\r\n\r\n")).startswith(f"HTTP/1.1 {code} ")
        assert await ask(port, "x" * 100_000) == "", "too long a head ends the connection"
        assert (await ask(port, "GET /health HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 200 ")


def test_rules_are_hosts_with_ports():
    rule = Rule.parse("*.Example.org:443")
    assert rule.covers("a.example.org", 443)
    assert rule.covers("a.b.example.org", 443)
    assert not any(rule.covers(host, 443) for host in ("example.org", "badexample.org", "example.org.evil"))
    assert not rule.covers("a.example.org", 80)
    assert Rule.parse("example.org:80").covers("example.org", 80)
    for text in ("example.org", ":443", "example.org:0", "example.org:x", "a.*.org:443", "*:443"):
        with pytest.raises(ValueError, match="is not HOST:PORT"):
            Rule.parse(text)
