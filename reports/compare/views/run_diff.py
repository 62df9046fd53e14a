"""Why two runs differ: their numbers, the likeliest causes, and everything recorded of both beside each other."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from benchsite.accounts.models import Team
from benchsite.accounts.permissions import get_team, team_required
from benchsite.core import formatting
from reports.compare.analysis.causes import RunPair, causes
from reports.compare.analysis.comparability import gate, implied_axes
from reports.compare.analysis.looks import Look
from reports.compare.analysis.repeat_comparison import Comparison, Outcome, compare_values, not_comparable
from reports.compare.analysis.run_sides import RunSide
from reports.compare.curves import Curve, Operation, Point, collect_measured
from reports.compare.figures.captions import KIND_SAYS
from reports.compare.figures.theme import get_labels
from reports.compare.messages import BUSIEST_GENERATOR_CPU, LOADS_DIFFER
from reports.compare.pages.answer import PairVerdict, find_pair_verdict
from reports.compare.pages.baseline_ratios import extended, throughput_ratio
from reports.compare.pages.equal_load import build_equal_load
from reports.compare.pages.planned_steps import measure_steps
from reports.compare.queries import (
    chosen as choose_sweeps,
    find_comparable_runs,
    get_profile,
    run_at_ceiling,
    run_sides,
    session_spreads,
)
from reports.compare.queries.run_pair import runs_with_matrix
from reports.compare.selection import LOAD, Selection
from reports.compare.views.compare import judge, selection_in
from reports.trends.analysis.sessions import SessionSpread, largest_spread
from runs.checks import Profile, judge_pair
from runs.identifiers import parse_uuid
from runs.models import Phase, Run, Sweep

STATISTICS: Final = (("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p999", "p99.9"))


def why_page(
    a: RunSide,
    b: RunSide,
    floors: Mapping[str, SessionSpread],
    profile: Profile,
    *,
    ceilings: Sequence[Curve] | None,
    verdict: PairVerdict | None = None,
    siblings: Sequence[Curve] = (),
    labels: Mapping[uuid.UUID, str],
) -> dict[str, object]:
    """`ceilings` are the curves of both sides where each run stands for the ceiling of its sweep, with the `verdict` of
    the page that compares them; `siblings` are its other sides.
    """
    floor = largest_spread((side.spec["cluster"]["name"] for side in (a, b)), floors)
    spread = floor
    if a.curve.same_session(b.curve):
        spread = None
    if ceilings and verdict:
        ratio = throughput_ratio(ceilings[1], ceilings[0], spread, names=(("B", "B's"), ("A", "A's")))
        without_ratio = replace(compare_values((), (), higher_is_better=True), reason=f"{ratio.why}.")
        comparison = verdict.comparison or ratio.comparison or without_ratio
        stops = verdict.stops
    else:
        ratio = None
        comparison = _of_rungs(a, b, spread)
        stops = _stops(a, b, profile)

    if stops:
        comparison = not_comparable(comparison, stops)
    sides = RunPair(a, b)
    throughputs = [side.point.throughput_ops_s.geomean if side.point else None for side in (a, b)]
    if ceilings and all(throughputs):
        throughputs = [curve.ceiling_ops_s for curve in ceilings]
    if ratio and ratio.values and all(throughputs):
        throughputs = [*ratio.values[::-1]]  # B's is the first of a ratio.
    change = _change(*throughputs)
    steps = {}
    if ceilings:
        steps = measure_steps(ceilings[0], ceilings[1], siblings, labels)
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
        if (finding := x or y) and (x.severity if x else "") != (y.severity if y else ""):
            yield {"title": finding.title, "check_id": check_id, "a": x, "b": y}


def _of_rungs(a: RunSide, b: RunSide, spread: SessionSpread | None) -> Comparison:
    """The repeats of both rungs, up to the newest look of the plan that made them."""
    look = None
    if a.curve.same_plan(b.curve) and a.curve.looks:
        look = Look(a.curve.looks, min(len(a.repeats_ops_s), len(b.repeats_ops_s)))
    sides = [side.repeats_ops_s[: look.after] if look and look.after else side.repeats_ops_s for side in (b, a)]
    comparison = compare_values(*sides, higher_is_better=True, spread=spread, look=look)
    return extended(comparison, b.curve, a.curve)


def _stops(a: RunSide, b: RunSide, profile: Profile) -> list[str]:
    """Why two runs may not be compared, by the gate of the compare page; under different loads they never may be."""
    loads: list[str] = []
    texts = [_load(side) for side in (a, b)]
    if texts[0] != texts[1]:
        loads = [LOADS_DIFFER.format(a=texts[0], b=texts[1])]
    first, second = replace(a.curve, rungs=()), replace(b.curve, rungs=())  # Their one rung is that load.
    findings = judge_pair(a.facts, b.facts, profile)
    return loads + list(gate(first, second, findings, implied_axes((first, second)), declared=False).stops)


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


@team_required("GET")
def why(request: HttpRequest) -> HttpResponseBase:
    chosen = choose_runs(request)
    # The choice of other sweeps names them even where the two runs are one.
    sweeps = chosen.get("sweeps", [])
    labels = get_labels(sweeps)
    context: dict[str, object] = {"chosen": chosen, "labels": labels}
    if chosen.get("b"):
        team = get_team(request)
        sides = run_sides(chosen["a"], chosen["b"])
        clusters = {curve.setup.cluster_name for curve in sweeps} | {side.spec["cluster"]["name"] for side in sides}
        floors = session_spreads(team, sorted(clusters))
        profile = get_profile(team, [side.curve for side in sides])
        ceilings, verdict = chosen["ceilings"], None
        context["swapped"] = address(chosen["b"].pk, chosen["a"].pk)
        if ceilings:
            verdict, selection = find_verdict(team, chosen["selection"], chosen["compared"], floors, ceilings)
            context["compare_url"] = reverse("compare") + selection.query()
            context["carried"] = carried = chosen["selection"].pairs()
            context["swapped"] = address(ceilings[1].sweep_id, ceilings[0].sweep_id, carried)
        siblings = [curve for curve in sweeps if curve not in (ceilings or ())]
        context["page"] = why_page(
            *sides, floors, profile, ceilings=ceilings, verdict=verdict, siblings=siblings, labels=labels
        )
    return render(request, "reports/why.html", context)


def find_verdict(
    team: Team,
    selection: Selection,
    curves: Sequence[Curve],
    floors: Mapping[str, SessionSpread],
    ceilings: Sequence[Curve],
) -> tuple[PairVerdict, Selection]:
    """What Compare says of the second side against the first, and with which selection: where it compares them with
    another side, the one that has the first as reference.
    """
    first, second = (curve.sweep_id for curve in ceilings)
    verdict = None
    for choice in (selection, replace(selection, baseline=first)):
        answer, table = judge(team, choice, curves, floors, build_equal_load(choice, curves))
        verdict = find_pair_verdict(answer, table, first, second) if table else None
        if verdict:
            break
    return verdict or PairVerdict(None), choice


def address(a: uuid.UUID, b: uuid.UUID, carried: Sequence[tuple[str, str]] = ()) -> str:
    return f"{reverse('why')}?{urlencode([('a', a), ('b', b), *carried])}"


def choose_runs(request: HttpRequest) -> dict[str, Any]:
    """The runs `a` and `b` that the address names, or the `problem` with it.

    For a missing run, the run before it or the nearest one of its sweep (`by_itself`, of the `others`); for a missing
    sweep, the next one of the plan. Where it names sweeps, `ceilings` are the two, `sweeps` those that may take their
    place, and `selection` and `compared` what Compare compares them with. 404 for an id that is not the team's.
    """
    texts = [text for name in ("a", "b") if (text := request.GET.get(name, "").strip())]
    ids = [parse_uuid(text) for text in texts]
    if not texts:
        return {"problem": "No run is chosen."}
    if None in ids:
        return {"problem": f"“{texts[ids.index(None)][:60]}” is no run and no sweep."}

    runs, curves, (selection, compared) = _find_runs(request, [pk for pk in ids if pk])
    sweeps = [curve for curve in compared if curve.ceiling]
    if None in runs:
        return {"problem": _describe_lack(curves[runs.index(None)]), "sweeps": sweeps}

    a, *rest = [run for run in runs if run]
    others = find_comparable_runs(a)
    b = next(iter(rest or others), None)
    problem = ""
    if b is None:
        problem = "There is no other measured run of the same test or of the same sweep."
    elif a == b:
        b, problem = None, "Both sides are the same run."

    at_ceilings = len(runs) == 2 and None not in curves
    return {
        "a": a,
        "b": b,
        "others": others,
        "sweeps": sweeps,
        "selection": selection,
        "compared": compared,
        "ceilings": curves if at_ceilings else None,
        "at_ceilings": at_ceilings,
        "by_itself": not rest,
        "problem": problem,
    }


def _find_runs(
    request: HttpRequest, ids: Sequence[uuid.UUID]
) -> tuple[list[Run | None], list[Curve | None], tuple[Selection, Sequence[Curve]]]:
    """The run of each id, the curve at whose ceiling it is where the id is a sweep's, and the comparison of the sweeps.

    A sweep alone gets the next one of the comparison beside it.
    """
    team = get_team(request)
    runs = {run.pk: run for run in runs_with_matrix().filter(pk__in=ids)}
    others = [pk for pk in ids if pk not in runs]
    rows = Sweep.objects.in_bulk(others)
    if set(ids) - set(runs) - set(rows):
        raise Http404
    compared = find_comparison(request, list(rows.values())) if rows else (Selection(), ())
    by_sweep = {curve.sweep_id: curve for curve in compared[1]}
    if len(ids) == 1 and rows:
        ids = [*ids, *[pk for pk, curve in by_sweep.items() if curve.ceiling and pk not in rows][:1]]
    sides = [by_sweep.get(pk) for pk in ids]
    chosen = [run_at_ceiling(curve, team.pk) if curve else runs[pk] for pk, curve in zip(ids, sides, strict=True)]
    return chosen, sides, compared


def find_comparison(request: HttpRequest, sweeps: Sequence[Sweep]) -> tuple[Selection, Sequence[Curve]]:
    """That of the address; where it lacks one of these sweeps, that of their plan, else that of them alone."""
    keys = tuple(sorted((sweep.pk for sweep in sweeps), key=str))
    selections = [Selection(sweeps=keys)]
    plans = {(sweep.matrix_id, sweep.phase) for sweep in sweeps}
    matrix_id, phase = next(iter(plans))
    if matrix_id and len(plans) == 1:
        selections.insert(0, Selection(matrix=str(matrix_id), phase=LOAD if phase == Phase.LOAD else ""))
    named = selection_in(request)
    if named.query():
        selections.insert(0, named)
    choices = ((selection, choose_sweeps(get_team(request), selection)) for selection in selections)
    selection, choice = next(pair for pair in choices if {sweep.pk for sweep in pair[1].sweeps}.issuperset(keys))
    return selection, choice.curves


def _describe_lack(curve: Curve | None) -> str:
    """Why a sweep has no run at its ceiling."""
    if curve and curve.is_unsustained:
        return f"No target of the sweep “{curve.name}” was sustained, so that it has no ceiling."
    return f"No run of the sweep “{curve.name if curve else ''}” counts, so that it has no ceiling."
