"""The calls of `envs.v1.EnvService` over a channel of gRPC, made from the service's own description."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.protobuf.message_factory import GetMessageClass

from rlfactory.envs.wire.v1 import env_pb2 as pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["EnvService"]


class EnvServiceStub:
    """A method for each of the service's, by its name: `stub.Reset(pb.ResetRequest(..), timeout=..)`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        for method in SERVICE.methods:
            ways = {(False, False): channel.unary_unary, (False, True): channel.unary_stream}
            ways |= {(True, False): channel.stream_unary, (True, True): channel.stream_stream}
            call = ways[method.client_streaming, method.server_streaming](
                f"/{SERVICE.full_name}/{method.name}",
                request_serializer=GetMessageClass(method.input_type).SerializeToString,
                response_deserializer=GetMessageClass(method.output_type).FromString,
                _registered_method=True,
            )
            setattr(self, method.name, call)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{SERVICE.full_name} has no method {name}")
