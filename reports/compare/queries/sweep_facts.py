"""The sides of a comparison, as the checks of pairs look at them."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from django.db.models import Aggregate, Avg, Case, FloatField, Max, OuterRef, Q, Subquery, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Abs, Cast

from benchsite.accounts.models import Team
from reports.compare.curves import Curve
from runs.checks import Profile, SideFacts
from runs.checks.spec_facts import side_facts
from runs.checks.team_thresholds import get_thresholds
from runs.models import MeasurementSet, Purpose, Run, Status, Verdict
from runs.queue.spec import RunSpec

# A run that succeeded has asked its server for its version.
SUCCEEDED_FIRST = Case(When(status=Status.SUCCEEDED, then=Value(0)), default=Value(1))

COUNTS = Q(run__status=Status.SUCCEEDED, run__excluded_reason="", run__is_bracket=False) & (
    ~Q(run__verdict=Verdict.REJECT) | ~Q(run__verdict_override="")
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """What one run of a sweep was asked to do, and what its server answered."""

    spec: RunSpec
    server_version: str  # empty: nobody asked it
    container: Mapping[str, object]  # empty: its server ran in none
    server_use: Mapping[str, float | None]  # of the sweep's runs that count: the mean hit ratio, its largest change


def load_submissions(curves: Sequence[Curve]) -> dict[uuid.UUID, Submitted]:
    """By sweep, of its first good run; a sweep without any run is left out. One query."""
    runs = Run.objects.filter(sweep__in=[curve.sweep_id for curve in curves])
    keys = runs.order_by("sweep_id", SUCCEEDED_FIRST, "position", "id").distinct("sweep_id").values("pk")
    # In a query around it: PostgreSQL would read the specs and add up the runs of every run before it chooses.
    first = Run.objects.filter(pk__in=keys).annotate(
        hit_ratio=_over_sweep(Avg, "hit_ratio"), trend=_over_sweep(Max, "hit_ratio_trend")
    )

    return {
        sweep_id: Submitted(
            cast(RunSpec, spec),
            str(evidence.get("server_version") or ""),
            container if isinstance(container := evidence.get("container"), dict) else {},
            {"hit_ratio": hit_ratio, "hit_ratio_trend": trend},
        )
        for sweep_id, spec, evidence, hit_ratio, trend in first.values_list(
            "sweep_id", "spec", "evidence", "hit_ratio", "trend"
        )
        if sweep_id
    }


def _over_sweep(aggregate: type[Aggregate], name: str) -> Subquery:
    """A number of `MeasurementSet.server_use`, without its sign, aggregated over the runs of a sweep that count."""
    sets = MeasurementSet.objects.filter(COUNTS, run__sweep=OuterRef("sweep_id"), is_current=True).order_by()
    value = Abs(Cast(KeyTextTransform(name, "server_use"), FloatField()))
    return Subquery(sets.values("run__sweep").annotate(over=aggregate(value)).values("over"))


def sides_by_sweep(
    curves: Sequence[Curve], submitted: Mapping[uuid.UUID, Submitted] | None = None
) -> dict[uuid.UUID, SideFacts]:
    """The facts of each sweep, in the order of the curves. One query; none where they are known already."""
    if submitted is None:
        submitted = load_submissions(curves)
    called = Counter(curve.label for curve in curves)

    return {
        curve.sweep_id: side_facts(
            curve.label if called[curve.label] == 1 else f"{curve.label} {curve.workload}",
            run.spec,
            run.server_version,
            server_use=run.server_use,
        )
        for curve in curves
        if (run := submitted.get(curve.sweep_id))
    }


def get_profile(team: Team, sides: Sequence[Curve | Run]) -> Profile:
    """The thresholds of the sides' purpose, or of measured runs where they differ. One query."""
    purposes = {side.purpose for side in sides}
    return get_thresholds(team, purposes.pop() if len(purposes) == 1 else Purpose.MEASURED)
