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
    counts = _count_runs(matrix)
    highest = _find_highest(matrix)
    text = _list_highest(highest)
    # What failed first, a load or a run: what was cancelled after it mostly is for its sake.
    failed = Run.objects.filter(matrix=matrix, status=Status.FAILED).order_by("finished_at", "position").first()
    first_failure = None
    if failed:
        first_failure = _describe_failure(failed)
        text = f"{first_failure['text']}\n{text}"
    data = {
        "matrix": {"id": str(matrix.pk), "name": matrix.name, "tags": matrix.tags, "purpose": matrix.purpose},
        "runs": {name: counts[name] for name in ("succeeded", "failed", "cancelled", "rejected")},
        "loads": {"failed": counts["loads_failed"]},
        "first_failure": first_failure,
        "highest": highest,
    }
    last = Run.objects.filter(matrix=matrix).aggregate(last=Max("position"))["last"]
    failures = counts["failed"] + counts["loads_failed"]
    notice = notices.note(
        "matrix_finished",
        matrix.team,
        subject=f"{matrix.name}: {_summarise(counts)}",
        text=text,
        path=reverse("matrix", args=[matrix.pk]),
        data=data,
        key=f"matrix_finished:{matrix.pk}:{last}:{failures}",
    )
    return notice is not None


def _count_runs(matrix: Matrix) -> dict[str, int]:
    """How the measured runs ended, how many of those that succeeded cannot be trusted, and how many loads failed."""
    measured = Q(phase=Phase.MEASURE)
    return Run.objects.filter(matrix=matrix).aggregate(
        succeeded=Count("pk", filter=measured & Q(status=Status.SUCCEEDED)),
        failed=Count("pk", filter=measured & Q(status=Status.FAILED)),
        cancelled=Count("pk", filter=measured & Q(status=Status.CANCELLED) & ~Q(reason__in=Reason.skipped())),
        rejected=Count("pk", filter=measured & Q(status=Status.SUCCEEDED, verdict=Verdict.REJECT)),
        loads_failed=Count("pk", filter=Q(phase=Phase.LOAD, status=Status.FAILED)),
    )


def _summarise(counts: dict[str, int]) -> str:
    runs = "run" if counts["succeeded"] == 1 else "runs"
    succeeded = f"{counts['succeeded']} {runs} succeeded"
    if counts["rejected"]:
        succeeded += f" ({counts['rejected']} rejected)"
    parts = [succeeded]
    parts += [f"{counts[outcome]} {outcome}" for outcome in ("failed", "cancelled") if counts[outcome]]
    if counts["loads_failed"]:
        loads = "load" if counts["loads_failed"] == 1 else "loads"
        parts.append(f"{counts['loads_failed']} {loads} failed")
    return ", ".join(parts)


def _explain_failure(run: Run) -> str:
    """Why it failed, as one sentence: what its page says at more length."""
    detail = notices.one_line(run.reason_detail)
    if len(detail) > MAX_DETAIL:
        detail = f"{detail[: MAX_DETAIL - 1]}…"
    cause = f"Failed first: “{run.name}”, {run.get_reason_display()}"
    if detail:
        return f"{cause}: {detail.rstrip('.')}."
    return f"{cause}."


def _describe_failure(run: Run) -> dict[str, str]:
    text = _explain_failure(run)
    return {"run": str(run.pk), "name": run.name, "phase": run.phase, "reason": run.reason, "text": text}


def _find_highest(matrix: Matrix) -> list[dict[str, object]]:
    """The highest throughput that each sweep measured, rejected and excluded runs left out; of 20 sweeps at most."""
    counting = Q(runs__status=Status.SUCCEEDED, runs__excluded_reason="") & ~Q(runs__verdict=Verdict.REJECT)
    sweeps = (
        Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE)
        .annotate(highest=Max("runs__throughput_ops_s", filter=counting))
        .exclude(highest=None)
        .order_by("-highest")
    )
    return [{"sweep": sweep.name, "throughput_ops_s": round(sweep.highest, 1)} for sweep in sweeps[:MAX_SWEEPS]]


def _list_highest(highest: list[dict[str, object]]) -> str:
    if not highest:
        return NO_RESULT_COUNTS
    lines = [f"{line['sweep']}: {short(float(str(line['throughput_ops_s'])))} ops/s" for line in highest]
    return "Highest throughput measured:\n" + "\n".join(lines)
