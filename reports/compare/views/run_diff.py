"""Why two runs differ: their numbers, the likeliest causes, and everything recorded of both beside each other."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from benchsite.accounts.permissions import get_team, team_required
from benchsite.core import formatting
from reports.compare.analysis.causes import causes, run_pair
from reports.compare.analysis.comparability import gate, implied_axes
from reports.compare.analysis.looks import Look
from reports.compare.analysis.repeat_comparison import Comparison, Outcome, compare_values, not_comparable
from reports.compare.analysis.run_sides import RunSide
from reports.compare.curves import Curve, Operation, Point, collect_measured, in_order
from reports.compare.figures.captions import KIND_SAYS
from reports.compare.figures.theme import get_labels
from reports.compare.messages import BUSIEST_GENERATOR_CPU, LOADS_DIFFER
from reports.compare.pages.baseline_ratios import extended, throughput_ratio
from reports.compare.pages.planned_steps import measure_steps
from reports.compare.queries import (
    curves,
    find_comparable_runs,
    get_profile,
    run_at_ceiling,
    run_sides,
    session_spreads,
)
from reports.compare.queries.run_pair import find_siblings, runs_with_matrix
from reports.trends.analysis.sessions import SessionSpread, largest_spread
from runs.checks import Profile, judge_pair
from runs.identifiers import parse_uuid
from runs.models import Run, Sweep

STATISTICS: Final = (("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p999", "p99.9"))


def why_page(
    a: RunSide,
    b: RunSide,
    floors: Mapping[str, SessionSpread],
    profile: Profile,
    *,
    ceilings: tuple[Curve, Curve] | None,
    siblings: Sequence[Curve] = (),
    labels: Mapping[uuid.UUID, str],
) -> dict[str, object]:
    """`ceilings` are the curves of both sides where each run stands for the ceiling of its sweep, `siblings` the other
    sweeps of their plan.
    """
    floor = largest_spread((side.spec["cluster"]["name"] for side in (a, b)), floors)
    spread = floor
    if a.curve and b.curve and a.curve.same_session(b.curve):
        spread = None
    if ceilings:
        ratio = throughput_ratio(ceilings[1], ceilings[0], spread, names=(("B", "B's"), ("A", "A's")))
        comparison = ratio.comparison or replace(compare_values((), (), higher_is_better=True), reason=f"{ratio.why}.")
    else:
        ratio = None
        comparison = _of_rungs(a, b, spread)

    if stops := _stops(a, b, profile, ceilings):
        comparison = not_comparable(comparison, stops)
    sides = run_pair(a, b)
    throughputs = [side.point.throughput_ops_s.geomean if side.point else None for side in (a, b)]
    if ceilings and all(throughputs):
        throughputs = [curve.ceiling_ops_s for curve in ceilings]
    if ratio and ratio.values and all(throughputs):
        throughputs = [*ratio.values[::-1]]  # B's is the first of a ratio.
    change = _change(*throughputs)
    steps = measure_steps(*ceilings, siblings, labels) if ceilings else {}
    groups, machines = sides.groups, sides.machines
    unclear = list(chain.from_iterable(group.unclear for group in groups))

    return {
        "a": a,
        "b": b,
        "throughputs": throughputs,
        "missing": [name for name, value in zip("AB", throughputs, strict=True) if value is None],
        "change": change,
        "size": abs(change or 0.0),
        "size_bound": _size_bound(comparison, change),
        "comparison": comparison,
        "needed": min(comparison.n_a, comparison.n_b) + (comparison.needs_more or 0),
        "ratio": ratio,
        "floor": floor,
        # A verdict of fewer repeats than a published one has.
        "low_n": comparison.low is not None and comparison.outcome is not Outcome.NOT_COMPARABLE and comparison.low_n,
        "metrics": list(_metrics(a.point, b.point)),
        "kinds": " and ".join(KIND_SAYS.get(kind, kind) for kind in sorted(_kinds(a.point, b.point), reverse=True)),
        "causes": causes(sides, change, steps, at_ceilings=ceilings is not None),
        "differing": [group for group in groups if group.differing],
        "unclear": [line.label for line in unclear],  # known of one side only
        "alike": [group for group in groups if group.alike],
        "alike_count": sum(len(group.alike) for group in groups),
        "machines": machines,
        "same_machines": not any(pair.differing or pair.a is None or pair.b is None for pair in machines),
        "findings": list(_differing_findings(a, b)),
    }


def _differing_findings(a: RunSide, b: RunSide) -> Iterator[dict[str, object]]:
    """The checks that do not say the same of both, by their ids; messages have numbers, so severities are compared.

    None: the check did not look at this run.
    """
    findings = [{finding.check_id: finding for finding in side.findings} for side in (a, b)]
    for check_id in sorted({*findings[0], *findings[1]}):
        x, y = (side.get(check_id) for side in findings)
        if (known := x or y) and (x.severity if x else "") != (y.severity if y else ""):
            yield {"title": known.title, "check_id": check_id, "a": x, "b": y}


def _of_rungs(a: RunSide, b: RunSide, spread: SessionSpread | None) -> Comparison:
    """The repeats of both rungs, up to the newest look of the plan that made them."""
    looks = a.curve.looks if a.curve and b.curve and a.curve.same_plan(b.curve) else ()
    look = None
    if looks:
        look = Look(looks, min(len(a.repeats_ops_s), len(b.repeats_ops_s)))
    sides = [side.repeats_ops_s[: look.after] if look and look.after else side.repeats_ops_s for side in (b, a)]
    comparison = compare_values(*sides, higher_is_better=True, spread=spread, look=look)
    if a.curve and b.curve:
        return extended(comparison, b.curve, a.curve)
    return comparison


def _stops(a: RunSide, b: RunSide, profile: Profile, ceilings: tuple[Curve, Curve] | None) -> list[str]:
    """Why they may not be compared, by the gate of the compare page; two runs under different loads never may be."""
    loads: list[str] = []
    if ceilings:
        curves = ceilings
    elif a.curve is None or b.curve is None:
        return []
    else:
        texts = [_load(side) for side in (a, b)]
        if texts[0] != texts[1]:
            loads = [LOADS_DIFFER.format(a=texts[0], b=texts[1])]
        curves = replace(a.curve, rungs=()), replace(b.curve, rungs=())  # Their one rung is that load.

    findings = judge_pair(a.facts, b.facts, profile)
    return loads + list(gate(curves[0], curves[1], findings, implied_axes(curves), declared=False).stops)


def _load(side: RunSide) -> str:
    load = side.spec["load"]
    threads = formatting.client_threads(load["threads"])
    if load["target_ops_s"]:
        return f"{threads} at a target of {formatting.short(load['target_ops_s'])}"
    return threads


def _change(a: float | None, b: float | None) -> float | None:
    if a and b is not None and a > 0:
        return b / a - 1
    return None


def _size_bound(comparison: Comparison, change: float | None) -> str:
    """ "at least" or "at most" so much more or less, where the ratio is known in one direction only."""
    if not change or change > 0:
        return comparison.bound
    return {"at least": "at most", "at most": "at least"}.get(comparison.bound, "")


def _metrics(a: Point | None, b: Point | None) -> Iterator[dict[str, object]]:
    """The numbers of both. `change` is B over A, minus 1; None where one of them is missing or A's is zero."""
    x, y = (point.throughput_ops_s.geomean if point else None for point in (a, b))
    texts = [formatting.throughput(value) for value in (x, y)]
    yield {"label": "throughput", "a": texts[0], "b": texts[1], "change": _change(x, y)}
    names = sorted(
        {(operation.operation, operation.kind) for operation in collect_measured(filter(None, (a, b)))},
        key=_order,
    )
    kinds = _kinds(a, b)
    for operation, kind in names:
        kind_text = ""
        if len(kinds) > 1:
            kind_text = f", {KIND_SAYS.get(kind, kind)}"
        rows = [point.operation(operation, kind) if point else None for point in (a, b)]
        for statistic, label in STATISTICS:
            yield _latency(f"{operation} {label}{kind_text}", statistic, rows[0], rows[1])

    errors = [point.error_ratio if point else None for point in (a, b)]
    yield _share("failed operations", errors)
    busy = [point.generator_cpu if point else None for point in (a, b)]
    yield _share(BUSIEST_GENERATOR_CPU, busy)


def _kinds(*points: Point | None) -> set[str]:
    return {operation.kind for operation in collect_measured(filter(None, points))}


def _order(name: tuple[str, str]) -> tuple[int, str, bool]:
    first = ("READ", "UPDATE", "INSERT")
    return (first.index(name[0]) if name[0] in first else len(first), name[0], name[1] != "service")


def _latency(label: str, statistic: str, a: Operation | None, b: Operation | None) -> dict[str, object]:
    values = [row.geomean_us(statistic) if row else None for row in (a, b)]
    texts = [
        formatting.latency_between(*bounds) if row and (bounds := row.bounds_us.get(statistic)) else
        formatting.latency(value)
        for row, value in zip((a, b), values, strict=True)
    ]  # fmt: skip
    return {"label": label, "a": texts[0], "b": texts[1], "change": _change(values[0], values[1])}


def _share(label: str, values: Sequence[float | None]) -> dict[str, object]:
    a, b = values
    return {"label": label, "a": formatting.percent(a), "b": formatting.percent(b), "change": _change(a, b)}


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
    sweeps: tuple[Curve, ...] = ()  # of the plan of A's sweep, itself among them, where the address names sweeps
    ceilings: tuple[Curve, Curve] | None = None  # whose runs they are, where the address names sweeps
    by_itself: bool = False  # B was chosen here, not in the address
    problem: str = ""

    @property
    def at_ceilings(self) -> bool:
        return self.ceilings is not None


@team_required("GET")
def why(request: HttpRequest) -> HttpResponseBase:
    chosen = choose_runs(request)
    # The choice of other sweeps names them even where the two runs are one.
    labels = get_labels(chosen.sweeps)
    context: dict[str, object] = {"chosen": chosen, "labels": labels}
    if chosen.a and chosen.b:
        sides = run_sides(chosen.a, chosen.b)
        floors = session_spreads(get_team(request), [side.spec["cluster"]["name"] for side in sides])
        profile = get_profile(get_team(request), [side.curve for side in sides if side.curve])
        ceilings = chosen.ceilings
        siblings = [curve for curve in chosen.sweeps if curve not in (ceilings or ())]
        context["page"] = why_page(*sides, floors, profile, ceilings=ceilings, siblings=siblings, labels=labels)
        context["swapped"] = address(chosen.b.pk, chosen.a.pk)
        if ceilings:
            context["swapped"] = address(ceilings[1].sweep_id, ceilings[0].sweep_id)
    return render(request, "reports/why.html", context)


def address(a: uuid.UUID, b: uuid.UUID) -> str:
    return f"{reverse('why')}?{urlencode({'a': a, 'b': b})}"


def choose_runs(request: HttpRequest) -> Chosen:
    """The runs that the address names; for a missing one, the run before it or the nearest one of its sweep; for a
    missing sweep, the next one of the plan.

    404 for an id that is not the team's; a sentence for what is no id, and for a side that has no run.
    """
    texts = [text for name in ("a", "b") if (text := request.GET.get(name, "").strip())]
    ids = [parse_uuid(text) for text in texts]
    if not texts:
        return Chosen(problem="No run is chosen.")
    if None in ids:
        return Chosen(problem=f"“{texts[ids.index(None)][:60]}” is no run and no sweep.")

    sides, sweeps = _sides(request, [pk for pk in ids if pk])
    a = sides[0].run
    if problem := next((side.problem for side in sides if side.problem), ""):
        return Chosen(problem=problem, sweeps=sweeps)

    assert a is not None
    others = tuple(find_comparable_runs(a))
    chosen = Chosen(a, others[0] if others else None, others, sweeps, by_itself=True)
    if len(sides) == 2:
        first, second = (side.curve for side in sides)
        ceilings = (first, second) if first and second else None
        chosen = replace(chosen, b=sides[1].run, ceilings=ceilings, by_itself=False)

    if chosen.b is None:
        return replace(chosen, problem="There is no other measured run of the same test or of the same sweep.")
    if chosen.a == chosen.b:
        return replace(chosen, b=None, problem="Both sides are the same run.")

    return chosen


def _sides(request: HttpRequest, ids: Sequence[uuid.UUID]) -> tuple[list[Side], tuple[Curve, ...]]:
    """The sides of these ids, and the sweeps to choose from. Ids that are no run's are looked up as curves, together.

    A sweep alone gets the next one of its plan beside it.
    """
    team = get_team(request)
    runs = {run.pk: run for run in runs_with_matrix().filter(pk__in=ids)}
    rows = {row.pk: row for row in Sweep.objects.filter(pk__in=[pk for pk in ids if pk not in runs])}
    if set(ids) - set(runs) - set(rows):
        raise Http404
    sweeps: list[Curve] = []
    if rows:
        siblings = find_siblings(list(rows.values()))
        sweeps = list(curves([*rows.values(), *siblings]))
    by_sweep = {curve.sweep_id: curve for curve in sweeps}
    offered = tuple(in_order([curve for curve in sweeps if curve.ceiling]))
    if len(ids) == 1 and rows:
        ids = [*ids, *[curve.sweep_id for curve in offered if curve.sweep_id not in rows][:1]]
    return [Side(runs[pk]) if pk in runs else _at_ceiling(by_sweep[pk], team.pk) for pk in ids], offered


def _at_ceiling(curve: Curve, team_id: uuid.UUID) -> Side:
    run = run_at_ceiling(curve, team_id)
    problem = ""
    if curve.is_unsustained:
        problem = f"No target of the sweep “{curve.name}” was sustained, so that it has no ceiling."
    elif not run:
        problem = f"No run of the sweep “{curve.name}” counts, so that it has no ceiling."
    return Side(run, curve, problem)
