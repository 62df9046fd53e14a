"""How fast outputs are read beside another commit of this repository: the same files in turn, by CPU time."""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

from benchmarks.speed import outputs
from benchmarks.speed.report import BenchmarkFailed, Report

CORPUS: Final = settings.BASE_DIR.parent / "shared" / "data" / "corpus"
READER: Final = Path(__file__).with_name("corpus_reader.py")
ROUNDS: Final = 9
SYNTHETIC_MB: Final = 16
MIN_RATIO: Final = 0.98
# glibc keeps freed memory: whether a round gets it back from the kernel, page by page, depends on what came before.
ALLOCATOR: Final = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}


def measure(commit: str, rounds: int = ROUNDS, megabytes: int = SYNTHETIC_MB) -> Iterator[Report]:
    """A report for each set of files. Raises BenchmarkFailed where there is no such commit."""
    with _tree_at(commit) as tree, tempfile.TemporaryDirectory(prefix="benchsite-bench-") as folder:
        synthetic = Path(folder)
        outputs.write_text(synthetic / "client.txt", megabytes)
        outputs.write_points(synthetic / "raw.txt", megabytes)
        sets = [
            ("published outputs", CORPUS),
            ("status lines", synthetic / "client.txt"),
            ("raw points", synthetic / "raw.txt"),
        ]
        for title, path in sets:
            if path.exists():
                yield _report(title, path, tree, commit, rounds)


def _report(title: str, path: Path, tree: Path, commit: str, rounds: int) -> Report:
    """In every second round the other side is first, so that neither gains by what comes and goes."""
    pairs = []
    for number in range(rounds):
        sides = [settings.BASE_DIR, tree] if number % 2 else [tree, settings.BASE_DIR]
        seconds = {side: _read(side, path) for side in sides}
        pairs.append((seconds[settings.BASE_DIR], seconds[tree]))
    # What disturbs a round only adds to it: the least of each side is compared.
    figure, whole = (
        min(there[part] for _, there in pairs) / min(here[part] for here, _ in pairs)
        for part in ("read_s", "read_and_merge_s")
    )
    return Report(
        name=f"outputs-{title.replace(' ', '-')}",
        title=f"Reading {title}, CPU seconds, beside {commit}",
        columns=("round", "here", commit, "ratio", "with merging, here", f"with merging, {commit}"),
        rows=[
            [number, here["read_s"], there["read_s"], there["read_s"] / here["read_s"], here["read_and_merge_s"],
             there["read_and_merge_s"]]
            for number, (here, there) in enumerate(pairs, start=1)
        ],
        figure=figure,
        unit="ratio",
        statistic="ratio of the least",
        wanted=f"at least {MIN_RATIO:g} times the speed of {commit}",
        met=figure >= MIN_RATIO,
        notes=f"With grouping and merging the ratio is {whole:.3f}.",
    )  # fmt: skip


def _read(tree: Path, path: Path) -> dict[str, float]:
    """CPU seconds of the code in `tree`."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1", **ALLOCATOR}
    done = subprocess.run(
        [sys.executable, str(READER), str(path)], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = "".join(done.stderr.strip().splitlines()[-1:])
        raise BenchmarkFailed(f"Reading {path} by the code in {tree} ended with exit code {done.returncode}: {last}")
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


@contextmanager
def _tree_at(commit: str) -> Iterator[Path]:
    """The files of a commit."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=settings.BASE_DIR, capture_output=True, check=False
    )
    if archive.returncode:
        raise BenchmarkFailed(f"git archive {commit}: {archive.stderr.decode(errors='replace').strip()}")
    with tempfile.TemporaryDirectory(prefix="benchsite-commit-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none.
            files.extractall(folder)
        yield Path(folder)
