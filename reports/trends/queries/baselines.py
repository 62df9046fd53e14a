"""Which runs a verdict is about: the repeats of a commit, what stands before them, what a baseline pins."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import Any, Final

from django.db.models import (
    Case,
    Count,
    IntegerField,
    Min,
    Prefetch,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
    Window,
)  # fmt: skip
from django.db.models.functions import Cast, Coalesce, NullIf

from benchsite.accounts.models import Team
from reports.compare.analysis.points import Spread, spread
from reports.compare.curves import Operation, Point, Standing
from reports.compare.queries.run_pair import COUNTS
from reports.models import EVERY_METRIC, Baseline, ChangePoint
from runs.models import HISTORY_AT, Measurement, Phase, Run, Status

# What the default branch is called, the likeliest first.
DEFAULT_BRANCHES: Final = ("main", "master", "trunk")
MAX_MENU: Final = 50  # commits
MAX_REPEATS: Final = 100  # of one commit that are looked at, the newest
MIN_COMMIT: Final = 7  # characters of a commit that stand for the whole of it
MAX_DRAWN: Final = 60  # runs of a sparkline
MAX_OF_A_COMMIT: Final = 500  # runs, of all its tests
MAX_HISTORY: Final = 2000  # runs of the level of a test, the newest
MAX_LATER: Final = 50  # runs that may confirm a loss, the next ones
HISTORY_FIELDS: Final = (
    "team", "name", "commit", "branch", "session", "matrix", "sweep", "started_at", "finished_at", "committed_at",
    "throughput_ops_s",
)  # fmt: skip
NEWEST: Final = (HISTORY_AT.desc(), "-finished_at", "-pk")
ENDED: Final = Q(status__in=Status.terminal(), is_bracket=False)


def runs_with_sweep() -> QuerySet[Run]:
    """Runs as a verdict needs them."""
    return Run.objects.select_related("sweep__matrix")


def find_repeats(run: Run) -> list[Run]:
    """All ended runs of the same test and commit, newest first; a run without a commit is alone. One query."""
    if not (run.commit and run.config_key):
        return [run]
    rows = runs_with_sweep().filter(ENDED, team=run.team_id, config_key=run.config_key, commit=run.commit)
    return list(rows.order_by("-finished_at", "-pk")[:MAX_REPEATS]) or [run]


def runs_before(runs: Sequence[Run], branches: Sequence[str], without: Sequence[Run] = ()) -> list[Run]:
    """The runs that count of the newest other commit on the first of these branches that has one before all of `runs`;
    none of `without`.

    Preferably one on the same stated hardware. Three queries; none where the runs are of no test.
    """
    first = min(runs, key=lambda run: (run.finished_at is None, run.history_at or run.created_at, run.pk))
    if not first.config_key or first.finished_at is None:
        return []

    finished_before = Q(finished_at__lt=first.finished_at) | Q(finished_at=first.finished_at, pk__lt=first.pk)
    before = Q(at__lt=first.history_at) | Q(finished_before, at=first.history_at)
    rows = (
        runs_with_sweep()
        .annotate(at=HISTORY_AT)
        .filter(COUNTS, before, team=first.team_id, config_key=first.config_key, branch__in=branches)
    )
    rows = rows.exclude(pk__in=[run.pk for run in (*runs, *without)])
    if first.commit:
        rows = rows.exclude(commit=first.commit)
    ranks = [When(branch=name, then=Value(i)) for i, name in enumerate(branches)]
    rank = Case(*ranks, output_field=IntegerField())
    # A commit that is measured again later stays where it was.
    group = Coalesce(NullIf("commit", Value("")), Cast("pk", TextField()))
    first_at = Window(Min("at"), partition_by=["branch", group])
    ranked = rows.annotate(rank=rank, first_at=first_at).order_by("rank", "-first_at", "-finished_at", "-pk")
    newest = None
    hardware = get_hardware(first)
    if hardware:
        newest = ranked.filter(spec__stated__hardware=hardware).first()
    if newest is None:
        newest = ranked.first()
    if newest is None:
        return []
    if not newest.commit:
        return [newest]

    same = runs_with_sweep().filter(COUNTS, team=first.team_id, config_key=first.config_key)
    same = same.filter(commit=newest.commit, branch=newest.branch).exclude(pk__in=[run.pk for run in without])
    return list(same.order_by("-finished_at", "-pk")[:MAX_REPEATS])


def history_before(
    run: Run, branches: Sequence[str], without: Sequence[Run], duplicates: Sequence[Run] = ()
) -> list[Run]:
    """The runs of a test that count from before this one, without their specs; none of these runs and their commits,
    and none of the duplicates.

    The newest commit first, each at its own time, else at that of its first run: one that is measured again later
    stays where it was.
    Where hardware is stated, only what was measured on the same. One query.
    """
    if not run.config_key or run.finished_at is None:
        return []

    rows = _runs_beside(run, branches, without, duplicates).annotate(at=HISTORY_AT).filter(at__lte=run.history_at)
    runs = list(rows.order_by(*NEWEST)[:MAX_HISTORY])
    first_at = find_first_times(runs)
    return sorted(runs, key=lambda run: (first_at[run.commit or run.pk], run.finished_at, run.pk), reverse=True)


def history_after(run: Run, without: Sequence[Run], duplicates: Sequence[Run] = ()) -> list[Run]:
    """The next runs of its test and branch that count, as `history_before` has them. One query."""
    if not run.config_key or run.finished_at is None:
        return []

    rows = _runs_beside(run, [run.branch], without, duplicates).annotate(at=HISTORY_AT).filter(at__gte=run.history_at)
    return list(reversed(rows.order_by("at", "finished_at", "pk")[:MAX_LATER]))


def _runs_beside(run: Run, branches: Sequence[str], without: Sequence[Run], duplicates: Sequence[Run]) -> QuerySet[Run]:
    rows = Run.objects.only(*HISTORY_FIELDS)
    rows = rows.filter(COUNTS, team=run.team_id, config_key=run.config_key, branch__in=branches)
    rows = rows.exclude(pk__in=[other.pk for other in (*without, *duplicates)])
    rows = rows.exclude(commit__in={other.commit for other in without} - {""})
    hardware = get_hardware(run)
    if hardware:
        rows = rows.filter(spec__stated__hardware=hardware)
    return rows


def find_first_times(runs: Sequence[Run]) -> dict[object, dt.datetime]:
    """When each commit, or run without one, was first measured."""
    first_at: dict[object, dt.datetime] = {}
    for run in runs:
        if run.history_at:
            key = run.commit or run.pk
            first_at[key] = min(first_at.get(key, run.history_at), run.history_at)
    return first_at


def select_after(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """Those whose commit stands after all others in histories."""
    first_at = find_first_times(runs)
    others_at = find_first_times(others).values()
    if not others_at:
        return []
    last = max(others_at)
    return [run for run in runs if (at := first_at.get(run.commit or run.pk)) and at > last]


def get_hardware(run: Run) -> str:
    """As an upload states it."""
    return str(run.spec.get("stated", {}).get("hardware") or "")


def measured_points(runs: Sequence[Run]) -> dict[uuid.UUID, Point]:
    """Runs as points with throughput, means and p99 alone, for histories of thousands of runs. One query."""
    throughputs = {run.pk: run.throughput_ops_s or 0.0 for run in runs}
    operations: dict[uuid.UUID, list[Operation]] = {run_id: [] for run_id in throughputs}
    rows = Measurement.objects.filter(measurement_set__run__in=list(throughputs), measurement_set__is_current=True)
    for run_id, name, kind, ok, failed, mean, p99 in rows.order_by("operation", "latency_kind").values_list(
        "measurement_set__run", "operation", "latency_kind", "ok", "failed", "mean_us", "p99_us"
    ):
        latencies = {}
        for statistic, us in (("mean", mean), ("p99", p99)):
            latency = spread([] if us is None else [us])
            if latency:
                latencies[statistic] = latency
        operations[run_id].append(Operation(name, kind, ok, failed, latencies))

    return {
        run_id: Point(
            threads=0,
            target_ops_s=None,
            throughput_ops_s=Spread(geomean=throughput, low=throughput, high=throughput, n=1),
            operations=tuple(operations[run_id]),
            standing=Standing.COUNTED,
            verdict="",
            clients_merged=1,
            clients_expected=1,
            window_s=0.0,
            warmup_s=0.0,
            mode_verified=False,
            run_ids=(run_id,),
        )
        for run_id, throughput in throughputs.items()
    }


def accepted_runs(team_id: uuid.UUID, config_key: str) -> list[uuid.UUID]:
    """The first runs of the levels that a person accepted for all metrics, newest first. One query."""
    rows = ChangePoint.objects.filter(
        team=team_id, config_key=config_key, metric=EVERY_METRIC, state=ChangePoint.State.ACCEPTED
    )
    at = Coalesce("run__committed_at", "run__finished_at")
    return list(rows.order_by(at.desc()).values_list("run_id", flat=True))


def count_tests(team_id: uuid.UUID, commits: Collection[str]) -> int:
    """How many different tests these commits were measured by; at least one. One query."""
    rows = Run.objects.filter(team=team_id, commit__in=set(commits) - {""}, phase=Phase.MEASURE)
    return max(rows.order_by().values("config_key").distinct().count(), 1)


def baseline_named(team: Team, name: str) -> Baseline | None:
    """The team's own; another team's is no more there than one that does not exist."""
    return Baseline.objects.filter(team=team, name=name).select_related("set_by").first()


def pinned_runs(baseline: Baseline) -> list[Run]:
    """Newest first. One query."""
    return list(runs_with_sweep().filter(pins__baseline=baseline).order_by(*NEWEST))


def get_baselines(team: Team) -> QuerySet[Baseline]:
    """By name, each with the number of its runs and of the tests they are of."""
    rows = Baseline.objects.filter(team=team).select_related("set_by").order_by("name")
    return rows.annotate(run_count=Count("pins"), test_count=Count("pins__run__config_key", distinct=True))


def baselines_with_runs(team: Team) -> QuerySet[Baseline]:
    """By name, each with its runs as far as an answer needs them. Two queries."""
    runs = Prefetch("runs", Run.objects.order_by("-finished_at", "-pk").only("pk", "config_key"))
    return Baseline.objects.filter(team=team).select_related("set_by").prefetch_related(runs).order_by("name")


def runs_named(team: Team, ids: Sequence[uuid.UUID]) -> list[Run]:
    """The team's runs of these ids; fewer than ids where one is not the team's."""
    return list(runs_with_sweep().filter(team=team, pk__in=ids).order_by(*NEWEST))


def commits_like(team: Team, text: str) -> list[str]:
    """The whole commits that this one or its beginning stands for, at most two: more than one is ambiguous."""
    rows = Run.objects.filter(team=team).exclude(commit="")
    if rows.filter(commit=text).exists():
        return [text]
    if len(text) < MIN_COMMIT:
        return []
    commits = rows.filter(commit__startswith=text).order_by("commit").values_list("commit", flat=True).distinct()
    return list(commits[:2])


def runs_of_commit(team: Team, commit: str, *, counted: bool = False) -> list[Run]:
    """Its ended runs of every test, newest first; those alone that count, where asked for. One query."""
    rows = runs_with_sweep().filter(COUNTS if counted else ENDED, team=team, commit=commit)
    return list(rows.order_by("-finished_at", "-pk")[:MAX_OF_A_COMMIT])


def runs_of_branch(team: Team, branch: str) -> list[Run]:
    """The counted runs of the newest commit of a branch, of every test, newest first. Two queries."""
    rows = runs_with_sweep().filter(COUNTS, team=team, branch=branch).order_by("-finished_at", "-pk")
    newest = rows.order_by(*NEWEST).first()
    if newest is None:
        return []
    if not newest.commit:
        return [newest]
    return list(rows.filter(commit=newest.commit)[:MAX_OF_A_COMMIT])


def runs_of_days(team: Team, since: dt.datetime, until: dt.datetime) -> list[Run]:
    """The counted runs of the default branches whose date in histories lies there, newest first. One query."""
    rows = runs_with_sweep().filter(COUNTS, team=team, phase=Phase.MEASURE, branch__in=DEFAULT_BRANCHES)
    rows = rows.annotate(at=HISTORY_AT).filter(at__gte=since, at__lt=until).exclude(config_key="")
    return list(rows.order_by(*NEWEST)[:MAX_OF_A_COMMIT])


def newest_commits(team: Team) -> list[Any]:
    """`commit`, `branch` and `at`, the newest first. One query."""
    rows = Run.objects.filter(COUNTS, team=team, phase=Phase.MEASURE).exclude(commit="").order_by()
    return list(rows.values("commit", "branch").annotate(at=Min(HISTORY_AT)).order_by("-at")[:MAX_MENU])


def runs_of_sweep(sweep_id: uuid.UUID) -> list[Run]:
    """Those that count, newest first. One query."""
    return list(runs_with_sweep().filter(COUNTS, sweep=sweep_id).order_by("-finished_at", "-pk")[: MAX_OF_A_COMMIT + 1])


def newest_run(team_id: uuid.UUID, config_key: str, branch: str = "") -> Run | None:
    """The newest run of a test on this branch; without one on the default branch where it has any run, else on any."""
    rows = runs_with_sweep().select_related("team").filter(ENDED, team=team_id, config_key=config_key)
    newest_first = rows.order_by(*NEWEST)
    if branch:
        return newest_first.filter(branch=branch).first()
    for default_branch in DEFAULT_BRANCHES:
        run = newest_first.filter(branch=default_branch).first()
        if run:
            return run
    return newest_first.first()


def points_to_draw(team_id: uuid.UUID, config_key: str, branch: str) -> list[float]:
    """The throughputs in ops/s of the newest runs that count, the oldest of them first. One query."""
    rows = Run.objects.filter(COUNTS, team=team_id, config_key=config_key)
    if branch:
        rows = rows.filter(branch=branch)
    newest = rows.order_by(*NEWEST).values_list("throughput_ops_s", flat=True)[:MAX_DRAWN]
    return [float(value or 0.0) for value in reversed(list(newest))]
