"""When a run has ended: the findings of others that refer to it (`thread_limits`), and what follows (`next_runs`).
After the last one of a matrix who asked for it is told, once.

The end of a run leaves an Ending behind, in the same transaction. The scheduler looks at what was left and asks whether
anything of that matrix is still to come; by then every end that matters is there to be seen.
"""

from collections.abc import Iterable
from typing import Final

from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.urls import reverse

from benchsite.core.formatting import short
from benchsite.notifications import notices
from runs.models import Ending, Matrix, Phase, Run, Status, Sweep, Verdict
from runs.queue import next_runs
from runs.queue.database_retries import contained
from runs.queue.early_stop import TO_COME
from runs.queue.messages import NO_RESULT_COUNTS
from runs.queue.reasons import Reason
from runs.results.recording import thread_limits

MAX_AT_ONCE: Final = 1000
MAX_SWEEPS: Final = 20
# Characters of what a program printed about its end; the run's page has all of it.
MAX_DETAIL: Final = 300


def look() -> int:
    """Note the matrices that have finished since the last look; answers how many."""
    with transaction.atomic():
        endings = dict(
            Ending.objects.order_by("pk")
            .select_for_update(skip_locked=True)
            .values_list("pk", "matrix_id")[:MAX_AT_ONCE]
        )
        if not endings:
            return 0

        matrix_ids = set(endings.values())
        # Before searches read the findings.
        with contained("V02 of runs in %s cannot be judged again.", sorted(map(str, matrix_ids))):
            thread_limits.judge_again(matrix_ids)

        next_runs.steer(matrix_ids)
        unfinished = Run.objects.filter(TO_COME, matrix=OuterRef("pk"))
        ended = Matrix.objects.filter(pk__in=matrix_ids).exclude(Exists(unfinished))
        noted = 0
        for matrix in ended.select_related("team"):
            with contained("Nobody is told that matrix %s has finished.", matrix.pk):
                noted += note_finished(matrix)

        Ending.objects.filter(pk__in=endings).delete()
    return noted


def is_over(matrices: Iterable[Matrix]) -> bool:
    """Whether their runs have ended and none can follow. One query: `look` orders runs where it deletes an Ending."""
    to_come = Run.objects.filter(TO_COME, matrix=OuterRef("pk"))
    endings = Ending.objects.filter(matrix=OuterRef("pk"))
    rows = Matrix.objects.filter(pk__in=[matrix.pk for matrix in matrices])
    return not rows.filter(Exists(to_come) | Exists(endings)).exists()


def note_finished(matrix: Matrix) -> bool:
    """Tell of a finished matrix; again when runs were added since, or late output completed one that had failed."""
    numbers = _numbers(matrix)
    # What failed first, a load or a run: what was cancelled after it mostly is for its sake.
    first = Run.objects.filter(matrix=matrix, status=Status.FAILED).order_by("finished_at", "position").first()
    first_failure = None
    if first:
        first_failure = _as_data(first)
    data = {
        "matrix": {"id": str(matrix.pk), "name": matrix.name, "tags": matrix.tags, "purpose": matrix.purpose},
        "runs": {name: numbers[name] for name in ("succeeded", "failed", "cancelled", "rejected")},
        "loads": {"failed": numbers["loads_failed"]},
        "first_failure": first_failure,
        "highest": _highest(matrix),
    }
    last = Run.objects.filter(matrix=matrix).aggregate(last=Max("position"))["last"]
    notices_made = notices.note(
        "matrix_finished",
        matrix.team,
        subject=f"{matrix.name}: {_in_words(numbers)}",
        text="\n".join([*([_cause(first)] if first else []), _text(data["highest"])]),  # type: ignore[arg-type]
        path=reverse("matrix", args=[matrix.pk]),
        data=data,
        key=f"matrix_finished:{matrix.pk}:{last}:{numbers['failed'] + numbers['loads_failed']}",
    )
    return notices_made is not None


def _numbers(matrix: Matrix) -> dict[str, int]:
    """How the measured runs ended, how many of those that succeeded cannot be trusted, and how many loads failed."""
    measured = Q(phase=Phase.MEASURE)
    return Run.objects.filter(matrix=matrix).aggregate(
        succeeded=Count("pk", filter=measured & Q(status=Status.SUCCEEDED)),
        failed=Count("pk", filter=measured & Q(status=Status.FAILED)),
        cancelled=Count("pk", filter=measured & Q(status=Status.CANCELLED) & ~Q(reason__in=Reason.skipped())),
        rejected=Count("pk", filter=measured & Q(status=Status.SUCCEEDED, verdict=Verdict.REJECT)),
        loads_failed=Count("pk", filter=Q(phase=Phase.LOAD, status=Status.FAILED)),
    )


def _in_words(numbers: dict[str, int]) -> str:
    rejected = ""
    if numbers["rejected"]:
        rejected = f" ({numbers['rejected']} rejected)"
    runs = "runs"
    if numbers["succeeded"] == 1:
        runs = "run"
    parts = [f"{numbers['succeeded']} {runs} succeeded{rejected}"]
    parts += [f"{numbers[word]} {word}" for word in ("failed", "cancelled") if numbers[word]]
    if loads := numbers["loads_failed"]:
        parts.append(f"{loads} {'load' if loads == 1 else 'loads'} failed")
    return ", ".join(parts)


def _cause(run: Run) -> str:
    """Why it failed, as one sentence: what its page says at more length."""
    detail = notices.one_line(run.reason_detail)
    if len(detail) > MAX_DETAIL:
        detail = f"{detail[: MAX_DETAIL - 1]}…"
    cause = f"Failed first: “{run.name}”, {run.get_reason_display()}"
    if detail:
        return f"{cause}: {detail.rstrip('.')}."
    return f"{cause}."


def _as_data(run: Run) -> dict[str, str]:
    return {"run": str(run.pk), "name": run.name, "phase": run.phase, "reason": run.reason, "text": _cause(run)}


def _highest(matrix: Matrix) -> list[dict[str, object]]:
    """The highest throughput that each sweep measured, rejected and excluded runs left out; of 20 sweeps at most."""
    counted = Q(runs__status=Status.SUCCEEDED, runs__excluded_reason="") & ~Q(runs__verdict=Verdict.REJECT)
    sweeps = (
        Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE)
        .annotate(highest=Max("runs__throughput_ops_s", filter=counted))
        .exclude(highest=None)
        .order_by("-highest")
    )
    return [{"sweep": sweep.name, "throughput_ops_s": round(sweep.highest, 1)} for sweep in sweeps[:MAX_SWEEPS]]


def _text(highest: list[dict[str, object]]) -> str:
    if not highest:
        return NO_RESULT_COUNTS
    lines = [f"{line['sweep']}: {short(float(str(line['throughput_ops_s'])))} ops/s" for line in highest]
    return "Highest throughput measured:\n" + "\n".join(lines)
