"""The runs list, its twins, and what can be done to several runs at once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import F, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse

from benchsite.accounts.limits import LimitReached
from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, has_role, team_required
from benchsite.core.formatting import counted
from benchsite.core.table import Columns, or_empty
from runs.checks.short_windows import select_too_short
from runs.identifiers import parse_uuid
from runs.models import LatencyKind, Matrix, MeasurementSet, Run, Status
from runs.queue import lifecycle
from runs.results import annotations
from runs.results.messages import (
    CHOOSE_ACTION,
    NO_RUN_SELECTED,
    NOTHING_QUEUED,
    RUNS_EXCLUDED,
    RUNS_INCLUDED,
    RUNS_TAGGED,
    WINDOWS_TOO_SHORT,
    WRITE_A_TAG,
)
from runs.results.pages.lists import export, get_page
from runs.results.pages.run_list import (
    HEAVY,
    LATENCIES,
    MAX_ROWS_IN_CSV,
    PER_PAGE,
    REJECTED,
    SERVER_VERSION,
    RunFilter,
    count_rejections,
    count_sources,
    list_operations,
    offer_choices,
    with_latencies,
    with_rejections,
)
from runs.results.views import deletion

MAX_SHORT_MATRICES = 3  # of those with windows that are too short, named beside the button


def _describe_rejections(run: Run) -> str:
    """ "V25 Interference: 1.07 of 2 cores (limit: 0.5)", with semicolons between several."""
    return "; ".join(
        f"{rejection['check_id']} {rejection['title']}: {rejection['measured']} (limit: {rejection['limit']})"
        for rejection in run.rejections  # type: ignore[attr-defined]
    )


def _read_arrivals(name: str, run: Run) -> Any:
    """Of an open load; None of others."""
    return (run.arrivals or {}).get(name)  # type: ignore[attr-defined]


COLUMNS: Columns = {
    "id": "pk",
    "name": "name",
    "source": "source",
    "matrix": or_empty("matrix.name"),
    "sweep_id": "sweep_id",
    "system": "system",
    "database": or_empty("sweep.database_name"),
    "version": or_empty("server_version"),
    "mode": "mode",
    "workload": "workload_name",
    "phase": "phase",
    "purpose": "purpose",
    "threads": lambda run: run.threads or None,  # 0: not known
    "target_ops_s": "target_ops_s",
    "repeat": "repeat",
    "status": "status",
    "reason": "reason",
    "verdict": "verdict",
    "rejected_by": _describe_rejections,
    "verdict_override": "verdict_override",
    "throughput_ops_s": "throughput_ops_s",
    "excluded_reason": "excluded_reason",
    "tags": "tags",
    "created_at": "created_at",
    "started_at": "started_at",
    "finished_at": "finished_at",
    "notes": "notes",
    "commit": "commit",
    "branch": "branch",
    "test": "config_key",
    "committed_at": "committed_at",
    "offered_ops_s": partial(_read_arrivals, "offered_ops_s"),
    "dropped_share": partial(_read_arrivals, "dropped_share"),
}


def _latency_columns(operations: list[tuple[str, str]]) -> Columns:
    """ "READ_p99_us" and its like; of the response time "READ_response_p99_us"."""
    columns: dict[str, Callable[[Run], Any]] = {}
    for operation, kind in operations:
        stem = operation if kind == LatencyKind.SERVICE else f"{operation}_{kind}"
        columns |= {f"{stem}_{name}": partial(_read_latency, (operation, kind), name) for name in LATENCIES}
    return columns


def _read_latency(operation: tuple[str, str], name: str, run: Run) -> Any:
    latencies = run.latencies  # type: ignore[attr-defined]
    return next((latency[name] for latency in latencies if (latency["operation"], latency["kind"]) == operation), None)


@team_required("GET")
def runs_list(request: HttpRequest) -> HttpResponse:
    team = get_team(request)
    chosen = RunFilter(request.GET)
    runs = chosen.apply(team)
    rows = with_rejections(runs).defer(*HEAVY).select_related("matrix").annotate(files=F("spec__stated__files"))
    page = get_page(request, rows, PER_PAGE, by_keys=bool(chosen.words))
    offer_choices(chosen, team)
    rejections: Sequence[Any] = ()
    again = uploaded = short = 0
    short_matrices = Matrix.objects.none()
    if chosen.values["verdict"] in REJECTED:
        rejections = count_rejections(runs)
        again, uploaded = count_sources(runs)
        too_short = select_too_short(runs, team).order_by()
        short = too_short.count()
        short_matrices = Matrix.objects.filter(pk__in=too_short.values("matrix"))[:MAX_SHORT_MATRICES]
    context = {
        "filter": chosen,
        "page": page,
        "rejections": rejections,
        "again": again - short,
        "uploaded": uploaded,
        "short": short,
        "short_matrices": short_matrices,
        "hides_rows": not page.object_list and Run.objects.exists(),
    }
    return render(request, "runs/runs.html", context)


@team_required("GET")
def runs_export(request: HttpRequest, form: str) -> StreamingHttpResponse:
    """The list's filter as comma-separated values or JSON."""
    runs = RunFilter(request.GET).apply(get_team(request))[:MAX_ROWS_IN_CSV]
    rows = with_latencies(with_rejections(runs)).defer(*HEAVY).select_related("matrix", "sweep")
    current = MeasurementSet.objects.filter(run=OuterRef("pk"), is_current=True)
    rows = rows.annotate(server_version=SERVER_VERSION, arrivals=Subquery(current.values("arrivals")))
    return export(form, "runs", {**COLUMNS, **_latency_columns(list_operations(runs))}, rows.iterator(2_000))


@team_required("POST")
def runs_compare(request: HttpRequest) -> HttpResponseBase:
    """Two selected runs beside each other with everything that differs, more as points of a comparison."""
    keys = [pk for text in request.POST.getlist("run") if (pk := parse_uuid(text))][:PER_PAGE]
    runs = Run.objects.filter(pk__in=keys).order_by("created_at", "position", "pk")
    pairs = list(runs.values_list("pk", "sweep_id"))
    if len(pairs) == 2:
        (a, _), (b, _) = pairs
        return redirect(f"{reverse('why')}?{urlencode({'a': a, 'b': b})}")
    if len(pairs) < 2:
        messages.error(request, "Select at least two runs to compare.")
        return redirect(_back(request))

    sweeps = dict.fromkeys(sweep for _, sweep in pairs if sweep)
    query = [("v", "1"), *(("sweep", pk) for pk in sweeps), *(("run", pk) for pk, _ in pairs)]
    return redirect(f"{reverse('compare')}?{urlencode(query)}")


def _back(request: HttpRequest) -> str:
    """The list as the form left it."""
    query = RunFilter(QueryDict(request.POST.get("back", ""))).query
    return reverse("runs") + (query and f"?{query}")


@team_required("GET", "POST", role=Role.RUNNER)
def runs_bulk(request: HttpRequest) -> HttpResponseBase:
    """Tag or exclude the selected runs, or ask whether to delete them. Loaded again, that question is the list.

    Keys of another team's runs match nothing, like keys of no run at all.
    """
    if request.method == "GET":
        return redirect("runs")
    if request.POST.get("action") == "delete" and has_role(request, Role.ADMIN):
        return deletion.ask(request, deletion.ticked(request))
    try:
        done = _bulk(request, deletion.ticked(request))
    except (annotations.AnnotationRefused, LimitReached) as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, done)
    return redirect(_back(request))


def _bulk(request: HttpRequest, runs: list[Run]) -> str:
    user = get_user(request)
    action = request.POST.get("action", "")
    if not runs:
        raise annotations.AnnotationRefused(NO_RUN_SELECTED)
    if action == "tag":
        tags = annotations.parse_tags(request.POST.get("tags", ""))
        if not tags:
            raise annotations.AnnotationRefused(WRITE_A_TAG)
        return RUNS_TAGGED.format(changed=annotations.add_tags(runs, user, tags), runs=len(runs))
    if action == "exclude":
        out = annotations.exclude(runs, user, request.POST.get("reason", ""))
        return RUNS_EXCLUDED.format(changed=out, runs=len(runs))
    if action == "include":
        return RUNS_INCLUDED.format(changed=annotations.include(runs, user), runs=len(runs))
    if action == "again":
        ended = [run for run in runs if run.source == Run.Source.SCHEDULED and run.status in Status.terminal()]
        if not ended:
            raise annotations.AnnotationRefused(NOTHING_QUEUED)
        return _run_again(ended, request, len(runs))

    raise annotations.AnnotationRefused(CHOOSE_ACTION)


def _run_again(ended: list[Run], request: HttpRequest, selected: int) -> str:
    """All but those that V05 would reject again. Raises AnnotationRefused where these are all."""
    rows = Run.objects.filter(pk__in=[run.pk for run in ended])
    short = set(select_too_short(rows, get_team(request)).values_list("pk", flat=True))
    left_out = WINDOWS_TOO_SHORT.format(runs=counted(len(short), "run"))
    going = [run for run in ended if run.pk not in short]
    if not going:
        raise annotations.AnnotationRefused(left_out)

    added = lifecycle.run_all_again(going, get_user(request))
    context = {"added": added, "selected": selected, "left_out": left_out if short else ""}
    return render_to_string("runs/runs/queued_again.html", context)
