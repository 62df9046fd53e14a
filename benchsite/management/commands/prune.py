"""`manage.py prune`: throws away what is no longer needed. Without --really it only says what.

Numbers stay for ever: a run keeps its throughput, percentiles and findings. Of runs that ended long ago the raw output
and the per-second series go, unless somebody still needs them: a baseline pins the run, or a report that has not been
published as it stands now is made of it. A published report is frozen and needs no run. Audit entries stay.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.sessions.models import Session
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now

from benchsite.accounts.models import Invitation, SignedIn, SignInLink
from benchsite.core.formatting import counted, grouped, size
from reports.models import Report
from reports.published.drafts import parse_draft
from runs.models import Artifact, Run, RunEvent, Series, Status, Upload, UploadedFile
from runs.results.deletion import forget_content
from runs.uploads import keys

LINK_RETENTION = timedelta(days=30)  # after they have run out
EVENT = "files_removed"


def runs_to_thin(days: int) -> QuerySet[Run]:
    """Runs that ended before so many days, have files or series, and are needed by nobody."""
    # Sweeps and matrices that reports are made of which were never published, or changed since.
    sweeps: set[UUID] = set()
    matrices: set[UUID] = set()
    newest = Report.objects.annotate(published=Max("revisions__published_at"))
    for report in newest.filter(Q(published=None) | Q(changed_at__gt=F("published"))):
        selection = parse_draft(report.draft).selection
        sweeps |= set(selection.sweeps)
        if selection.matrix_id:
            matrices.add(selection.matrix_id)

    has_files = Exists(Artifact.objects.filter(run=OuterRef("pk")))
    has_series = Exists(Series.objects.filter(run=OuterRef("pk")))
    return (
        Run.objects.filter(status__in=Status.terminal(), finished_at__lt=Now() - timedelta(days=days))
        .filter(has_files | has_series)
        .filter(pins__isnull=True)
        .exclude(sweep__in=sweeps)
        .exclude(matrix__in=matrices)
        .order_by("finished_at", "pk")
        .defer("spec", "evidence")
    )


def thin(runs: QuerySet[Run]) -> Iterator[tuple[int, int]]:
    """Removes files and series, each run in a transaction of its own; what several runs have stays with the last.

    Yields how many of both left each run.
    """
    for run in runs.iterator(chunk_size=500):
        with transaction.atomic():
            artifacts = Artifact.objects.filter(run=run)
            digests = set(artifacts.values_list("sha256", flat=True))
            files, _ = artifacts.delete()
            series, _ = Series.objects.filter(run=run).delete()
            text = f"{files} files and {series} series were removed by the site's retention."
            RunEvent.objects.create(run=run, kind=EVENT, actor="retention", text=text)
            digests |= _forget_upload(run)
        forget_content(digests)
        yield files, series


def _forget_upload(run: Run) -> set[str]:
    """The files of an upload go with those of its last run."""
    if run.upload_id is None or Artifact.objects.filter(run__upload=run.upload_id).exists():
        return set()
    kept = UploadedFile.objects.filter(upload=run.upload_id, upload__state=Upload.State.SAVED).exclude(sha256="")
    digests = set(kept.values_list("sha256", flat=True))
    kept.update(sha256="")
    return digests


class Command(BaseCommand):
    help = (
        "Removes the raw files and per-second series of runs that ended more than DAYS ago, and what has run out:"
        " sessions, links, invitations, old notices. Numbers stay; so does everything of runs that a baseline pins or"
        " an unpublished report is made of. Says what it would remove; with --really it does."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--older-than", type=int, required=True, metavar="DAYS", help="at least 1")
        parser.add_argument("--really", action="store_true", help="remove it, for ever")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["older_than"] < 1:
            raise CommandError("--older-than: at least 1 day, so that nothing goes whose run has just ended.")

        runs = runs_to_thin(options["older_than"])
        if not options["really"]:
            files = Artifact.objects.filter(run__in=runs).aggregate(count=Count("pk"), size=Sum("size"))
            series = Series.objects.filter(run__in=runs).count()
            self.stdout.write(
                f"Would remove {counted(files['count'], 'file')} ({size(files['size'] or 0)} before compression) and"
                f" {grouped(series)} series of {counted(runs.count(), 'run')}, and what has run out."
                " Nothing was removed: add --really."
            )
            return

        runs_thinned = files_removed = series_removed = 0
        for files_of_run, series_of_run in thin(runs):
            runs_thinned += 1
            files_removed += files_of_run
            series_removed += series_of_run
        self.stdout.write(
            f"Removed {counted(files_removed, 'file')} and {grouped(series_removed)} series of"
            f" {counted(runs_thinned, 'run')}. Their numbers stay."
        )
        self._remove_expired()

    def _remove_expired(self) -> None:
        """Remove what has run out and nobody can use any more."""
        alive = Session.objects.values("session_key")
        expired: dict[str, QuerySet[Any]] = {
            "sessions": Session.objects.filter(expire_date__lt=Now()),
            "sign-in links": SignInLink.objects.filter(expires_at__lt=Now()),
            "invitations": Invitation.objects.filter(expires_at__lt=Now() - LINK_RETENTION),
            # After the sessions: those that are left tell who is signed in.
            "signed in": SignedIn.objects.exclude(session_key__in=alive),
        }
        for name, rows in expired.items():
            count, _ = rows.delete()
            self.stdout.write(f"Removed {name}: {grouped(count)}.")
        keys.expire()
