"""Which sweeps a generated site holds.

grids      40 sweeps of 5 rungs, one run each, in one matrix: what a comparison of 200 runs looks at
nightly    one configuration, 3 repeats of one rung for every commit: histories of 5,000 points
studies    a few databases in some modes under some workloads, 20 rungs, 3 repeats; some of target ladders
uploads    sweeps without a matrix
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from benchmarks.synthetic_data.equipment import Equipment
from runs.catalog import Mode
from runs.models import Database, Workload

FIRST_DAY: Final = datetime(2023, 1, 2, tzinfo=UTC)
DAYS: Final = 1_390
THREADS: Final = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 320, 384, 512)
TARGET_SHARES: Final = tuple(number / 20 for number in range(1, 21))  # of the highest throughput
GRID_RUNGS: Final = (4, 16, 64, 128, 256)
NIGHTLY_RUNG: Final = 64
GRIDS: Final = 4
GRID_SWEEPS: Final = 40
NIGHTLY_RUNS: Final = 5_001
MIN_STUDY: Final = 60  # runs
TAGS: Final = ("kernel 6.12", "new disks", "after the upgrade", "hugepages", "for the paper", "baseline", "numa")
PURPOSES: Final = ("measured", "measured", "measured", "measured", "soak", "tuning", "smoke", "demo")


@dataclass(frozen=True, slots=True)
class PlannedSweep:
    """One curve to be made."""

    database: Database
    mode: Mode
    workload: Workload
    rungs: tuple[int, ...]  # threads; empty for a target ladder
    repeats: int
    tags: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        return (len(self.rungs) or len(TARGET_SHARES)) * self.repeats


@dataclass(frozen=True, slots=True)
class PlannedMatrix:
    """Sweeps that were submitted, or brought along, together."""

    name: str
    equipment: Equipment
    at: datetime
    purpose: str
    sweeps: tuple[PlannedSweep, ...]
    uploaded: bool = False
    commit: str = ""

    @property
    def runs(self) -> int:
        return sum(sweep.runs for sweep in self.sweeps)


def plans(teams: list[Equipment], runs: int, rng: random.Random) -> Iterator[PlannedMatrix]:
    """As many matrices as `runs` need; the last may hold more than are still wanted."""
    planned = 0
    for matrix in _day_by_day(teams, runs, rng):
        yield matrix
        planned += matrix.runs
        if planned >= runs:
            return


def _day_by_day(teams: list[Equipment], runs: int, rng: random.Random) -> Iterator[PlannedMatrix]:
    nightly = min(NIGHTLY_RUNS, runs // 4) // 3
    fixed = nightly * 3 + GRIDS * GRID_SWEEPS * len(GRID_RUNGS)
    # A study and an upload have about five hundred runs on average; the last day lasts until there are enough.
    steps = max(nightly, (runs - fixed) // 500, 1)
    studied = 0
    wanted = max(runs - fixed, 0)
    nights = 0
    # The newest, so that they are what the compare page opens with; and first, so that none of them is cut short.
    last_day = FIRST_DAY + timedelta(days=DAYS)
    yield from (_grid(teams[0], last_day + timedelta(hours=number), number) for number in range(1, GRIDS + 1))
    for step in range(steps):
        at = FIRST_DAY + timedelta(days=DAYS * step / steps, seconds=step)
        while nights < nightly * (step + 1) / steps and nights < nightly:
            yield _nightly(teams[0], at, nights, rng)
            nights += 1
        while studied < wanted * (step + 1) / steps and studied < wanted:
            study = _upload(teams[0], at, rng) if rng.random() < 0.1 else _study(_choose_team(teams, rng), at, rng)
            studied += study.runs
            yield study


def _choose_team(teams: list[Equipment], rng: random.Random) -> Equipment:
    return teams[0] if rng.random() < 0.9 else teams[1]


def _grid(owner: Equipment, at: datetime, number: int) -> PlannedMatrix:
    cells = [
        (database, mode)
        for database in owner.databases
        if database.name.endswith(" on lab 3")
        for mode in owner.systems[database.system].modes.values()
    ]
    sweeps = [
        PlannedSweep(database, mode, owner.workloads[number % 2], GRID_RUNGS, 1)
        for database, mode in cells[number % 2 :: len(cells) // GRID_SWEEPS][:GRID_SWEEPS]
    ]
    return PlannedMatrix(f"Forty sweeps, {number}", owner, at, "measured", tuple(sweeps))


def _nightly(owner: Equipment, at: datetime, night: int, rng: random.Random) -> PlannedMatrix:
    database = next(database for database in owner.databases if database.name.endswith(" on lab 1"))
    mode = next(iter(owner.systems[database.system].modes.values()))
    commit = f"{rng.getrandbits(160):040x}"
    sweep = PlannedSweep(database, mode, owner.workloads[0], (NIGHTLY_RUNG,), 3, ("nightly",))
    return PlannedMatrix(f"Nightly {night + 1}", owner, at, "measured", (sweep,), commit=commit)


def _study(owner: Equipment, at: datetime, rng: random.Random) -> PlannedMatrix:
    cluster = rng.choice(sorted({str(database.cluster_id) for database in owner.databases}))
    here = [database for database in owner.databases if str(database.cluster_id) == cluster]
    targets = rng.random() < 0.2
    tags = tuple(rng.sample(TAGS, rng.choice((0, 0, 0, 1, 2))))
    workloads = rng.sample(owner.workloads, rng.choice((1, 1, 2)))
    sweeps = []
    for database in rng.sample(here, rng.choice((1, 2, 3))):
        modes = list(owner.systems[database.system].modes.values())
        for mode in rng.sample(modes, min(len(modes), rng.choice((1, 2, 3)))):
            sweeps += [
                PlannedSweep(database, mode, workload, () if targets else THREADS, 3, tags) for workload in workloads
            ]
    name = f"Study of {at:%Y-%m-%d}, {len(sweeps)} sweeps on {here[0].name.rpartition(' on ')[2]}"
    return PlannedMatrix(name, owner, at, rng.choice(PURPOSES), tuple(sweeps))


def _upload(owner: Equipment, at: datetime, rng: random.Random) -> PlannedMatrix:
    database = rng.choice(owner.databases)
    mode = rng.choice(list(owner.systems[database.system].modes.values()))
    sweep = PlannedSweep(database, mode, rng.choice(owner.workloads), THREADS[:8], 1, ("imported",))
    return PlannedMatrix(f"Import of {at:%Y-%m-%d}", owner, at, "measured", (sweep,), uploaded=True)
