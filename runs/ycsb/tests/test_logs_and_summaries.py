"""What our readers make of a client's histogram logs is what YCSB printed in the same client's summary."""

import math

import numpy as np
import pytest

from runs.ycsb.bounds import percentile_bounds
from runs.ycsb.clients import merge_run
from runs.ycsb.file_grouping import ClientFiles, RunFiles
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Histogram, highest_values
from runs.ycsb.operation import ReadOperation, parse_name
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.summary import parse_summary
from runs.ycsb.tests.hdrlogs import build_histogram, read_log
from runs.ycsb.tests.samples import DATA, get_operation

# Stock YCSB 0.17 has HdrHistogram 2.1.4, which takes the nearest rank; Benchsite's bindings have 2.2.2: the next one.
STOCK = ("stock_v1", "v1_target", "intended", "hdrhistogram_and_histogram", "hdrhistogram_and_raw")
OWN = ("two_clients", "load", "target", "v2_target", "not_loaded", "errors_by_status", "errors_together")
CLIENTS = [(run, client.name) for run in (*STOCK, *OWN) for client in sorted((DATA / run).iterdir())]
SHARED_RUNS = ("v1_target", "v2_target", "two_clients")


def printed(run: str, client: str):
    folder = DATA / run / client
    path = next(folder / name for name in ("stdout.txt", "summary.txt") if (folder / name).exists())
    return parse_summary(path.read_text())


def logs(run: str, client: str) -> dict[str, IntervalLog]:
    return {path.stem: read_log(path.read_text().splitlines()) for path in (DATA / run / client).glob("*.hdr")}


def nearest(histogram: Histogram, percentile: float) -> int:
    """The percentile by the rule of HdrHistogram 2.1.4, written without any of ours."""
    rank = max(int(percentile / 100.0 * histogram.count + 0.5), 1)
    indices, counts = histogram.sparse()
    return int(highest_values(indices)[np.searchsorted(np.cumsum(counts), rank)])


@pytest.mark.parametrize(("run", "client"), CLIENTS)
def test_a_log_gives_what_the_summary_states(run, client):
    summary = printed(run, client)
    found = logs(run, client)
    assert found
    for name, log in found.items():
        stated, histogram = summary.operations[name], log.histogram()
        assert histogram.count == stated.count
        if not stated.count:
            continue
        assert histogram.mean == pytest.approx(stated.mean_us, rel=1e-12)
        assert (histogram.min, histogram.max) == (stated.min_us, stated.max_us)
        for percentile, value in stated.percentiles_us.items():
            rank = float(percentile)
            assert (nearest(histogram, rank) if run in STOCK else histogram.percentile(rank)) == value


@pytest.mark.parametrize(("run", "client"), CLIENTS)
def test_every_operation_of_a_summary_has_a_log(run, client):
    counted = {name for name, operation in printed(run, client).operations.items() if operation.count}
    logged = set(logs(run, client))
    # The other kind of measurement writes no log.
    assert {name for name in counted if not name.startswith(("Bucket", "Raw"))} == {
        name for name in logged if logs(run, client)[name].total
    }


@pytest.mark.parametrize("run", SHARED_RUNS)
def test_a_merge_of_logs_has_the_sums_of_the_summaries(run):
    folders = sorted((DATA / run).iterdir())
    merged = merge_run(as_run(run))
    for operation in merged.operations:
        name = operation.operation if operation.kind == "service" else f"Intended-{operation.operation}"
        stated = [printed(run, folder.name).operations[name] for folder in folders]
        counts = [one.count for one in stated]
        mean = sum(one.mean_us * one.count for one in stated) / sum(counts)
        assert operation.ok == sum(counts)
        assert operation.histogram.mean == pytest.approx(mean, rel=1e-12)
        assert operation.histogram.min == min(one.min_us for one in stated)
        assert operation.histogram.max == max(one.max_us for one in stated)


@pytest.mark.parametrize("run", SHARED_RUNS)
def test_summary_bounds_contain_percentiles_of_the_logs(run):
    exact, bounded = merge_run(as_run(run)), merge_run(as_run(run, with_logs=False))
    compared = 0
    for operation in exact.operations:
        other = get_operation(bounded, operation.operation, operation.kind)
        assert (other.ok, other.min_us, other.max_us) == (
            operation.ok,
            operation.histogram.min,
            operation.histogram.max,
        )
        assert other.mean_us == pytest.approx(operation.histogram.mean, rel=1e-12)
        for name, bounds in other.percentiles_us.items():
            # A rank of 2.1.4 may be one below ours for each client.
            ranks = [float(name), max(float(name) - 100 * len(exact.clients) / operation.ok, 0.0)]
            percentiles = operation.histogram.percentiles(ranks)
            assert min(percentiles) <= bounds.high_us
            assert bounds.low_us <= percentiles[0]
            compared += 1
    assert compared > 5
    assert bounded.total_operations == exact.total_operations


def as_run(run: str, *, with_logs: bool = True) -> RunFiles:
    clients = []
    for number, folder in enumerate(sorted((DATA / run).iterdir())):
        summary = printed(run, folder.name)
        read = ReadRun(format="ycsb-text", phase="measure", runtime_ms=summary.runtime_ms, complete=True,
                       throughput_ops_s=summary.throughput_ops_s, operations=summary.operations)  # fmt: skip
        kept = tuple(logs(run, folder.name).values()) if with_logs else ()
        clients.append(ClientFiles(number, (folder.name,), read, kept))
    return RunFiles("measure", tuple(clients))


def test_raw_points_are_the_values_of_the_log_beside_them():
    """measurementtype=hdrhistogram+raw measures every value twice."""
    values: dict[str, list[int]] = {}
    for line in (DATA / "hdrhistogram_and_raw/0/points.txt").read_text().splitlines():
        name, _, rest = line.partition(",")
        if rest and rest.replace(",", "").isdigit():
            values.setdefault(name.replace("Raw", "Hdr"), []).append(int(rest.split(",")[1]))
    found = logs("hdrhistogram_and_raw", "0")
    assert set(values) == set(found)
    for name, latencies in values.items():
        assert build_histogram(latencies) == found[name].histogram()
        assert printed("hdrhistogram_and_raw", "0").operations[name].count == len(latencies)


def test_buckets_hold_the_values_of_the_log_beside_them():
    """measurementtype=hdrhistogram+histogram: so many values below each millisecond."""
    summary = printed("hdrhistogram_and_histogram", "0")
    for name, log in logs("hdrhistogram_and_histogram", "0").items():
        buckets = summary.operations[name.replace("Hdr", "Bucket")].buckets
        indices, counts = log.histogram().sparse()
        # Below 2,048 µs every value has an index of its own; beyond, indices are too narrow to matter here.
        floors = highest_values(indices) // 1000
        for bucket in buckets:
            inside = (floors >= bucket.from_us / 1000) & (
                floors < (math.inf if bucket.to_us is None else bucket.to_us / 1000)
            )
            assert abs(int(counts[inside].sum()) - bucket.count) <= 1
        assert sum(bucket.count for bucket in buckets) == log.total


def test_bucket_percentiles_contain_the_exact_ones():
    summary = printed("hdrhistogram_and_histogram", "0")
    for name, log in logs("hdrhistogram_and_histogram", "0").items():
        if parse_name(name).is_operation:
            stated: ReadOperation = summary.operations[name.replace("Hdr", "Bucket")]
            for percentile, bounds in percentile_bounds([stated]).items():
                # A maximum is stated to the microsecond by buckets, and to 1/1024 by HdrHistogram.
                exact = log.histogram().percentile(float(percentile))
                assert bounds.low_us <= exact <= (bounds.high_us or math.inf) * 1.001
