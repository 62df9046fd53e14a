"""How fast results are read, each time beside another way to do it: logs of twelve hours, text, raw points, a cut."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from django.conf import settings

from benchmarks.speed import outputs
from benchmarks.speed.report import BenchmarkFailed, Report

HOURS: Final = 12.0
SAMPLE: Final = 3_200  # intervals that the slow loop decodes
TEXT_MB: Final = 96
ROUNDS: Final = 3
INGEST_S, INGEST_MB, INGEST_RATIO = 60.0, 600.0, 20.0
RECUT_S: Final = 1.0
TEXT_MB_S: Final = 50.0
POINTS_MB_S: Final = 150.0
_WITHOUT_HDRHISTOGRAM: Final = (
    "Python's hdrhistogram is not installed, so there is nothing to compare with: install .ci/requirements-dev.txt."
)


@dataclass(frozen=True, slots=True)
class Done:
    """What a task took."""

    seconds: float
    done: int
    peak_mb: float

    @property
    def each_us(self) -> float:
        return self.seconds / self.done * 1e6

    @property
    def mb_s(self) -> float:
        return self.done / 2**20 / self.seconds


def measure_logs(hours: float = HOURS, sample: int = SAMPLE) -> list[Report]:
    """Reading the logs of a long run beside Python's hdrhistogram, and cutting that run again."""
    with _folder() as folder:
        seconds = round(hours * 3600)
        intervals = outputs.write_logs(folder, seconds)
        outputs.write_status(folder, seconds)
        slow = [_loop(folder, sample)]
        inflating = _task("inflate", folder)
        mine = _task("ingest", folder)
        slow.append(_loop(folder, sample))
        cuts = [_task("recut", folder) for _ in range(ROUNDS)]
    return [_ingest_report(hours, intervals, mine, inflating, slow), _recut_report(hours, cuts)]


def measure_text(megabytes: int = TEXT_MB) -> list[Report]:
    """Status lines and summaries beside a reader of regular expressions."""
    with _folder() as folder:
        path = folder / "client.txt"
        outputs.write_text(path, megabytes)
        return [_throughput("text-reader", "Text and status lines, MB/s", path, ("text", "regexes"), TEXT_MB_S)]


def measure_points(megabytes: int = TEXT_MB) -> list[Report]:
    """Raw points into exact histograms, beside the csv module."""
    with _folder() as folder:
        path = folder / "raw.txt"
        outputs.write_points(path, megabytes)
        title = "Raw points into histograms of a second each, MB/s"
        return [_throughput("raw-points", title, path, ("points", "csv_module"), POINTS_MB_S)]


def _ingest_report(hours: float, intervals: int, mine: Done, inflating: Done, slow: list[Done | None]) -> Report:
    known = [done.each_us for done in slow if done is not None]
    loop_us = median(known) if known else 0.0
    ratio = loop_us / mine.each_us
    rows: list[list[str | int | float]] = [
        ["Benchsite: numbers, series, intervals, status lines", mine.done, mine.seconds, mine.each_us, mine.peak_mb],
        ["base64 and zlib alone", inflating.done, inflating.seconds, inflating.each_us, inflating.peak_mb],
    ]
    rows += [
        [f"loop over hdrhistogram, {done.done:,} of them", intervals, done.each_us * intervals / 1e6, done.each_us,
         done.peak_mb]
        for done in slow if done is not None
    ]  # fmt: skip
    met = mine.done == intervals and mine.seconds < INGEST_S and mine.peak_mb < INGEST_MB
    return Report(
        name="hdr-ingest",
        title=f"Logs of {hours:g} hours from {outputs.CLIENTS} clients, from files to what is stored, on one core",
        columns=("what", "intervals", "seconds", "µs each", "peak MB"),
        rows=rows,
        figure=ratio if known else mine.seconds,
        unit="ratio" if known else "s",
        wanted=f"at least {INGEST_RATIO:g} times as fast as the loop, under {INGEST_S:g} s and {INGEST_MB:g} MB",
        met=met and (ratio >= INGEST_RATIO or not known),
        notes="" if known else _WITHOUT_HDRHISTOGRAM,
    )


def _recut_report(hours: float, cuts: list[Done]) -> Report:
    figure = median(cut.seconds for cut in cuts)
    return Report(
        name="recut",
        title=f"The same run of {hours:g} hours cut again from its stored intervals",
        columns=("round", "seconds", "peak MB"),
        rows=[[number, cut.seconds, cut.peak_mb] for number, cut in enumerate(cuts, start=1)],
        figure=figure,
        unit="s",
        wanted=f"under {RECUT_S:g} s",
        met=figure < RECUT_S,
    )


def _throughput(name: str, title: str, path: Path, tasks: tuple[str, str], wanted_mb_s: float) -> Report:
    """Both in turn, so that neither gains by a machine that gets warmer or busier."""
    pairs = [tuple(_task(task, path) for task in tasks) for _ in range(ROUNDS)]
    figure = median(mine.mb_s for mine, _ in pairs)
    return Report(
        name=name,
        title=f"{title} ({path.stat().st_size / 2**20:.0f} MB)",
        columns=("round", "Benchsite MB/s", f"{tasks[1].replace('_', ' ')} MB/s", "ratio", "peak MB"),
        rows=[
            [number, mine.mb_s, other.mb_s, mine.mb_s / other.mb_s, mine.peak_mb]
            for number, (mine, other) in enumerate(pairs, start=1)
        ],
        figure=figure,
        unit="MB/s",
        wanted=f"at least {wanted_mb_s:g} MB/s",
        met=figure >= wanted_mb_s,
    )


def _loop(folder: Path, sample: int) -> Done | None:
    """None where the library is not installed."""
    return _task("hdrhistogram", folder, str(sample)) if importlib.util.find_spec("hdrh") else None


def _task(name: str, path: Path, *more: str) -> Done:
    argv = [sys.executable, "-m", "benchmarks.speed.tasks", name, str(path), *more]
    # Numpy's linear algebra would take every core.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(argv, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "".join(done.stderr.strip().splitlines()[-1:])
        raise BenchmarkFailed(f"Reading for the benchmark {name} ended with exit code {done.returncode}: {last}")
    return Done(**json.loads(done.stdout))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="benchsite-bench-") as name:
        yield Path(name)
