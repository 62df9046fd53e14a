"""How fast pages are on a site that has been used for years: a million generated runs, each page many times over."""

from typing import Any, Final

from django.conf import settings

from benchmarks.speed.report import Report
from benchmarks.speed.separate import measure_separately
from benchsite.core.env import env_int

RUNS: Final = 1_000_000
FOLDER: Final = settings.BASE_DIR / "var" / "bench"


def measure(runs: int | None = None) -> list[Report]:
    """Pages and figures of a database that is generated once and kept in var/bench.

    BENCHSITE_BENCH_RUNS asks for fewer runs than a million: 20,000 are made in seconds instead of a quarter of an hour.
    """
    wanted = runs or env_int("BENCHSITE_BENCH_RUNS", RUNS, least=2_000, most=100_000_000)
    times = measure_separately("benchmarks.speed.page_times", FOLDER / f"results-{wanted}", str(wanted))
    return [_report(wanted, times)]


def _report(runs: int, pages: list[dict[str, Any]]) -> Report:
    names = ("what", "wanted_ms", "median_ms", "most_ms", "cpu_ms", "queries", "other", "other_ms")
    rows = [[*(page[name] or "-" for name in names), page["other_ms"] / page["median_ms"] or "-"] for page in pages]
    judged = [page for page in pages if page["wanted_ms"]]
    figure = max(page["median_ms"] / page["wanted_ms"] for page in judged)
    late = [page["what"] for page in judged if page["median_ms"] > page["wanted_ms"]]
    return Report(
        name="pages",
        title=f"Pages and figures with {runs:,} runs, in milliseconds within one process, beside another way",
        columns=(
            "what",
            "wanted ms",
            "median ms",
            "slowest ms",
            "CPU ms",
            "queries",
            "the other way",
            "its ms",
            "ratio",
        ),
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted="every median within its time (1 or less of it)",
        met=not late,
        notes=f"Not met: {', '.join(late)}." if late else "",
        raw={"measured": pages},
    )
