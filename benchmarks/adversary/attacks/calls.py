"""What a model can write into its calls."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping

from benchmarks.adversary.arena import SUMS, TEXT, Arena, call, goes_on, metadata, text_of, told
from benchmarks.adversary.attack import Broke, attack, require
from benchmarks.blame.calls import value
from rlfactory.envs.api.errors import LimitExceeded, RLFactoryError
from rlfactory.envs.api.types import JSON, SessionOptions, ToolStatus
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire.v1 import env_pb2 as pb

FENCE = "```" + "\n" * 19_990 + "x"
SQL_TASK = "text2sql.select"
QUICK_S = 1.0


async def _quick(
    arena: Arena, task: str, *calls: tuple[str, Mapping[str, JSON]], options: SessionOptions = TEXT
) -> str:
    """Play one turn of these calls; return its first result. Raises: Broke: it took more than a second."""
    async with arena.session(task, options=options) as session:
        begun_s = time.monotonic()
        result = await session.step([call(name, index, **each) for index, (name, each) in enumerate(calls)])
        took_s = time.monotonic() - begun_s
        arena.require_soon(took_s, QUICK_S, "the turn")
        return f"{told(result)[:70]!r} in {took_s:.2f} s"


async def _raw_step(arena: Arena, arguments_json: str, *, name: str = "calculator") -> pb.StepResponse:
    """Play one turn with these arguments as they are. Raises: grpc.aio.AioRpcError."""
    async with arena.session() as session, arena.stub() as stub:
        step = pb.ToolCall(id="0", name=name, arguments_json=arguments_json)
        request = pb.StepRequest(session=session.id, seq=1, calls=[step])
        response: pb.StepResponse = await stub.Step(request, metadata=metadata(), timeout=20)
        session.seq = 1
        await goes_on(session)
        return response


@attack("an answer within a second")
async def fenced_newlines(arena: Arena) -> str:
    """Ask for a query of three backticks, 19,990 newlines and an x."""
    return await _quick(arena, SQL_TASK, ("sql", {"query": FENCE}))


@attack("an answer within a second", limit_s=90)
async def eight_fenced(arena: Arena) -> str:
    """Ask for eight such queries in one turn."""
    queries = [("sql", {"query": FENCE[: -1 - index] + "x"}) for index in range(8)]
    return await _quick(arena, SQL_TASK, *queries)


@attack("the episode ends with a reward of 0 within a second")
async def fenced_answer(arena: Arena) -> str:
    """Finish with an answer of three backticks, 3,990 newlines and an x."""
    return await _quick(arena, SQL_TASK, ("finish", {"answer": "```" + "\n" * 3990 + "x"}))


@attack("an answer within a second")
async def unclosed_quotes(arena: Arena) -> str:
    """Ask for a query with 10,000 opening quotes, brackets and comments that never close, and a mistake of grammar."""
    return await _quick(arena, SQL_TASK, ("sql", {"query": "SELECT FROM " + "(" * 1900 + "/*'\"[" * 400}))


@attack("an answer within a second", limit_s=90)
async def grammar_storm(arena: Arena) -> str:
    """Ask for 32 queries of 3,900 characters each with a mistake of grammar at their end."""
    body = "SELECT " + ", ".join(f"((({n}+1)*2)-3) AS c{n}" for n in range(150))
    queries = [("sql", {"query": f"{body} FROM FROM t{index}"}) for index in range(32)]
    return await _quick(arena, SQL_TASK, *queries)


@attack("rejected within a second")
async def tower_of_powers(arena: Arena) -> str:
    """Calculate what has more digits than there are atoms, in several ways at once."""
    hard = ("9**9**9**9", "factorial(factorial(6))", "2**8000*2**8000", "comb(4000,2000)**9", "10**8191**0.5**-9")
    return await _quick(arena, SUMS, *(("calculator", {"expression": each}) for each in hard))


@attack("rejected within a second")
async def nested_sum(arena: Arena) -> str:
    """Calculate 990 open brackets, 990 minus signs, and a chain of 480 additions."""
    hard = ("(" * 495 + "1" + ")" * 495, "-" * 990 + "1", "+".join("1" * 1)[:0] + "1+" * 480 + "1", "[" * 990)
    return await _quick(arena, SUMS, *(("calculator", {"expression": each}) for each in hard))


@attack("LIMIT_EXCEEDED, and the episode goes on")
async def too_many_calls(arena: Arena) -> str:
    """Ask for 33 calls in one turn."""
    async with arena.session() as session:
        try:
            await session.step([call("calculator", n, expression="1") for n in range(33)])
        except LimitExceeded as error:
            await goes_on(session)
            return f"refused: {error}"
    raise Broke("33 calls were carried out")


@attack("rejected within a second")
async def unknown_tools(arena: Arena) -> str:
    """Call 32 tools with names of 20,000 characters that are close to nothing, or to everything."""
    names = [("calculator" * 2000)[index:] for index in range(32)]
    return await _quick(arena, SUMS, *((name, {}) for name in names))


@attack("rejected within a second")
async def unknown_arguments(arena: Arena) -> str:
    """Call a tool with 20,000 arguments that it does not know."""
    return await _quick(arena, SUMS, ("calculator", {f"a{n}": n for n in range(20_000)}))


@attack("rejected within a second")
async def many_values(arena: Arena) -> str:
    """Call a tool with a list of 300,000 objects."""
    return await _quick(arena, SUMS, ("calculator", {"expression": [{} for _ in range(300_000)]}))


@attack("rejected, and nobody else waits", limit_s=60)
async def very_many_values(arena: Arena) -> str:
    """Send 60,000 objects, and 200 numbers of 4,000 digits, from eight sessions at once, 96 times."""
    said: tuple[JSON, ...] = ([{"a": n} for n in range(60_000)], [10**4_000] * 200)

    async def play(client: EnvClient, seed: int) -> None:
        async with client.session(SUMS, seed=seed, options=TEXT) as session:
            for turn in range(12):
                said_ = await text_of(session, "calculator", expression=said[turn % 2])
                require(said_.startswith("rejected"), said_[:120])

    async with arena.client() as client:
        await asyncio.gather(*(play(client, seed) for seed in range(8)))
    return "96 rejected"


@attack("rejected as the model's mistake; the episode goes on")
async def deep_arguments(arena: Arena) -> str:
    """Send arguments nested 60, 970 and 5,000 deep to a calculator, a function and the end."""
    for name in ("calculator", "nap", "finish"):
        for depth in (60, 970, 5000):
            response = await _raw_step(arena, '{"expression":' + "[" * depth + "]" * depth + "}", name=name)
            status = response.results[0].status
            require(status == pb.TOOL_STATUS_REJECTED, f"{name} {depth} deep: status {status}")
    return "all rejected"


@attack("rejected or calculated; the episode goes on")
async def strange_numbers(arena: Arena) -> str:
    """Send a number of 5,000 digits, NaN, infinities and 1e999 as arguments."""
    for text in ("9" * 5000, "NaN", "-Infinity", "1e999", "-0.0", "1" + "0" * 400 + ".5"):
        response = await _raw_step(arena, f'{{"expression": {text}}}')
        status = response.results[0].status
        require(status == pb.TOOL_STATUS_REJECTED, f"{text[:12]}: status {status}")
    return "all rejected"


@attack("rejected as the model's mistake; the episode goes on")
async def no_object(arena: Arena) -> str:
    """Send arguments that are no JSON, no object, or an object twice over."""
    for text in ("[1]", "null", '"x"', "{", "{}{}", "\ufeff{}", "{'a': 1}", '{"expression": "1"} trailing'):
        response = await _raw_step(arena, text)
        status = response.results[0].status
        require(status == pb.TOOL_STATUS_REJECTED, f"{text[:12]!r}: status {status}")
    return "all rejected"


@attack("rejected; nothing is void")
async def lone_surrogates(arena: Arena) -> str:
    """Send halves of characters as values and names of arguments to every tool."""
    for task, names in ((SUMS, ("calculator", "nap", "finish")), (SQL_TASK, ("sql", "finish"))):
        async with arena.session(task) as session:
            for name in names:
                for key in ("expression", "key", "query", "answer", "status", "\ud800"):
                    if session.over:
                        break
                    said = await text_of(session, name, **{key: "x\udfffy"})
                    fine = said.startswith("rejected") or said == "ok: x?y 1"
                    require(fine, f"{name} {key!r}: {said[:80]}")
    return "all rejected"


@attack("no failure is anybody's but the model's", limit_s=60)
async def fuzzed(arena: Arena) -> str:
    """Send 400 turns of drawn nonsense to four tools; each must come back as data."""
    rng = random.Random(7)
    async with arena.client() as client:
        played = 0
        while played < 400:
            task = rng.choice((SUMS, SQL_TASK, "text2sql.join"))
            async with client.session(task, seed=rng.randrange(50), options=TEXT) as session:
                while played < 400 and not session.over:
                    name = rng.choice(("calculator", "nap", "sql", "finish", "nothing"))
                    drawn: dict[str, JSON] = {
                        rng.choice(("expression", "query", "answer", "key", "seconds", "")): value(rng)
                    }
                    if name == "nap" and "seconds" in drawn:
                        continue
                    played += 1
                    try:
                        result = await session.step([call(name, **drawn)])
                    except RLFactoryError as error:
                        raise Broke(f"{name} {json.dumps(drawn)[:80]}: {error.blame}: {error}") from None
                    require(result.results[0].status is not ToolStatus.CANCELLED, f"{name} was cancelled")
    return f"{played} turns, each came back as data"
