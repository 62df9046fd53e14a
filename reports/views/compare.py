"""The compare page: both pictures of a selection, what the sides differ in, and the numbers as tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from benchsite.teams.models import Team
from benchsite.teams.permissions import team_of, team_required
from reports.analysis.differences import differences
from reports.analysis.pairs import PairFinding, pair_findings
from reports.curves import STATISTICS, Curve, operations_of
from reports.figures.captions import DEMONSTRATION, machine_sentence
from reports.figures.ceilings import height_px
from reports.figures.theme import LIGHT, databases_of
from reports.queries import Compared, Facets, compared, facets, sides_of
from reports.selection import KINDS, Selection, read
from runs.models import Sweep
from runs.models.plan import Purpose
from runs.thresholds import thresholds_of

# Two pictures stand side by side without anybody's asking; more are a choice.
MOST_OPERATIONS = 2
SCALE_SAYS = (
    ("auto", "as it fits"),
    ("log", "latency logarithmic"),
    ("loglog", "both logarithmic"),
    ("linear", "both linear"),
)
CHOSEN_STATISTICS = ("mean", "p50", "p95", "p99", "p999")


@dataclass(frozen=True, slots=True)
class Chip:
    """One value of a facet, and the address with it chosen or let go."""

    text: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ChipRow:
    name: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class FigureLink:
    """One figure of the page."""

    title: str
    src: str
    csv: str
    json: str
    live: bool
    height_px: int = 0  # where the ordinary height will not do


@require_GET
@team_required
def compare(request: HttpRequest) -> HttpResponseBase:
    team, selection = team_of(request), read(request.GET)
    canonical = selection.query()
    if not selection.problems and request.GET.urlencode() != canonical.removeprefix("?"):
        return redirect(request.path + canonical)
    found = compared(team, selection)
    choices = facets(team, found.matrix_id)
    context = {
        "selection": selection,
        "compared": found,
        "facets": choices,
        "chips": chip_rows(selection, choices),
        "operations": operations_of(found.curves),
        "statistics": [(name, STATISTICS[name]) for name in CHOSEN_STATISTICS],
        "scales": SCALE_SAYS,
        "kinds": kinds_of(found.curves),
        "databases": databases_of(found.curves),
        "crowded": len(databases_of(found.curves)) > len(LIGHT.series),
        "ceilings": replace(
            figure_link("Throughput ceilings", "figure-ceilings", pinned(selection, found), found),
            height_px=height_px(found.curves),
        ),
        "latencies": latency_links(pinned(selection, found), found),
        "rows": ceiling_rows(found.curves),
        "differences": differences(found.curves) if len(found.curves) > 1 else [],
        "pairs": pairs(team, found.curves),
        "warnings": warnings(found.curves),
        "permalink": reverse("compare") + pinned(selection, found).query(),
        "nothing_at_all": not found.curves and not Sweep.objects.filter(team=team).exists(),
    }
    return render(request, "reports/compare.html", context)


def pinned(selection: Selection, found: Compared) -> Selection:
    """The selection with the newest matrix by its name: what the figures ask for, and what a shared link says."""
    return replace(selection, matrix=str(found.matrix_id)) if found.matrix_id else selection


def chip_rows(selection: Selection, choices: Facets) -> list[ChipRow]:
    """The facets that leave something to choose."""
    rows = (
        ("system", "System", [(value, value) for value in choices.systems]),
        ("mode", "Mode", [(value, value) for value in choices.modes]),
        ("workload", "Workload", [(value, value) for value in choices.workloads]),
        ("purpose", "Purpose", list(choices.purposes)),
    )
    return [
        ChipRow(title, tuple(_chip(selection, name, value, text) for value, text in values))
        for name, title, values in rows
        if len(values) > 1 or selection.facet(name)
    ]


def _chip(selection: Selection, name: str, value: str, text: str) -> Chip:
    return Chip(text, reverse("compare") + selection.toggled(name, value).query(), value in selection.facet(name))


def figure_link(title: str, view: str, selection: Selection, found: Compared) -> FigureLink:
    query = selection.query()
    return FigureLink(
        title,
        reverse(view) + query,
        reverse(f"{view}-data", args=["csv"]) + query,
        reverse(f"{view}-data", args=["json"]) + query,
        any(curve.progress.going for curve in found.curves),
    )


def latency_links(selection: Selection, found: Compared) -> list[FigureLink]:
    """A picture of the chosen operation, or of each of the first operations that were measured."""
    operations = [selection.operation] if selection.operation else operations_of(found.curves)[:MOST_OPERATIONS]
    statistic = STATISTICS[selection.statistic]
    return [
        figure_link(f"{one} {statistic} against throughput", "figure-latency", replace(selection, operation=one), found)
        for one in operations
    ]


def pairs(team: Team, curves: Sequence[Curve]) -> list[PairFinding]:
    """The checks of every two sides, by the thresholds of their purpose, or of measured runs where they differ."""
    if len(curves) < 2:
        return []
    purposes = {curve.purpose for curve in curves}
    return pair_findings(
        sides_of(curves), thresholds_of(team, purposes.pop() if len(purposes) == 1 else Purpose.MEASURED)
    )


def kinds_of(curves: Sequence[Curve]) -> list[str]:
    """The kinds of latency that were measured, service time first."""
    held = {one.kind for curve in curves for point in curve.points for one in point.operations}
    return [kind for kind in KINDS if kind in held]


@dataclass(frozen=True, slots=True)
class CeilingRow:
    """A line of the table of ceilings."""

    curve: Curve
    share: float | None  # of the highest


def ceiling_rows(curves: Sequence[Curve]) -> list[CeilingRow]:
    best = max((found.throughput_ops_s for curve in curves if (found := curve.ceiling)), default=0.0)
    return [
        CeilingRow(curve, found.throughput_ops_s / best if best and (found := curve.ceiling) else None)
        for curve in curves
    ]


def warnings(curves: Sequence[Curve]) -> list[str]:
    """What every reader has to know before believing the pictures."""
    found = [f"{sentence}." for sentence in [machine_sentence(curves)] if sentence]
    if any(not curve.publishable for curve in curves):
        found.append(f"{DEMONSTRATION}.")
    return found
