"""The newest results of a team's tests and its running measurements, for its own monitoring."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from benchsite.accounts.models import Scope, Team
from benchsite.rest.authentication import Needs, team_in
from reports.api.routers import verdicts
from reports.models import History
from reports.trends.analysis.sessions import compute_mean
from reports.trends.queries.histories import HistoryLine, history_lines
from runs.models import Measurement, Phase, Run, Status
from runs.queue import live

MAX_TESTS: Final = 500  # those that were measured last
RECENT: Final = 20  # runs of each test among which those of its newest commit are
NEWEST_LINES: Final = 60  # of all clients of a run, of which the last whole second is made
TEST: Final = ("test", "database", "mode", "workload", "cluster", "threads", "target")
OPERATION: Final = ("operation", "kind")
RUN: Final = ("run", "database", "mode", "workload", "threads", "target")
DRAWN: Final = {"responses": {200: {"content": {"application/openmetrics-text": {"schema": {"type": "string"}}}}}}


@verdicts.get(
    "/openmetrics",
    response={200: None},
    auth=Needs(Scope.RUNS_READ),
    operation_id="read_openmetrics",
    summary="Newest results and running measurements, as OpenMetrics",
    openapi_extra=DRAWN,
)
def read_openmetrics(request: HttpRequest) -> HttpResponse:
    """Of each of the 500 tests that were measured last: the geometric mean over the sessions of its newest commit, the
    range and the number of its runs. Of running measurements what their clients print: no result.
    """
    registry = CollectorRegistry()
    registry.register(TeamCollector(team_in(request)))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)  # type: ignore[no-untyped-call]


class TeamCollector(Collector):
    def __init__(self, team: Team) -> None:
        self.team = team

    def describe(self) -> list[Metric]:
        """Nothing is read to register it."""
        return []

    def collect(self) -> Iterator[Metric]:
        newest = History.objects.filter(team=self.team, phase=Phase.MEASURE).order_by("-last_at")
        lines = [line for line in history_lines(self.team, newest[:MAX_TESTS], RECENT) if line.history.newest]
        yield from _describe_throughput(lines)
        yield _describe_latency(lines)
        yield from _describe_live(self.team)


def _describe_throughput(lines: Sequence[HistoryLine]) -> Iterator[Metric]:
    values = {
        "value": GaugeMetricFamily("benchsite_throughput_ops", "Operations/s, geomean of sessions.", labels=TEST),
        "low": GaugeMetricFamily("benchsite_throughput_low_ops", "Of the slowest of the runs.", labels=TEST),
        "high": GaugeMetricFamily("benchsite_throughput_high_ops", "Of the fastest of the runs.", labels=TEST),
        "n": GaugeMetricFamily("benchsite_runs", "Runs of the newest commit that count.", labels=TEST),
    }
    measured = GaugeMetricFamily("benchsite_code_timestamp_seconds", "Of the commit, else of its run.", labels=TEST)
    code = InfoMetricFamily("benchsite_code", "What was measured.", labels=TEST)
    for row, history in lines:
        point = history.newest
        labels = _label_test(row)
        assert point is not None  # Others were left out.
        for name, family in values.items():
            family.add_metric(labels, getattr(point, name))
        measured.add_metric(labels, point.at.timestamp())
        code.add_metric(labels, {"commit": point.commit, "branch": point.branch})

    yield from (*values.values(), measured, code)


def _describe_latency(lines: Sequence[HistoryLine]) -> Metric:
    tests: dict[UUID, tuple[str, ...]] = {}
    sessions: dict[UUID, str] = {}
    left_out = set()
    for row, history in lines:
        if history.newest:
            tests |= dict.fromkeys(history.newest.runs, _label_test(row))
            sessions |= history.newest.sessions
            left_out |= {run.run_id for run in history.newest.left_out}

    rows = Measurement.objects.filter(
        measurement_set__run__in=tests.keys() - left_out, measurement_set__is_current=True, p99_us__isnull=False
    ).order_by("operation", "latency_kind")
    latencies: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run_id, operation, kind, p99_us in rows.values_list(
        "measurement_set__run", "operation", "latency_kind", "p99_us"
    ):
        assert p99_us is not None  # The filter has left out those.
        latencies[(*tests[run_id], operation, kind)][sessions.get(run_id, "")].append(p99_us)

    family = GaugeMetricFamily(
        "benchsite_latency_p99_seconds", "99th percentiles, geomean of sessions.", labels=(*TEST, *OPERATION)
    )
    for labels, values in latencies.items():
        family.add_metric(labels, compute_mean(values.values()) / 1e6)

    return family


def _describe_live(team: Team) -> Iterator[Metric]:
    rate = GaugeMetricFamily("benchsite_live_ops", "Operations/s in the last whole second, as printed.", labels=RUN)
    elapsed = GaugeMetricFamily("benchsite_live_elapsed_seconds", "Since the clients of the run began.", labels=RUN)
    running = Run.objects.filter(team=team, status=Status.RUNNING, phase=Phase.MEASURE).select_related("sweep")
    for run in running.order_by("pk"):
        series = live.read(run.pk, newest=NEWEST_LINES)
        database = run.sweep.database_name if run.sweep else run.system
        labels = (str(run.pk), database, run.mode, run.workload_name, str(run.threads), str(run.target_ops_s or ""))
        if series.current_ops_s is not None:
            rate.add_metric(labels, series.current_ops_s)
            elapsed.add_metric(labels, series.elapsed_s)

    yield rate
    yield elapsed


def _label_test(row: History) -> tuple[str, ...]:
    return (
        row.config_key, row.database_name, row.mode, row.workload_name, row.cluster_name, str(row.threads or ""),
        str(row.target_ops_s or ""),
    )  # fmt: skip
