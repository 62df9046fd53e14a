"""`manage.py demo`: the whole site on this machine, the quick study, and the address of its curves."""

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.sign_in_link import make_link
from benchsite.core.formatting import duration
from benchsite.local.demo.study import ALL_ENTRIES, ENTRIES, Progress, submit_quick_study
from benchsite.local.demo.summary import summary, write_summary
from benchsite.local.supervisor import Site, SiteError
from runs.models import LoadGenerator
from runs.plans import PlanError
from runs.queue.lifecycle import request_cancel_matrix
from runs.queue.pages.progress import get_progress

SUMMARY = "demo/summary.json"


class Command(BaseCommand):
    help = (
        "Starts the site, runs the quick study and prints where to look. EXIT=1 ends it after the study; FULL=1"
        " measures five durability modes instead of three."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        ends = _is_set("EXIT")
        try:
            with Site(port=settings.WEB_PORT) as site:
                succeeded = self._study(site)
                if not ends:
                    self._print_link(site, reverse("home"))
                    self.stdout.write("The site stays up until you press Ctrl-C.")
                    site.stay()
        except SiteError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stdout.write("\nStopped; everything measured so far is kept.")
            return

        if not succeeded:
            sys.exit(1)

    def _print_link(self, site: Site, page: str) -> None:
        """A link that signs in and opens this page; a site with other servers has passwords."""
        if settings.EMBEDDED:
            _, user = ensure_demo_team()
            self.stdout.write(f"Sign in, once, within 15 minutes: {site.url}{make_link(user)}?next={page}")

    def _study(self, site: Site) -> bool:
        """Run the study to its end; whether every run succeeded, or the one that replaced it."""
        team, user = ensure_demo_team()
        generators = list(
            LoadGenerator.objects.filter(name__in=site.generators).select_related("machine").order_by("name")
        )
        try:
            entries = ENTRIES
            if _is_set("FULL"):
                entries = ALL_ENTRIES
            matrix = submit_quick_study(team, user, generators, entries)
        except PlanError as error:
            raise CommandError("\n".join(problem.message for problem in error.problems)) from error

        urls = {
            "home": site.url + reverse("home"),
            "matrix": site.url + reverse("matrix", args=[matrix.pk]),
            "compare": f"{site.url}{reverse('compare')}?matrix={matrix.pk}",
        }
        databases = " and ".join(dict.fromkeys(matrix.entries.values_list("database__name", flat=True)))
        progress = Progress([matrix], sys.stdout)
        study = f"{databases} in {matrix.entries.count()} modes, about {duration(progress.planned_s)}"
        self.stdout.write(f"Quick study: {study}. Watch it at {urls['matrix']}")
        self._print_link(site, reverse("matrix", args=[matrix.pk]))
        try:
            progress.follow(site.check)
        except KeyboardInterrupt:
            # Else the runs that wait would go on when the site is started the next time.
            request_cancel_matrix(matrix, user)
            raise

        content = summary(matrix, urls)
        path = settings.VAR_DIR / SUMMARY
        write_summary(path, content)
        for text in (*content["findings"], content["certainty"]):
            self.stdout.write(text)

        self.stdout.write(f"{content['succeeded']} of {content['runs']} runs succeeded. Numbers: {path}")
        self.stdout.write(f"Curves: {urls['compare']}")
        return get_progress([matrix])[matrix.pk].status == "succeeded"


def _is_set(variable: str) -> bool:
    """As people write it for `make`: EXIT=1."""
    return os.environ.get(variable, "") not in ("", "0")
