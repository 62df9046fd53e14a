"""Pages that read every package: home, limits, glossary and help."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Avg, Count, DurationField, Exists, ExpressionWrapper, F, Max, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from benchsite.accounts.limits import shown as formatted
from benchsite.accounts.models import Role, Team
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.accounts.tokens import live_tokens
from benchsite.core import documents, glossary as terms
from benchsite.core.responses import part_template
from benchsite.rest.limits import used_uploads
from reports.compare.queries.run_pair import COUNTS
from reports.compare.queries.sweep_selection import find_latest_study
from reports.compare.selection import Selection
from reports.compare.views.compare import get_parts
from reports.models import History
from reports.trends.analysis.changes import MIN_HISTORY
from reports.trends.queries.histories import history_lines
from runs.catalog.views.clusters import may_edit
from runs.models import Cluster, Database, Matrix, Phase, Run, Status, Sweep
from runs.queue import live, team_usage
from runs.queue.pages.progress import Progress, annotate_state, get_progress
from runs.queue.pages.queue import queue, waiting_runs
from runs.results.pages.run import estimate_run_progress
from runs.results.pages.run_list import FAILED_OPEN, REJECTED_OPEN, UPLOADED_DEMO, link_runs
from workers.conductor.queries import queue_lines
from workers.generator.fleet import add_activity, get_fleet, health, troubled_first

LATEST = 6
RECENT = timedelta(days=14)  # of changes
MAX_HISTORIES = 300  # in which changes are searched, of the newest runs of each
MAX_RUNS = 400
FIRST_IN_QUEUE = 8
MAX_GENERATORS = 8  # those that need somebody first; the rest is a number
# Enough for the sparkline of a minute and a half of some clients.
NEWEST_ENTRIES = 600
LIMIT_TITLES = {
    "teams-per-person": "Teams of which you are an admin",
    "tokens-per-team": "Tokens that work",
    "queued-runs-per-team": "Runs that wait",
    "storage-per-team": "Files, before compression",
    "uploads-per-team": "Uploads by program in this hour",
}


def build_home_context(team: Team) -> dict[str, object]:
    """A constant number of queries, and one read of Redis per run that goes on."""
    waiting_of_team = waiting_runs().filter(team=team)
    site_queue = queue(waiting_of_team[:FIRST_IN_QUEUE])
    going, first_waiting = [], []
    for line in queue_lines(team, site_queue):
        run = line["run"]
        if not line["row"].holds:
            first_waiting.append(line)
        elif line["mine"]:
            progress = estimate_run_progress(run)
            going.append({"run": run, "way": progress, "live": live.read(run.pk, newest=NEWEST_ENTRIES)})
    waiting = waiting_of_team.count()
    fleet = get_fleet(team)
    generators = add_activity(team, troubled_first(fleet)[:MAX_GENERATORS])
    matrices = latest_matrices()

    return {
        "going": going,
        "queue": first_waiting,
        "waiting": waiting,  # of the team
        "others_waiting": site_queue.waiting - waiting,
        "active": bool(going or waiting),
        "matrices_going": matrices_going(matrices),
        "generators": generators,
        "more_generators": len(fleet) - len(generators),
        "health": health(fleet),
        "matrices": matrices,
        "sweeps": latest_sweeps(),
        "first_use": not matrices,
        "has_cluster": Cluster.objects.exists(),
        "has_database": Database.objects.exists(),
    }


def latest_matrices() -> tuple[tuple[Matrix, Progress], ...]:
    """The last submitted ones, and how far they are; two queries."""
    rows = list(Matrix.objects.filter(submitted_at__isnull=False).order_by("-submitted_at")[:LATEST])
    progress = get_progress(rows)
    return tuple((row, progress[row.pk]) for row in rows)


def matrices_going(matrices: Iterable[tuple[Matrix, Progress]]) -> list[dict[str, object]]:
    """The unfinished ones with the seconds that are left, by the mean duration of their own runs; one query."""
    going = [(matrix, progress) for matrix, progress in matrices if progress.unfinished]
    duration = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    runs = Run.objects.filter(
        matrix__in=[matrix.pk for matrix, _ in going], status=Status.SUCCEEDED, phase=Phase.MEASURE
    ).order_by()
    mean_durations = dict(runs.values_list("matrix_id").annotate(mean=Avg(duration)))
    lines = []
    for matrix, progress in going:
        mean = mean_durations.get(matrix.pk)
        left = None
        if mean:
            left = mean * progress.unfinished
        lines.append({"matrix": matrix, "progress": progress, "left": left})
    return lines


def latest_result(team: Team) -> dict[str, object] | None:
    """The study that Compare begins with, or where nothing counts the newest finished matrix: its headline and its two
    first figures.
    """
    matrix = find_latest_study(team) or _find_ended_matrix()
    if matrix is None:
        return None
    parts = get_parts(team, Selection(matrix=str(matrix.pk)))
    result = {name: parts[name] for name in ("headline", "figures", "permalink", "title")}
    _, _, query = parts["permalink"].partition("?")
    return {"matrix": matrix, "query": query, **result}


def _find_ended_matrix() -> Matrix | None:
    """The newest finished one with a result; a cancelled one only where no other is finished."""
    runs = annotate_state(Run.objects.filter(matrix=OuterRef("pk")))
    going, cancelled = runs.filter(status__in=Status.unfinished()), runs.filter(state="cancelled")
    submitted = Matrix.objects.filter(submitted_at__isnull=False, trial_of=None).order_by("-submitted_at")
    ended = submitted.filter(~Exists(going), Exists(runs.filter(status=Status.SUCCEEDED)))
    return ended.filter(~Exists(cancelled)).first() or ended.first()


def latest_sweeps() -> tuple[Sweep, ...]:
    """The sweeps that last got a point; those with one that counts come before the others. Uploaded demos, such as
    results of others, are none of them.
    """
    newest: dict[UUID, None] = {}
    points = Run.objects.exclude(UPLOADED_DEMO).filter(
        phase=Phase.MEASURE, status=Status.SUCCEEDED, sweep__isnull=False
    )
    for sweep_id in points.order_by("-finished_at").values_list("sweep_id", flat=True)[: LATEST * 20]:
        if sweep_id is not None:
            newest.setdefault(sweep_id)

    has_point = Exists(Run.objects.filter(COUNTS, sweep=OuterRef("pk")))
    sweeps = Sweep.objects.filter(pk__in=newest).select_related("matrix").annotate(has_point=has_point)
    rows = sweeps.annotate(last_at=Max("runs__finished_at"), commit=Max("runs__commit")).in_bulk()
    by_age = [rows[key] for key in newest if key in rows]
    return tuple(sorted(by_age, key=lambda sweep: not sweep.has_point)[:LATEST])


@team_required("GET")
def home(request: HttpRequest) -> HttpResponse:
    context = {
        "home": build_home_context(get_team(request)),
        "may_describe": may_edit(request, None),
    }
    return render(request, part_template(request, "benchsite/home"), context)


@team_required("GET")
def news(request: HttpRequest) -> HttpResponse:
    """The latest result and what changed, which the home page fetches; without JavaScript a page of its own."""
    team = get_team(request)
    ended = str(RECENT.days)
    failed, rejected = link_runs(
        team, {"status": FAILED_OPEN, "ended": ended}, {"verdict": REJECTED_OPEN, "ended": ended}
    )
    context = {
        "result": latest_result(team),
        "changes": {"failed": failed, "rejected": rejected, **search_changes(team, timezone.now() - RECENT)},
        "days": RECENT.days,
    }
    return render(request, part_template(request, "benchsite/news"), context)


def search_changes(team: Team, since: datetime) -> dict[str, object]:
    """Every change of level since then, the newest first, and how many histories were searched; four queries."""
    grown = History.objects.filter(phase=Phase.MEASURE, last_at__gte=since)
    counts = grown.aggregate(
        long=Count("pk", filter=Q(runs__gte=MIN_HISTORY)), short=Count("pk", filter=Q(runs__lt=MIN_HISTORY))
    )
    newest = grown.filter(runs__gte=MIN_HISTORY).order_by("-last_at")[:MAX_HISTORIES]
    lines = history_lines(team, newest, MAX_RUNS)
    changes = []
    for line in lines:
        changes += [(line, change) for change in line.history.counting if change.point.at >= since]

    return {
        "histories": sorted(changes, key=lambda pair: pair[1].point.at, reverse=True),
        "searched": len(lines),
        "unsearched": counts["long"] - len(lines),
        "short": counts["short"],
    }


@team_required("GET", role=Role.ADMIN)
def limits(request: HttpRequest) -> HttpResponse:
    """The usage of each limit by the team and its admin, and the limit."""
    team = get_team(request)
    used: dict[str, int | None] = {
        "teams-per-person": get_user(request).memberships.filter(role=Role.ADMIN).count(),
        "tokens-per-team": live_tokens(team),
        "queued-runs-per-team": team_usage.queued_runs(team),
        "storage-per-team": team_usage.stored_bytes(team),
        "uploads-per-team": used_uploads(team),
    }
    lines = []
    for name, limit in settings.LIMITS.items():
        limit_text = formatted(name, limit) if limit else "no limit"
        lines.append((name, LIMIT_TITLES[name], formatted(name, used[name]), limit_text))
    return render(request, "benchsite/limits.html", {"team": team, "lines": lines})


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """Open to readers of reports, who may have no account."""
    return render(request, "benchsite/glossary.html", {"sections": terms.sections()})


@require_GET
def help_document(request: HttpRequest, name: str = documents.INDEX) -> HttpResponse:
    """A page of the documentation, open to everybody like the glossary."""
    try:
        document = documents.read_document(name)
    except KeyError:
        raise Http404 from None
    context = {"document": document, "is_index": name == documents.INDEX}
    return render(request, "benchsite/document.html", context)
