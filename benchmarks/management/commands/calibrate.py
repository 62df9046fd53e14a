"""`manage.py calibrate`: a scheduled ladder against a server of known capacity and service time, on a private site."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmarks.calibration import server
from benchmarks.calibration.study import (
    CAPACITY_OPS_S,
    REPEATS,
    SERVICE_S,
    errors,
    intervals,
    plan_calibration,
    plan_searches,
)
from benchmarks.private_site import restart_with_private_site
from benchsite.accounts.membership import ensure_demo_team
from benchsite.core.formatting import exact, short, signed_percent, significant
from benchsite.core.paths import places
from benchsite.local.demo.study import Progress
from benchsite.local.embedded import EmbeddedError, EmbeddedServers
from benchsite.local.supervisor import Site, SiteError
from reports.compare.queries.curves import curves
from runs.models import LoadGenerator, Matrix, SearchDecision, Sweep
from runs.models.run import Phase
from runs.plans import PlanError, submit
from workers.processes.guarded_process import start_guarded
from workers.provision.ports import free_port

FOLDER = settings.BASE_DIR / "var" / "calibration"


class Command(BaseCommand):
    requires_system_checks = []
    help = "Measures a server of known capacity and service time and prints the errors of the results on this host."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repeats", type=int, default=REPEATS, help=f"Of a rung ({REPEATS}); 0: searches alone.")
        parser.add_argument("--no-searches", action="store_true", help="Measure the ladder alone.")

    def handle(self, *args: Any, **options: Any) -> None:
        restart_with_private_site(
            FOLDER / "site",
            BENCHSITE_EXTERNAL_NETWORKS=f"{server.HOST}/32",
            BENCHSITE_SECRET_KEY="of a site that holds nothing but calibrations",
            PORT=str(free_port()),
        )
        redis = EmbeddedServers(places(FOLDER / "redis"), logs=FOLDER / "log", postgresql=False, careless=True)
        try:
            redis.start()
            with Site(port=settings.WEB_PORT, command="make calibrate") as site:
                self._measure(site, redis, **options)
        except (EmbeddedError, SiteError) as error:
            raise CommandError(str(error)) from error
        except PlanError as error:
            raise CommandError("\n".join(problem.message for problem in error.problems)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped.") from None
        finally:
            redis.stop()

    def _measure(self, site: Site, redis: EmbeddedServers, *, repeats: int, no_searches: bool, **options: Any) -> None:
        port, log = free_port(), FOLDER / "log" / "server.log"
        command = [sys.executable, "-m", server.__name__, str(port), str(redis.places.redis_socket)]
        known = start_guarded(
            [*command, str(CAPACITY_OPS_S), str(SERVICE_S)],
            registry=FOLDER / "guarded", label="server", cwd=settings.BASE_DIR, stdout=log, stderr=log,
        )  # fmt: skip
        matrix, answers = None, []
        try:
            team, user = ensure_demo_team()
            generators = LoadGenerator.objects.filter(name=site.generators[0]).select_related("machine")
            place = team, user, list(generators), f"{server.HOST}:{port}"
            if repeats:
                matrix = plan_calibration(*place, repeats=repeats)
                submit(matrix, user)
                Progress([matrix], sys.stdout).follow(site.check)
            for name, search in () if no_searches else plan_searches(*place):
                submit(search, user)
                Progress([search], sys.stdout).follow(site.check)
                answers.append(self._answer(name, search))
        finally:
            known.stop()
        if matrix:
            self._write_errors(matrix)
        for text in answers:
            self.stdout.write(text)

    def _answer(self, name: str, search: Matrix) -> str:
        end = SearchDecision.objects.filter(sweep__matrix=search).order_by("number").last()
        trials = SearchDecision.objects.filter(sweep__matrix=search, run__isnull=False).count()
        if end is None or end.value_ops_s is None:
            return f"{name}: no answer after {trials} trials. {end.sentence if end else ''}"
        error = signed_percent(end.value_ops_s / CAPACITY_OPS_S - 1)
        return f"{name}: {significant(end.value_ops_s)} ops/s ({error}), {trials} trials. {end.sentence}"

    def _write_errors(self, matrix: Matrix) -> None:
        # The load is a sweep of its own.
        (curve,) = curves(Sweep.objects.filter(matrix=matrix, runs__phase=Phase.MEASURE).distinct())
        self.stdout.write("| value | known | measured | error |\n|---|---|---|---|")
        for row in errors(curve):
            self.stdout.write(
                f"| {row.name} | {exact(row.known)} {row.unit} "
                f"| {short(row.measured)} {row.unit} | {signed_percent(row.relative)} |"
            )
        stated = list(intervals(curve))
        inside = sum(interval.low <= value <= interval.high for value, interval in stated)
        self.stdout.write(f"{inside} of {len(stated)} 95 % intervals of throughput contain the known value.")
