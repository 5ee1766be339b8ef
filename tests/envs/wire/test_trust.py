"""Who is let in: tokens, TLS and mutual TLS between a real service and real clients, with real certificates."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from rlfactory.envs.api.errors import InfrastructureError, TaskError, Unauthenticated
from rlfactory.envs.client import ClientConfig, EnvClient, RetryPolicy
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.wire.stub import SERVICE, EnvServiceStub
from rlfactory.envs.wire.trust import ClientTrust, ServerTrust, is_loopback
from rlfactory.envs.wire.trust_options import ClientTrustFiles, ServerTrustFiles

TOKEN, OTHER = "a-token-of-some-length", "another-token-of-some-length"
IMPATIENT = ClientConfig(connect_timeout_s=1.5, call_timeout_s=5, retry=RetryPolicy(attempts=1))
SCRIPT = Path(__file__).parents[3] / "scripts/credentials.sh"


def make_credentials(folder: Path) -> Path:
    subprocess.run([SCRIPT, folder, "localhost", "127.0.0.1"], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def credentials(tmp_path_factory) -> Path:
    return make_credentials(tmp_path_factory.mktemp("credentials"))


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Path:
    """Made the same way, by an authority that nobody trusts."""
    return make_credentials(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def tls(credentials) -> ServerTrust:
    return ServerTrustFiles(certificate=credentials / "server.pem", key=credentials / "server.key").load()


@pytest.fixture
def knows_the_service(credentials) -> ClientTrust:
    return ClientTrustFiles(ca=credentials / "ca.pem").load()


@asynccontextmanager
async def guarded(trust: ServerTrust, host: str = "127.0.0.1"):
    """Run a service without tasks or phones; yield its port."""
    async with serving(ServerConfig(host=host, drain_s=0.1, trust=trust), tasks=TaskRegistry(())) as server:
        yield int(server.address.rpartition(":")[2])


async def call(port: int, trust: ClientTrust | None = None, host: str = "127.0.0.1") -> str:
    """Return the version that the service tells."""
    async with EnvClient(f"{host}:{port}", config=IMPATIENT, trust=trust) as client:
        return (await client.status()).version


async def test_no_token_and_a_wrong_token_are_refused_and_the_right_one_is_let_in():
    async with guarded(ServerTrust(tokens=(TOKEN,))) as port:
        with pytest.raises(Unauthenticated, match="carries none"):
            await call(port)
        for wrong in (OTHER, TOKEN + "x", TOKEN[:-1] + "X"):
            with pytest.raises(Unauthenticated, match="not one that this service knows"):
                await call(port, ClientTrust(token=wrong))
        assert await call(port, ClientTrust(token=TOKEN))


async def test_every_call_of_the_service_wants_the_token():
    async with guarded(ServerTrust(tokens=(TOKEN,))) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        for method in SERVICE.methods:
            call = getattr(EnvServiceStub(channel), method.name)
            request = GetMessageClass(method.input_type)()
            streamed = call(iter([request])) if method.client_streaming else call(request)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await (streamed.read() if method.server_streaming else streamed)
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED, method.name
        with pytest.raises(Unauthenticated):
            async with EnvClient(f"127.0.0.1:{port}", config=IMPATIENT):
                pass


async def test_reflection_wants_the_token_and_health_checks_do_not():
    async with guarded(ServerTrust(tokens=(TOKEN,))) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        health = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=30)
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        listing = stub.ServerReflectionInfo(
            iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=30
        )
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await listing.read()
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_token_can_be_replaced_without_an_outage(tmp_path):
    (tmp_path / "tokens").write_text(f"# the new one first\n{OTHER}\n\n{TOKEN}\n")
    async with guarded(ServerTrustFiles(token_file=tmp_path / "tokens").load()) as port:
        for token in (TOKEN, OTHER):
            assert await call(port, ClientTrust(token=token))
    assert ClientTrustFiles(token_file=tmp_path / "tokens").load().token == OTHER


async def test_plain_text_to_a_tls_port_is_refused(tls, knows_the_service):
    async with guarded(replace(tls, tokens=(TOKEN,))) as port:
        with pytest.raises(InfrastructureError, match=f"no environment service at 127.0.0.1:{port}"):
            await call(port, ClientTrust(token=TOKEN))
        assert await call(port, replace(knows_the_service, token=TOKEN))
        with pytest.raises(Unauthenticated):
            await call(port, knows_the_service)


async def test_tls_to_a_plain_port_is_refused(knows_the_service):
    async with guarded(ServerTrust()) as port:
        with pytest.raises(InfrastructureError, match="TLS handshake failed"):
            await call(port, knows_the_service)


async def test_a_foreign_host_name_is_refused(tls, knows_the_service):
    async with guarded(tls) as port:
        assert await call(port, knows_the_service)
        assert await call(port, knows_the_service, host="localhost")
        assert await call(port, replace(knows_the_service, server_name="localhost"))
        with pytest.raises(InfrastructureError, match="no environment service"):
            await call(port, replace(knows_the_service, server_name="phones.example"))


async def test_a_service_certified_by_someone_else_is_refused(tls, foreign):
    async with guarded(tls) as port:
        with pytest.raises(InfrastructureError, match=r"TLS handshake failed.*CERTIFICATE_VERIFY_FAILED"):
            await call(port, ClientTrustFiles(ca=foreign / "ca.pem").load())


async def test_mutual_tls_admits_only_certified_clients(tls, credentials, foreign):
    ca = credentials / "ca.pem"
    async with guarded(replace(tls, client_ca=ca.read_bytes())) as port:
        with pytest.raises(InfrastructureError, match="no environment service"):
            await call(port, ClientTrustFiles(ca=ca).load())
        for folder, admitted in ((credentials, True), (foreign, False)):
            trust = ClientTrustFiles(ca=ca, certificate=folder / "client.pem", key=folder / "client.key").load()
            if admitted:
                assert await call(port, trust)
                continue
            with pytest.raises(InfrastructureError, match="no environment service"):
                await call(port, trust)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "phones.example"])
def test_off_loopback_a_service_wants_to_know_its_clients_and_not_to_be_overheard(host, tls):
    for unsafe in (ServerTrust(), ServerTrust(plaintext=True), ServerTrust(tokens=(TOKEN,)), tls):
        with pytest.raises(TaskError, match="is not loopback: listening there needs --"):
            ServerConfig(host=host, trust=unsafe)
    for safe in (
        replace(tls, tokens=(TOKEN,)),
        replace(tls, client_ca=b"an authority"),
        ServerTrust(tokens=(TOKEN,), plaintext=True),
    ):
        assert ServerConfig(host=host, trust=safe).host == host


def test_loopback_is_told_from_the_rest():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "", "127.0.0.1.example")))


async def test_a_token_does_not_cross_a_network_in_plain_text():
    with pytest.raises(TaskError, match="over TLS"):
        await call(7000, ClientTrust(token=TOKEN), host="192.0.2.1")


def test_what_is_secret_is_not_shown(credentials):
    files = ServerTrustFiles(
        token_file=credentials / "token", certificate=credentials / "server.pem", key=credentials / "server.key"
    )
    trust = files.load(token=TOKEN)
    assert trust.tokens == (TOKEN, (credentials / "token").read_text().strip())
    assert not any(secret in repr(trust) for secret in (*trust.tokens, "PRIVATE KEY"))
    assert TOKEN not in repr(ClientTrust(token=TOKEN))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ServerTrust(tokens=("short",)), "at least 16"),
        (lambda: ServerTrust(tokens=("a token with spaces in it",)), "one word"),
        (lambda: ServerTrust(certificate=b"x"), "together"),
        (lambda: ServerTrust(client_ca=b"x"), "only be asked for over TLS"),
        (lambda: ClientTrust(key=b"x"), "together"),
        (lambda: ClientTrust(server_name="x"), "means TLS"),
        (lambda: ServerTrustFiles(token_file=Path("/nowhere")).load(), "cannot read /nowhere: No such file"),
        (lambda: ServerTrustFiles(token_file=Path("/dev/null")).load(), "/dev/null is empty"),
    ],
)
def test_half_a_configuration_is_refused(make, complaint):
    with pytest.raises(TaskError, match=complaint):
        make()


def test_a_file_of_comments_holds_no_token(tmp_path):
    (tmp_path / "token").write_text("# nothing yet\n")
    with pytest.raises(TaskError, match="holds no token"):
        ClientTrustFiles(token_file=tmp_path / "token").load()


SERVE = ("serve", "--phones", "0", "--port", "0", "--json")


async def test_the_command_line_takes_token_and_certificates(credentials, program):
    options = ("--tls-cert", credentials / "server.pem", "--tls-key", credentials / "server.key")
    async with program(*SERVE, "--token-file", credentials / "token", *options, RLFACTORY_TOKEN=TOKEN) as (_, ready):
        port = int(ready["address"].rpartition(":")[2])
        trust = ClientTrustFiles(ca=credentials / "ca.pem", token_file=credentials / "token").load()
        assert await call(port, trust)
        assert await call(port, replace(trust, token=TOKEN))
        with pytest.raises(Unauthenticated):
            await call(port, replace(trust, token=OTHER))


async def test_the_command_line_says_what_is_missing_off_loopback(program):
    async with program(*SERVE, "--host", "0.0.0.0") as (process, _):
        assert await asyncio.wait_for(process.wait(), 30) == 2
        said = (await process.stderr.read()).decode()
    assert said.startswith("error: 0.0.0.0 is not loopback: listening there needs --token-file or --tls-client-ca")
    assert said.count("\n") == 1
