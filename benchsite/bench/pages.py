"""How fast pages are on a site that has been used for years: a million generated runs, each page many times over."""

import json
import os
import subprocess
import sys
from typing import Any, Final

from django.conf import settings

from benchsite.bench.live import BenchmarkFailed
from benchsite.bench.report import Report
from benchsite.env import env_int

RUNS: Final = 1_000_000
FOLDER: Final = settings.BASE_DIR / "var" / "bench"


def measure(runs: int | None = None) -> list[Report]:
    """Pages and figures of a database that is generated once and kept in var/bench.

    BENCHSITE_BENCH_RUNS asks for fewer runs than a million: 20,000 are made in seconds instead of a quarter of an hour.
    """
    wanted = runs or env_int("BENCHSITE_BENCH_RUNS", RUNS, least=2_000, most=100_000_000)
    found = _measured(wanted)
    return [_report(wanted, found)]


def _measured(runs: int) -> list[dict[str, Any]]:
    """What `benchsite.bench.page_times` prints last, run on servers of its own."""
    given_away = {"DATABASE_URL", "REDIS_URL", "BENCHSITE_ARTIFACTS", "BENCHSITE_DEBUG"}
    environment = {name: value for name, value in os.environ.items() if name not in given_away}
    environment |= {"BENCHSITE_VAR": str(FOLDER / f"results-{runs}")}
    argv = [sys.executable, "-m", "benchsite.bench.page_times", str(runs)]
    with subprocess.Popen(argv, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = ""
        for last in process.stdout:
            if not last.startswith("["):
                print(last, end="", flush=True)
    if process.returncode:
        raise BenchmarkFailed(f"The benchmark of pages ended with exit code {process.returncode}: {last.strip()}")
    found: list[dict[str, Any]] = json.loads(last)
    return found


def _report(runs: int, found: list[dict[str, Any]]) -> Report:
    rows: list[list[str | int | float]] = []
    for one in found:
        ratio = one["other_ms"] / one["median_ms"] if one["other_ms"] else 0.0
        rows.append(
            [
                one["what"],
                one["wanted_ms"] or "-",
                one["median_ms"],
                one["most_ms"],
                one["cpu_ms"],
                one["queries"],
                one["other"] or "-",
                one["other_ms"] or "-",
                ratio or "-",
            ]
        )
    judged = [one for one in found if one["wanted_ms"]]
    figure = max(one["median_ms"] / one["wanted_ms"] for one in judged)
    late = [one["what"] for one in judged if one["median_ms"] > one["wanted_ms"]]
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
        raw={"measured": found},
    )
