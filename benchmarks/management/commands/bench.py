"""`manage.py bench`: how fast Benchsite itself is, measured on a private site of its own."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmarks.calibration.server import HOST as TOKEN_BUCKET_HOST
from benchmarks.private_site import restart_with_private_site
from benchmarks.speed import (
    browser,
    client_groups,
    corpus,
    driver,
    fleet_queue,
    idle_generators,
    open_load,
    overhead,
    pages,
    reading,
    searches,
    uploads,
)
from benchmarks.speed.report import BenchmarkFailed, Report, forget_earlier
from benchsite.local.supervisor import Site, SiteError
from workers.provision.ports import free_port
from workers.systems.manifests import ManifestError

FOLDER = settings.BASE_DIR / "var" / "bench"
SITE_FOLDER = FOLDER / "site"
ON_A_SITE: dict[str, Callable[[Site], Report]] = {
    "overhead": overhead.measure,
    "uploads": uploads.measure,
    "generators": idle_generators.measure,
    "groups": client_groups.measure_shares,
    "scans": client_groups.measure_scans,
}
IN_PROCESSES: dict[str, Callable[[], list[Report]]] = {
    "driver": driver.measure,
    "open": open_load.measure,
    "logs": reading.measure_logs,
    "text": reading.measure_text,
    "points": reading.measure_points,
    "pages": pages.measure,
    "browser": browser.measure,
    "fleet": fleet_queue.measure,
    "search": searches.measure,
}
NAMES = (*IN_PROCESSES, *ON_A_SITE)
# Measured only where they are named: the one needs another commit, the other one an hour.
OUTPUTS, DAY = "outputs", "day"


class Command(BaseCommand):
    help = "Measures the binding, reading, pages, uploads, queue, clients; tables here, JSON in var/bench/."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", choices=[*NAMES, OUTPUTS, DAY, []], default=[], help="only these")
        parser.add_argument("--against", default="HEAD", help="the commit beside which outputs are read")

    def handle(self, *args: Any, **options: Any) -> None:
        # What is measured is how many uploads the site can take, and not how many it lets one token make.
        no_limit = {"BENCHSITE_API_UPLOADS_PER_MINUTE": "0", "BENCHSITE_API_REQUESTS_PER_MINUTE": "0"}
        # The token bucket is a server of others.
        restart_with_private_site(SITE_FOLDER, **no_limit, BENCHSITE_EXTERNAL_NETWORKS=f"{TOKEN_BUCKET_HOST}/32")
        wanted = options["names"] or NAMES
        try:
            for name in IN_PROCESSES:
                for report in IN_PROCESSES[name]() if name in wanted else ():
                    self._show(report)
            for report in corpus.measure(options["against"]) if OUTPUTS in wanted else ():
                self._show(report)
            for report in open_load.measure_day() if DAY in wanted else ():
                self._show(report)
            if on_a_site := [name for name in wanted if name in ON_A_SITE]:
                with Site(port=free_port(), command="make bench", say=self._say) as site:
                    forget_earlier(site)
                    for name in on_a_site:
                        self._show(ON_A_SITE[name](site))
        except (SiteError, BenchmarkFailed, ManifestError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self._say("\nStopped; what was measured so far is in var/bench.")

    def _show(self, report: Report) -> None:
        self._say(f"\n{report.table()}\n  {report.write(FOLDER).relative_to(settings.BASE_DIR)}")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
