"""Traces of turns, by OpenTelemetry: from an agent's loop through service and tool to the phone.

Names: `rl.*` as proposed for reinforcement learning, `gen_ai.*` and `rpc.*` of OpenTelemetry's semantic conventions. A
span that is no root is made only where its caller's is recorded: nothing is paid for until a program exports.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from opentelemetry import context, trace
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rlfactory.envs.api.errors import TaskError

Attribute = str | bool | int | float

TRACEPARENT: Final = "traceparent"
"""The header of W3C Trace Context; so is called what carries it in messages."""
_TRACER: Final = trace.get_tracer("rlfactory")
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_NOTHING: Final = nullcontext()


def root(name: str, **attributes: Attribute) -> AbstractContextManager[trace.Span]:
    """Begin a span, of a trace of its own where none is under way. Dots in attributes are written `__`."""
    return _TRACER.start_as_current_span(name, attributes=_dotted(attributes))


def part(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, **attributes: Attribute
) -> AbstractContextManager[trace.Span | None]:
    """Trace the block as a part of what is traced; do nothing where nothing is."""
    if not context.get_current() or not _recording():
        return _NOTHING
    return _TRACER.start_as_current_span(name, kind=kind, attributes=_dotted(attributes))


def served(name: str, traceparent: str, **attributes: Attribute) -> AbstractContextManager[trace.Span | None]:
    """Trace the block as what a caller asked for; `traceparent` is what it `carried`, "" if it does not trace."""
    if not traceparent:
        return _NOTHING
    parent = _PROPAGATOR.extract({TRACEPARENT: traceparent[:100]})
    return _TRACER.start_as_current_span(name, context=parent, kind=SpanKind.SERVER, attributes=_dotted(attributes))


def carried() -> str:
    """Return what tells a service which span it works for; "" while nothing is traced."""
    if not _recording():
        return ""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get(TRACEPARENT, "")


def _recording() -> bool:
    """Tell whether there is a span to be part of; most programs trace nothing, and have no context at all."""
    return bool(context.get_current()) and trace.get_current_span().is_recording()


def _dotted(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    return {name.replace("__", "."): value for name, value in attributes.items()}


def export_traces(endpoint: str, *, service: str) -> Callable[[], None]:
    """Send this process's traces to a collector (OTLP over HTTP) from now on; return what sends the rest and ends.

    Raises: TaskError: the extra `trace` is not installed, or it is no URL.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise TaskError(f"traces need {error.name}: install rlfactory[trace]") from None
    if not endpoint.startswith(("http://", "https://")):
        raise TaskError(f"{endpoint!r} is no URL to send traces to, as http://127.0.0.1:4318 is")
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider.shutdown
