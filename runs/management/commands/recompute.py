"""manage.py recompute: build runs' numbers anew from their artifacts, and say what differs."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from benchsite.core.formatting import counted
from runs.models import Run, Status
from runs.queue.lifecycle import TransitionRefused
from runs.results.recording.recompute import RecomputeSkipped, apply, rebuild
from runs.results.recording.scheduled_runs import Incomplete, complete, missing_evidence
from runs.ycsb.errors import YcsbError

AS_STORED, DIFFERS, SKIPPED = 0, 1, 2


class Command(BaseCommand):
    help = (
        "Rebuild measurements, series, intervals and findings from artifacts, over the same window as now, and list "
        "what differs from what is stored. The old numbers are kept as a measurement set that is not current. A named "
        "run that infrastructure broke is completed where its clients' output is complete. "
        f"Exit code {AS_STORED}: all is as computed; {DIFFERS}: --dry-run found differences; {SKIPPED}: a run could "
        "not be recomputed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="*", help="the run's id, as in its page's address")
        parser.add_argument("--all", action="store_true", help="every run that was ever measured")
        parser.add_argument("--dry-run", action="store_true", help="say what differs and store nothing")

    def handle(self, *_: Any, **options: Any) -> None:
        if bool(options["run"]) == options["all"]:
            raise CommandError("Name one or more runs, or give --all.")

        runs = _all() if options["all"] else iter([_named(key) for key in options["run"]])
        ends = [self._recompute(run, dry=options["dry_run"]) for run in runs]
        self.stdout.write(
            f"{counted(len(ends), 'run')}: {ends.count(AS_STORED)} as stored, "
            f"{ends.count(DIFFERS)} {'differ' if options['dry_run'] else 'changed'}, {ends.count(SKIPPED)} skipped"
        )
        if SKIPPED in ends:
            sys.exit(SKIPPED)
        if options["dry_run"] and DIFFERS in ends:
            sys.exit(DIFFERS)

    def _recompute(self, run: Run, *, dry: bool) -> int:
        """One run; what became of it."""
        if run.status == Status.FAILED:
            return self._complete(run, dry=dry)

        try:
            rebuilt = rebuild(run)
            if not dry:
                apply(rebuilt)
        except RecomputeSkipped as skipped:
            self.stderr.write(f"{run.pk} {run.name}: skipped, {skipped}")
            return SKIPPED

        if not rebuilt.differences:
            return AS_STORED

        self.stdout.write(f"{run.pk} {run.name}")
        for difference in rebuilt.differences:
            self.stdout.write(f"  {difference}")

        return DIFFERS

    def _complete(self, run: Run, *, dry: bool) -> int:
        """A run that failed: it succeeds where its clients' output is complete after all."""
        try:
            if dry and (missing := missing_evidence(run)):
                raise Incomplete("; ".join(missing))
            if not dry:
                complete(run)
        except (Incomplete, TransitionRefused, OSError, YcsbError) as error:
            self.stderr.write(f"{run.pk} {run.name}: skipped, it failed and cannot be completed: {error}")
            return SKIPPED
        self.stdout.write(f"{run.pk} {run.name}: {'its output is complete' if dry else 'completed from its output'}")
        return DIFFERS


def _all() -> Iterator[Run]:
    """One after the other, so that memory does not grow with their number."""
    keys = Run.objects.filter(measurement_sets__is_current=True).order_by("created_at").values_list("pk", flat=True)
    for key in keys:
        yield Run.objects.get(pk=key)


def _named(key: str) -> Run:
    try:
        return Run.objects.get(pk=key)
    except (Run.DoesNotExist, ValidationError):
        raise CommandError(f"There is no run {key}.") from None
