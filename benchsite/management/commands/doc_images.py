"""`manage.py doc_images`: images and offline reports of the documents, from a quick study or `make study`."""

import os
import re
import shutil
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.models import Team
from benchsite.accounts.sign_in_link import make_link
from benchsite.local.demo.machine_study import TAG, find_report
from benchsite.local.supervisor import running_site
from runs.models import Matrix, Run, Status

CHROMIUM: Final = os.environ.get("BENCHSITE_CHROMIUM", "/usr/bin/chromium")
# File name -> page, and the address of the figure below /figures/ that it starts with.
FIGURES: Final = {
    "reading-ceilings": ("/compare/", "ceilings/"),
    "reading-latency": ("/compare/", "latency/"),
    "reading-percentiles": ("/compare/pictures/", "percentiles/"),
}
STUDY_FIGURES: Final = {
    "study-ceilings": ("/compare/", "ceilings/"),
    "study-latency": ("/compare/", "latency/"),
    "study-loss": ("/compare/pictures/", "loss/"),
}
STUDY_REPORT: Final = "workload-a"


class Command(BaseCommand):
    help = "Write docs/images and the offline report from the newest quick study of the running one-machine site."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--docs", type=Path, default=Path(settings.BASE_DIR) / "docs", help="the folder to write to"
        )
        parser.add_argument("--study", action="store_true", help="those of the newest `make study` instead")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            raise CommandError("Playwright is missing: run this with `make images`.") from None
        site = None
        if settings.EMBEDDED:
            site = running_site()
        if site is None:
            raise CommandError("No site runs here. Start it with `make up`.")
        team, user = ensure_demo_team()
        is_study = options["study"]
        matrix = _newest_study(team) if is_study else _newest_quick_study(team)
        measured = Run.objects.filter(matrix=matrix, phase="measure", status=Status.SUCCEEDED)
        clusters = measured
        if is_study:
            clusters = measured.filter(sweep__database__settings__nodes="3")
        busiest = (clusters if clusters.exists() else measured).order_by("-throughput_ops_s").first()
        assert busiest is not None
        link, run_path = make_link(user), reverse("run", args=[busiest.pk])
        images, query = options["docs"] / "images", f"?v=1&matrix={matrix.pk}" + "&side=all" * is_study
        # Playwright's loop runs in this thread: no query from here on.
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900}, accept_downloads=True)

            def open_page(path: str) -> None:
                page.goto(urljoin(site.url, path), wait_until="networkidle")

            open_page(link)
            page.click("main button")
            page.wait_for_load_state("networkidle")
            open_page(f"/compare/{query}")
            page.locator(".figure__plot").first.dispatch_event("pointerover")
            page.wait_for_selector(".figure .main-svg")
            if not is_study:
                page.screenshot(path=images / "compare.png")
            figures, series = (STUDY_FIGURES, "study-servers") if is_study else (FIGURES, "reading-series")
            pages = {name: (path + query, figure) for name, (path, figure) in figures.items()}
            for name, (path, figure) in {
                **pages,
                series: (run_path, f"runs/{busiest.pk}/{series.partition('-')[2]}"),
            }.items():
                open_page(path)
                plot = page.locator(f"figure[data-src^='/figures/{figure}'] .figure__plot").first
                plot.scroll_into_view_if_needed()
                plot.dispatch_event("pointerover")
                plot.locator(".main-svg").first.wait_for()
                plot.screenshot(path=images / f"{name}.png")
            if not is_study:
                self.write_report(page, open_page, query, options["docs"] / "demo-report.html")
            browser.close()
        report = settings.VAR_DIR / "study" / f"{STUDY_REPORT}.html"
        if is_study and report.exists():
            shutil.copyfile(report, options["docs"] / f"study-{STUDY_REPORT}.html")
        self.stdout.write(
            f"Wrote {len(figures) + 1 + (not is_study)} images and the offline report to {options['docs']}."
        )

    def write_report(self, page: Any, open_page: Any, query: str, path: Path) -> None:
        """Publishes a report of the comparison as its author would, and writes its export as one HTML file."""
        open_page(f"/compare/{query}")
        page.get_by_role("button", name="Build a report").click()
        page.get_by_role("link", name="Edit", exact=True).click()
        page.fill("input[name=title]", "Quick study: what durability costs Redis and PostgreSQL")
        page.click("button[name=look]")
        page.wait_for_load_state("networkidle")
        page.click("button[name=access][value=private]")
        page.wait_for_load_state("networkidle")
        link = re.search(r"https?://[^\s\"<]+/r/([\w-]+)", page.content())
        if link is None:
            raise CommandError("The report was not published.")
        response = page.request.get(urljoin(page.url, f"/r/{link[1]}.html"))
        if not response.ok:
            raise CommandError(f"The report's export answered {response.status}.")
        path.write_bytes(response.body())


def _newest_quick_study(team: Team) -> Matrix:
    quick = Matrix.objects.filter(team=team, purpose="demo").exclude(tags__contains=[TAG])
    matrix = quick.order_by("-created_at").first()
    if matrix is None or matrix.runs.exclude(status=Status.SUCCEEDED).exists():
        raise CommandError("The newest quick study is not complete. Run `make demo EXIT=1` first.")
    return matrix


def _newest_study(team: Team) -> Matrix:
    """The matrix of workload A. Raises CommandError where it has no report yet."""
    studies = Matrix.objects.filter(team=team, tags__contains=[TAG], name__endswith="workload A")
    matrix = studies.order_by("-created_at").first()
    if matrix is None or find_report(matrix) is None:
        raise CommandError("The newest study is not complete. Run `make study` first.")
    return matrix
