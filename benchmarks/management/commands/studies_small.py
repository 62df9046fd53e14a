"""`manage.py studies_small`: runs the published studies small on this machine, through the REST API."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import requests
import tomli_w
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.text import slugify

from benchmarks.studies_small.small_plans import SmallPlan, read_comments, render_notes, shrink
from benchmarks.studies_small.stand_ins import SMALL_STUDIES, SmallStudy
from benchsite.accounts import tokens
from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.models import Scope
from benchsite.core.formatting import duration
from benchsite.local.demo.machine_study import missing_parts, missing_runs
from benchsite.local.demo.study import Progress
from benchsite.local.supervisor import Site, SiteError
from runs.models import LoadGenerator, Matrix, Status
from runs.plans.files.plan_file import read_plan
from runs.plans.studies import plan_text, studies

SCOPES: Final = (Scope.MACHINES_WRITE, Scope.DATABASES_WRITE, Scope.MATRICES_RUN, Scope.REPORTS_WRITE)
REQUEST_TIMEOUT_S: Final = 120
MAX_STUDY_S: Final = 20 * 60
NAMES: Final = {study.slug: study.name for study in studies()}


class Command(BaseCommand):
    help = "Plans the published studies small, runs them, and writes a report of each below var/studies-small."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slugs", nargs="*", metavar="STUDY", help=f"{', '.join(SMALL_STUDIES)}; none: all")
        parser.add_argument("--plan", action="store_true", help="Only print what would run.")

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = options["slugs"] or list(SMALL_STUDIES)
        if unknown := set(slugs) - SMALL_STUDIES.keys():
            raise CommandError(f"There is no study {', '.join(sorted(unknown))}: there are {', '.join(SMALL_STUDIES)}.")
        try:
            with Site(port=settings.WEB_PORT, command="make studies-small") as site:
                succeeded = self._run(site, slugs, is_plan=options["plan"])
        except SiteError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stdout.write("\nStopped.")
            return
        if not succeeded:
            sys.exit(1)

    def _run(self, site: Site, slugs: Sequence[str], *, is_plan: bool) -> bool:
        """Whether every run of every study succeeded."""
        team, user = ensure_demo_team()
        token = tokens.make(team, user, name="studies made small", scopes=SCOPES)
        generator = LoadGenerator.objects.select_related("machine").get(name=site.generators[0])
        missing = self._find_missing(slugs)
        is_complete = True
        for slug in slugs:
            small = SMALL_STUDIES[slug]
            plan = shrink(slug, read_plan(plan_text(slug)), small, machine=generator.machine.name, missing=missing)
            if not plan.file["matrix"]["entries"]:
                self.stdout.write(f"{NAMES[slug]}: this machine can start none of its servers.")
                continue
            plan.file["matrix"]["load_generators"] = [generator.name]
            file = tomli_w.dumps(plan.file)
            if is_plan:
                preview = post(site, token, "/apply?dry_run=1", {"file": file, "run": "new"})["matrix"]
                self.stdout.write(f"{NAMES[slug]}: {json.dumps(preview)[:300]}")
                continue
            is_complete &= self._measure(site, token, slug, small, plan, file)
        return is_complete

    def _find_missing(self, slugs: Sequence[str]) -> set[str]:
        systems = {stand_in.system for slug in slugs for stand_in in SMALL_STUDIES[slug].stand_ins.values() if stand_in}
        missing = set()
        for system in sorted(systems):
            if reason := missing_parts(system):
                self.stdout.write(f"Left out: {system}. {reason}")
                missing.add(system)
        return missing

    def _measure(self, site: Site, token: str, slug: str, small: SmallStudy, plan: SmallPlan, file: str) -> bool:
        # What an interrupted study has left would run first.
        earlier = Matrix.objects.filter(name=plan.file["matrix"]["name"], runs__status__in=Status.unfinished())
        for matrix in earlier.distinct():
            post(site, token, f"/matrices/{matrix.pk}/cancel", {})
        applied = post(site, token, "/apply", {"file": file, "run": "again"})
        matrix = Matrix.objects.get(pk=applied["matrix"]["id"])
        progress = Progress([matrix], sys.stdout)
        self.stdout.write(f"{NAMES[slug]}: about {duration(progress.planned_s)}, at {site.url}/matrices/{matrix.pk}/")
        self._follow(site, token, matrix, progress)
        notes = render_notes(read_comments(plan_text(slug)), plan.deviations)
        for part, query, items in list_reports(slug, small, matrix):
            body = {
                "title": f"{NAMES[slug]}, made small: {part}",
                "query": f"v=1&matrix={matrix.pk}&published={slug}&side=all&stat={small.statistic}{query}",
                "items": items,
                "notes": notes,
                "access": "unlisted",
            }
            self._keep(post(site, token, "/reports", body), f"{slug}-{part}.html")
        return not missing_runs([matrix])

    def _follow(self, site: Site, token: str, matrix: Matrix, progress: Progress) -> None:
        """Until every run has ended; those that are left after MAX_STUDY_S are cancelled."""
        end = time.monotonic() + MAX_STUDY_S

        def check() -> None:
            site.check()
            if time.monotonic() > end:
                raise TimeoutError

        try:
            progress.follow(check)
        except TimeoutError:
            self.stdout.write(f"It took more than {duration(MAX_STUDY_S)}: the rest is cancelled.")
            post(site, token, f"/matrices/{matrix.pk}/cancel", {})
            progress.follow(site.check)

    def _keep(self, report: dict[str, Any], name: str) -> None:
        folder = Path(settings.VAR_DIR) / "studies-small"
        folder.mkdir(parents=True, exist_ok=True)
        page = requests.get(f"{report['permalink']}.html", timeout=REQUEST_TIMEOUT_S)
        page.raise_for_status()
        (folder / name).write_bytes(page.content)
        self.stdout.write(f"Report: {report['permalink']}, as one file: {folder / name}")


def post(site: Site, token: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Raises CommandError with what the site answered."""
    headers = {"Authorization": f"Bearer {token}"}
    response = requests.post(f"{site.url}/api/v1{path}", json=body, headers=headers, timeout=REQUEST_TIMEOUT_S)
    if not response.ok:
        raise CommandError(f"POST {path}: {response.text}")
    content: dict[str, Any] = response.json()
    return content


def list_reports(slug: str, small: SmallStudy, matrix: Matrix) -> Iterator[tuple[str, str, list[str]]]:
    """The part of each report, its query on Compare, and what it shows."""
    printed = f"table-published-{slug}"
    mixes = {workload.short_name: f"mix-{slugify(workload.name)}" for workload in matrix.workloads.all()}
    if small.load_items:
        yield "loads", "&phase=load", [*small.load_items, printed]
    yield "runs", "", [*(mixes.get(item, item) for item in small.items), printed]
