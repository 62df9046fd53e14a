"""How near searches come to a server of known capacity whose runs vary, beside the cost of a fixed ladder. Seeded."""

import random
import statistics
from typing import Final

from benchmarks.speed.report import Report
from runs.measures.search import MAX_TRIALS, Trial, capacity_ops_s, search_target

CAPACITY_OPS_S: Final = 100_000.0
SEARCHES: Final = 1000
WITHIN: Final = 0.05
# A fixed ladder that is as fine: steps of 5 % from half of the capacity to 1.1 times.
FIXED_RUNGS: Final = 17
WANTED: Final = 0.95


def measure() -> list[Report]:
    """Of 1,000 searches at each variation between runs: those within 5 % of the capacity."""
    rows: list[list[str | int | float]] = []
    for cv in (0.0, 0.01, 0.02, 0.03, 0.05):
        noise = random.Random(1)
        results = [search_once(noise, cv) for _ in range(SEARCHES)]
        near = statistics.fmean(abs(error) <= WITHIN and trials <= MAX_TRIALS for error, trials in results)
        mean_error, mean_trials = (statistics.fmean(values) for values in zip(*results, strict=True))
        rows.append([f"{cv:.0%}", near, f"{mean_error:+.3f}", mean_trials, FIXED_RUNGS])
    least = min(float(row[1]) for row in rows)
    return [
        Report(
            name="search",
            title=f"Searches over offered load, at most {MAX_TRIALS} trials, against a simulated server",
            columns=("variation", "within 5 %", "mean error", "mean trials", "fixed ladder"),
            rows=rows,
            figure=least,
            unit="ratio",
            wanted=f"at least {WANTED}",
            met=least >= WANTED,
            statistic="lowest share within 5 %",
            notes="fixed ladder: runs of one repeat in steps of 5 % from half of the capacity to 1.1 times.",
        )
    ]


def search_once(noise: random.Random, cv: float) -> tuple[float, int]:
    """The relative error of one search, and its number of trials, the probe included."""

    def capacity() -> float:
        return CAPACITY_OPS_S * noise.gauss(1, cv)

    probe, trials = capacity(), list[Trial]()
    while (load := search_target(probe, trials).next_load) is not None:
        reached = min(load, capacity())
        trials.append(Trial(load, reached, reached >= 0.98 * load, reached < 0.98 * load))
    return capacity_ops_s(probe, trials) / CAPACITY_OPS_S - 1, 1 + len(trials)
