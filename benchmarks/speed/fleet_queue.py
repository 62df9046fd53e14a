"""What a long queue costs: decisions, pages and cancelling at 1,000, 10,000 and 100,000 queued runs on 100 clusters."""

from typing import Final

from django.conf import settings

from benchmarks.speed.report import Report
from benchmarks.speed.separate import measure_separately

SIZES: Final = (1_000, 10_000, 100_000)
FOLDER: Final = settings.BASE_DIR / "var" / "bench" / "fleet"


def measure() -> list[Report]:
    """What `benchmarks.speed.queue_times` prints last, run on servers of its own. Times are medians in seconds."""
    rows: list[list[str | int | float]] = measure_separately("benchmarks.speed.queue_times", FOLDER, *map(str, SIZES))
    shares = [float(row[3] if row[5] == "CPU" else row[2]) / float(row[4]) for row in rows]
    return [
        Report(
            name="fleet",
            title="A long queue on 100 clusters with 300 load generators, in seconds",
            columns=("queued runs", "what", "clock", "CPU", "target", "of"),
            rows=rows,
            figure=max(shares),
            unit="ratio",
            wanted="every time within its target (1 or less of it)",
            met=max(shares) <= 1,
            statistic="highest share",
            notes="CPU is that of the process and of its PostgreSQL backend together.",
        )
    ]
