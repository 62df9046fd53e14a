"""Per-second series: exact per second, without gaps that are none and without zeros that are gaps."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.errors import PackedDataError
from runs.ycsb.merged import ClientLogs
from runs.ycsb.series import POINT, Series, pack, total_rate, unpack
from runs.ycsb.tests.hdrlogs import build_histogram
from runs.ycsb.tests.samples import build_series, client, get_operation, made_log, merge, steady_log

EPOCH = 1_700_000_000.0


def only(clients: list[ClientLogs], **more: float) -> Series:
    merged = merge(clients, warmup_s=0)
    return next(series for series in build_series(merged, **more) if series.kind == "service")


def test_it_gives_every_second_of_real_clients():
    merged = merge([client("two_clients/0", 0), client("two_clients/1", 1)], warmup_s=1)
    reads, updates = build_series(merged)
    assert (reads.operation, updates.operation, reads.clients) == ("READ", "UPDATE", 2)
    assert reads.base_s == min(client.started_s for client in merged.clients)
    assert reads.points["second"].tolist() == list(range(6))
    assert reads.points["count"].sum() == sum(client.log_counts["READ"] for client in merged.clients)
    middle = reads.points[1:5]
    assert np.allclose(middle["covered_s"], 2, atol=0.1)
    assert (middle["p50_us"] <= middle["p95_us"]).all() and (middle["p99_us"] <= middle["max_us"]).all()
    merged = merge([client("two_clients/0", 0), client("two_clients/1", 1)], warmup_s=0, phase="load")
    whole = get_operation(merged, "READ")
    assert whole is not None
    assert np.nanmax(reads.points["max_us"]) == whole.histogram.max


def test_it_merges_the_percentiles_of_a_second_exactly():
    dice = np.random.default_rng(7)
    values = [[dice.integers(1, 10**6, 500).tolist() for _ in range(4)] for _ in range(2)]
    clients = [
        ClientLogs(
            number, [made_log("READ", [(0.2 * number + second, 1.0, part) for second, part in enumerate(parts)])]
        )
        for number, parts in enumerate(values)
    ]
    points = only(clients).points
    for second in range(4):
        merged = build_histogram(values[0][second] + values[1][second])
        row = points[second]
        assert [row["p50_us"], row["p95_us"], row["p99_us"]] == merged.percentiles([50, 95, 99])
        assert (row["count"], row["max_us"]) == (1000, merged.max)
        assert row["mean_us"] == pytest.approx(merged.mean, rel=1e-6)


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.49, 0.5, 0.51, 0.99])
def test_it_does_not_alias_clients_that_are_out_of_step(phase):
    dice = np.random.default_rng(3)
    jitter = dice.uniform(-0.01, 0.01, 40)
    starts = phase + np.arange(40) + jitter
    rows = [(start, length, [10] * 100) for start, length in zip(starts[:-1], np.diff(starts), strict=True)]
    clients = [ClientLogs(0, [steady_log("READ", 40, 100)]), ClientLogs(1, [made_log("READ", rows)])]
    points = only(clients, base_s=EPOCH).points
    assert points["count"][1:38].tolist() == [200] * 37
    assert points["rate_ops_s"][1:38] == pytest.approx(200, rel=0.02)


def test_it_knows_a_zero_from_a_gap():
    busy = [(second, 1.0, [5] if second not in (3, 4) else []) for second in range(8)]
    points = only([ClientLogs(0, [made_log("READ", busy)])]).points
    assert points["count"].tolist() == [1, 1, 1, 0, 0, 1, 1, 1]
    assert points["rate_ops_s"][3] == 0
    assert np.isnan(points["p99_us"][3])
    torn = [row for row in busy if row[0] not in (3, 4)]
    points = only([ClientLogs(0, [made_log("READ", torn)])]).points
    assert points["second"].tolist() == [0, 1, 2, 5, 6, 7]


def test_it_gives_zeros_before_an_operation_was_first_used():
    logs = [steady_log("READ", 6, 10), steady_log("UPDATE", 2, 10, first_s=4)]
    updates = build_series(merge([ClientLogs(0, logs)], warmup_s=0))[1]
    assert updates.points["count"].tolist() == [0, 0, 0, 0, 10, 10]
    assert updates.points["rate_ops_s"].tolist() == [0, 0, 0, 0, 10, 10]


def test_it_spreads_long_intervals_over_their_seconds():
    rows = [(0.0, 1.0, [5] * 10), (1.0, 3.0, [7] * 20), (4.0, 1.0, [5] * 10)]
    points = only([ClientLogs(0, [made_log("READ", rows)])]).points
    assert points["second"].tolist() == [0, 1, 2, 3, 4]
    assert points["count"].tolist() == [10, 6, 7, 7, 10]
    assert points["p50_us"].tolist() == [5, 7, 7, 7, 5]
    assert points["covered_s"].tolist() == pytest.approx([1, 1, 1, 1, 1])


def test_it_gives_no_rate_to_slivers():
    rows = [(0.0, 0.02, [5]), (0.02, 0.98, [5] * 98), (1.0, 1.0, [5] * 100), (2.0, 0.01, [5] * 9)]
    points = only([ClientLogs(0, [made_log("READ", rows)])]).points
    assert points["count"].tolist() == [99, 100, 9]
    assert np.isnan(points["rate_ops_s"][2])
    assert points["rate_ops_s"][:2] == pytest.approx([99, 100])


def test_it_keeps_failures_apart():
    logs = [steady_log("READ", 4, 10), steady_log("READ-FAILED", 4, 3, latency_us=900_000)]
    points = only([ClientLogs(0, logs)]).points
    assert (points["count"].tolist(), points["failed"].tolist()) == ([10] * 4, [3] * 4)
    assert (points["max_us"] < 2000).all()


def test_it_adds_all_operations_for_the_rate_of_the_window():
    logs = [
        steady_log("READ", 20, 30),
        steady_log("UPDATE", 20, 10),
        steady_log("READ-MODIFY-WRITE", 20, 10),
        steady_log("READ-FAILED", 20, 5),
        steady_log("CLEANUP", 20, 99),
    ]
    merged = merge([ClientLogs(0, logs), ClientLogs(1, [steady_log("READ", 20, 7)])], warmup_s=5, measure_s=10)
    assert total_rate(merged).tolist() == [37.0] * 10


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(-5, 10**6), st.floats(0, 4, width=32), st.integers(0, 2**40), st.floats(0, 1e9, width=32)
        ),
        max_size=20,
    ),
    st.sampled_from(["service", "response"]),
)
def test_it_comes_back_as_it_was(rows, kind):
    points = np.zeros(len(rows), dtype=POINT)
    for row, (second, covered, count, latency) in zip(points, rows, strict=True):
        row["second"], row["covered_s"], row["count"], row["p99_us"], row["mean_us"] = (
            second,
            covered,
            count,
            latency,
            np.nan,
        )
    series = Series("READ", kind, EPOCH + 0.125, 1, 3, points)
    back = unpack(pack(series))
    assert (back.operation, back.kind, back.base_s, back.interval_s, back.clients) == (
        "READ",
        kind,
        EPOCH + 0.125,
        1,
        3,
    )
    assert back.points.tobytes() == points.tobytes()


def test_it_names_damage():
    data = pack(only([ClientLogs(0, [steady_log("READ", 3, 1)])]))
    for damaged in (b"", data[:-3], b"XXXX" + data[4:], data[:4] + b"\x00\x03" + data[6:]):
        with pytest.raises(PackedDataError):
            unpack(damaged)
