"""One history: the runs of one test, what people said about them, and what else than the code changed."""

import datetime as dt
import hashlib
import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any, Final

import numpy as np
from django.db import connection
from django.db.models import F, FloatField, Func, OuterRef, QuerySet, Subquery

from reports.compare.curves import Standing
from reports.compare.queries.computed_cache import build_key, cache_values, cached_values, get_or_compute
from reports.compare.queries.curves import COLUMNS
from reports.models import EVERY_METRIC, ChangePoint, History as HistoryRow, HistoryNote
from reports.trends.analysis.changes import Course, Rule, detect_changes
from reports.trends.histories import (
    HISTORY_STATISTICS,
    THROUGHPUT_METRIC,
    History,
    Measured,
    Metric,
    build_history,
    build_points,
)
from reports.trends.queries.noise import SESSION_DAY, session_key
from runs.checks.facts import fact
from runs.models import HISTORY_AT, Measurement, Run, Status, Verdict

NEWEST: Final = 20  # runs that say what can be followed
LATELY: Final = 200  # runs in which changes are looked for that somebody is to be told of
MAX_NOTES: Final = 200
# Opening a spec costs more than all the rest of a run: so many at once, and the others when the page is asked again.
MAX_SPECS: Final = 600
# Thousands of instants are read as numbers five times as fast as in words.
HISTORY_S: Final = Func(HISTORY_AT, template="extract(epoch from %(expressions)s)::float8", output_field=FloatField())
FACTS: Final = ("image", "os", "kernel", "cpu_model", "cores", "memory_bytes", "disk_device", "virtualised")


def get_runs(team_id: uuid.UUID, config_key: str | OuterRef) -> QuerySet[Run]:
    """The runs of one test, oldest code first."""
    return Run.objects.filter(
        team=team_id, config_key=config_key, status=Status.SUCCEEDED, is_bracket=False, finished_at__isnull=False
    ).order_by(HISTORY_AT, "finished_at", "pk")


def follow(row: HistoryRow, metric: Metric, branch: str = "") -> History:
    """Everything about one metric of one test; four queries, whatever the number of runs."""
    measured = _read_runs(get_runs(row.team_id, row.config_key), metric)
    branches = sorted({run.branch for run in measured if run.branch})
    if branch in branches:
        measured = [run for run in measured if run.branch == branch]
    points = build_points(measured)
    return build_history(
        metric,
        points,
        triage=_get_triage(row, metric),
        environments=_get_environments(row, [point.first for point in points]),
        notes=_get_notes(row),
        branches=branches,
        analyse=partial(_detect_changes_once, row),
    )


def lately(row: HistoryRow, metric: Metric) -> History:
    """One metric of one test as far as its newest runs say, without what else changed; two queries."""
    newest = get_runs(row.team_id, row.config_key).reverse()[:LATELY]
    points = build_points(_read_runs(newest, metric)[::-1])
    return build_history(metric, points, _get_triage(row, metric))


def collect_metrics(row: HistoryRow) -> list[Metric]:
    """The metrics of a test's newest runs; two queries."""
    newest = list(get_runs(row.team_id, row.config_key).reverse().values_list("pk", flat=True)[:NEWEST])
    current = Measurement.objects.filter(measurement_set__run__in=newest, measurement_set__is_current=True)
    pairs = current.order_by("operation", "latency_kind").values_list("operation", "latency_kind").distinct()
    latencies = [Metric(*pair, statistic) for pair, statistic in product(pairs, HISTORY_STATISTICS)]
    return [THROUGHPUT_METRIC, *latencies]


def _read_runs(runs: QuerySet[Run], metric: Metric) -> list[Measured]:
    value: Any = F("throughput_ops_s")
    if metric.operation:
        latencies = Measurement.objects.filter(
            measurement_set__run=OuterRef("pk"),
            measurement_set__is_current=True,
            operation=metric.operation,
            latency_kind=metric.kind,
        )
        value = Subquery(latencies.values(COLUMNS[metric.statistic])[:1])

    columns = ("commit", "branch", "matrix_id", "sweep_id", "session", "verdict", "verdict_override", "excluded_reason")
    measured = []
    for pk, *texts, epoch_s, day, number in runs.values_list("pk", *columns, HISTORY_S, SESSION_DAY, value):
        commit, branch, matrix_id, sweep_id, session, *decisions = texts
        at = dt.datetime.fromtimestamp(epoch_s, dt.UTC)
        key = session_key(session, matrix_id or commit or sweep_id, day)
        measured.append(Measured(pk, at, commit, branch, matrix_id, number, *get_standing(*decisions), key))
    return measured


def get_standing(verdict: str, override: str, excluded: str) -> tuple[Standing, str]:
    """Whether a run is part of a point, and why a person left it out or counts it although a check rejects it."""
    if excluded:
        return Standing.EXCLUDED, excluded
    if verdict != Verdict.REJECT:
        return Standing.COUNTED, ""
    return (Standing.COUNTED if override else Standing.REJECTED), override


def _get_triage(row: HistoryRow, metric: Metric) -> list[ChangePoint]:
    rows = ChangePoint.objects.filter(
        team=row.team_id, config_key=row.config_key, metric__in=[str(metric), EVERY_METRIC]
    )
    return list(rows.select_related("changed_by"))


def _get_notes(row: HistoryRow) -> list[HistoryNote]:
    """The notes of this history and of all of the team's, the newest first."""
    rows = HistoryNote.objects.filter(team=row.team_id, config_key__in=[row.config_key, ""])
    return list(rows.select_related("created_by").order_by("-at")[:MAX_NOTES])


def _detect_changes_once(
    row: HistoryRow, values: Sequence[float], rule: Rule, *, confirmed: Collection[int], dismissed: Collection[int]
) -> Course:
    """`detect_changes`, from the cache for the same numbers and decisions."""
    digest = hashlib.sha256(np.asarray(values, dtype=float).tobytes()).hexdigest()
    key = build_key(row.team_id, "course", rule, sorted(confirmed), sorted(dismissed), digest)
    return get_or_compute(key, Course, lambda: detect_changes(values, rule, confirmed=confirmed, dismissed=dismissed))


# --- On what runs were measured ---


def _get_environments(row: HistoryRow, run_ids: Sequence[uuid.UUID]) -> list[Mapping[str, str] | None]:
    """The environment of each run, None where it was not read yet; at most one query.

    A spec never changes, so what was read once is cached: the different environments, and the number of each run's.
    """
    key = build_key(row.team_id, "environments", row.config_key)
    entries = cached_values({key: key}, tuple[dict[bytes, int], list[dict[str, str]]])
    number_by_run, environments = entries.get(key, ({}, []))
    missing = [run_id for run_id in reversed(run_ids) if run_id.bytes not in number_by_run][:MAX_SPECS]
    if missing:
        numbers = {tuple(environment.items()): number for number, environment in enumerate(environments)}
        for run_id, environment in _read_environments(missing):
            number = numbers.setdefault(tuple(environment.items()), len(environments))
            if number == len(environments):
                environments.append(environment)
            number_by_run[run_id.bytes] = number
        cache_values({key: (number_by_run, environments)})

    by_run = {run: environments[number] for run, number in number_by_run.items()}
    return [by_run.get(run_id.bytes) for run_id in run_ids]


def _read_environments(run_ids: Sequence[uuid.UUID]) -> list[tuple[uuid.UUID, dict[str, str]]]:
    """Each spec is opened once, which the ORM's paths into JSON would not."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT run.id, run.evidence->>'server_version', part.database->>'version', part.client,
                   part.cluster->'machines', part.stated->>'hardware'
            FROM runs_run AS run CROSS JOIN LATERAL
                 jsonb_to_record(run.spec) AS part(database jsonb, client jsonb, cluster jsonb, stated jsonb)
            WHERE run.id = ANY(%s)
            """,
            [list(run_ids)],
        )
        # Neighbours were mostly measured on the same, and say it in the same words.
        get_environment = lru_cache(maxsize=64)(_describe_environment)
        return [(row[0], get_environment(*row[1:])) for row in cursor.fetchall()]


def _describe_environment(server: str | None, version: str | None, client_json: str | None, machines_json: str | None,
                 hardware: str | None) -> dict[str, str]:  # fmt: skip
    """The facts that are stated, in words."""
    client = json.loads(client_json or "{}")
    machines = json.loads(machines_json or "[]")
    flavour, ycsb_version = client.get("flavour") or "", client.get("ycsb_version") or ""
    texts: dict[str, object] = {
        "server version": server,
        "stated version": version,
        "client": f"{flavour} {ycsb_version}".strip(),
        "client build": str(client.get("digest") or "")[:12],
        "hardware": (hardware or "")[:80],
    }
    for name in FACTS:
        values = [fact(machine["facts"], name) for machine in machines]
        distinct = sorted({str(value) for value in values if value is not None})
        texts[name.replace("_", " ")] = ", ".join(distinct)[:80]

    return {name: str(value) for name, value in texts.items() if value}
