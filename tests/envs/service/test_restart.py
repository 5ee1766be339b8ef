"""Sessions without phones outlive their service, by its journal; what cannot is void, and says so at once."""

import asyncio
import shutil
from contextlib import asynccontextmanager

import pytest

from benchmarks.adversary.scene import DONE, Sums
from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.errors import InfrastructureError, OutOfOrder, SessionNotFound, TaskError
from rlfactory.envs.api.types import SessionOptions, ToolCall, ToolResult, ToolStatus
from rlfactory.envs.client import EnvClient
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.sandbox.tool import PythonTool
from rlfactory.envs.service.restart.journal import MAX_SESSION_BYTES, Journal
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tools.tool import CallContext, ToolContext

OPTIONS = SessionOptions(with_image=False)


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def served(journal):
    """Return a context manager that runs a service and gives a client of it; the same journal each time."""

    @asynccontextmanager
    async def run(path=journal, phones=0):
        tasks = default_registry()
        tasks.add(Sums)
        source = phone_source(PhonesConfig(phones=phones, width_px=320, height_px=480)) if phones else None
        pool = PoolConfig(phones=phones, spares=0) if phones else None
        config = ServerConfig(journal=path, drain_s=0.5)
        async with (
            serving(config, tasks=tasks, phones=source, pool=pool) as server,
            EnvClient(server.address) as client,
        ):
            yield client

    return run


def sums(expression, tool="calculator"):
    return [ToolCall(id="0", name=tool, arguments={"expression" if tool == "calculator" else "key": expression})]


def copied(journal, folder):
    """Return a journal as it is when its service is killed at this moment."""
    for file in journal.parent.glob("journal*"):
        shutil.copy(file, folder / file.name)
    return folder / journal.name


async def test_a_session_goes_on_as_if_nothing_had_been(served):
    async with served() as client:
        begun = await client.reset("arena.sums", seed=5, options=OPTIONS)
        first = await client.step(begun.session, 1, sums("6*7"))
        (fork,) = await client.fork(begun.session, 1)
        closed = await client.reset("arena.sums", seed=6, options=OPTIONS)
        await client.close(closed.session)
    for seq in (2, 3):  # restarted twice
        async with served() as client:
            assert (await client.status()).sessions == 2
            with pytest.raises(OutOfOrder):
                await client.step(begun.session, seq - 1, sums("another"))
            again = await client.step(begun.session, seq, sums("2*3"))
            assert again.results[0].text == "6"
            assert await client.step(begun.session, seq, sums("2*3")) == again
            if seq == 2:
                assert (await client.step(fork.session, 1, sums("6*7"))).results == first.results
            with pytest.raises(SessionNotFound):
                await client.renew(closed.session)
    async with served() as client:
        answer = begun.goal.split()[-1].rstrip(".")
        done = await client.step(begun.session, 4, [ToolCall(id="0", name="finish", arguments={"answer": answer})])
        assert done.reward.success


async def test_what_was_under_way_is_done_anew_only_where_nothing_outside_came_of_it(served, journal, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    async with served() as client:
        inside = await client.reset("arena.sums", seed=5, options=OPTIONS)
        outside = await client.reset("arena.sums", seed=6, options=OPTIONS)
        await client.step(outside.session, 1, sums("once", "nap"))
        nap = ToolCall(id="0", name="nap", arguments={"key": "long", "seconds": 60.0})
        step = asyncio.create_task(client.step(outside.session, 2, [nap]))
        while DONE.get("long") is None:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        killed = copied(journal, copy)
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)
    async with served(killed) as client:
        with pytest.raises(InfrastructureError, match="step 2 was under way when the service ended"):
            await client.step(outside.session, 2, [nap])
        assert (await client.step(inside.session, 1, sums("6*7"))).results[0].text == "42"
    assert (DONE.pop("long"), DONE.pop("once")) == (1, 1)


async def test_sessions_with_phones_are_void_at_once(served):
    async with served(phones=1) as client:
        begun = await client.reset("settings.wifi_on", seed=1, options=OPTIONS)
    async with served(phones=1) as client:
        for _ in range(2):
            with pytest.raises(InfrastructureError, match="started again"):
                await client.step(begun.session, 1, [])
        await client.reset("settings.wifi_on", seed=2, options=OPTIONS)  # the phone is free


async def test_code_runs_again_that_made_the_variables():
    services = Services(Sandboxes(SandboxConfig(unsafe_local=True, spares=0)))
    tool, context = PythonTool(ToolContext(services=services)), CallContext(timeout_s=20)

    def said(code, text, status=ToolStatus.OK):
        return ToolCall(id="0", name="python", arguments={"code": code}), ToolResult(
            call_id="0", name="python", status=status, text=text
        )

    tool.recall(
        [
            said("y = 1", "(no output)"),
            said("import os; os._exit(1)", "[...; its variables are gone]", ToolStatus.ERROR),
            said("x = 20", "(no output)"),
            said("1 / 0", "ZeroDivisionError", ToolStatus.ERROR),
            said("x = 7", "no such argument", ToolStatus.REJECTED),
        ]
    )
    async with services:
        assert await tool.call({"code": "x + 1, 'y' in globals()"}, context) == "(21, False)"


async def test_a_session_that_said_too_much_is_void(served, monkeypatch):
    monkeypatch.setattr("rlfactory.envs.service.restart.journal.MAX_SESSION_BYTES", 10)
    async with served() as client:
        begun = await client.reset("arena.sums", seed=5, options=OPTIONS)
        await client.step(begun.session, 1, sums("6*7"))
    async with served() as client:
        with pytest.raises(InfrastructureError, match="started again"):
            await client.step(begun.session, 2, sums("6*7"))
    assert MAX_SESSION_BYTES > 10


def test_a_journal_has_one_service(journal, tmp_path):
    first = Journal(journal)
    assert {each.stat().st_mode & 0o777 for each in tmp_path.glob(f"{journal.name}*")} == {0o600}
    with pytest.raises(TaskError, match="each service needs one of its own"):
        Journal(journal)
    first.close()
    Journal(journal).close()
    (tmp_path / "text").write_text("no journal " * 1000)
    with pytest.raises(TaskError, match="not a database"):
        Journal(tmp_path / "text")


def test_a_journal_that_cannot_be_written_is_given_up_whole(journal, caplog):
    broken = Journal(journal)
    broken._file.execute("DROP TABLE turn")
    broken.turn_begins("a", 1)
    broken.turn_begins("a", 2)
    assert not journal.exists()
    assert caplog.text.count("is given up") == 1
