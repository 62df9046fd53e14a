"""Client groups: what they count beside a server that counts too, and what background scans cost readers."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from redis import Redis

from benchmarks.calibration import server
from benchmarks.calibration.study import CAPACITY_OPS_S, SERVICE_S, plan_calibration
from benchmarks.speed.report import Report, until
from benchsite.accounts.membership import ensure_demo_team
from benchsite.core.formatting import exact
from benchsite.core.paths import places
from benchsite.local.demo.study import StudyEntry, build_workload, plan_study
from benchsite.local.embedded import EmbeddedServers
from benchsite.local.supervisor import Site
from reports.compare.analysis.comparability import gate, implied_axes
from reports.compare.pages.baseline_ratios import throughput_ratio
from reports.compare.queries.curves import curves
from runs.models import LoadGenerator, Matrix, Phase, Run, Sweep, Workload
from runs.models.run import Status
from runs.plans import submit
from runs.plans.plan_spec import PlanGroup
from runs.results.recording.run_context import read_summary
from runs.ycsb.properties import CORE_WORKLOADS
from workers.processes.guarded_process import start_guarded
from workers.provision.ports import free_port

FOLDER: Final = settings.BASE_DIR / "var" / "bench"
PATIENCE_S: Final = 900
REPEATS: Final = 3
# Together more than the bucket serves, which serves threads in turn.
THREADS: Final = {"ladder": 12, "updates": 8}
MAX_SHARE_OFF: Final = 0.01
READ_THREADS: Final = 4
SCANS_OPS_S: Final = 40
WINDOW: Final = {"warmup_s": 5, "min_measure_s": 20, "max_measure_s": 20}
READS: Final = {"readproportion": "1.0", "updateproportion": "0.0"}
UPDATES: Final = {"readproportion": "0.0", "updateproportion": "1.0"}
SCANS: Final = {
    **CORE_WORKLOADS["C"], "readproportion": "0.0", "scanproportion": "1.0", "maxscanlength": "100",
    "scanlengthdistribution": "uniform",
}  # fmt: skip


def measure_shares(site: Site) -> Report:
    """Readers and writers share a token bucket, 12 threads to 8; the server counts both."""
    redis = EmbeddedServers(places(FOLDER / "redis"), logs=FOLDER / "log", postgresql=False, careless=True)
    port, log = free_port(), FOLDER / "log" / "bucket.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    redis.start()
    bucket = start_guarded(
        [sys.executable, "-m", server.__name__, str(port), str(redis.places.redis_socket), str(CAPACITY_OPS_S),
         str(SERVICE_S)],
        registry=FOLDER / "guarded", label="bucket", cwd=settings.BASE_DIR, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        counter = Redis(unix_socket_path=str(redis.places.redis_socket))
        matrix = _plan_shares(site, f"{server.HOST}:{port}")
        submit(matrix, matrix.created_by)
        rows = _follow_counts(site, matrix, counter)
    finally:
        bucket.stop()
        redis.stop()
    shares = [row[4] for row in rows]
    uncounted = sum(abs(row[5]) for row in rows)
    whole = THREADS["ladder"] / sum(THREADS.values())
    return Report(
        name="groups-shares",
        title="Two client groups share a token bucket, 60 to 40",
        columns=("run", "ladder ops/s", "updates ops/s", "planned share", "ladder share", "not counted alike"),
        rows=rows,
        figure=float(uncounted),
        unit="operations",
        wanted=f"0 counted otherwise than by the server, and shares within {100 * MAX_SHARE_OFF:.0f} point",
        met=not uncounted and all(abs(share - whole) <= MAX_SHARE_OFF for share in shares),
        statistic="counted otherwise in all:",
    )


def _plan_shares(site: Site, address: str) -> Matrix:
    team, user = ensure_demo_team()
    generators = list(LoadGenerator.objects.filter(name=site.generators[0]).select_related("machine"))
    group = PlanGroup(name="updates", workload="Updates", threads=THREADS["updates"], measured=True)
    matrix = plan_calibration(
        team, user, generators, address, rungs=[THREADS["ladder"]], repeats=REPEATS, groups=[group.model_dump()],
        **{**WINDOW, "min_measure_s": 10, "max_measure_s": 10},
    )  # fmt: skip
    properties = matrix.workloads.get().properties
    mixes: Mapping[str, Mapping[str, str]] = {"Reads": READS, "Updates": UPDATES}
    for name, mix in mixes.items():
        Workload.objects.update_or_create(
            team=team, name=name, defaults={"short_name": name[0], "properties": {**properties, **mix}}
        )
    matrix.workloads.set(Workload.objects.filter(team=team, name="Reads"))
    return matrix


def _follow_counts(site: Site, matrix: Matrix, counter: Redis) -> list[list[Any]]:
    """A row for each run; what the server counted meanwhile is compared with what the clients printed."""
    rows = []
    before: Mapping[str, int] = {}
    for run in Run.objects.filter(matrix=matrix).order_by("position"):
        ended = Run.objects.filter(pk=run.pk, status__in=Status.terminal())
        until(site, ended.exists, PATIENCE_S, f"{run} to end")
        served = _count_commands(counter)
        if run.phase == Phase.MEASURE:
            measured = run.measurement_sets.get(is_current=True)
            (group,) = measured.groups
            ladder_ops_s, group_ops_s = measured.throughput_ops_s or 0.0, group["numbers"]["throughput_ops_s"]
            done = {"READ": 0, "UPDATE": 0}
            for client in run.client_runs.prefetch_related("artifacts"):
                summary = read_summary(client)
                assert summary is not None
                for name in done:
                    done[name] += summary.counts.get(name, 0)
            otherwise = sum(
                abs(served.get(command, 0) - before.get(command, 0) - done[name])
                for name, command in (("READ", "hgetall"), ("UPDATE", "hset"))
            )
            share = ladder_ops_s / (ladder_ops_s + group_ops_s)
            planned_share = THREADS["ladder"] / sum(THREADS.values())
            rows.append([run.repeat, ladder_ops_s, group_ops_s, planned_share, share, otherwise])
        before = served
    return rows


def _count_commands(counter: Redis) -> dict[str, int]:
    stats: Mapping[str, Any] = counter.info("commandstats")
    return {name.removeprefix("cmdstat_"): int(values["calls"]) for name, values in stats.items()}


def measure_scans(site: Site) -> Report:
    """PostgreSQL's readers with and without background scans, repeat by repeat in turn."""
    team, user = ensure_demo_team()
    generators = list(LoadGenerator.objects.filter(name=site.generators[0]).select_related("machine"))
    reads = build_workload(team, "Reads beside scans", "C", CORE_WORKLOADS["C"])
    scans = build_workload(team, "Background scans", "S", SCANS)
    group = PlanGroup(name="scans", workload=scans.name, threads=2, target_ops_s=SCANS_OPS_S)
    matrices = []
    for name, groups in (("Reads alone", []), ("Reads beside scans", [group.model_dump()])):
        matrix = plan_study(
            team, user, generators, entries=[StudyEntry("postgresql", "PostgreSQL", ["off"])], workloads=[reads],
            name=name, rungs=[READ_THREADS], repeats=REPEATS, groups=groups, **WINDOW,
        )  # fmt: skip
        submit(matrix, user)
        matrices.append(matrix)
    _interleave(matrices)
    runs = Run.objects.filter(matrix__in=matrices)
    until(site, lambda: not runs.exclude(status__in=Status.terminal()).exists(), PATIENCE_S, "the runs to end")
    sides = [curves(Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE))[0] for matrix in matrices]
    alone, beside = sides
    ratio = throughput_ratio(beside, alone, None)
    comparison = ratio.comparison
    judged = gate(beside, alone, [], implied_axes(sides))
    rows: list[list[str | int | float]] = []
    for run in runs.filter(phase=Phase.MEASURE).select_related("matrix").order_by("repeat", "matrix__name"):
        measured = run.measurement_sets.get(is_current=True)
        scans_ops_s = sum(result["numbers"]["throughput_ops_s"] for result in measured.groups)
        rows.append([run.repeat, run.matrix.name if run.matrix else "", run.throughput_ops_s or 0.0, scans_ops_s])
    has_interval = comparison is not None and comparison.low is not None
    interval = f"{ratio.interval} {ratio.outcome}" if has_interval else ratio.why
    return Report(
        name="groups-scans",
        title=f"PostgreSQL: {READ_THREADS} reading threads, with and without {SCANS_OPS_S} scans/s",
        columns=("repeat", "plan", "reads/s", "scans/s"),
        rows=rows,
        figure=(comparison and comparison.ratio) or 0.0,
        unit="ratio",
        wanted="an interval, and sides that may be compared",
        met=has_interval and judged.comparable,
        statistic="with / without",
        notes=f"{interval}. {' '.join(judged.ignored)} n = {exact(REPEATS)} each.",
    )


def _interleave(matrices: list[Matrix]) -> None:
    """Loads first, then the repeats of both matrices in turn."""
    for matrix in matrices:
        Run.objects.filter(matrix=matrix, phase=Phase.LOAD).update(priority=2 * REPEATS + 2)
    for place, run in enumerate(
        Run.objects.filter(matrix__in=matrices, phase=Phase.MEASURE).order_by("repeat", "matrix__name")
    ):
        Run.objects.filter(pk=run.pk).update(priority=2 * REPEATS - place)
