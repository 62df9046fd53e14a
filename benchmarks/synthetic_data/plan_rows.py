"""Plans to rows."""

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from django.db import connection
from django.utils import timezone

from benchmarks.synthetic_data.bulk_copy import Copier
from benchmarks.synthetic_data.equipment import equipment
from benchmarks.synthetic_data.numbers import OPERATIONS, Law, build_law, latencies_us, mean_us, measured
from benchmarks.synthetic_data.plans import TARGET_SHARES, PlannedMatrix, PlannedSweep, plans
from runs.models import (
    ClientRun,
    Finding,
    Matrix,
    Measurement,
    MeasurementSet,
    Run,
    Series,
    Sweep,
    Upload,
)
from runs.models.run import Phase, Stage, Status, Verdict
from runs.queue.reasons import Reason
from runs.queue.spec import SPEC_VERSION, RunSpec
from runs.results.denormalised_columns import config_key, sweep_columns
from runs.ycsb.properties import dataset
from runs.ycsb.rollups import COLUMNS, LEVELS
from runs.ycsb.series import POINT, Points, Series as StoredSeries, coarser, pack

WARMUP_S = 60
MEASURE_S = 180
AT_ONCE: Final = 20_000  # runs
TARGET_THREADS: Final = 256


def packed_levels(
    operation: str, base_s: float, seconds: int, rate_ops_s: float, mean_us: float, rng: random.Random
) -> list[tuple[int, int, bytes]]:
    """(interval in seconds, points, packed) of every level with at least two points."""
    finest = _seconds(seconds, rate_ops_s, mean_us, np.random.default_rng(rng.getrandbits(64)))
    levels = []
    for level in LEVELS:
        points = finest if level == 1 else _coarser(finest, level)
        if level == 1 or points.size > 1:
            series = StoredSeries(operation, "service", base_s, level, 2, points)
            levels.append((level, int(points.size), pack(series)))
    return levels


def _seconds(seconds: int, rate_ops_s: float, mean_us: float, rng: np.random.Generator) -> Points:
    """A warm-up of a minute, a slow wave, scatter, and a dip now and then, as when a server writes a checkpoint."""
    at = np.arange(seconds)
    level = 1 - 0.4 * np.exp(-at / 20) + 0.02 * np.sin(at / 180)
    level *= np.where(at % 300 > 295, 0.7, 1.0) * rng.lognormal(0.0, 0.015, seconds)
    points = np.zeros(seconds, dtype=POINT)
    points["second"] = at
    points["covered_s"] = 2.0
    points["rate_ops_s"] = rate_ops_s * level
    points["count"] = points["rate_ops_s"].round()
    points["mean_us"] = mean_us / level
    tail = rng.lognormal(0.0, 0.1, seconds)
    for column, factor in (("p50_us", 0.85), ("p95_us", 2.0), ("p99_us", 3.4), ("max_us", 25.0)):
        points[column] = points["mean_us"] * (factor if factor < 1 else 1 + (factor - 1) * tail)
    points["rate_min_ops_s"] = points["rate_max_ops_s"] = points["rate_ops_s"]
    return points


def _coarser(finest: Points, level: int) -> Points:
    """Rates as a real run has them; latencies, which need histograms, by the worst second of each interval."""
    points = coarser(finest, level)
    first = np.searchsorted(finest["second"], points["second"])
    for column in COLUMNS:
        points[column] = np.maximum.reduceat(finest[column], first)
    return points


def build_spec(matrix: PlannedMatrix, sweep: PlannedSweep) -> RunSpec:
    """The spec of every run of a sweep, but for the load, which is its rung's."""
    owner, database, mode = matrix.equipment, sweep.database, sweep.mode
    system = owner.systems[database.system]
    data = dataset(sweep.workload.properties)
    cluster = owner.clusters[str(database.cluster_id)]
    spec: RunSpec = {
        "version": SPEC_VERSION,
        "phase": Phase.MEASURE.value,
        "purpose": matrix.purpose,
        "system": system.slug,
        "system_name": system.name,
        "catalog_digest": "generated",
        "database": {
            "id": str(database.pk),
            "name": database.name,
            "version": database.version,
            "replication_factor": database.replication_factor,
            "settings": {},
            "binding_properties": {},
        },
        "mode": {
            "slug": mode.slug,
            "name": mode.name,
            "record": dict(mode.durability.as_dict()),
            "server_settings": dict(mode.server_settings),
            "client_properties": dict(mode.client_properties),
        },
        "workload": {
            "id": str(sweep.workload.pk),
            "name": sweep.workload.name,
            "short_name": sweep.workload.short_name,
            "properties": sweep.workload.properties,
        },
        "dataset": {"records": data.records, "record_bytes": data.record_bytes, "fingerprint": data.fingerprint},
        "load": {"threads": 0, "target_ops_s": None, "processes": 1},
        "window": {
            "warmup_s": WARMUP_S,
            "min_measure_s": MEASURE_S,
            "max_measure_s": MEASURE_S,
            "min_operations": 0,
        },
        "client": {
            "flavour": database.flavour,
            "binding": database.client or system.binding.name,
            "digest": "generated",
            "ycsb_version": "0.17.0",
        },
        "cluster": cluster,
        "generators": list(owner.generators),
        "load_policy": Matrix.LoadPolicy.LOAD.value,
        "resets": {},
        "priming": None,
    }
    if matrix.uploaded:
        stated_cluster = {**cluster, "id": "", "machines": []}
        spec |= {"cluster": stated_cluster, "generators": []}  # type: ignore[typeddict-item]
        spec["stated"] = {
            "by": owner.user.get_username(),
            "files": ["client-1.txt"],
            "hardware": "",
            "client_on_database_host": False,
        }
    return spec


class GenerationRefused(Exception):
    """Why nothing was generated, and what to do."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much of everything."""

    runs: int = 1_000_000
    measurements_per_run: int = 3
    with_series: int = 2_000  # runs, spread over all of them
    series_seconds: int = 3_600
    seed: int = 1
    append: bool = False


def generate(wanted: Wanted, said: Callable[[int], None] = lambda runs: None) -> int:
    """Writes the rows and gives their number of runs; `said` is told from time to time how many there are.

    Raises GenerationRefused where the database holds results and `append` was not asked for.
    """
    held = Run.objects.count()
    if held and not wanted.append:
        raise GenerationRefused(
            f"This database holds {held:,} runs. Generated ones would lie among them for good: give a database of "
            f"their own, or say --append."
        )
    filling = _Filling(wanted, random.Random(f"{wanted.seed}:{held}"))
    for matrix in plans(equipment(), wanted.runs, filling.rng):
        filling.matrix(matrix)
        if filling.copier.held(Run) >= AT_ONCE:
            filling.copier.write()
            said(filling.runs)
    filling.copier.write()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return filling.runs


@dataclass(frozen=True, slots=True)
class _Curve:
    """What the runs of one sweep have in common."""

    plan: PlannedSweep
    matrix: PlannedMatrix
    matrix_id: str | None
    upload_id: str | None
    sweep_id: str
    name: str
    spec: RunSpec
    before: str  # the spec's JSON up to its load, and behind it
    behind: str
    law: Law
    evidence: str


class _Filling:
    """Adds one matrix after the other to the rows to be written."""

    def __init__(self, wanted: Wanted, rng: random.Random) -> None:
        self.wanted, self.rng, self.copier = wanted, rng, Copier()
        self.runs = 0
        self._with_series = 0

    def matrix(self, plan: PlannedMatrix) -> None:
        owner, parent = plan.equipment, self._key(plan.at)
        if plan.uploaded:
            self.copier.add(
                Upload, id=parent, team_id=owner.team.pk, user_id=owner.user.pk, state=Upload.State.SAVED.value,
                created_at=plan.at, saved_at=plan.at, attempts=1,
            )  # fmt: skip
        else:
            self.copier.add(
                Matrix, id=parent, team_id=owner.team.pk, name=plan.name, purpose=plan.purpose,
                rungs=list(plan.sweeps[0].rungs) or [1], repeats=plan.sweeps[0].repeats, created_at=plan.at,
                submitted_at=plan.at, created_by_id=owner.user.pk,
            )  # fmt: skip
        position = 0
        for sweep in plan.sweeps:
            curve = self._curve(plan, sweep, parent)
            for threads, target, repeat in _cells(curve):
                if self.runs == self.wanted.runs:
                    return
                self._run(curve, position, threads, target, repeat)
                position += 1

    def _curve(self, matrix: PlannedMatrix, plan: PlannedSweep, parent: str) -> _Curve:
        spec = build_spec(matrix, plan)
        database, workload, uploaded = plan.database, plan.workload, matrix.uploaded
        name, key = f"{database.system} {plan.mode.slug} {workload.short_name}", self._key(matrix.at)
        self.copier.add(
            Sweep, id=key, team_id=matrix.equipment.team.pk, matrix_id=None if uploaded else parent,
            database_id=None if uploaded else database.pk, workload_id=None if uploaded else workload.pk, name=name,
            system=database.system, mode=plan.mode.slug, purpose=matrix.purpose, tags=list(plan.tags),
            ladder="threads" if plan.rungs else "target", created_at=matrix.at, **sweep_columns(spec),
        )  # fmt: skip
        law = build_law(
            database.name, plan.mode.slug, workload.name, database.replication_factor, plan.mode.durability.ack
        )
        before, behind = json.dumps({**spec, "load": "?"}).split('"?"')
        state = {"in_force": True, "found": dict(plan.mode.server_settings)}
        evidence = json.dumps({"before": state, "after": state, "server_version": database.version})
        own_matrix, upload = (None, parent) if uploaded else (parent, None)
        return _Curve(plan, matrix, own_matrix, upload, key, name, spec, before, behind, law, evidence)

    def _run(self, curve: _Curve, position: int, threads: int, target: int | None, repeat: int) -> None:
        rng, plan, matrix = self.rng, curve.plan, curve.matrix
        created = matrix.at + timedelta(microseconds=position)
        started = matrix.at + timedelta(seconds=300 * position)
        finished = min(started + timedelta(seconds=WARMUP_S + MEASURE_S + 30), timezone.now())
        status = rng.choices((Status.SUCCEEDED, Status.FAILED, Status.CANCELLED), (0.97, 0.02, 0.01))[0]
        succeeded = status is Status.SUCCEEDED or matrix.uploaded
        verdict = rng.choices((Verdict.PASS, Verdict.WARN, Verdict.REJECT), (0.87, 0.11, 0.02))[0]
        throughput = measured(curve.law, threads, target, rng) if succeeded else None
        curve.spec["load"].update({"threads": threads, "target_ops_s": target})
        key = self._key(created)
        load = json.dumps({**curve.spec["load"], "threads": threads, "target_ops_s": target})
        self.copier.add(
            Run, id=key, team_id=matrix.equipment.team.pk, sweep_id=curve.sweep_id, matrix_id=curve.matrix_id,
            upload_id=curve.upload_id, cluster_id=None if matrix.uploaded else plan.database.cluster_id,
            source="uploaded" if matrix.uploaded else "scheduled", spec=f"{curve.before}{load}{curve.behind}",
            name=f"{curve.name} {threads}t{f' @{target}' if target else ''} r{repeat}", system=plan.database.system,
            mode=plan.mode.slug, workload_name=plan.workload.name, purpose=matrix.purpose, threads=threads,
            target_ops_s=target, repeat=repeat, config_key=config_key(curve.spec), commit=matrix.commit,
            branch="main" if matrix.commit else "", position=position, expected_s=WARMUP_S + MEASURE_S,
            status=Status.SUCCEEDED.value if succeeded else status.value,
            stage=Stage.DONE.value if succeeded else "", reason=_reason(succeeded, status), created_at=created,
            started_at=started, starts_at=started, finished_at=finished,
            evidence=curve.evidence if succeeded and not matrix.uploaded else "{}",
            verdict=verdict.value if succeeded else "", throughput_ops_s=throughput,
            excluded_reason="Another job ran on the cluster." if rng.random() < 0.005 else "",
            tags=["repeated"] if rng.random() < 0.03 else [],
        )  # fmt: skip
        self.runs += 1
        if throughput is not None:
            self._result(curve, key, started, throughput, mean_us(curve.law, threads, target, throughput), verdict)

    def _result(
        self, curve: _Curve, run: str, started: datetime, throughput: float, mean: float, verdict: Verdict
    ) -> None:
        begin = started + timedelta(seconds=WARMUP_S)
        key, done = self._key(started), int(throughput * MEASURE_S)
        self.copier.add(
            MeasurementSet, id=key, run_id=run, warmup_s=WARMUP_S, window_from=begin,
            window_to=begin + timedelta(seconds=MEASURE_S), window_s=MEASURE_S, clients_merged=2, clients_expected=2,
            operations=done, failed=0, throughput_ops_s=throughput, throughput_sum_ops_s=throughput * 0.99,
            throughput_wall_ops_s=throughput * 0.98, overlap=0.99, created_at=started,
        )  # fmt: skip
        for operation in OPERATIONS[: self.wanted.measurements_per_run]:
            count = done // self.wanted.measurements_per_run
            self.copier.add(
                Measurement, measurement_set_id=key, operation=operation, count=count, ok=count, failed=0,
                mean_us=mean, **latencies_us(mean, self.rng),
            )  # fmt: skip
        if verdict is not Verdict.PASS:
            self.copier.add(
                Finding, measurement_set_id=key, check_id="V12", severity=verdict.value, title="Stability",
                measured="variation 13 %", threshold="variation 10 %, slow seconds 5 %",
                message="The throughput varied by 13 % from second to second.", remedy="Look for other work.",
            )  # fmt: skip
        for number, generator in enumerate(() if curve.matrix.uploaded else curve.matrix.equipment.generators):
            self.copier.add(
                ClientRun, id=self._key(started), run_id=run, load_generator_id=generator["id"], number=number,
                state="finished", order="{}", created_at=started, started_at=started, finished_at=begin, exit_code=0,
                cpu_percent=200 + 900 * self.rng.random(), clock_offset_s=0.0004,
            )  # fmt: skip
        if self._with_series * self.wanted.runs < self.wanted.with_series * self.runs:
            self._with_series += 1
            self._series(run, started, throughput, mean)

    def _series(self, run: str, started: datetime, throughput: float, mean: float) -> None:
        operations = OPERATIONS[: min(2, self.wanted.measurements_per_run)]
        for operation in operations:
            share = throughput / len(operations)
            levels = packed_levels(operation, started.timestamp(), self.wanted.series_seconds, share, mean, self.rng)
            for interval_s, points, data in levels:
                self.copier.add(
                    Series, run_id=run, operation=operation, interval_s=interval_s, points=points, data=data
                )

    def _key(self, at: datetime) -> str:
        """A UUIDv7 of that moment."""
        milliseconds, bits = int(at.timestamp() * 1000), self.rng.getrandbits(74)
        return str(uuid.UUID(int=milliseconds << 80 | 7 << 76 | (bits >> 62) << 64 | 2 << 62 | bits & ((1 << 62) - 1)))


def _cells(curve: _Curve) -> Iterator[tuple[int, int | None, int]]:
    """(threads, target in ops/s, repeat) of every run of a sweep."""
    targets = [max(1, round(share * curve.law.ceiling_ops_s)) for share in TARGET_SHARES]
    rungs: list[tuple[int, Any]] = [(threads, None) for threads in curve.plan.rungs] or [
        (TARGET_THREADS, target) for target in targets
    ]
    for repeat in range(1, curve.plan.repeats + 1):
        for threads, target in rungs:
            yield threads, target, repeat


def _reason(succeeded: bool, status: Status) -> str:
    if succeeded:
        return ""
    return Reason.CANCELLED_BY_USER.value if status is Status.CANCELLED else Reason.CLIENT_FAILED.value
