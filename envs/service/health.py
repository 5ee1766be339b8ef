"""Ask a service for its health. Containers run it.

`python -m rlfactory.envs.service.health HOST:PORT` exits 0 when the service serves.
"""

from __future__ import annotations

import socket
import ssl
import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

TIMEOUT_S = 5.0


def problem_of(address: str, *, timeout_s: float = TIMEOUT_S) -> str:
    """Return what is wrong with the service, "" when it serves.

    A service that speaks TLS is healthy when it completes a handshake or asks for a certificate that we do not have:
    the check runs beside it and knows no secrets.
    """
    with grpc.insecure_channel(address) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
        except grpc.RpcError as error:
            return "" if _speaks_tls(address, timeout_s=timeout_s) else str(error.code())
    serving = health_pb2.HealthCheckResponse.SERVING
    return "" if answer.status == serving else health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


def _speaks_tls(address: str, *, timeout_s: float) -> bool:
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        with socket.create_connection((host, int(port)), timeout=timeout_s) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    if problem := problem_of(sys.argv[1]):
        sys.exit(f"error: {problem}")
