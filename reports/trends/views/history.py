"""The list of histories, one history with its figure, and what people decide and remark there."""

import datetime as dt
import uuid
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts.models import NoticeKind, Role, Team, User
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import printable
from benchsite.notifications.notices import asked_for
from reports.compare.pages.charts import figure_link
from reports.compare.views.figures import respond
from reports.models import EVERY_METRIC, ChangePoint, History, HistoryNote
from reports.trends.baselines import BaselineRefused, accept_level
from reports.trends.figures.history import AXES, COMMITS, DATES, HistoryFigure
from reports.trends.histories import SHORT_COMMIT, THROUGHPUT_METRIC, Metric, metric_named, step_sentence
from reports.trends.messages import ACCEPTED_FOR_ALL, TEXT_TOO_LONG
from reports.trends.queries.histories import MAX_SEARCHED, PER_PAGE, HistoryFilter, history_lines
from reports.trends.queries.history import collect_metrics, follow, get_runs
from runs.identifiers import parse_uuid
from runs.models import Run
from runs.results.pages.lists import get_page

MAX_NOTE_LENGTH = 200
MAX_REASON_LENGTH = 2_000
EARLIEST = dt.date(1990, 1, 1)
MAX_LISTED = 50  # changes, environments and notes in a table of the page, the newest first


# Numbers never change here: a decision says which changes count, and where a baseline begins.
class TriageRefused(Exception):
    """What was asked for cannot be kept. The message says why and what to do."""


def record_decision(
    history: History, user: User, *, metric: Metric, run_id: uuid.UUID, state: str, note: str
) -> ChangePoint.State:
    """Record what one change is; "new" with no note forgets it again. Raises TriageRefused."""
    if state not in ChangePoint.State.values:
        raise TriageRefused("Choose what the change is: new, confirmed, a false alarm, or accepted.")
    if not get_runs(history.team_id, history.config_key).filter(pk=run_id).exists():
        raise TriageRefused("That change is not part of this history any more. Look at the changes as they are now.")

    text = _clean(note, MAX_REASON_LENGTH)
    test: dict[str, Any] = {"team_id": history.team_id, "config_key": history.config_key, "run_id": run_id}
    # Whatever is decided of one metric takes the place of what was accepted for all.
    ChangePoint.objects.filter(**test, metric=EVERY_METRIC).delete()
    decision = ChangePoint.State(state)
    if decision is ChangePoint.State.NEW and not text:
        ChangePoint.objects.filter(**test, metric=str(metric)).delete()
    else:
        values = {"state": decision, "note": text, "changed_by": user}
        ChangePoint.objects.update_or_create(**test, metric=str(metric), defaults=values)

    return decision


def remark(team: Team, user: User, *, config_key: str, day: str, text: str) -> HistoryNote:
    """Add a note at a day (UTC); with an empty `config_key` on all histories of the team. Raises TriageRefused."""
    line = _clean(text, MAX_NOTE_LENGTH)
    if not line:
        raise TriageRefused("Write what happened, as in “new kernel”.")
    instant = _parse_day(day.strip())
    return HistoryNote.objects.create(team=team, config_key=config_key, at=instant, text=line, created_by=user)


def _parse_day(day: str) -> dt.datetime:
    """Midnight of a day; now where none is given. Raises TriageRefused."""
    now = timezone.now()
    if not day:
        return now
    try:
        date = dt.date.fromisoformat(day)
    except ValueError:
        raise TriageRefused("Write the day as year, month and day: 2026-11-21.") from None
    if not EARLIEST <= date <= now.date() + dt.timedelta(days=366):
        raise TriageRefused("The day of a note lies between 1990 and a year from now.")
    return dt.datetime.combine(date, dt.time(), dt.UTC)


def _clean(text: str, max_length: int) -> str:
    """On one line and printable. Raises TriageRefused."""
    line = printable(" ".join(text.split()))
    if len(line) > max_length:
        raise TriageRefused(TEXT_TOO_LONG.format(length=len(line), limit=max_length))
    return line


class HistoryQuery(NamedTuple):
    """What an address asks of one history."""

    metric: Metric
    along: str
    branch: str
    problems: list[str]

    def encode(self) -> str:
        """The query string, only what differs from the defaults."""
        values = {"metric": str(self.metric), "along": self.along, "branch": self.branch}
        parameters = {name: value for name, value in values.items() if value != DEFAULTS[name]}
        return f"?{urlencode(parameters)}" if parameters else ""


DEFAULTS = {"metric": str(THROUGHPUT_METRIC), "along": COMMITS, "branch": ""}


def read_query(request: HttpRequest) -> HistoryQuery:
    """The query of the address; an impossible value is replaced by the default and reported."""
    parameters = request.POST if request.method == "POST" else request.GET
    text, along, branch = (parameters.get(name) or default for name, default in DEFAULTS.items())
    metric = metric_named(text)
    problems = []
    if metric is None:
        problems.append(f"“{text[:60]}” is no metric of a history; throughput is shown. Choose another below.")
        metric = THROUGHPUT_METRIC
    if along not in AXES:
        problems.append(f"A history goes along commits or dates, not “{along[:40]}”; commits are shown.")
        along = COMMITS

    return HistoryQuery(metric, along, branch, problems)


@team_required("GET")
def histories(request: HttpRequest) -> HttpResponseBase:
    team = get_team(request)
    history_filter = HistoryFilter(request.GET)
    page = get_page(request, history_filter.apply(team), PER_PAGE)
    history_filter.offer_values(History.objects.filter(team=team), "system", "mode", "workload", "cluster")
    context = {
        "filter": history_filter,
        "page": page,
        "lines": history_lines(team, page.object_list),  # type: ignore[arg-type]
        "searched": MAX_SEARCHED,
    }
    return render(request, "reports/histories.html", context)


@team_required("GET")
def series(request: HttpRequest, config_key: str) -> HttpResponseBase:
    """One metric of one test over commits or dates."""
    row = get_object_or_404(History, config_key=config_key)
    query = read_query(request)
    history, metrics = follow(row, query.metric, query.branch), collect_metrics(row)
    problems = query.problems
    if query.metric not in metrics and not history.followed:
        problems.append(f"No run of this test measured {query.metric.label}. Choose another metric below.")
    if query.branch and query.branch not in history.branches:
        problems.append(f"No run of this test is of the branch “{query.branch[:60]}”; all branches are shown.")
    # The newest first.
    changes = [change for change in reversed(history.changes) if not change.weak]
    environment = [("; ".join(texts), history.points[index]) for index, texts in reversed(history.environment)]
    title = f"History of {history.metric.label}"
    context = {
        "row": row,
        "history": history,
        "metrics": metrics,
        "query": query,
        "problems": problems,
        "figure": figure_link(title, "figure-history", config_key, query=query.encode()),
        "changes": changes[:MAX_LISTED],
        "weak": sum(change.weak for change in history.changes),
        "environment": environment[:MAX_LISTED],
        "notes": history.notes[:MAX_LISTED],
        "step": step_sentence(history),
        "axes": [(COMMITS, "commits"), (DATES, "dates")],
        "states": ChangePoint.State.choices,
        "is_notified": row.team_id in asked_for(NoticeKind.CHANGE_POINT),
    }
    return render(request, "reports/history.html", context)


@team_required("GET")
def figure(request: HttpRequest, config_key: str, form: str = "") -> HttpResponseBase:
    """The picture of a history, and its numbers as a file."""
    query = read_query(request)
    history = follow(get_object_or_404(History, config_key=config_key), query.metric, query.branch)
    figure = HistoryFigure(history, along=query.along, whole=bool(form), name=f"history-{config_key[:12]}")
    return respond(request, figure, form, "figure-history", config_key)


@team_required("POST", role=Role.RUNNER)
def decide(request: HttpRequest, config_key: str) -> HttpResponseBase:
    """Records a person's decision about one change."""
    if request.POST.get("state") == ChangePoint.State.ACCEPTED:
        # One accepted commit is accepted for every metric, or CI stays red over the others.
        return accept(request, config_key)
    row = get_object_or_404(History, config_key=config_key)
    query = read_query(request)
    try:
        state = record_decision(
            row,
            get_user(request),
            metric=query.metric,
            run_id=uuid.UUID(request.POST.get("run", "")),
            state=request.POST.get("state", ""),
            note=request.POST.get("note", ""),
        )
    except ValueError:
        messages.error(request, "That address names no change: press the button beside one.")
    except TriageRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Decided: {state.label}.")

    return _return_to(request, config_key, "changes")


@team_required("POST", role=Role.RUNNER)
def accept(request: HttpRequest, config_key: str) -> HttpResponse:
    """Accept the level that begins with the commit of a run."""
    get_object_or_404(History, config_key=config_key)
    run_id = parse_uuid(request.POST.get("run", ""))
    run = Run.objects.filter(pk=run_id, config_key=config_key).first() if run_id else None
    try:
        if run is None:
            raise TriageRefused("Choose the run with which the level begins: it is not part of this history.")
        accept_level(run, get_user(request), _clean(request.POST.get("note", ""), MAX_REASON_LENGTH))
    except (BaselineRefused, TriageRefused) as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, ACCEPTED_FOR_ALL.format(name=run.commit[:SHORT_COMMIT] or run.name))

    return _return_to(request, config_key, "changes")


def _return_to(request: HttpRequest, config_key: str, part: str) -> HttpResponseRedirect:
    return redirect(f"{reverse('history-series', args=[config_key])}{read_query(request).encode()}#{part}")


@team_required("POST", role=Role.RUNNER)
def note(request: HttpRequest, config_key: str) -> HttpResponse:
    """Add a note, or delete one (`delete`)."""
    get_object_or_404(History, config_key=config_key)
    if "delete" in request.POST:
        _delete_note(request, config_key)
    else:
        _add_note(request, config_key)
    return _return_to(request, config_key, "notes")


def _delete_note(request: HttpRequest, config_key: str) -> None:
    """Delete a note of this history, or one on all of them."""
    note_id = parse_uuid(request.POST["delete"])
    if note_id is None:
        messages.error(request, "That address names no note: press the button beside one.")
        return
    deleted, _ = HistoryNote.objects.filter(pk=note_id, config_key__in=["", config_key]).delete()
    messages.success(request, "The note is deleted." if deleted else "That note was deleted before.")


def _add_note(request: HttpRequest, config_key: str) -> None:
    if request.POST.get("everywhere"):
        config_key = ""
    day, text = request.POST.get("day", ""), request.POST.get("text", "")
    try:
        remark(get_team(request), get_user(request), config_key=config_key, day=day, text=text)
    except TriageRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, "The note is saved.")
