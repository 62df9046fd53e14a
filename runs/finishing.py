"""When the last run of a matrix has ended: who asked for it is told, once, with the numbers.

The end of a run leaves an Ending behind, in the same transaction. The scheduler looks at what was left and asks whether
anything of that matrix is still to come; by then every end that matters is there to be seen.
"""

from typing import Final

from django.db import transaction
from django.db.models import Count, Max, Q
from django.urls import reverse

from benchsite.formatting import short
from benchsite.teams import notices
from runs.models import Ending, Matrix, Run, Sweep
from runs.models.run import Phase, Status, Verdict

MOST_AT_ONCE: Final = 1000
MOST_SWEEPS: Final = 20


def look() -> int:
    """Note the matrices that have finished since the last look; answers how many."""
    with transaction.atomic():
        endings = dict(
            Ending.objects.order_by("pk")
            .select_for_update(skip_locked=True)
            .values_list("pk", "matrix_id")[:MOST_AT_ONCE]
        )
        unfinished = Run.objects.exclude(status__in=Status.terminal()).values("matrix_id")
        ended = Matrix.objects.filter(pk__in=set(endings.values())).exclude(pk__in=unfinished.exclude(matrix=None))
        told = [note_finished(matrix) for matrix in ended.select_related("team")]
        Ending.objects.filter(pk__in=endings).delete()
    return sum(told)


def note_finished(matrix: Matrix) -> bool:
    """Tell of a finished matrix; again only when runs were added to it since."""
    numbers = _numbers(matrix)
    data = {
        "matrix": {"id": str(matrix.pk), "name": matrix.name, "tags": matrix.tags, "purpose": matrix.purpose},
        "runs": {name: numbers[name] for name in ("succeeded", "failed", "cancelled", "rejected")},
        "highest": _highest(matrix),
    }
    last = Run.objects.filter(matrix=matrix).aggregate(last=Max("position"))["last"]
    made = notices.note(
        "matrix_finished",
        matrix.team,
        subject=f"{matrix.name}: {_in_words(numbers)}",
        text=_text(data["highest"]),  # type: ignore[arg-type]
        path=reverse("matrix", args=[matrix.pk]),
        data=data,
        key=f"matrix_finished:{matrix.pk}:{last}",
    )
    return made is not None


def _numbers(matrix: Matrix) -> dict[str, int]:
    """How the measured runs ended, and how many of those that succeeded cannot be trusted."""
    measured = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE)
    return measured.aggregate(
        succeeded=Count("pk", filter=Q(status=Status.SUCCEEDED)),
        failed=Count("pk", filter=Q(status=Status.FAILED)),
        cancelled=Count("pk", filter=Q(status=Status.CANCELLED)),
        rejected=Count("pk", filter=Q(status=Status.SUCCEEDED, verdict=Verdict.REJECT)),
    )


def _in_words(numbers: dict[str, int]) -> str:
    rejected = f" ({numbers['rejected']} rejected)" if numbers["rejected"] else ""
    runs = "run" if numbers["succeeded"] == 1 else "runs"
    said = [f"{numbers['succeeded']} {runs} succeeded{rejected}"]
    said += [f"{numbers[word]} {word}" for word in ("failed", "cancelled") if numbers[word]]
    return ", ".join(said)


def _highest(matrix: Matrix) -> list[dict[str, object]]:
    """The highest throughput that each sweep measured, rejected and excluded runs left out; of 20 sweeps at most."""
    counted = Q(runs__status=Status.SUCCEEDED, runs__excluded_reason="") & ~Q(runs__verdict=Verdict.REJECT)
    sweeps = (
        Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE)
        .annotate(highest=Max("runs__throughput_ops_s", filter=counted))
        .exclude(highest=None)
        .order_by("-highest")
    )
    return [{"sweep": one.name, "throughput_ops_s": round(one.highest, 1)} for one in sweeps[:MOST_SWEEPS]]


def _text(highest: list[dict[str, object]]) -> str:
    if not highest:
        return "No run has a result that counts."
    lines = [f"{one['sweep']}: {short(float(str(one['throughput_ops_s'])))} ops/s" for one in highest]
    return "Highest throughput measured:\n" + "\n".join(lines)
