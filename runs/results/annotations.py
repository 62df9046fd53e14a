"""What people say about runs and matrices: tags, notes, and with a written reason leaving a run out or counting one
that the checks reject.

Verbs for pages and API. Numbers never change here; each change leaves a RunEvent that names who made it. Of a run that
somebody deletes at the same moment nothing is changed, and nothing is raised.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from benchsite.accounts import audit
from benchsite.accounts.models import User
from runs.models import Matrix, Run, RunEvent, Status, Sweep, Verdict
from runs.results.messages import NOTES_TOO_LONG, REASON_TOO_LONG, TAG_TOO_LONG, TOO_MANY_TAGS

MAX_TAG_LENGTH = 40
MAX_TAGS = 20
MAX_NOTES_LENGTH = 20_000
MAX_REASON_LENGTH = 2_000
MAX_AT_ONCE = 500


class AnnotationRefused(Exception):
    """What was written cannot be kept. The message says why and what to do."""


def parse_tags(text: str) -> list[str]:
    """Tags out of what a person typed between commas: trimmed, lower case, each once, in the order typed."""
    tags: list[str] = []
    for part in _plain(text).split(","):
        tag = " ".join(part.split()).lower()
        if not tag or tag in tags:
            continue
        if len(tag) > MAX_TAG_LENGTH:
            raise AnnotationRefused(TAG_TOO_LONG.format(limit=MAX_TAG_LENGTH, tag=tag[:24], length=len(tag)))
        tags.append(tag)
    if len(tags) > MAX_TAGS:
        raise AnnotationRefused(TOO_MANY_TAGS.format(limit=MAX_TAGS, count=len(tags)))
    return tags


@transaction.atomic
def set_tags(run: Run, user: User, tags: Sequence[str]) -> None:
    """Replace a run's tags."""
    for locked in _lock([run]):
        if list(tags) != locked.tags:
            Run.objects.filter(pk=run.pk).update(tags=list(tags))
            old, new = ", ".join(locked.tags), ", ".join(tags)
            _note([run.pk], "tags", user, old=old[:40], new=new[:40], text=new)


@transaction.atomic
def add_tags(runs: Iterable[Run], user: User, tags: Sequence[str]) -> int:
    """Add tags to several runs; how many of them did not have all of them."""
    changed = []
    for run in _lock(runs):
        missing = [tag for tag in tags if tag not in run.tags]
        if not missing:
            continue
        if len(run.tags) + len(missing) > MAX_TAGS:
            raise AnnotationRefused(f"“{run.name}” would have more than {MAX_TAGS} tags. Nothing was changed.")
        run.tags = [*run.tags, *missing]
        changed.append(run)

    Run.objects.bulk_update(changed, ["tags"])
    _note([run.pk for run in changed], "tags", user, new=", ".join(tags)[:40], text="added " + ", ".join(tags))
    return len(changed)


def set_notes(run: Run, user: User, notes: str) -> None:
    """Replace a run's notes."""
    notes = _clean_notes(notes)
    with transaction.atomic():
        if Run.objects.filter(pk=run.pk).exclude(notes=notes).update(notes=notes):
            _note([run.pk], "notes", user)


def set_matrix_notes(matrix: Matrix, notes: str) -> None:
    """Replace a matrix's notes."""
    Matrix.objects.filter(pk=matrix.pk).update(notes=_clean_notes(notes))


def describe_sweep(sweep: Sweep, tags: Sequence[str], notes: str) -> None:
    """Replace a sweep's tags and notes."""
    Sweep.objects.filter(pk=sweep.pk).update(tags=list(tags), notes=_clean_notes(notes))


@transaction.atomic
def exclude(runs: Iterable[Run], user: User, reason: str) -> int:
    """Leave runs out of points, comparisons and reports, with a reason that stays visible; how many are newly out."""
    reason = _clean_reason(reason, "Write down why the run is left out: its readers will ask.")
    newly_excluded = []
    for run in _lock(runs):
        if run.status not in Status.terminal():
            raise AnnotationRefused(f"“{run.name}” has not ended yet. Cancel it, or wait and exclude it then.")
        if run.excluded_reason != reason:
            newly_excluded.append(run.pk)
    Run.objects.filter(pk__in=newly_excluded).update(
        excluded_reason=reason, excluded_by=user, excluded_at=timezone.now()
    )
    _note(newly_excluded, "excluded", user, text=reason)
    return len(newly_excluded)


@transaction.atomic
def include(runs: Iterable[Run], user: User) -> int:
    """Include runs again; how many had been excluded."""
    locked = _lock(runs)
    for run in locked:
        if run.stand_in:
            raise AnnotationRefused(f"“{run.name}” measured a {run.stand_in} and not the product: it stays excluded.")
        if run.spec.get("faults"):
            raise AnnotationRefused(f"“{run.name}” is a run with faults: it stays excluded.")
    excluded = [run.pk for run in locked if run.excluded_reason]
    Run.objects.filter(pk__in=excluded).update(excluded_reason="", excluded_by=None, excluded_at=None)
    _note(excluded, "included", user)
    return len(excluded)


@transaction.atomic
def override(run: Run, user: User, reason: str) -> None:
    """Let a rejected run count again in points, ceilings and comparisons; the reason goes wherever its numbers go."""
    reason = _clean_reason(reason, "Write down why the run counts although a check rejects it: its readers will ask.")
    for locked in _lock([run]):
        if locked.verdict != Verdict.REJECT:
            raise AnnotationRefused(f"No check rejects “{run.name}”: it counts without a reason.")
        if locked.verdict_override != reason:
            Run.objects.filter(pk=run.pk).update(verdict_override=reason)
            _note([run.pk], "override", user, text=reason)
            audit.note("verdict_overridden", team=locked.team, actor=user, subject=run.name, text=reason)


@transaction.atomic
def withdraw_override(run: Run, user: User) -> None:
    """The verdict decides again."""
    for locked in _lock([run]):
        if locked.verdict_override:
            Run.objects.filter(pk=run.pk).update(verdict_override="")
            _note([run.pk], "override_withdrawn", user)
            audit.note("override_withdrawn", team=locked.team, actor=user, subject=run.name)


def _clean_reason(text: str, missing: str) -> str:
    reason = " ".join(_plain(text).split())
    if not reason:
        raise AnnotationRefused(missing)
    if len(reason) > MAX_REASON_LENGTH:
        raise AnnotationRefused(REASON_TOO_LONG.format(limit=MAX_REASON_LENGTH, length=len(reason)))
    return reason


def _lock(runs: Iterable[Run]) -> list[Run]:
    # In the order of the key, so that two people who mark overlapping runs at once cannot lock each other out.
    keys = [run.pk for run in runs]
    if len(keys) > MAX_AT_ONCE:
        raise AnnotationRefused(f"At most {MAX_AT_ONCE} runs at once; these are {len(keys)}. Narrow the filter.")
    return list(Run.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def _note(keys: Sequence[object], kind: str, user: User, *, old: str = "", new: str = "", text: str = "") -> None:
    RunEvent.objects.bulk_create(
        RunEvent(run_id=key, kind=kind, old=old, new=new, actor=user.get_username()[:80], text=text)  # type: ignore[misc]
        for key in keys
    )


def _clean_notes(text: str) -> str:
    text = _plain(text.replace("\r\n", "\n")).strip()
    if len(text) > MAX_NOTES_LENGTH:
        raise AnnotationRefused(NOTES_TOO_LONG.format(limit=MAX_NOTES_LENGTH, length=len(text)))
    return text


def _plain(text: str) -> str:
    """Without control characters, which PostgreSQL (NUL) or a terminal would take amiss; lines and tabs stay."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")
