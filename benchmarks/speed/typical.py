"""Typical results of one client, each with bytes of its own: a text and two logs, 60 KB together."""

import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.speed import outputs

SECONDS: Final = 42
DIFFERENT: Final = 40  # histograms of one operation
# Operations a second, and their latencies: the median in µs and the spread of its logarithm.
OPERATIONS: Final = {"READ": (900, 350.0, 0.5), "UPDATE": (900, 500.0, 0.55)}
STARTED_S: Final = 1_700_000_000
MANIFEST: Final = {
    "database": "Redis",
    "system": "redis",
    "mode": "always",
    "version": "7.2.4",
    "workload": {"name": "YCSB A", "properties": {"readproportion": "0.5", "updateproportion": "0.5"}},
    "threads": 8,
    "labels": ["bench"],
}


@dataclass(frozen=True, slots=True)
class Typical:
    """The files of one upload."""

    files: tuple[tuple[str, bytes], ...]

    @property
    def size(self) -> int:
        return sum(len(content) for _, content in self.files)


def typical(number: int) -> Typical:
    """The upload of that number: the same bytes each time, and other bytes than those of every other number."""
    dice = np.random.default_rng(number)
    lines = [
        f"Command line: -db site.ycsb.db.RedisClient -P workloads/workloada -threads 8 -p n={number} -t\n",
        "YCSB Client 0.17.0\n\nLoading workload...\nStarting test.\n",
        *outputs.status_lines(SECONDS),
        *outputs.summary_lines(SECONDS),
    ]
    files = [("client-1.txt", "".join(lines).encode())]
    for operation, encoded in _histograms().items():
        chosen = dice.integers(0, DIFFERENT, SECONDS)
        log = io.BytesIO()
        log.write(
            f"#[Logging for: {operation}]\n#[Histogram log format version 1.3]\n"
            f"#[StartTime: {STARTED_S + number}.127 (seconds since epoch), some day]\n"
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'.encode()
        )
        for second, histogram in enumerate([encoded[n] for n in chosen.tolist()]):
            log.write(b"%d.003,1.000,0.009,%s\n" % (second, histogram))
        files.append((f"client-1-{operation}.hdr", log.getvalue()))
    return Typical(tuple(files))


@lru_cache(maxsize=1)
def _histograms() -> dict[str, list[bytes]]:
    dice = np.random.default_rng(7)
    return {
        operation: [outputs.encoded(outputs.latencies(dice, *shape)) for _ in range(DIFFERENT)]
        for operation, shape in OPERATIONS.items()
    }


def write(folder: Path, number: int) -> list[Path]:
    """The same as files."""
    paths = []
    for name, content in typical(number).files:
        paths.append(folder / name)
        paths[-1].write_bytes(content)
    return paths
