"""LoadGenerator, YCSB-cpp, YCSB-C and histogram logs: what they state is read with its units."""

import io

import numpy as np
import pytest

from runs.ycsb.operation import Bucket
from runs.ycsb.readers import hdrlog, read_file
from runs.ycsb.readers.loadgenerator import latency_us
from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.tests.hdrlogs import read_log
from runs.ycsb.tests.samples import DATA


def parse_file(text: str | bytes, name: str = "out.txt") -> ReadFile:
    (file,) = read_file(name, io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    return file


def get_runs(text: str | bytes, name: str = "out.txt") -> tuple[ReadRun, ...]:
    file = parse_file(text, name)
    assert file.error is None
    return file.runs


# --- LoadGenerator ---

LOAD_GENERATOR = """[OVERALL] RunTime(ms), 30008.0
[OVERALL] Throughput(ops/sec), 66648.89362836577
[GET] Operations, 2,000,000
[GET] AverageLatency, 401.87us
[GET] MaxLatency, 2.11s
[GET] 95thPercentileLatency, 2ms \u0020 \

[GET] Return=0, 1999999
[GET] Return=-1, 1
[GET] Retries, 7
[GET] 0us    - 256us , 1999968
[GET] 256us  - 512us , 0
[GET] &gt;128s  , 32</pre>"""


def test_it_reads_latencies_with_their_units():
    (run,) = get_runs(LOAD_GENERATOR)
    assert (run.format, run.runtime_ms, run.throughput_ops_s, run.complete) == (
        "load-generator", 30008.0, 66648.89362836577, True,
    )  # fmt: skip
    get = run.operations["GET"]
    assert (get.count, get.mean_us, get.min_us, get.max_us) == (2_000_000, 401.87, None, 2_110_000.0)
    assert (get.percentiles_us, get.rounds_up) == ({"95": 2000.0}, True)
    assert get.returns == {"0": 1_999_999, "-1": 1}
    assert get.buckets == (Bucket(0, 256, 1_999_968), Bucket(128_000_000, None, 32))
    assert get.extra == {"Retries": "7"}


@pytest.mark.parametrize(("text", "expected"), [("1us", 1), ("2ms ", 2000), ("2.11s", 2.11e6), ("1.5e3us", 1500),
                                                ("4", None), ("us", None), ("1h", None)])  # fmt: skip
def test_a_latency_without_a_unit_is_none(text, expected):
    assert latency_us(text) == expected


def test_several_outputs_of_it_are_several_runs():
    assert [run.operations["GET"].count for run in get_runs(LOAD_GENERATOR + "\n" + LOAD_GENERATOR)] == [2_000_000] * 2


# --- YCSB-cpp and YCSB-C ---

CPP = """2024-01-28 19:34:32 0 sec: 0 operations;
2024-01-28 19:34:42 10 sec: 900 operations; [INSERT: Count=900 Max=200.00 Min=2.00 Avg=6.00]
2024-01-28 19:34:43 11 sec: 1000 operations; [INSERT: Count=1000 Max=200.00 Min=2.00 Avg=6.50]
Load runtime(sec): 11.25
Load operations(ops): 1000
Load throughput(ops/sec): 88.8889
2024-01-28 19:34:44 0 sec: 0 operations;
2024-01-28 19:34:54 10 sec: 81774 operations; [READ: Count=40717 Max=184.32 Min=0.04 Avg=5.24 90=12.38 99.9=40.83] \
[UPDATE: Count=41057 Max=174.59 Min=0.08 Avg=5.81 90=12.44 99.9=53.28]
2024-01-28 19:34:56 12 sec: 100000 operations; [READ: Count=49762 Max=184.32 Min=0.04 Avg=4.96 90=12.28 99.9=39.74] \
[UPDATE: Count=50238 Max=174.59 Min=0.08 Avg=5.47 90=12.25 99.9=48.54]
Run runtime(sec): 12.089
Run operations(ops): 100000
Run throughput(ops/sec): 1.11796e+06
"""


def test_it_reads_both_phases_of_ycsb_cpp():
    load, run = get_runs(CPP)
    assert (load.phase, load.runtime_ms, load.throughput_ops_s, load.complete) == ("load", 11_250.0, 88.8889, True)
    assert (run.phase, run.runtime_ms, run.throughput_ops_s, run.complete) == ("measure", 12_089.0, 1.11796e6, True)
    assert load.operations["INSERT"].count == 1000
    read = run.operations["READ"]
    assert (read.count, read.mean_us, read.min_us, read.max_us) == (49_762, 4.96, 0.04, 184.32)
    assert read.percentiles_us == {"90": 12.28, "99.9": 39.74}


def test_status_lines_of_ycsb_cpp_count_from_the_start():
    _, run = get_runs(CPP)
    assert [(line.elapsed_s, line.operations_done) for line in run.status] == [(0, 0), (10, 81_774), (12, 100_000)]
    assert [line.operations["READ"].count for line in run.status if line.operations] == [40_717, 49_762 - 40_717]
    assert run.status[2].at_s == pytest.approx(1706470496.0)


def test_totals_alone_count_all_operations():
    load, run = get_runs("".join(f"{line}\n" for line in CPP.split("\n") if "):" in line))
    assert {name: entry.count for name, entry in load.operations.items()} == {"INSERT": 1000}
    assert {name: entry.count for name, entry in run.operations.items()} == {"TOTAL": 100_000}


def test_status_lines_of_ycsb_cpp_without_totals_are_a_part():
    _, run = get_runs(CPP[: CPP.index("Run runtime")])
    assert (run.phase, run.complete, run.operations["UPDATE"].count) == (None, False, 50_238)


def test_it_reads_ycsb_c():
    load, run = get_runs(
        "# Loading records:\t10000\n# Transaction throughput (KTPS)\nredis\tworkloada.spec\t4\t123.456\n"
    )
    assert (load.phase, load.operations["INSERT"].count, load.complete) == ("load", 10_000, True)
    assert (run.phase, run.throughput_ops_s, run.complete) == ("measure", 123_456.0, True)
    assert run.properties == {"db": "redis", "workload": "workloada.spec", "threadcount": "4"}


def test_it_reads_what_forks_of_ycsb_c_print():
    text = ("# Loading records:\t5\n# Load throughput (KTPS)\nbasic\tload.spec\t1\t7.5\n# Transaction count:\t6\n"
            "UPDATE usertable user1 [ field0=iii ]\n# Transaction throughput (KTPS): 29.5\n")  # fmt: skip
    load, run = get_runs(text)
    assert (load.throughput_ops_s, load.operations["INSERT"].count) == (7500.0, 5)
    assert (run.throughput_ops_s, run.operations["TOTAL"].count) == (29_500.0, 6)


# --- Histogram logs ---


@pytest.mark.parametrize("path", ["stock_v1/0/READ.hdr", "two_clients/1/UPDATE.hdr", "v1_target/0/Intended-READ.hdr"])
def test_a_log_is_read_as_it_is(path):
    content = (DATA / path).read_bytes()
    expected = read_log(content.decode().splitlines())
    (run,) = get_runs(content, path)
    (log,) = run.logs
    assert (run.format, run.complete, run.operations) == ("hdr-log", True, {})
    assert (log.operation, log.start_time_s, log.total) == (expected.operation, expected.start_time_s, expected.total)
    assert np.array_equal(log.start_s, expected.start_s) and log.histogram() == expected.histogram()


def test_a_log_without_a_heading_is_named_after_its_file():
    content = (DATA / "two_clients/0/READ.hdr").read_bytes()
    lines = b"".join(line for line in content.splitlines(keepends=True) if line[:1].isdigit())
    for name, expected in (("client-1/READ.hdr", "READ"), ("READ-FAILED.hdr.gz", "READ-FAILED")):
        assert [log.operation for run in get_runs(lines, name) for log in run.logs] == [expected]


def test_a_log_that_breaks_off_is_a_part():
    content = (DATA / "two_clients/0/READ.hdr").read_bytes()
    (run,) = get_runs(content[:-20], "READ.hdr")
    assert not run.complete
    assert run.logs[0].truncated
    assert ["broke off" in note.text for note in run.warnings] == [True]


def test_of_a_damaged_log_what_stands_before_is_read():
    lines = (DATA / "two_clients/0/READ.hdr").read_bytes().splitlines(keepends=True)
    number = len(lines) - 3
    lines[number] = lines[number][:60] + b"!!!" + lines[number][63:]
    (run,) = get_runs(b"".join(lines), "READ.hdr")
    whole = read_log(b"".join(lines[:number]).decode().splitlines())
    assert not run.complete
    assert run.logs[0].total == whole.total
    assert [(note.line, "damaged" in note.text) for note in run.warnings] == [(number + 1, True)]


def test_a_log_without_an_interval_is_said_to_be_empty():
    content = b"".join((DATA / "two_clients/0/READ.hdr").read_bytes().splitlines(keepends=True)[:4])
    (run,) = get_runs(content, "READ.hdr")
    assert not run.complete
    assert ["no interval" in note.text for note in run.warnings] == [True]


def test_nothing_but_damage_is_refused():
    file = parse_file(b"#[Logging for: READ]\n0.1,0.2,0.3,HISTFAAAA\n1.1,0.2,0.3,HISTFAAAB\n", "READ.hdr")
    assert file.error is None or "line 2" in file.error


@pytest.mark.parametrize("summed", [False, True])
def test_a_very_long_log_is_kept_in_longer_intervals(monkeypatch, summed):
    content = (DATA / "two_clients/0/READ.hdr").read_bytes()
    expected = read_log(content.decode().splitlines())
    monkeypatch.setattr(hdrlog, "MAX_COUNTS", 100)
    (file,) = read_file("READ.hdr", io.BytesIO(content), summed=summed)
    (run,) = file.runs
    (log,) = run.logs
    assert len(log) < len(expected)
    assert log.histogram() == expected.histogram()
    assert log.start_s[0] == expected.start_s[0]
    assert log.start_s[-1] + log.length_s[-1] == pytest.approx(expected.start_s[-1] + expected.length_s[-1])
    assert log.max_us.max() == expected.max_us.max()
    assert ["put together" in note.text for note in run.warnings] == [True]
