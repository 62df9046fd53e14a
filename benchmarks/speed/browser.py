"""How long Chromium takes for Compare on a slow machine: processor slowed four times, nothing cached."""

import statistics
from pathlib import Path
from typing import Final

from django.conf import settings

from benchmarks.speed.report import Report
from benchmarks.speed.separate import measure_separately

RUNS: Final = 20_000
# Page of `browser_times` -> its longest time until the first figure, in ms.
FIRST_FIGURE_MS: Final = {"2 sides": 1500, "40 sides of 5 points": 2500, "40 sides of 20 points": 3500}
LONG_TASKS_MS, NODES, MENU_MS = 1000, 15_000, 300


def measure() -> list[Report]:
    """One report of pages until their figures, one of a menu."""
    folder = Path(settings.BASE_DIR) / "var" / "bench" / f"results-{RUNS}"
    pages = measure_separately("benchmarks.speed.browser_times", folder, str(RUNS))
    columns = (
        "page", "first figure ms", "wanted", "all figures ms", "long tasks ms", "elements", "menu ms",
        "interactive after ms", "long tasks of that ms", "menu of plots ms",
    )  # fmt: skip
    rows: list[list[str | int | float]] = []
    ratios = []
    for page, rounds in pages.items():
        medians = {name: statistics.median(values[name] for values in rounds) for name in rounds[0]}
        rows.append([page, medians["first"], FIRST_FIGURE_MS[page], medians["last"], medians["long"], medians["nodes"],
                     medians["menu"], medians["interactive"], medians["more"], medians["redrawn"]])  # fmt: skip
        ratios += [
            medians["first"] / FIRST_FIGURE_MS[page],
            medians["long"] / LONG_TASKS_MS,
            medians["nodes"] / NODES,
            medians["menu"] / MENU_MS,
        ]
    return [
        Report(
            name="browser",
            title=f"Compare in Chromium, processor slowed four times, nothing cached, medians of {len(rounds)}",
            columns=columns,
            rows=rows,
            figure=max(ratios),
            unit="ratio",
            wanted=f"first figures in time, long tasks {LONG_TASKS_MS} ms, elements {NODES:,}, menu {MENU_MS} ms",
            met=max(ratios) <= 1,
            statistic="the highest share of a limit",
            raw=pages,
        )
    ]
