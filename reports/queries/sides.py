"""The sides of a comparison, as the checks of pairs look at them."""

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import cast

from django.db.models import Case, Value, When

from reports.curves import Curve
from runs.models import Run
from runs.models.run import Status
from runs.spec import RunSpec
from runs.validity import SideFacts
from runs.validity.stated import side_facts

# A run that succeeded has asked its server for its version.
SUCCEEDED_FIRST = Case(When(status=Status.SUCCEEDED, then=Value(0)), default=Value(1))


def sides_of(curves: Sequence[Curve]) -> list[SideFacts]:
    """What the first good run of each sweep submitted, and what its server answered. One query."""
    return list(sides_by_sweep(curves).values())


def sides_by_sweep(curves: Sequence[Curve]) -> dict[uuid.UUID, SideFacts]:
    """The same by sweep, in the order of the curves; a sweep without any run is left out. One query."""
    runs = Run.objects.filter(sweep__in=[curve.sweep_id for curve in curves])
    first = runs.order_by("sweep_id", SUCCEEDED_FIRST, "position", "id").distinct("sweep_id")
    stated = {
        sweep_id: (cast(RunSpec, spec), str(evidence.get("server_version") or ""))
        for sweep_id, spec, evidence in first.values_list("sweep_id", "spec", "evidence")
    }
    called = Counter(curve.label for curve in curves)
    return {
        curve.sweep_id: side_facts(
            curve.label if called[curve.label] == 1 else f"{curve.label} {curve.workload}", *found
        )
        for curve in curves
        if (found := stated.get(curve.sweep_id))
    }
