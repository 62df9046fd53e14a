"""Every output that others published gives exactly the values that the corpus's index states, and nothing else."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile, ReadRun

CORPUS = Path(__file__).parents[5] / "shared" / "data" / "corpus"
MISSING = "the corpus of published outputs is not on this machine"

OPERATION = re.compile(
    r"(?P<name>\S+) n=(?P<n>\S+) avg=(?P<avg>\S+) p95=(?P<p95>\S+) p99=(?P<p99>\S+) rc\{(?P<rc>.*)\}"
)
GO_OPERATION = re.compile(
    r"(?P<name>\S+) count=(?P<n>\d+) ops/s=(?P<rate>\S+) avg=(?P<avg>\S+) p95=(?P<p95>\S+) p99=(?P<p99>[\d.]+)"
)


@dataclass
class Expected:
    """What the index says of one file; `runs` has its lines after `expected`."""

    name: str
    runs: list[str] = field(default_factory=list)
    status: tuple[int, int, int] | None = None  # lines, and seconds and operations of the last one


def read_index() -> list[Expected]:
    """The entries of the index; empty where the corpus is absent."""
    found: list[Expected] = []
    if not CORPUS.is_dir():
        return found
    for line in (CORPUS / "INDEX.md").read_text().splitlines():
        if line.startswith("## "):
            found.append(Expected(line[3:].strip()))
        elif match := re.match(r"- expected(?: run \d+)?: (.*)", line):
            found[-1].runs.append(match[1])
        elif match := re.match(r"- status lines: (\d+), last: sec=(-?\d+) ops=(\d+)", line):
            found[-1].status = int(match[1]), int(match[2]), int(match[3])
    return found


INDEX = read_index()
# Where the index takes two fragments for one run: the first has no return codes.
FRAGMENTS = {
    "028_pandeyg-raj_ycsb_raw_fragment_with_pagefaults.txt": [
        "RunTime(ms)=-; Throughput=- — READ n=- avg=3821.5443008 p95=5282 p99=6040 rc{}",
        "RunTime(ms)=-; Throughput=- — READ n=- avg=3949.8011018 p95=5370 p99=6041 rc{OK:5000000}",
    ]
}
for published in INDEX:
    published.runs = FRAGMENTS.get(published.name, published.runs)


def read(name: str) -> ReadFile:
    with (CORPUS / name).open("rb") as stream:
        (file,) = read_file(name, stream)
    return file


def number(text: str) -> float | None:
    """A number of the index; a hyphen stands for nothing, and what is no number is none either."""
    return None if text in ("-", "NaN") else float(text)


def same_numbers(operation: ReadOperation, expected: re.Match[str]) -> None:
    assert operation.count == number(expected["n"])
    assert operation.mean_us == number(expected["avg"])
    assert operation.percentiles_us.get("95") == number(expected["p95"])
    assert operation.percentiles_us.get("99") == number(expected["p99"])


def same_run(run: ReadRun, expected: str) -> None:
    totals, _, rest = expected.partition(" —")
    runtime, throughput = re.findall(r"(?:RunTime\(ms\)|Throughput)=([^;\s]+)", totals)
    assert (run.runtime_ms, run.throughput_ops_s) == (number(runtime), number(throughput))
    found = [match for part in rest.split("}; ") if (match := OPERATION.search(part.rstrip("}") + "}"))]
    assert set(run.operations) == {match["name"] for match in found}
    for match in found:
        same_numbers(run.operations[match["name"]], match)
        returns = dict(pair.rsplit(":", 1) for pair in match["rc"].split(", ") if pair)
        assert run.operations[match["name"]].returns == {code: int(count) for code, count in returns.items()}


def same_go_run(run: ReadRun, expected: str) -> None:
    items = list(GO_OPERATION.finditer(expected))
    assert set(run.operations) == {match["name"] for match in items}
    for match in items:
        same_numbers(run.operations[match["name"]], match)
        assert run.operations[match["name"]].rate_ops_s == float(match["rate"])


@pytest.mark.skipif(not INDEX, reason=MISSING)
def test_it_finds_the_whole_corpus():
    assert {entry.name for entry in INDEX} == {path.name for path in CORPUS.glob("*.txt")}
    assert all(entry.runs for entry in INDEX)


@pytest.mark.parametrize(
    "entry",
    INDEX or [pytest.param(None, marks=pytest.mark.skip(MISSING))],
    ids=lambda entry: entry.name[:40] if entry else "none",
)
def test_it_reads_what_others_published(entry):
    file = read(entry.name)
    if re.match(r"no summary|not a YCSB output", entry.runs[0]):
        assert file.error and not file.runs
        return
    assert file.error is None
    assert len(file.runs) == len(entry.runs)
    for run, expected in zip(file.runs, entry.runs, strict=True):
        (same_go_run if expected.startswith("finished in") else same_run)(run, expected)
    if (file.format or "").startswith("go-ycsb"):  # its reports are no status lines, and the index does not count them
        return
    lines = [line for run in file.runs for line in run.status]
    if entry.status is None:
        assert not lines
    else:
        assert (len(lines), lines[-1].elapsed_s, lines[-1].operations_done) == entry.status


@pytest.mark.skipif(not INDEX, reason=MISSING)
@pytest.mark.parametrize(
    ("start", "format_name", "version", "phase"),
    [
        ("001", "thumbtack", "0.1.4", "measure"),
        ("003", "thumbtack", "0.1.4", "load"),
        ("007", "ycsb-text", "0.1.4", "measure"),
        ("012", "ycsb-text", "0.13.0-0.17.0", "measure"),
        ("015", "ycsb-text", "0.11.0", "measure"),
        ("019", "ycsb-text", "0.13.0-0.17.0", "load"),
        ("022", "ycsb-text", "0.17.0", "measure"),
        ("039", "ycsb-text", "0.17.0", "measure"),
        ("042", "ycsb-text", "0.17.0", "load"),
        ("043", "ycsb-text", "0.5.0-0.7.0", "measure"),
        ("049", "ycsb-text", "0.5.0-0.7.0", "load"),
        ("069", "ycsb-text", "0.9.0-0.12.0", "load"),
    ],
)
def test_it_tells_version_and_phase(start, format_name, version, phase):
    run = read(next(CORPUS.glob(f"{start}_*")).name).runs[0]
    assert (run.format, run.version, run.phase) == (format_name, version, phase)


@pytest.mark.skipif(not INDEX, reason=MISSING)
def test_it_keeps_what_surrounds_the_numbers():
    thumbtack = read(next(CORPUS.glob("001_*")).name).runs[0]
    assert thumbtack.properties["threadcount"] == "30"
    assert thumbtack.properties["measurementtype"] == "timeseries"
    assert thumbtack.process["OVERALL Reconnections"] == 0
    assert thumbtack.operations["READ"].extra == {"Retries": "0"}
    series = thumbtack.operations["READ"].series
    assert [point.at_ms for point in series] == [100.0 * step for step in range(24)]
    assert (series[21].mean_us, series[21].rate_ops_s) == (8667.244897959185, 1470.0)
    buckets = read(next(CORPUS.glob("007_*")).name).runs[0].operations["UPDATE"].buckets
    assert [(bucket.from_us, bucket.to_us, bucket.count) for bucket in buckets] == [
        (0, 1000, 530), (19000, 20000, 1), (1_000_000, None, 0),
    ]  # fmt: skip
    windows = read(next(CORPUS.glob("039_*")).name).runs[0]
    assert windows.properties["db"].endswith("JdbcDBClient")
    assert windows.process["TOTAL_GCs Count"] == 0
