"""`manage.py prune`: throws away what is no longer needed. Without --really it only says what."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count, Sum

from benchsite.retention import forget_expired, runs_to_thin, thin
from runs.models import Artifact, Series


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
                f"Would remove {files['count']:,} files ({(files['size'] or 0) / 1e6:,.1f} MB before compression) and"
                f" {series:,} series of {runs.count():,} runs, and what has run out. Nothing was removed: add --really."
            )
            return
        done = list(thin(runs))
        self.stdout.write(
            f"Removed {sum(one.files for one in done):,} files and {sum(one.series for one in done):,} series"
            f" of {len(done):,} runs. Their numbers stay."
        )
        for name, count in forget_expired().items():
            self.stdout.write(f"Removed {name}: {count:,}.")
