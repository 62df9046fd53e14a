"""The list of histories, one history with its figure, and what people decide and remark there."""

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts.models import Role, Team, User
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import printable
from reports.compare.pages.charts import figure_link
from reports.compare.views.figures import respond
from reports.models import EVERY_METRIC, ChangePoint, History, HistoryNote
from reports.trends.analysis.changes import MIN_HISTORY
from reports.trends.baselines import BaselineRefused, accept_level
from reports.trends.figures.history import AXES, COMMITS, DATES, HistoryFigure
from reports.trends.histories import SHORT_COMMIT, THROUGHPUT_METRIC, Metric, metric_named, step_sentence
from reports.trends.messages import TEXT_TOO_LONG
from reports.trends.queries.histories import MAX_SEARCHED, PER_PAGE, HistoryFilter, history_lines
from reports.trends.queries.history import follow, get_runs
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

    text = _plain(note, MAX_REASON_LENGTH)
    this: dict[str, Any] = {"config_key": history.config_key, "metric": str(metric), "run_id": run_id}
    # Whatever is decided of one metric takes the place of what was accepted for all.
    ChangePoint.objects.filter(team=history.team_id, **{**this, "metric": EVERY_METRIC}).delete()
    chosen = ChangePoint.State(state)
    if chosen is ChangePoint.State.NEW and not text:
        ChangePoint.objects.filter(team=history.team_id, **this).delete()
    else:
        values = {"state": chosen, "note": text, "changed_by": user}
        ChangePoint.objects.update_or_create(team_id=history.team_id, **this, defaults=values)

    return chosen


def remark(team: Team, user: User, *, config_key: str, day: str, text: str) -> HistoryNote:
    """Add a note at a day (UTC); with an empty `config_key` on all histories of the team. Raises TriageRefused."""
    written = _plain(text, MAX_NOTE_LENGTH)
    if not written:
        raise TriageRefused("Write what happened, as in “new kernel”.")

    # Midnight of a day; now where none is given.
    if not day.strip():
        instant = timezone.now()
    else:
        try:
            date = dt.date.fromisoformat(day.strip())
        except ValueError:
            raise TriageRefused("Write the day as year, month and day: 2026-11-21.") from None
        if not EARLIEST <= date <= timezone.now().date() + dt.timedelta(days=366):
            raise TriageRefused("The day of a note lies between 1990 and a year from now.")
        instant = dt.datetime.combine(date, dt.time(), dt.UTC)

    return HistoryNote.objects.create(team=team, config_key=config_key, at=instant, text=written, created_by=user)


def _plain(text: str, most: int) -> str:
    """On one line and printable."""
    line = printable(" ".join(text.split()))
    if len(line) > most:
        raise TriageRefused(TEXT_TOO_LONG.format(length=len(line), limit=most))
    return line


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """What an address asks of one history."""

    metric: Metric
    along: str
    branch: str
    problems: tuple[str, ...] = ()

    def encode(self) -> str:
        """The query string, only what differs from the defaults."""
        plain = (("metric", str(THROUGHPUT_METRIC)), ("along", COMMITS), ("branch", ""))
        mine = (str(self.metric), self.along, self.branch)
        parameters = [(name, value) for (name, usual), value in zip(plain, mine, strict=True) if value != usual]
        if parameters:
            return f"?{urlencode(parameters)}"
        return ""


def query_in(request: HttpRequest) -> HistoryQuery:
    """The query of the address; an impossible value is replaced by the default and reported."""
    parameters = request.POST if request.method == "POST" else request.GET
    text = parameters.get("metric") or str(THROUGHPUT_METRIC)
    along = parameters.get("along") or COMMITS
    metric = metric_named(text)
    problems = []
    if metric is None:
        problems.append(f"“{text[:60]}” is no metric of a history; throughput is shown. Choose another below.")
    if along not in AXES:
        problems.append(f"A history goes along commits or dates, not “{along[:40]}”; commits are shown.")

    return HistoryQuery(
        metric or THROUGHPUT_METRIC, along if along in AXES else COMMITS, parameters.get("branch", ""), tuple(problems)
    )


@team_required("GET")
def histories(request: HttpRequest) -> HttpResponseBase:
    team = get_team(request)
    chosen = HistoryFilter(request.GET)
    page = get_page(request, chosen.apply(team), PER_PAGE)
    chosen.offer_values(History.objects.filter(team=team), "system", "mode", "workload", "cluster")
    context = {
        "filter": chosen,
        "page": page,
        "lines": history_lines(team, page.object_list),  # type: ignore[arg-type]
        "searched": MAX_SEARCHED,
    }
    return render(request, "reports/histories.html", context)


@team_required("GET")
def series(request: HttpRequest, config_key: str) -> HttpResponseBase:
    """One metric of one test over commits or dates."""
    row = get_object_or_404(History, config_key=config_key)
    query = query_in(request)
    followed = follow(row, query.metric, query.branch)
    history = followed.history
    # What the address asks for and this history does not have.
    problems = []
    if query.metric not in followed.metrics and not followed.history.followed:
        problems.append(f"No run of this test measured {query.metric.label}. Choose another metric below.")
    if query.branch and query.branch not in followed.branches:
        problems.append(f"No run of this test is of the branch “{query.branch[:60]}”; all branches are shown.")
    context = {
        "row": row,
        "found": followed,
        "history": history,
        "asked": query,
        "problems": [*query.problems, *problems],
        "figure": figure_link(f"History of {history.metric.label}", "figure-history", config_key, query=query.encode()),
        "changes": [change for change in reversed(history.changes) if not change.change.weak][:MAX_LISTED],
        "weak": sum(change.change.weak for change in history.changes),
        "environment": [
            ("; ".join(texts), history.points[index]) for index, texts in [*reversed(history.environment)][:MAX_LISTED]
        ],
        "notes": list(reversed(history.notes))[:MAX_LISTED],
        "step": step_sentence(history),
        "axes": [(COMMITS, "commits"), (DATES, "dates")],
        "states": ChangePoint.State.choices,
        "min_points": MIN_HISTORY,
    }
    return render(request, "reports/history.html", context)


@team_required("GET")
def figure(request: HttpRequest, config_key: str, form: str = "") -> HttpResponseBase:
    """The picture of a history, and its numbers as a file."""
    query = query_in(request)
    history = follow(get_object_or_404(History, config_key=config_key), query.metric, query.branch).history
    figure = HistoryFigure(history, along=query.along, whole=bool(form), name=f"history-{config_key[:12]}")
    return respond(request, figure, form, "figure-history", config_key)


@team_required("POST", role=Role.RUNNER)
def decide(request: HttpRequest, config_key: str) -> HttpResponse:
    """Records a person's decision about one change."""
    row = get_object_or_404(History, config_key=config_key)
    query = query_in(request)
    try:
        run_id = uuid.UUID(request.POST.get("run", ""))
        state = record_decision(
            row, get_user(request), metric=query.metric, run_id=run_id,
            state=request.POST.get("state", ""), note=request.POST.get("note", ""),
        )  # fmt: skip
    except ValueError:
        messages.error(request, "That address names no change: press the button beside one.")
    except TriageRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Decided: {state.label}.")

    return redirect(reverse("history-series", args=[config_key]) + query.encode() + "#changes")


@team_required("POST", role=Role.RUNNER)
def accept(request: HttpRequest, config_key: str) -> HttpResponse:
    """Accept the level that begins with the commit of a run."""
    get_object_or_404(History, config_key=config_key)
    key = parse_uuid(request.POST.get("run", ""))
    run = None
    if key:
        run = Run.objects.filter(pk=key, config_key=config_key).first()
    try:
        if run is None:
            raise TriageRefused("Choose the run with which the level begins: it is not part of this history.")
        accept_level(run, get_user(request), _plain(request.POST.get("note", ""), MAX_REASON_LENGTH))
    except (BaselineRefused, TriageRefused) as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Accepted: the level begins with {run.commit[:SHORT_COMMIT] or run.name}.")

    return redirect(reverse("history-series", args=[config_key]) + "#changes")


@team_required("POST", role=Role.RUNNER)
def note(request: HttpRequest, config_key: str) -> HttpResponse:
    """Add a note, or delete one (`delete`)."""
    row = get_object_or_404(History, config_key=config_key)
    query = query_in(request)
    team = get_team(request)
    try:
        if "delete" in request.POST:
            # Delete a note of this history, or one on all of them; whether there was one.
            notes = HistoryNote.objects.filter(pk=uuid.UUID(request.POST["delete"]), config_key__in=["", config_key])
            gone = bool(notes.delete()[0])
            messages.success(request, "The note is deleted." if gone else "That note was deleted before.")
        else:
            key = ""
            if not request.POST.get("everywhere"):
                key = row.config_key
            remark(
                team, get_user(request), config_key=key, day=request.POST.get("day", ""),
                text=request.POST.get("text", ""),
            )  # fmt: skip
            messages.success(request, "The note is saved.")
    except ValueError:
        messages.error(request, "That address names no note: press the button beside one.")
    except TriageRefused as refused:
        messages.error(request, str(refused))

    return redirect(reverse("history-series", args=[config_key]) + query.encode() + "#notes")
