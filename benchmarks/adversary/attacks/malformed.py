"""Messages that are none, and values that make no sense."""

from __future__ import annotations

import math
import os

import grpc

from benchmarks.adversary.arena import SUMS, Arena, goes_on, metadata
from benchmarks.adversary.attack import Broke, attack, require
from rlfactory.envs.api.errors import OutOfOrder, RLFactoryError, TaskError
from rlfactory.envs.wire.faults import from_metadata
from rlfactory.envs.wire.v1 import env_pb2 as pb

UNARY = ("ListTasks", "Reset", "Step", "Fork", "CloseSession", "Renew", "Status")
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def _carried(error: grpc.aio.AioRpcError) -> RLFactoryError | None:
    return from_metadata(error.details() or "", list(error.trailing_metadata() or ()))


async def _refusal(method: object, request: object) -> RLFactoryError:
    """Return the error of ours that a call was refused with. Raises: Broke: there is none."""
    try:
        await method(request, metadata=metadata(), timeout=10)  # type: ignore[operator]
    except grpc.aio.AioRpcError as error:
        ours = _carried(error)
        if ours is None:
            raise Broke(f"{error.code()} without details: {(error.details() or '')[:80]}") from None
        return ours
    raise Broke("it was carried out")


@attack("INVALID_ARGUMENT with details, from every method")
async def no_messages(arena: Arena) -> str:
    """Send noise, cut messages and wrong wire types to every method."""
    words = (b"\xff" * 10, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", os.urandom(64) + b"\xff", b"\x0a\x02\xff\xfe")
    async with grpc.aio.insecure_channel(arena.address) as channel:
        for name in UNARY:
            raw = channel.unary_unary(f"/envs.v1.EnvService/{name}")
            for word in words:
                try:
                    await raw(word, metadata=metadata(), timeout=5)
                except grpc.aio.AioRpcError as error:
                    ours = _carried(error)
                    if ours is None or error.code() is not INVALID:
                        # Noise that happens to be a message with unknown fields is one.
                        require(name != "Status" and ours is not None, f"{name} {word[:6]!r}: {error.code()}, {ours!r}")
    return f"{len(UNARY)} methods, {len(words)} kinds of noise"


@attack("OUT_OF_ORDER: it is another step")
async def true_for_one(arena: Arena) -> str:
    """Repeat a step with true for 1, 1.0 for 1, and reordered arguments (which is the same)."""
    async with arena.session() as session, arena.stub() as stub:

        def step(arguments: str) -> pb.StepRequest:
            return pb.StepRequest(
                session=session.id, seq=1, calls=[pb.ToolCall(name="calculator", arguments_json=arguments)]
            )

        first = await stub.Step(step('{"expression": "1", "a": 1}'), metadata=metadata(), timeout=5)
        for other in ('{"expression": "1", "a": true}', '{"expression": "1", "a": 2}'):
            error = await _refusal(stub.Step, step(other))
            require(isinstance(error, OutOfOrder), f"{other}: {error.reason}")
        again = await stub.Step(step('{"a": 1, "expression": "1"}'), metadata=metadata(), timeout=5)
        require(again.results == first.results, "the same step was answered otherwise")
    return "told apart"


@attack("BAD_REQUEST, each")
async def senseless_options(arena: Arena) -> str:
    """Begin episodes with options that are infinite, not a number, negative or not defined."""
    options = [
        pb.Options(lease_s=value) for value in (math.nan, math.inf, -1.0)
    ] + [pb.Options(step_timeout_s=value) for value in (math.nan, math.inf, -1.0)] + [
        pb.Options.FromString(b"\x08\x63"), pb.Options.FromString(b"\x38\x63"), pb.Options(image_quality=101),
        pb.Options(multiple_px=2**31), pb.Options(group="g" * 201),
    ]  # fmt: skip
    async with arena.stub() as stub:
        for each in options:
            error = await _refusal(stub.Reset, pb.ResetRequest(task=SUMS, options=each))
            require(isinstance(error, TaskError), f"{each}: {error.reason}")
    return f"{len(options)} refused"


@attack("carried out, or refused with details")
async def extreme_numbers(arena: Arena) -> str:
    """Begin with the largest seed, the smallest lease and the most pixels; step with seq 0 and 2**64 - 1."""
    async with arena.stub() as stub:
        extreme = pb.Options(max_pixels=2**64 - 1, max_turns=2**32 - 1, lease_s=5e-324, step_timeout_s=1e300)
        await stub.Reset(pb.ResetRequest(task=SUMS, seed=2**64 - 1, options=extreme), metadata=metadata(), timeout=5)
    async with arena.session() as session, arena.stub() as stub:
        for seq in (0, 2, 2**63, 2**64 - 1):
            error = await _refusal(stub.Step, pb.StepRequest(session=session.id, seq=seq))
            require(isinstance(error, OutOfOrder), f"seq {seq}: {error.reason}")
        await goes_on(session)
    return "refused with details"


@attack("UNIMPLEMENTED or refused, never a crash")
async def unknown_methods(arena: Arena) -> str:
    """Call 300 methods that do not exist, with a token."""
    async with grpc.aio.insecure_channel(arena.address) as channel:
        for number in range(300):
            path = ("/envs.v1.EnvService/", "/envs.v2.EnvService/Step", "/", "/" + "x" * 2000, "/\x7f")[number % 5]
            try:
                await channel.unary_unary(f"{path}{number}")(b"", metadata=metadata(), timeout=5)
            except grpc.aio.AioRpcError as error:
                fine = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAUTHENTICATED)
                require(error.code() in fine, f"{path[:20]!r}: {error.code()}")
            else:
                raise Broke("it was answered")
    return "300 refused"


@attack("a repeated id is refused; the episode goes on")
async def equal_call_ids(arena: Arena) -> str:
    """Give 32 calls of a step the same id, and one the id of another's index."""
    async with arena.session() as session, arena.stub() as stub:
        for ids in (["a"] * 32, ["", "0"]):
            calls = [pb.ToolCall(id=each, name="calculator", arguments_json='{"expression": "1"}') for each in ids]
            error = await _refusal(stub.Step, pb.StepRequest(session=session.id, seq=1, calls=calls))
            require(isinstance(error, TaskError), f"{error.reason}")
        await goes_on(session)
    return "refused"
