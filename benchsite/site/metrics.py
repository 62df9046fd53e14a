"""/metrics: what an operator's monitoring asks for, in the text format of Prometheus.

Eight queries whatever the site holds, and no team, person or run is named.
"""

from collections.abc import Iterator, Sequence
from hmac import compare_digest
from typing import Any, Final

from django.conf import settings
from django.core.cache import cache
from django.db import Error, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from benchsite import __version__
from benchsite.core.production import is_loopback
from benchsite.core.request_metrics import requests
from benchsite.site.health import redis_answers
from runs.models import Status
from runs.timeouts import CONDUCTOR_SILENT_AFTER, GENERATOR_SILENT_AFTER

# Counting the runs that have ended means reading an index of them all, so it is not done at every scrape.
ENDED_CACHE_S: Final = 300
ENDED_KEY: Final = "metrics:ended"
MAX_GENERATORS: Final = 5000
FORWARDED: Final = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Real-Ip", "Forwarded", "Via")
PASSED_ON: Final = "benchsite_"


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """For whoever has the operator's token; without a token set, for this machine, and never in production."""
    if settings.METRICS_TOKEN:
        authorization = request.headers.get("Authorization", "")
        may_read = compare_digest(authorization.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())
    elif settings.PRODUCTION or any(name in request.headers for name in FORWARDED):
        may_read = False
    else:
        # A proxy on this machine would ask from here for everybody, but by the site's public name.
        host = request.get_host().rsplit(":", 1)[0]
        may_read = is_loopback(str(request.META.get("REMOTE_ADDR", ""))) and is_loopback(host)

    if not may_read:
        raise Http404

    registry = CollectorRegistry()
    registry.register(SiteCollector())
    text = generate_latest(registry) + generate_latest(requests())
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


class SiteCollector(Collector):
    """What the rows say now."""

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily(PASSED_ON + "release", "What runs here.", {"version": __version__})
        yield _build_gauge("redis_up", "Whether Redis answers.", redis_answers())
        try:
            metrics = list(_describe_database())
        except Error:
            yield _build_gauge("database_up", "Whether PostgreSQL answers.", False)
            return
        yield _build_gauge("database_up", "Whether PostgreSQL answers.", True)
        yield from metrics


def _describe_database() -> Iterator[Metric]:
    yield from _describe_runs()
    yield from _describe_generators()
    [(alive, capacity)] = _fetch_rows(
        "SELECT count(*), coalesce(sum(capacity), 0) FROM runs_conductor WHERE last_seen_at > now() - %s",
        [CONDUCTOR_SILENT_AFTER],
    )
    yield _build_gauge("conductors_alive", "Conductors that give signs of life.", alive)
    yield _build_gauge("conductor_capacity", "Runs that these conductors carry out at a time.", capacity)
    [(count, oldest)] = _fetch_rows(
        "SELECT count(*), extract(epoch FROM now() - min(created_at)) FROM runs_upload"
        " WHERE state IN ('received', 'reading', 'completed', 'saving')"
    )
    yield _build_gauge("uploads_waiting", "Uploads that wait to be read or saved.", count)
    yield _build_gauge("uploads_oldest_wait_seconds", "How long the oldest of them has waited.", max(oldest or 0, 0))
    [(count, oldest)] = _fetch_rows(
        "SELECT count(*), extract(epoch FROM now() - min(next_at)) FROM teams_delivery"
        " WHERE state = 'waiting' AND next_at <= now()"
    )
    yield _build_gauge("deliveries_due", "Webhooks and e-mails that should be on their way.", count)
    yield _build_gauge(
        "deliveries_oldest_due_seconds", "How long the oldest of them has been due.", max(oldest or 0, 0)
    )
    [(size,)] = _fetch_rows("SELECT pg_database_size(current_database())")
    yield _build_gauge("database_bytes", "Size of the database on disk.", size)


def _describe_runs() -> Iterator[Metric]:
    """The queue by its partial index, what ended from memory."""
    by_status = GaugeMetricFamily(
        PASSED_ON + "runs", "Runs by status; ended ones as of five minutes ago.", None, ["status"]
    )
    live = {status: 0 for status in Status.values if status not in Status.terminal()}
    oldest = silent = 0.0
    for status, count, wait_s, silence_s in _fetch_rows(
        "SELECT status, count(*), extract(epoch FROM now() - min(created_at)),"
        " extract(epoch FROM now() - min(heartbeat_at)) FROM runs_run"
        " WHERE status IN ('queued', 'dispatched', 'running') AND source = 'scheduled' GROUP BY status"
    ):
        live[status] = count
        if status == Status.QUEUED:
            oldest = max(float(wait_s), 0.0)
        if status == Status.RUNNING:
            silent = max(float(silence_s), 0.0)

    for status, count in {**live, **_count_ended()}.items():
        by_status.add_metric([status], count)

    yield by_status
    yield _build_gauge("queue_runs", "Runs that wait for their machines.", live[Status.QUEUED])
    yield _build_gauge("queue_oldest_wait_seconds", "How long the oldest of them has waited.", oldest)
    yield _build_gauge("run_heartbeat_age_seconds", "Silence of the running run that was heard of longest ago.", silent)


def _count_ended() -> dict[str, int]:
    """Runs that ended, by status; a cache that does not answer costs the count, not the page."""
    try:
        counts: dict[str, int] | None = cache.get(ENDED_KEY)
    except RedisError:
        return {}
    if counts is None:
        statuses = list(map(str, Status.terminal()))
        rows = _fetch_rows("SELECT status, count(*) FROM runs_run WHERE status = ANY(%s) GROUP BY status", [statuses])
        counts = dict.fromkeys(statuses, 0) | dict(rows)
        cache.set(ENDED_KEY, counts, ENDED_CACHE_S)
    return counts


def _describe_generators() -> Iterator[Metric]:
    ages = GaugeMetricFamily(
        PASSED_ON + "generator_heartbeat_age_seconds",
        "Since a load generator's last sign of life.",
        None,
        ["generator"],
    )
    alive = enabled = 0
    for name, on, age_s, extra_s in _fetch_rows(
        "SELECT name, enabled, extract(epoch FROM now() - last_seen_at), extract(epoch FROM extra_silence)"
        " FROM runs_loadgenerator"
        " ORDER BY last_seen_at DESC NULLS LAST LIMIT %s",
        [MAX_GENERATORS],
    ):
        enabled += on
        if age_s is not None:
            ages.add_metric([name], max(float(age_s), 0.0))
            alive += on and age_s <= GENERATOR_SILENT_AFTER.total_seconds() + float(extra_s)

    yield _build_gauge("generators_alive", "Load generators that are switched on and give signs of life.", alive)
    yield _build_gauge("generators_enabled", "Load generators that are switched on.", enabled)
    yield ages


def _fetch_rows(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or None)
        return list(cursor.fetchall())


def _build_gauge(name: str, says: str, value: Any) -> GaugeMetricFamily:
    return GaugeMetricFamily(PASSED_ON + name, says, float(value))
