"""Which runs of a plan another run took the part of, and which repeats were called off.

A repeat of a run that succeeded is called off when it is cancelled: the plan lacks nothing without it.
"""

from collections.abc import Collection, Iterable
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from runs.models import Run, Status, Verdict

CALLED_OFF: Final = Q(status=Status.CANCELLED, rerun_of__status=Status.SUCCEEDED)


def is_repeated() -> Exists:
    """Of a run in a query: it was run again since, and that was not called off."""
    return Exists(Run.objects.filter(rerun_of=OuterRef("pk")).exclude(CALLED_OFF))


def is_failure_open() -> Q:
    """Of a run in a query: it failed, and no other run took its part."""
    return Q(~Q(is_repeated()), status=Status.FAILED)


def is_rejection_open() -> Q:
    """Of a run in a query: only a check keeps it from counting, and no other run took its part."""
    return Q(
        ~Q(is_repeated()), status=Status.SUCCEEDED, verdict=Verdict.REJECT, verdict_override="", excluded_reason="",
        is_bracket=False,
    )  # fmt: skip


def find_replaced(runs: Iterable[Run]) -> set[UUID]:
    """The runs that were run again since, and those that were called off."""
    return find_replaced_rows([(run.pk, run.status, run.rerun_of_id) for run in runs])


def find_replaced_rows(rows: Collection[tuple[UUID, str, UUID | None]]) -> set[UUID]:
    """The same of (key, status, `rerun_of_id`)."""
    succeeded = {key for key, status, _ in rows if status == Status.SUCCEEDED}
    called_off = {key for key, status, original in rows if status == Status.CANCELLED and original in succeeded}
    repeated = {original for key, _, original in rows if original and key not in called_off}
    return called_off | repeated
