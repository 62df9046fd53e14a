"""Baselines: listed, set from a run or a sweep, unset; the verdict of a run against one; badges."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.accounts.models import Role, Team
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import counted
from reports.compare.figures.layout import cut
from reports.compare.figures.theme import SHORT_COMMIT
from reports.models import EVERY_METRIC, BadgeLink, Baseline, ChangePoint, History
from reports.trends.badges import BadgeRefused, make_badge, revoke_badge
from reports.trends.baselines import BaselineRefused, set_baseline, unset_baseline
from reports.trends.histories import HistoryChange
from reports.trends.messages import REPEATS_OF_RUN, RUNS_OF_SWEEP
from reports.trends.queries.baselines import (
    DEFAULT_BRANCHES,
    find_repeats,
    get_baselines,
    newest_commits,
    runs_of_sweep,
    runs_with_sweep,
)
from reports.trends.queries.histories import history_lines
from reports.trends.verdicts.baseline_selection import RULE, BaselineUnknown, verdict_of_run
from reports.trends.verdicts.builds import NoSuchBuild, judge_builds
from reports.trends.verdicts.serialization import VerdictDocument
from reports.trends.verdicts.sides import (
    Ambiguous,
    Incomparable,
    NothingNamed,
    TooManyTests,
    compared,
    describe_side,
    find_period,
)
from reports.trends.verdicts.verdict import why_not
from runs.identifiers import parse_uuid
from runs.models import Matrix, Run, Sweep
from runs.results.pages.lists import get_page

PER_PAGE = 50
MAX_NAMES = 50  # in a menu
MAX_LABEL = 24  # characters of a side's name in headings
MAX_RUNS = 400  # of each history in which changes are searched, the newest


@team_required("GET")
def baselines(request: HttpRequest) -> HttpResponseBase:
    team = get_team(request)
    links = BadgeLink.objects.filter(revoked_at__isnull=True).select_related("created_by")
    context = {
        "page": get_page(request, get_baselines(team), PER_PAGE),
        "rule": RULE,
        "badges": links,
        "site": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "reports/baselines.html", context)


@team_required("POST", role=Role.RUNNER)
def set_to(request: HttpRequest) -> HttpResponseBase:
    """Let a name stand for the repeats of a run's commit, or for all runs of a sweep that count."""
    team = get_team(request)
    name = request.POST.get("name", "").strip()
    sweep_id = parse_uuid(request.POST.get("sweep", ""))
    if sweep_id:
        sweep = get_object_or_404(Sweep, pk=sweep_id)
        runs = runs_of_sweep(sweep.pk)
        chosen = RUNS_OF_SWEEP.format(sweep=sweep.name)
        page_before = redirect("sweep", sweep.pk)
    else:
        run = get_object_or_404(runs_with_sweep(), pk=parse_uuid(request.POST.get("run", "")))
        runs = [repeat for repeat in find_repeats(run) if not why_not(repeat)]
        repeats = REPEATS_OF_RUN.format(run=run.name, commit=run.commit[:12])
        chosen = repeats if run.commit else f"“{run.name}”."
        page_before = redirect("run", run.pk)

    try:
        baseline = set_baseline(team, get_user(request), name, runs, chosen=chosen)
    except BaselineRefused as refused:
        messages.error(request, str(refused))
        return page_before

    count = baseline.pins.count()
    message = f"“{baseline.name}” stands for {counted(count, 'run')} now, which cannot be deleted meanwhile."
    messages.success(request, message)
    return redirect("baselines")


@team_required("POST", role=Role.RUNNER)
def unset(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    baseline = get_object_or_404(Baseline, pk=pk)
    unset_baseline(baseline, get_user(request))
    messages.success(request, f"“{baseline.name}” is no longer a baseline. The runs stay and can be deleted.")
    return redirect("baselines")


@team_required("GET")
def run_verdict(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """A page of its own, and the card that a run's page loads."""
    run = get_object_or_404(runs_with_sweep().select_related("team"), pk=pk)
    name = request.GET.get("baseline", "")[:80].replace("\0", "")
    problem = ""
    try:
        verdict = verdict_of_run(run, baseline=name)
    except BaselineUnknown:
        problem = f"There is no baseline “{name}”; the rule chose."
        verdict = verdict_of_run(run)

    context = {
        "run": run,
        "found": verdict,
        "run_names": {},
        "wanted": name,
        "problem": problem,
        "names": list(Baseline.objects.values_list("name", flat=True)[:MAX_NAMES]),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "reports/verdict/card.html", context)

    run_ids = [*verdict.new.runs]
    if verdict.base:
        run_ids += verdict.base.runs
    context["run_names"] = dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "name"))
    return render(request, "reports/verdict.html", context)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One test of both sides."""

    document: VerdictDocument
    test: History | None
    accepted: ChangePoint | None  # the level by which a loss passes
    changes: Sequence[tuple[str, HistoryChange]]  # within a week, with the label of that side


def build_version_rows(team: Team, documents: Sequence[VerdictDocument], labels: Mapping[str, str]) -> list[VersionRow]:
    """`labels` are those of both sides by what names them."""
    tests = History.objects.filter(config_key__in=[document.test for document in documents])
    points = ChangePoint.objects.filter(
        run__in=[document.accepted_run for document in documents],
        metric=EVERY_METRIC,
        state=ChangePoint.State.ACCEPTED,
    )
    accepted: dict[uuid.UUID | None, ChangePoint] = {
        point.run_id: point for point in points.select_related("run", "changed_by")
    }
    periods = [(label, period) for side, label in labels.items() if (period := find_period(side))]
    changes: dict[str, list[tuple[str, HistoryChange]]] = defaultdict(list)
    lines = history_lines(team, tests, MAX_RUNS) if periods else []
    for line, (label, period) in product(lines, periods):
        changes[line.row.config_key] += [
            (label, entry)
            for entry in line.history.list_changes_within(*period)
            if entry.point.branch in DEFAULT_BRANCHES
        ]
    by_key = {test.config_key: test for test in tests}
    return [
        VersionRow(document, by_key.get(document.test), accepted.get(document.accepted_run), changes[document.test])
        for document in documents
    ]


@team_required("GET")
def versions(request: HttpRequest) -> HttpResponseBase:
    """Two commits, branches or weeks against each other, test by test; without any the two newest commits."""
    team = get_team(request)
    commits = newest_commits(team)
    base, new = (request.GET.get(name, "").replace("\0", "")[:200].strip() for name in ("base", "new"))
    newest_first = [row["commit"] for row in commits]
    new = new or next(iter(newest_first), "")
    base = base or next((commit for commit in newest_first if commit != new), "")
    answer, problem = None, ""
    documents: tuple[VerdictDocument, ...] = ()
    try:
        if base and new:
            answer = compared(team, base, new)
            documents = answer.comparisons
    except (NothingNamed, Ambiguous, TooManyTests, Incomparable) as refused:
        problem = str(refused)

    headings = [text[:SHORT_COMMIT] if text in newest_first else describe_side(text) for text in (base, new)]
    labels = [cut(heading, MAX_LABEL, headings) for heading in headings]
    context = {
        "base": base,
        "new": new,
        "labels": labels,
        "problem": problem,
        "answer": answer,
        "rows": build_version_rows(team, documents, dict(zip((base, new), labels, strict=True))),
        "commits": commits,
        "branches": sorted({row["branch"] for row in commits} - {""}),
        "names": list(Baseline.objects.values_list("name", flat=True)[:MAX_NAMES]),
    }
    return render(request, "reports/versions.html", context)


@team_required("GET")
def builds_verdict(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """The builds of one plan against each other."""
    matrix = get_object_or_404(Matrix.objects.select_related("team"), pk=pk)
    try:
        answer = judge_builds(matrix)
    except NoSuchBuild as error:
        raise Http404(str(error)) from error
    tests = chain.from_iterable(comparison.tests for comparison in answer.comparisons)
    rows = History.objects.filter(config_key__in=[test.test for test in tests])
    context = {"matrix": matrix, "answer": answer, "tests": {row.config_key: str(row) for row in rows}}
    return render(request, "reports/builds.html", context)


@team_required("POST", role=Role.ADMIN)
def badge_add(request: HttpRequest) -> HttpResponseBase:
    run = get_object_or_404(runs_with_sweep(), pk=parse_uuid(request.POST.get("run", "")))
    posted = {name: request.POST.get(name, "").strip().replace("\0", "") for name in ("label", "branch", "baseline")}
    try:
        badge = make_badge(run.team, get_user(request), run, **posted)
    except BadgeRefused as refused:
        messages.error(request, str(refused))
        return redirect("run-against", pk=run.pk)
    messages.success(request, f"The badge “{badge.label}” can be seen by everybody who has its address.")
    return redirect("baselines")


@team_required("POST", role=Role.ADMIN)
def badge_revoke(request: HttpRequest, token: str) -> HttpResponseBase:
    link = BadgeLink.objects.filter(token=token.replace("\0", "")).first()
    if link is None:
        raise Http404
    revoke_badge(link, get_user(request))
    messages.success(request, f"The badge “{link.label}” shows nothing any more.")
    return redirect("baselines")
