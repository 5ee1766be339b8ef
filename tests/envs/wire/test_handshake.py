"""The protocol as strangers meet it: versions, what older clients send, presence of fields, extensions."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf import any_pb2, wrappers_pb2

from rlfactory.envs.api.errors import ProtocolMismatch
from rlfactory.envs.client import EnvClient
from rlfactory.envs.wire import handshake
from rlfactory.envs.wire.faults import from_metadata
from rlfactory.envs.wire.stub import SERVICE, EnvServiceStub
from rlfactory.envs.wire.v1 import env_pb2 as pb

METHODS_OF_CHANNELS = {"close", "getchannel", "waitforready", "getstate", "channelready", "subscribe", "unsubscribe"}
"""Of grpcio's channel and of grpc-js' client, from which clients in these languages are derived."""


@pytest.fixture
async def stub(client_of):
    async with client_of() as client, client.trust.channel(client.address) as channel:
        yield EnvServiceStub(channel)


async def refused(call) -> tuple[grpc.StatusCode, str]:
    """Return what the call is refused with: the code, and our reason where there is one."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = from_metadata(caught.value.details(), list(caught.value.trailing_metadata()))
    return caught.value.code(), f"{error.reason}: {error}" if error else ""


async def test_client_and_service_agree_on_the_newest_version_that_both_speak(stub):
    answer = await stub.Handshake(pb.HandshakeRequest(oldest_protocol=1, newest_protocol=99, needs=["fork"]))
    assert answer.protocol == handshake.NEWEST
    assert list(answer.capabilities) == ["fork", "request_id", "steps", "watch"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (pb.HandshakeRequest(oldest_protocol=98, newest_protocol=99), "speaks versions 98 to 99"),
        (pb.HandshakeRequest(oldest_protocol=1, newest_protocol=1), "speaks versions 1 to 1"),
        (pb.HandshakeRequest(), "speaks versions 0 to 0"),
        (pb.HandshakeRequest(oldest_protocol=2, newest_protocol=2, needs=["phones"]), "has not: phones; it has: fork"),
    ],
)
async def test_a_handshake_that_cannot_succeed_says_why(stub, request_, words):
    code, why = await refused(stub.Handshake(request_))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert why.startswith("PROTOCOL_MISMATCH") and words in why


async def test_our_client_refuses_a_service_that_knows_no_handshake():
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        with pytest.raises(ProtocolMismatch, match="another version"):
            async with EnvClient(f"127.0.0.1:{port}"):
                pass
    finally:
        await server.stop(None)


async def test_what_version_1_called_by_text_is_refused_and_not_misread(stub):
    """The test split, as a client of version 1 asks for it; without the check it would be given the train split."""
    old = pb.ResetRequest.FromString(pb.ResetRequest(task="math.sums").SerializeToString() + b"\x1a\x04test")
    code, why = await refused(stub.Reset(old))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "envs.v1.ResetRequest has no field 3 any more" in why


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (pb.Options(image_quality=0), "image_quality is 0"),
        (pb.Options(max_turns=0), "max_turns is 0"),
        (pb.Options(lease_s=0), "lease_s is 0"),
    ],
)
async def test_nought_is_a_value_and_no_default(stub, options, words):
    tasks = (await stub.ListTasks(pb.ListTasksRequest(suite="math_code"))).tasks
    code, why = await refused(stub.Reset(pb.ResetRequest(task=tasks[0].name, options=options)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert words in why


async def test_an_option_beyond_the_protocol_is_refused_and_not_ignored(stub):
    extension = any_pb2.Any()
    extension.Pack(wrappers_pb2.StringValue(value="x"))
    code, why = await refused(stub.Reset(pb.ResetRequest(task="x", options=pb.Options(extensions=[extension]))))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "google.protobuf.StringValue' is no capability" in why


def test_no_method_is_called_as_one_of_a_channel():
    ours = {method.name.lower() for method in SERVICE.methods}
    assert not ours & (METHODS_OF_CHANNELS | {name.lower() for name in dir(grpc.aio.Channel)})
