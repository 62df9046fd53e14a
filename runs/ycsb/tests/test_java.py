"""Sums of logs agree to the last count with Java's HdrHistogram adding the same logs."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from runs.ycsb.histogram import Histogram, lowest_value
from runs.ycsb.operation import parse_name
from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.tests.hdrlogs import read_log, read_logs
from runs.ycsb.tests.samples import DATA, get_operation, merge_files

pytestmark = pytest.mark.slow

ADDER = Path(__file__).parent / "java" / "Adder.java"
# Several clients, several intervals each, both encodings, service and response times, failed operations, a killed
# client, and tags.
RUNS = ("v1_target", "v2_target", "two_clients", "load", "stock_v1", "errors_by_status", "killed_v1")


@dataclass
class Sum:
    """What Java says of one sum of logs."""

    count: int = 0
    mean: float = 0.0
    least: int = 0
    most: int = 0
    percentiles: dict[float, int] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """READ and UPDATE of the clients of a run in one log, told apart by tags."""
    path = tmp_path_factory.mktemp("tagged") / "all.hdr"
    lines = [line for line in (DATA / "v2_target/0/READ.hdr").read_text().splitlines() if line.startswith("#[S")]
    for operation in ("READ", "UPDATE"):
        log = (DATA / f"v2_target/0/{operation}.hdr").read_text().splitlines()
        lines += [f"Tag={operation},{line}" for line in log if line[:1].isdigit()]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def java(tagged: Path) -> Mapping[str, Sum]:
    """The sums by run and measurement ("load/INSERT"), of both encodings ("mixed"), and by tag ("tags/READ")."""
    jars = list((Path(os.environ["BENCHSITE_YCSB"])).glob("*/lib/HdrHistogram-*.jar"))
    if not jars or shutil.which("java") is None:
        pytest.skip("needs Java and the HdrHistogram of `make bindings`")
    groups = {f"{run}/{name}": paths for run in RUNS for name, paths in collect_logs(run).items()}
    groups["mixed"] = [DATA / "v1_target/0/READ.hdr", DATA / "v2_target/1/READ.hdr"]
    groups["tags"] = [tagged]
    arguments = [f"{name}={','.join(map(str, paths))}" for name, paths in groups.items()]
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", str(jars[0]), str(ADDER), *arguments]
    return sums(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def collect_logs(run: str) -> dict[str, list[Path]]:
    """For every measurement the logs of all clients."""
    found: dict[str, list[Path]] = {}
    for path in sorted((DATA / run).glob("*/*.hdr")):
        found.setdefault(path.stem, []).append(path)
    return found


def sums(text: str) -> dict[str, Sum]:
    found: dict[str, Sum] = {}
    for line in text.splitlines():
        what, name, tag, *numbers = line.split(" ")
        entry = found.setdefault(name if tag == "-" else f"{name}/{tag}", Sum())
        if what == "sum":
            entry.count, entry.mean = int(numbers[0]), float(numbers[1])
            entry.least, entry.most = int(numbers[2]), int(numbers[3])
        elif what == "percentile":
            entry.percentiles[float(numbers[0])] = int(numbers[1])
        else:
            entry.values[int(numbers[0])] = int(numbers[1])
    return found


def assert_same(histogram: Histogram, expected: Sum) -> None:
    indices, counts = histogram.sparse()
    values = [lowest_value(int(index)) for index in indices]
    assert dict(zip(values, counts.tolist(), strict=True)) == expected.values
    assert (histogram.count, histogram.min, histogram.max) == (expected.count, expected.least, expected.most)
    assert histogram.mean == pytest.approx(expected.mean, rel=1e-12)
    ranks = list(expected.percentiles)
    assert dict(zip(ranks, histogram.percentiles(ranks), strict=True)) == expected.percentiles


def read(path: Path) -> Histogram:
    return read_log(path.read_text().splitlines()).histogram()


def as_file(path: Path) -> ReadFile:
    log = read_log(path.read_text().splitlines())
    name = path.relative_to(DATA).as_posix()
    return ReadFile(name, format="hdr-log", runs=(ReadRun(format="hdr-log", logs=(log,)),))


@pytest.mark.parametrize("run", RUNS)
def test_every_log_adds_up_as_in_java(java, run):
    for name, paths in collect_logs(run).items():
        expected = java[f"{run}/{name}"]
        assert expected.count > 0
        assert_same(Histogram.merged(map(read, paths)), expected)


@pytest.mark.parametrize("run", RUNS)
def test_the_merge_of_a_run_is_that_of_java(java, run):
    """By way of grouping files into clients and merging them: what a report shows."""
    paths = [path for files in collect_logs(run).values() for path in files]
    (merged,) = merge_files([as_file(path) for path in paths])
    names = {parse_name(name): name for name in collect_logs(run)}
    assert merged.clients_merged == len({path.parent for path in paths})
    for name, log in names.items():
        if not name.is_operation:
            continue
        operation = get_operation(merged, name.operation, name.kind)
        assert_same(operation.failed_histogram if name.status else operation.histogram, java[f"{run}/{log}"])


def test_logs_of_both_encodings_add_up(java):
    mixed = Histogram.merged([read(DATA / "v1_target/0/READ.hdr"), read(DATA / "v2_target/1/READ.hdr")])
    assert_same(mixed, java["mixed"])


def test_tags_are_kept_apart_as_in_java(java, tagged: Path):
    logs = {log.operation: log for log in read_logs([tagged.read_bytes()])}
    assert sorted(logs) == ["READ", "UPDATE"]
    for name, log in logs.items():
        assert_same(log.histogram(), java[f"tags/{name}"])


def test_there_are_several_intervals_to_add():
    """Else the sums would say nothing about adding."""
    logs: Sequence[Path] = [path for run in RUNS for paths in collect_logs(run).values() for path in paths]
    intervals = [len(read_log(path.read_text().splitlines())) for path in logs]
    assert len(logs) > 40
    assert int(np.sum(intervals)) > 200
