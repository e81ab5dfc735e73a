"""A gRPC receiver of OTLP that keeps the raw bytes of every request, and what is in them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any, Self

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

_SERVICES: dict[str, tuple[Any, Any]] = {
    "trace.v1.TraceService": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "metrics.v1.MetricsService": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
    "logs.v1.LogsService": (ExportLogsServiceRequest, ExportLogsServiceResponse),
}


class GrpcReceiver:
    """Runs in threads; `received` holds the body of every request, metadata in front, oldest first."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.requests: list[Any] = []
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        for name, (request, response) in _SERVICES.items():
            handler = grpc.unary_unary_rpc_method_handler(
                self._taking(request, response),
                request_deserializer=lambda raw: raw,
                response_serializer=lambda said: said.SerializeToString(),
            )
            service = f"opentelemetry.proto.collector.{name}"
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
        self.url = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def _taking(self, request: Any, response: Any) -> Callable[[bytes, Any], Any]:
        def take(raw: bytes, context: Any) -> Any:
            read = request()
            read.ParseFromString(raw)
            with self._lock:
                self.received.append(repr(context.invocation_metadata()).encode() + raw)
                self.requests.append(read)
            return response()

        return take

    @property
    def span_names(self) -> list[str]:
        """The names of the spans that came, in that order."""
        return [
            span.name
            for request in self.requests
            if isinstance(request, ExportTraceServiceRequest)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.stop(None).wait()
