"""Counts requests and how long they took, for /metrics.

A process by itself counts in its memory. Where the variable of prometheus-client names a folder, as it does below
gunicorn (`benchsite.core.serving`), every worker counts in a file there, and `requests` adds up the files of all.
"""

import os
import re
import time
from typing import Final

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.multiprocess import MultiProcessCollector

from benchsite.core.env import METRICS_FOLDER_VARIABLE, METRICS_NUMBER_VARIABLE
from benchsite.core.middleware import Middleware

TOGETHER: Final = METRICS_FOLDER_VARIABLE in os.environ


def _get_process_name() -> str:
    return os.environ.get(METRICS_NUMBER_VARIABLE) or str(os.getpid())


if TOGETHER:
    # Chosen anew before the first counter is made: prometheus-client itself names files by processes.
    values.ValueClass = values.MultiProcessValue(_get_process_name)  # type: ignore[no-untyped-call]

REQUESTS: Final = CollectorRegistry()
BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
PLACEHOLDER: Final = re.compile(r"<(?:\w+:)?(\w+)>")  # of a pattern: <uuid:run_id>
API: Final = "api-v1"  # the namespace of its addresses
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
COUNT: Final = Counter(
    "benchsite_http_requests",
    "Requests answered by page and status class.",
    ["method", "page", "status"],
    registry=REQUESTS,
)
SECONDS: Final = Histogram(
    "benchsite_http_request_seconds",
    "How long it took until an answer began, by page.",
    ["page"],
    buckets=BUCKETS_S,
    registry=REQUESTS,
)


def requests() -> CollectorRegistry:
    """The counts of all workers of this server since it started."""
    if not TOGETHER:
        return REQUESTS
    everybodys = CollectorRegistry()
    MultiProcessCollector(everybodys)  # type: ignore[no-untyped-call]
    return everybodys


class CountRequests(Middleware):
    """Pages are told apart by the name or pattern of their address, so no id, token or team ever becomes a label."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        method = "other"
        if request.method in METHODS:
            method = request.method
        match = request.resolver_match
        if match is None:
            page = "none"
        elif match.namespaces[:1] == [API]:
            page = f"{method} /" + PLACEHOLDER.sub(r"{\1}", match.route)
        else:
            page = match.view_name or match.func.__name__

        COUNT.labels(method, page, f"{response.status_code // 100}xx").inc()
        SECONDS.labels(page).observe(time.perf_counter() - began)
        return response
