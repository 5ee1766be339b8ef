"""Errors on the wire: each class of `api.errors` is a gRPC status with an ErrorInfo, and comes back as that class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.api.errors import (
    EnvironmentFault,
    EpisodeOver,
    InfrastructureError,
    JudgeError,
    LimitExceeded,
    OutOfOrder,
    ProtocolMismatch,
    RLFactoryError,
    SessionNotFound,
    TaskError,
    Unauthenticated,
    UnknownName,
)

DOMAIN: Final = "rlfactory"
DETAILS_KEY: Final = "grpc-status-details-bin"
MAX_MESSAGE_CHARS: Final = 2_000
WATCHING: Final = ("rlfactory-watching", "1")
"""Initial metadata of a Watch that began; that of a refusal is empty, and its status may come later."""

CODES: Final[dict[str, grpc.StatusCode]] = {
    UnknownName.reason: grpc.StatusCode.NOT_FOUND,
    SessionNotFound.reason: grpc.StatusCode.NOT_FOUND,
    TaskError.reason: grpc.StatusCode.INVALID_ARGUMENT,
    ProtocolMismatch.reason: grpc.StatusCode.FAILED_PRECONDITION,
    Unauthenticated.reason: grpc.StatusCode.UNAUTHENTICATED,
    OutOfOrder.reason: grpc.StatusCode.FAILED_PRECONDITION,
    EpisodeOver.reason: grpc.StatusCode.FAILED_PRECONDITION,
    LimitExceeded.reason: grpc.StatusCode.RESOURCE_EXHAUSTED,
    InfrastructureError.reason: grpc.StatusCode.UNAVAILABLE,
    "DEVICE_LOST": grpc.StatusCode.UNAVAILABLE,
    "DEVICE_TIMEOUT": grpc.StatusCode.DEADLINE_EXCEEDED,
    JudgeError.reason: grpc.StatusCode.UNAVAILABLE,
    EnvironmentFault.reason: grpc.StatusCode.INTERNAL,
}
"""The status code of each reason; what is not listed here is infrastructure, hence UNAVAILABLE."""

CLASSES: Final[dict[str, type[RLFactoryError]]] = {
    cls.reason: cls
    for cls in (
        TaskError,
        UnknownName,
        ProtocolMismatch,
        Unauthenticated,
        SessionNotFound,
        OutOfOrder,
        EpisodeOver,
        LimitExceeded,
        EnvironmentFault,
        JudgeError,
    )
}
"""The class of each reason; every other reason is an `InfrastructureError` that keeps its reason."""


def device_failure(error: DeviceError, doing: str) -> InfrastructureError:
    """Return what a failure of a phone means for its episode: it is void."""
    failure = InfrastructureError(f"{doing}: {error}")
    failure.reason = error.reason
    failure.retryable = error.retryable
    return failure


def to_status(error: RLFactoryError) -> tuple[grpc.StatusCode, str, tuple[tuple[str, bytes], ...]]:
    """Return status code, message and trailing metadata that carry the error."""
    return _code(error), _message(error), ((DETAILS_KEY, to_bytes(error)),)


def _message(error: RLFactoryError) -> str:
    """Return what went wrong in bounded length and in characters that can be sent: it may quote what a client sent."""
    text = str(error)
    text = text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS]}..."
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _code(error: RLFactoryError) -> grpc.StatusCode:
    return CODES.get(error.reason, grpc.StatusCode.UNAVAILABLE)


def to_bytes(error: RLFactoryError) -> bytes:
    """Return the serialized google.rpc.Status that carries the error."""
    info = error_details_pb2.ErrorInfo(
        reason=error.reason,
        domain=DOMAIN,
        metadata={"blame": error.blame.value, "retryable": "true" if error.retryable else "false"},
    )
    packed = any_pb2.Any()
    packed.Pack(info)
    status = status_pb2.Status(code=_code(error).value[0], message=_message(error), details=[packed])
    return bytes(status.SerializeToString())


def from_metadata(message: str, metadata: Iterable[tuple[str, str | bytes]]) -> RLFactoryError | None:
    """Return the error that a status carries, or None if it carries none of ours."""
    for key, value in metadata:
        if key == DETAILS_KEY and not isinstance(value, str):
            return _carried(message, status_pb2.Status.FromString(value))
    return None


def from_status(status: status_pb2.Status) -> RLFactoryError:
    """Return the error that a status carries; infrastructure if it carries none of ours."""
    return _carried(status.message, status) or InfrastructureError(status.message)


def _carried(message: str, status: status_pb2.Status) -> RLFactoryError | None:
    for packed in status.details:
        info = error_details_pb2.ErrorInfo()
        if packed.Unpack(info) and info.domain == DOMAIN:
            error = CLASSES.get(info.reason, InfrastructureError)(message)
            error.reason = info.reason
            error.retryable = info.metadata.get("retryable") == "true"
            return error
    return None
