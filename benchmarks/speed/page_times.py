"""Measures pages in a process of its own: `python -m benchmarks.speed.page_times RUNS`, with BENCHSITE_VAR set.

It starts the private servers of that folder, fills the database where it is empty, and prints what it found as one line
of JSON, after lines that say how far it is.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
django.setup()

from django.conf import settings  # noqa: E402 - models need the set-up above
from django.core.cache import cache  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.paginator import Paginator  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.urls import reverse  # noqa: E402

from benchmarks.synthetic_data import Wanted, generate  # noqa: E402
from benchmarks.synthetic_data.equipment import TEAMS  # noqa: E402
from benchsite.accounts import tenancy  # noqa: E402
from benchsite.accounts.models import Team, User  # noqa: E402
from benchsite.local.embedded import EmbeddedServers  # noqa: E402
from reports.compare.curves import detect_kind  # noqa: E402
from reports.compare.figures.ceilings import CeilingsFigure  # noqa: E402
from reports.compare.figures.latency import LatencyFigure  # noqa: E402
from reports.compare.figures.latency_points import Choice  # noqa: E402
from reports.compare.queries import curves, facets  # noqa: E402
from reports.compare.selection import Selection  # noqa: E402
from reports.models import StoredCurve  # noqa: E402
from runs.models import Matrix, Run, Sweep  # noqa: E402
from runs.results.pages.run_list import RunFilter  # noqa: E402

tenancy.serve_all_teams()
ROUNDS: Final = 21
SLOW_ROUNDS: Final = 3  # of what is only there to be compared with
SERIES_SHARE: Final = 500  # one of so many runs has a series
JOINED: Final = (
    "phase", "system", "mode", "purpose", "database__version", "workload__name", "database__cluster__name",
)  # fmt: skip
COMPARE_MS, CACHED_MS, LIST_MS, HISTORY_MS, FIGURE_MS = 300.0, 50.0, 100.0, 200.0, 50.0
UNJUDGED: Final = 0.0


Row = dict[str, Any]  # one page or figure, as `measured` has it


def measured(
    page: str, wanted_ms: float, times: Mapping[str, float], queries: int, other: str = "", other_ms: float = 0.0
) -> Row:
    """One page or figure, beside the same with the cache emptied or asked in the plain way."""
    return {"what": page, "wanted_ms": wanted_ms, **times, "queries": queries, "other": other, "other_ms": other_ms}


def timed(call: Callable[[], object], rounds: int = 0, before: Callable[[], object] = lambda: None) -> dict[str, float]:
    """Median and slowest of all rounds (ROUNDS where it is 0) but a first one, which imports and compiles, in ms.

    `cpu_ms` is of this process alone, without PostgreSQL: what a busy machine does not change.
    """
    clock, cpu = [], []
    for _ in range((rounds or ROUNDS) + 1):
        before()
        began, busy = time.perf_counter(), time.process_time()
        call()
        clock.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - busy) * 1000)
    return {
        "median_ms": statistics.median(clock[1:]), "most_ms": max(clock[1:]), "cpu_ms": statistics.median(cpu[1:]),
    }  # fmt: skip


def forget_everything() -> None:
    """As if no page had ever asked for a curve: those are stored in the database, the rest in the cache."""
    StoredCurve.objects.all().delete()
    cache.clear()


class Pages:
    """A browser that is signed in to the team with the generated results."""

    def __init__(self) -> None:
        self.team = Team.objects.get(slug=TEAMS[0][0])
        self.client = Client()
        self.client.force_login(User.objects.get(username=TEAMS[0][0]))
        self.grid = Matrix.objects.filter(team=self.team, name__startswith="Forty sweeps").earliest("created_at")

    def get(self, url: str) -> None:
        response = self.client.get(url)
        assert response.status_code == 200, f"{url} answers {response.status_code}"

    def cold_and_cached(self, page: str, url: str, cold_ms: float, cached_ms: float) -> Iterator[Row]:
        cold = timed(lambda: self.get(url), before=cache.clear)
        cache.clear()
        cold_queries = self.queries(url)
        cached = timed(lambda: self.get(url))
        queries = self.queries(url)
        yield measured(f"{page}, cold", cold_ms, cold, cold_queries)
        new = timed(lambda: self.get(url), SLOW_ROUNDS, before=forget_everything)
        forget_everything()
        yield measured(f"{page}, never computed", UNJUDGED, new, self.queries(url))
        yield measured(f"{page}, again", cached_ms, cached, queries, "cache emptied", cold["median_ms"])

    def page(self, title: str, url: str, wanted_ms: float = LIST_MS) -> Row:
        times = timed(lambda: self.get(url))
        return measured(title, wanted_ms, times, self.queries(url))

    def queries(self, url: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            self.get(url)
        return len(captured)

    def everything(self) -> Iterator[Row]:
        selection = Selection(matrix=str(self.grid.pk)).query()
        yield from self.cold_and_cached("compare 200 runs", reverse("compare") + selection, COMPARE_MS, CACHED_MS)
        for name in ("ceilings", "latency"):
            url = reverse(f"figure-{name}") + selection
            yield from self.cold_and_cached(f"figure {name} of 200 runs", url, COMPARE_MS, COMPARE_MS)
        yield self.facets()
        yield from self.lists()
        yield from self.history()
        yield self.figures()

    def facets(self) -> Row:
        """All sweeps of the team, beside the same through the rows that the columns are copies of, each with each."""
        times = timed(lambda: facets(self.team, None))
        crossed = Sweep.objects.filter(team=self.team).order_by().values_list(*JOINED).distinct()
        plain = timed(lambda: list(crossed.all()), SLOW_ROUNDS)["median_ms"]
        with CaptureQueriesContext(connection) as captured:
            facets(self.team, None)
        return measured("facets", LIST_MS, times, len(captured), "joined and crossed", plain)

    def lists(self) -> Iterator[Row]:
        runs, sweeps = reverse("runs"), reverse("sweeps")
        rows = RunFilter({}).apply(self.team)
        counted = timed(lambda: Paginator(rows, 50).count, SLOW_ROUNDS)["median_ms"]
        first = self.page("runs", runs)
        yield {**first, "other": "counting all", "other_ms": first["median_ms"] + counted}
        for title, query in (
            ("page 40", "?page=40"),
            ("a system's warnings", "?system=redis&verdict=warn"),
            ("by throughput", "?sort=fastest"),
            ("searched", "?q=mongodb"),
            ("searched in vain", "?q=nosuchthing"),
        ):
            yield self.page(f"runs, {title}", runs + query)
        yield self.page("sweeps", sweeps)
        yield self.page("sweeps, filtered", f"{sweeps}?system=redis&tag=nightly")
        yield self.page("sweeps, searched", f"{sweeps}?q=redis")
        yield self.page("home", reverse("home"))
        yield self.page("matrices", reverse("matrices"))
        yield self.page("compare all, again", f"{reverse('compare')}?v=1&matrix=all")

    def history(self) -> Iterator[Row]:
        key = Run.objects.filter(team=self.team, sweep__tags__contains=["nightly"]).values_list("config_key", flat=True)
        number = Run.objects.filter(team=self.team, config_key=key[0], status="succeeded").count()
        yield self.page(f"history of {number:,} points", reverse("history-series", args=[key[0]]), HISTORY_MS)
        yield self.page("its figure", reverse("figure-history", args=[key[0]]), HISTORY_MS)

    def figures(self) -> Row:
        """Both pictures of forty sweeps with twenty rungs, from curves to what is sent."""
        rungs = Sweep.objects.filter(team=self.team, ladder="threads", matrix__repeats=3).exclude(tags=["nightly"])
        drawn = [curve for curve in curves(rungs.order_by("pk")[:60]) if len(curve.points) >= 20][:40]
        choice = Choice(kind=detect_kind(drawn))

        def build() -> None:
            CeilingsFigure(drawn).answer(theme="light", narrow=False)
            LatencyFigure(drawn, choice).answer(theme="light", narrow=False)

        times = timed(build)
        title = f"building both pictures of {len(drawn)} curves of 20 rungs"
        return measured(title, 2 * FIGURE_MS, times, 0)


def filled(runs: int) -> None:
    """The database of this folder, with its rows."""
    call_command("migrate", verbosity=0)
    if not Run.objects.exists():
        say(f"Generating {runs:,} runs, once ...")
        generate(Wanted(runs=runs, with_series=max(1, runs // SERIES_SHARE)), lambda done: say(f"  {done:,} runs"))
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def say(text: str) -> None:
    print(text, flush=True)


def main(runs: int) -> None:
    from benchsite.core.paths import places

    logs = settings.VAR_DIR / "log"
    with EmbeddedServers(places(settings.VAR_DIR), logs=logs, careless=True):
        settings.ALLOWED_HOSTS = ["testserver"]
        settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        filled(runs)
        rows = list(Pages().everything())
        connection.close()
    print(json.dumps(rows))


if __name__ == "__main__":
    main(int(sys.argv[1]))
