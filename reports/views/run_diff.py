"""Why two runs differ: their numbers, the likeliest causes, and everything recorded of both beside each other."""

import uuid
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import owned_or_404, team_of, team_required
from reports.curves import Curve
from reports.pages.run_diff import WhyPage, why_page
from reports.queries import curves, others_of, profile_of, run_at_ceiling, run_sides, session_spreads, sweeps_of
from reports.queries.run_pair import RUNS
from runs.identifiers import uuid_of
from runs.models import Run

HOW_TO_CHOOSE = (
    "Open a run and follow “Why different from …”, or compare sweeps and follow the link in a row of ratios."
)


@dataclass(frozen=True, slots=True)
class Side:
    """What one id of the address stands for: a run, or the sweep whose ceiling it is."""

    run: Run | None
    curve: Curve | None = None  # of the sweep that it stands for
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The two runs, or why there is one too few."""

    a: Run | None = None
    b: Run | None = None
    others: tuple[Run, ...] = ()  # what A may be compared with
    ceilings: tuple[Curve, Curve] | None = None  # whose runs they are, where the address names sweeps
    by_itself: bool = False  # B was chosen here, not in the address
    problem: str = ""

    @property
    def at_ceilings(self) -> bool:
        return self.ceilings is not None


@require_GET
@team_required
def why(request: HttpRequest) -> HttpResponseBase:
    chosen = chosen_of(request)
    context: dict[str, object] = {"chosen": chosen, "how_to_choose": HOW_TO_CHOOSE}
    if chosen.a and chosen.b:
        context["page"] = page_of(request, chosen.a, chosen.b, chosen.ceilings)
        context["swapped"] = address(chosen.b.pk, chosen.a.pk)
    return render(request, "reports/why.html", context)


def address(a: uuid.UUID, b: uuid.UUID) -> str:
    return f"{reverse('why')}?{urlencode({'a': a, 'b': b})}"


def page_of(request: HttpRequest, a: Run, b: Run, ceilings: tuple[Curve, Curve] | None) -> WhyPage:
    """Eleven queries."""
    sides = run_sides(a, b)
    floors = session_spreads(team_of(request), [side.spec["cluster"]["name"] for side in sides])
    profile = profile_of(team_of(request), [side.curve for side in sides if side.curve])
    return why_page(sides[0], sides[1], floors, profile, ceilings=ceilings)


def chosen_of(request: HttpRequest) -> Chosen:
    """The runs that the address names; for a missing one, the run before it or the nearest one of its sweep.

    404 for an id that is not the team's; a sentence for what is no id, and for a side that has no run.
    """
    texts = [text for name in ("a", "b") if (text := request.GET.get(name, "").strip())]
    ids = [uuid_of(text) for text in texts]
    if not texts:
        return Chosen(problem="No run is chosen.")
    if None in ids:
        return Chosen(problem=f"“{texts[ids.index(None)][:60]}” is no run and no sweep.")
    sides = [_side(request, pk) for pk in ids if pk]
    a = sides[0].run
    if problem := next((side.problem for side in sides if side.problem), ""):
        return Chosen(problem=problem)
    assert a is not None
    others = tuple(others_of(a))
    chosen = Chosen(a, others[0] if others else None, others, by_itself=True)
    if len(sides) == 2:
        first, second = (side.curve for side in sides)
        ceilings = (first, second) if first and second else None
        chosen = replace(chosen, b=sides[1].run, ceilings=ceilings, by_itself=False)
    if chosen.b is None:
        return replace(chosen, problem="There is no other measured run of the same test or of the same sweep.")
    if chosen.a == chosen.b:
        return replace(chosen, b=None, problem="Both sides are the same run.")
    return chosen


def _side(request: HttpRequest, pk: uuid.UUID) -> Side:
    if run := RUNS.filter(team=team_of(request), pk=pk).first():
        return Side(run)
    rows = sweeps_of(team_of(request)).select_related("matrix", "workload", "database")
    curve = curves([owned_or_404(rows, request, pk)])[0]
    run = run_at_ceiling(curve, team_of(request).pk)
    problem = "" if run else f"No run of the sweep “{curve.name}” counts, so that it has no ceiling."
    return Side(run, curve, problem)
