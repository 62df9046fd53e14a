"""Sweeps: the curves, and their points."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from uuid import UUID

from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Schema
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.schemas import owned, refusals
from runs.api.routers import matrices
from runs.api.schemas import ROOT, SOURCE, OnPage, RowSelection, page_address
from runs.models import Run, SearchDecision, Sweep
from runs.plans.extension import extend
from runs.plans.pages.search import search_path
from runs.results.measures.repeatability import compute_geomean
from runs.results.measures.search import State

RUN = Needs(Scope.MATRICES_RUN)
READ = Needs(Scope.MATRICES_RUN, Scope.RUNS_READ)


class SweepQuery(RowSelection, PageQuery):
    """Which sweeps; what is left out restricts nothing."""


class SweepLinks(Schema):
    self: str
    page: str = Field(description="With its ceiling and knee, for people.")
    table: str = Field(description="Its points with intervals, as JSON; .csv for spreadsheets. Needs a session.")
    runs: str
    matrix: str | None


class SweepAnswer(OnPage):
    """One curve: one database in one mode under one workload, over its load ladder."""

    id: UUID
    name: str
    permalink: str
    source: str = Field(description=SOURCE)
    phase: str
    system: str
    mode: str
    database: str = Field(validation_alias="database_name")
    version: str
    workload: str = Field(validation_alias="workload_name")
    cluster: str = Field(validation_alias="cluster_name")
    nodes: int | None
    purpose: str
    ladder: str
    labels: list[str] = Field(validation_alias="tags")
    notes: str
    created_at: datetime
    links: SweepLinks

    @staticmethod
    def resolve_links(sweep: Sweep) -> SweepLinks:
        matrix = None
        if sweep.matrix_id:
            matrix = f"{ROOT}/matrices/{sweep.matrix_id}"
        return SweepLinks(
            self=f"{ROOT}/sweeps/{sweep.pk}",
            page=page_address(sweep),
            table=reverse("figure-sweep-data", args=[sweep.pk, "json"]),
            runs=f"{ROOT}/runs?sweep={sweep.pk}",
            matrix=matrix,
        )


class SweepPage(PageAnswer):
    """Sweeps, the newest first."""

    items: list[SweepAnswer]


class PointRun(Schema):
    """One repeat of a point."""

    id: UUID
    repeat: int
    status: str
    verdict: str
    throughput_ops_s: float | None
    counts: bool = Field(description="Whether it is part of the point: succeeded, not rejected, not excluded.")


class PointAnswer(Schema):
    """One rung."""

    threads: int
    target_ops_s: int | None
    counted: int = Field(description="How many repeats are part of it.")
    throughput_ops_s: float | None = Field(description="The geometric mean of these repeats.")
    throughput_min_ops_s: float | None
    throughput_max_ops_s: float | None
    runs: list[PointRun]


class TrialAnswer(Schema):
    """One step of a search: the run that it ordered, or its end."""

    run: UUID | None = Field(validation_alias="run_id", description="Null: the search has ended.")
    rule: str
    low: int | None = Field(description="The highest load sustained so far: threads or ops/s, as the ladder.")
    high: int | None
    outcome: str = Field(description="What came out of the run; empty: it has not ended.")
    sentence: str


class SearchAnswer(Schema):
    """A search for the ceiling: its trials, and its answer as lower and upper bound."""

    state: str
    low: int | None
    high: int | None
    throughput_ops_s: float | None
    sentence: str
    trials: list[TrialAnswer]


class SweepDetail(SweepAnswer):
    """One curve with its points."""

    search: SearchAnswer | None = Field(description="Null: its rungs are fixed.")

    points: list[PointAnswer]


@matrices.get("/sweeps", response={200: SweepPage}, auth=READ, summary="List sweeps")
def list_sweeps(request: HttpRequest, query: Query[SweepQuery]) -> Slice[Sweep]:
    rows = query.narrow(_rows(), database_name=query.database)
    return get_page(request, rows, ("-created_at", "-pk"), query)


@matrices.get("/sweeps/{uuid:sweep_id}", response={200: SweepDetail}, auth=READ, summary="One sweep with its points")
def get_sweep(request: HttpRequest, sweep_id: UUID) -> Sweep:
    sweep = owned(_rows(), sweep_id)
    runs = Run.objects.filter(sweep=sweep, is_bracket=False).defer("spec", "evidence")
    sweep.points = list(_points(runs.order_by("threads", "target_ops_s", "repeat", "pk")))  # type: ignore[attr-defined]
    sweep.search = _search(sweep)  # type: ignore[attr-defined]
    return sweep


@matrices.post(
    "/sweeps/{uuid:sweep_id}/extend",
    response={200: SweepDetail, **refusals(409)},
    auth=RUN,
    summary="Measure two more rungs of a sweep",
)
def extend_sweep(request: HttpRequest, sweep_id: UUID) -> Sweep:
    """Above the last rung while that is the highest, below the first one while that is, else beside the highest."""
    extend(owned(_rows(), sweep_id), bearer_in(request).user)
    return get_sweep(request, sweep_id)


def _search(sweep: Sweep) -> dict[str, object] | None:
    path = search_path(sweep)
    if not path:
        return None

    last = path[-1]["decision"]
    answer = {name: getattr(last, name) for name in ("state", "low", "high", "sentence")}
    # A run that decides what the curve leaves open, after the end of the search, takes no answer away while it runs.
    decided = [step["decision"].value_ops_s for step in path]
    values = [value_ops_s for value_ops_s in decided if value_ops_s is not None]
    throughput_ops_s = None
    if values and last.state != State.SEARCHING:
        throughput_ops_s = values[-1]
    trials = [_trial(step["decision"], step["outcome"]) for step in path]
    return {**answer, "throughput_ops_s": throughput_ops_s, "trials": trials}


def _trial(decision: SearchDecision, outcome: str) -> dict[str, object]:
    names = ("run_id", "rule", "low", "high", "sentence")
    return {"outcome": outcome, **{name: getattr(decision, name) for name in names}}


def _rows() -> QuerySet[Sweep]:
    """With how each came about."""
    uploaded = When(matrix__isnull=True, then=Value(Run.Source.UPLOADED))
    return Sweep.objects.annotate(source=Case(uploaded, default=Value(Run.Source.SCHEDULED)))


def _points(runs: Iterable[Run]) -> Iterable[dict[str, object]]:
    for (threads, target), group in groupby(runs, key=lambda run: (run.threads, run.target_ops_s)):
        repeats = list(group)
        rates = [run.throughput_ops_s for run in repeats if run.counts and run.throughput_ops_s is not None]
        yield {
            "threads": threads,
            "target_ops_s": target,
            "counted": sum(run.counts for run in repeats),
            "throughput_ops_s": compute_geomean(rates) if rates else None,
            "throughput_min_ops_s": min(rates, default=None),
            "throughput_max_ops_s": max(rates, default=None),
            "runs": repeats,
        }
