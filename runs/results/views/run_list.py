"""The runs list, its twins, and what can be done to several runs at once."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from benchsite.accounts.limits import LimitReached
from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, has_role, team_required
from runs.identifiers import parse_uuid
from runs.models import Run
from runs.models.plan import Purpose
from runs.models.run import Phase, Status, Verdict
from runs.queue import lifecycle
from runs.results import annotations
from runs.results.pages.lists import get_page, twin
from runs.results.pages.run_list import (
    HEAVY,
    MAX_ROWS_IN_CSV,
    PER_PAGE,
    RunFilter,
    choices,
    count_rejections,
    with_rejections,
)
from runs.results.views import deletion

COLUMNS = (
    "id", "name", "source", "matrix", "sweep_id", "system", "mode", "workload", "phase", "purpose", "threads",
    "target_ops_s", "repeat", "status", "reason", "verdict", "rejected_by", "verdict_override", "throughput_ops_s",
    "excluded_reason", "tags", "created_at", "started_at", "finished_at", "notes", "commit", "branch",
)  # fmt: skip


@team_required("GET")
def runs_list(request: HttpRequest) -> HttpResponse:
    wanted = RunFilter.from_query(request.GET)
    runs = wanted.apply(get_team(request))
    rows = with_rejections(runs).defer(*HEAVY).select_related("matrix")
    page = get_page(request, rows, PER_PAGE, by_keys=bool(wanted.words))
    context = {
        "filter": wanted,
        "page": page,
        "rejections": count_rejections(runs) if wanted.verdict == Verdict.REJECT else [],
        "choices": choices(get_team(request)),
        "statuses": [("active", "not finished"), *Status.choices],
        "verdicts": [*[(v.value, v.label) for v in Verdict if v], ("none", "not judged"), ("excluded", "excluded")],
        "phases": [*Phase.choices, ("any", "both")],
        "purposes": Purpose.choices,
        "sources": Run.Source.choices,
        "twins": [(form.upper(), _with_query(reverse(f"runs-{form}"), wanted.query())) for form in ("csv", "json")],
        "nothing_at_all": not page.object_list and not Run.objects.exists(),
    }
    return render(request, "runs/runs.html", context)


@team_required("GET")
def runs_twin(request: HttpRequest, form: str) -> StreamingHttpResponse:
    """The same filter as comma-separated values or JSON."""
    runs = RunFilter.from_query(request.GET).apply(get_team(request))
    rows = with_rejections(runs).defer(*HEAVY).select_related("matrix")
    return twin(form, "runs", COLUMNS, map(_row, rows[:MAX_ROWS_IN_CSV].iterator(2_000)))


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
    return _with_query(reverse("runs"), RunFilter.from_query(QueryDict(request.POST.get("back", ""))).query())


@team_required("POST", role=Role.RUNNER)
def runs_bulk(request: HttpRequest) -> HttpResponseBase:
    """Tag or exclude the selected runs, or ask whether to delete them.

    Keys of another team's runs match nothing, like keys of no run at all.
    """
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
    user, action = get_user(request), request.POST.get("action", "")
    if not runs:
        raise annotations.AnnotationRefused("No run is selected: select runs first.")
    if action == "tag":
        tags = annotations.parse_tags(request.POST.get("tags", ""))
        if not tags:
            raise annotations.AnnotationRefused("Write at least one tag; put commas between several.")
        return f"{annotations.add_tags(runs, user, tags)} of {len(runs)} runs got a new tag."
    if action == "exclude":
        out = annotations.exclude(runs, user, request.POST.get("reason", ""))
        return f"{out} of {len(runs)} runs are now excluded. They stay visible, with your reason."
    if action == "include":
        return f"{annotations.include(runs, user)} of {len(runs)} runs count again."
    if action == "again":
        ended = [run for run in runs if run.source == Run.Source.SCHEDULED and run.status in Status.terminal()]
        return f"{lifecycle.run_all_again(ended, user)} of {len(runs)} runs are in the queue again."
    raise annotations.AnnotationRefused("Choose an action for the selected runs.")


def _describe_rejections(run: Run) -> str:
    """ "V25 Interference: 1.07 of 2 cores (limit: 0.5)", with semicolons between several."""
    return "; ".join(
        f"{rejection['check_id']} {rejection['title']}: {rejection['measured']} (limit: {rejection['limit']})"
        for rejection in run.rejections  # type: ignore[attr-defined]
    )


def _row(run: Run) -> list[Any]:
    return [
        run.pk, run.name, run.source, run.matrix.name if run.matrix else "", run.sweep_id, run.system, run.mode,
        run.workload_name, run.phase, run.purpose, run.threads, run.target_ops_s, run.repeat, run.status, run.reason,
        run.verdict, _describe_rejections(run), run.verdict_override, run.throughput_ops_s, run.excluded_reason,
        run.tags, run.created_at, run.started_at, run.finished_at, run.notes, run.commit, run.branch,
    ]  # fmt: skip


def _with_query(url: str, query: str) -> str:
    return f"{url}?{query}" if query else url
