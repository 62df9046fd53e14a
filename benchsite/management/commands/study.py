"""`manage.py study`: measures every system that this machine can start, and publishes a frozen report of it."""

import math
import sys
import time
import urllib.request
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
from runs.queue.spec import describe_window

MINUTES, REPEATS = 110, 2
QUICK_MINUTES, QUICK_REPEATS = 15, 1
REPORT = "study/workload-a"
SYSTEMS = tuple(dict.fromkeys(entry.system for entry in ENTRIES))


class Command(BaseCommand):
    help = (
        "Starts the site and measures the systems that this machine can start, alone and as clusters of several nodes."
        " After Ctrl-C, a kill or a crash, a second call goes on with what is left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help=f"{QUICK_REPEATS} repeat, {QUICK_MINUTES} minutes.")
        parser.add_argument("--minutes", type=int, help=f"What the windows take ({MINUTES}); each is as long as fits.")
        parser.add_argument("--repeats", type=int, help=f"Of every load below the ceiling ({REPEATS}).")
        parser.add_argument("--stop-after", type=int, metavar="MINUTES", help="A part; the next call goes on with it.")
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
        """Run the study to its report; whether every run succeeded."""
        team, user = ensure_demo_team()
        matrix = unfinished_study(team)
        if matrix and options["anew"] and not options["plan"]:
            lifecycle.request_cancel_matrix(matrix, user)
            matrix = None
        is_resumed = bool(matrix) and not options["plan"]
        if matrix is None or options["plan"]:
            matrix = self._begin(site, team, user, options)
            if options["plan"]:
                return True
        else:
            repeated = 0
            if not options["publish"]:
                repeated = lifecycle.resume(matrix, user)
            left = Run.objects.filter(matrix=matrix).exclude(status__in=Status.terminal())
            self.stdout.write(
                f"An unfinished study goes on with its own plan: {counted(left.count(), 'run')} of fixed loads left, "
                f"{repeated} of them once more. `make study ARGS=--anew` begins another one."
            )
        self.stdout.write(f"Watch it at {site.url}{reverse('matrix', args=[matrix.pk])}")
        end = time.monotonic() + 60 * (options["stop_after"] or math.inf)

        def check() -> None:
            site.check()
            if time.monotonic() > end:
                raise KeyboardInterrupt

        Progress([matrix], sys.stdout, is_resumed=is_resumed).follow(check)
        missing = missing_runs([matrix])
        if missing and not options["publish"]:
            self.stdout.write(
                f"{counted(missing, 'run')} without a result. `make study` runs them again; "
                "`make study ARGS=--publish` publishes the report without them."
            )
            return False
        self._publish(site, matrix, user)
        return not missing

    def _begin(self, site: Site, team: Team, user: User, options: dict[str, Any]) -> Matrix:
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
        minutes = options["minutes"] or (QUICK_MINUTES if options["quick"] else MINUTES)
        repeats = options["repeats"] or (QUICK_REPEATS if options["quick"] else REPEATS)
        try:
            with transaction.atomic():
                matrix = plan_machine_study(team, user, generators, available, minutes=minutes, repeats=repeats)
                self._describe(matrix)
                if options["plan"]:
                    transaction.set_rollback(True)
                else:
                    submit(matrix, user)
        except PlanError as error:
            raise CommandError("\n".join(problem.message for problem in error.problems)) from error
        return matrix

    def _describe(self, matrix: Matrix) -> None:
        plan = preview(stored_plan(matrix))
        threads = {rule["match"]["database"]: rule["set"]["threads"] for rule in matrix.overrides}
        for cell in plan.cells:
            self.stdout.write(f"  {cell.database_name}, {cell.mode}: {counted(threads[cell.database_id], 'thread')}")

        sweeps, runs = counted(len(plan.cells), "sweep"), counted(plan.runs, "run")
        window_s = matrix.min_measure_s
        window = describe_window(window_s, matrix.warmup_s, matrix.settle_s)
        self.stdout.write(f"{matrix.name}: {sweeps}, at most {runs}, each of {window}.")
        half_minutes = round(plan.seconds / 120)
        self.stdout.write(
            f"At most {duration(plan.runs * window_s)} of measuring, {duration(plan.seconds)} in all. Two parts: "
            f'`make study ARGS="--stop-after {half_minutes}"`, then `make study`.'
        )

    def _publish(self, site: Site, matrix: Matrix, user: User) -> None:
        try:
            report = find_report(matrix) or publish_study(matrix, user)
        except PublishRefused as error:
            self.stdout.write(f"No report of {matrix.name}: {error}")
            return
        link = find_link(report)
        if link is None:
            raise CommandError(f"The link of the report {report.title} was revoked: `make study ARGS=--anew`.")
        urls = {
            "report": f"{site.url}/r/{link.token}",
            "compare": f"{site.url}{reverse('compare')}?matrix={matrix.pk}",
        }
        path = Path(settings.VAR_DIR) / REPORT
        write_summary(path.with_suffix(".json"), summary(matrix, urls))
        with urllib.request.urlopen(f"{urls['report']}.html") as response:
            path.with_suffix(".html").write_bytes(response.read())
        self.stdout.write(f"Report: {urls['report']}, as one file: {path.with_suffix('.html')}")
        self.stdout.write(f"Curves: {urls['compare']}")
        self.stdout.write("The site ends with the study. `make up` starts it again.")
