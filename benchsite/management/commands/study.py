"""`manage.py study`: measures every system that this machine can start, and publishes frozen reports of it."""

import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.urls import reverse

from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.models import Team, User
from benchsite.core.formatting import counted, duration
from benchsite.local.demo.machine_study import (
    ENTRIES,
    find_report,
    missing_parts,
    missing_runs,
    plan_machine_study,
    publish_study,
    unfinished_study,
)
from benchsite.local.demo.study import Progress
from benchsite.local.demo.summary import summary, write_summary
from benchsite.local.supervisor import Site, SiteError
from reports.published.links import find_link
from reports.published.publication import PublishRefused
from runs.models import LoadGenerator, Matrix, Run, Status
from runs.plans import PlanError, preview, stored_plan, submit
from runs.queue import lifecycle

MINUTES, REPEATS = 150, 3
QUICK_MINUTES, QUICK_REPEATS = 25, 1
FOLDER = "study"
SYSTEMS = tuple(dict.fromkeys(entry.system for entry in ENTRIES))


class Command(BaseCommand):
    help = (
        "Starts the site and measures the systems that this machine can start, alone and as clusters of several nodes."
        " After Ctrl-C, a kill or a crash, a second call goes on with what is left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help=f"{QUICK_REPEATS} repeat in {QUICK_MINUTES} minutes.")
        parser.add_argument("--minutes", type=int, help=f"What it may take ({MINUTES}): windows are as long as fits.")
        parser.add_argument("--repeats", type=int, help=f"Of every rung ({REPEATS}).")
        parser.add_argument("--only", nargs="+", choices=SYSTEMS, metavar="SYSTEM", help=f"Of {', '.join(SYSTEMS)}.")
        parser.add_argument("--plan", action="store_true", help="Only print what would run and how long it takes.")
        parser.add_argument("--anew", action="store_true", help="Cancel an unfinished study and begin another one.")
        parser.add_argument("--publish", action="store_true", help="Publish although runs have no result.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with Site(port=settings.WEB_PORT, command="make study") as site:
                succeeded = self._study(site, options)
        except SiteError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stdout.write("\nStopped. `make study` goes on with what is left.")
            return
        if not succeeded:
            sys.exit(1)

    def _study(self, site: Site, options: dict[str, Any]) -> bool:
        """Run the study to its reports; whether every run succeeded."""
        team, user = ensure_demo_team()
        matrices = unfinished_study(team)
        if options["anew"] and not options["plan"]:
            for matrix in matrices:
                lifecycle.request_cancel_matrix(matrix, user)
            matrices = []
        is_resumed = bool(matrices) and not options["plan"]
        if is_resumed:
            repeated = 0
            if not options["publish"]:
                repeated = sum(lifecycle.resume(matrix, user) for matrix in matrices)
            left = Run.objects.filter(matrix__in=matrices).exclude(status__in=Status.terminal())
            seconds = sum(left.values_list("expected_s", flat=True))
            self.stdout.write(
                f"An unfinished study goes on with its own plan: {counted(left.count(), 'run')} left, {repeated} of "
                f"them once more, about {duration(seconds)}. `make study ARGS=--anew` begins another one."
            )
        else:
            matrices = self._begin(site, team, user, options)
        if options["plan"]:
            return True
        for matrix in matrices:
            self.stdout.write(f"Watch it at {site.url}{reverse('matrix', args=[matrix.pk])}")
        Progress(matrices, sys.stdout, is_resumed=is_resumed).follow(site.check)
        missing = missing_runs(matrices)
        if missing and not options["publish"]:
            self.stdout.write(
                f"{counted(missing, 'run')} without a result. `make study` runs them again; "
                "`make study ARGS=--publish` publishes the report without them."
            )
            return False
        self._publish(site, matrices, user)
        return not missing

    def _begin(self, site: Site, team: Team, user: User, options: dict[str, Any]) -> list[Matrix]:
        """A new study: what is left out, how long the rest takes, and the submission."""
        generators = list(
            LoadGenerator.objects.filter(name__in=site.generators).select_related("machine").order_by("name")
        )
        available = []
        for system in options["only"] or SYSTEMS:
            if reason := missing_parts(system):
                self.stdout.write(f"Left out: {system}. {reason}")
            else:
                available.append(system)
        if not available:
            raise CommandError("This machine can measure none of these systems: install what is named above.")
        systems = available
        minutes = options["minutes"] or (QUICK_MINUTES if options["quick"] else MINUTES)
        repeats = options["repeats"] or (QUICK_REPEATS if options["quick"] else REPEATS)
        try:
            with transaction.atomic():
                matrices = plan_machine_study(team, user, generators, systems, minutes=minutes, repeats=repeats)
                plans = [(matrix, preview(stored_plan(matrix))) for matrix in matrices]
                for matrix, plan in plans:
                    self.stdout.write(
                        f"{matrix.name}: {counted(len(plan.cells), 'sweep')}, {counted(plan.runs, 'run')} of "
                        f"{matrix.min_measure_s} s, about {duration(plan.seconds)}"
                    )
                self.stdout.write(f"Together about {duration(sum(plan.seconds for _, plan in plans))}.")
                if options["plan"]:
                    transaction.set_rollback(True)
                else:
                    for matrix in matrices:
                        submit(matrix, user)
        except PlanError as error:
            raise CommandError("\n".join(problem.message for problem in error.problems)) from error
        return matrices

    def _publish(self, site: Site, matrices: Sequence[Matrix], user: User) -> None:
        folder = Path(settings.VAR_DIR) / FOLDER
        for matrix, name in zip(matrices, ("workload-a", "mixes"), strict=False):
            try:
                report = find_report(matrix) or publish_study(matrix, user)
            except PublishRefused as error:
                self.stdout.write(f"No report of {matrix.name}: {error}")
                continue
            link = find_link(report)
            if link is None:
                raise CommandError(f"The link of the report {report.title} was revoked: `make study ARGS=--anew`.")
            urls = {
                "report": f"{site.url}/r/{link.token}",
                "compare": f"{site.url}{reverse('compare')}?matrix={matrix.pk}",
            }
            write_summary(folder / f"{name}.json", summary(matrix, urls))
            with urllib.request.urlopen(f"{urls['report']}.html") as response:
                (folder / f"{name}.html").write_bytes(response.read())
            self.stdout.write(f"Report: {urls['report']}, as one file: {folder / f'{name}.html'}")
            self.stdout.write(f"Curves: {urls['compare']}")
        self.stdout.write("The site ends with the study. `make up` starts it again.")
