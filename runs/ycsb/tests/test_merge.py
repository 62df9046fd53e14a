"""All clients of a run are merged exactly, over the time that they have in common."""

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.errors import MergeError
from runs.ycsb.histogram import Histogram
from runs.ycsb.ingest import ingest
from runs.ycsb.merge import recut
from runs.ycsb.merged import ClientLogs
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.tests.in_memory import Kept, collected, pack_intervals, statements
from runs.ycsb.tests.samples import client, get_operation, made_log, made_summary, merge, steady_log
from runs.ycsb.window import Cut


def test_it_merges_two_real_clients():
    clients = [client("two_clients/0", 0), client("two_clients/1", 1)]
    merged = merge(clients, warmup_s=1, measure_s=3)
    assert (merged.clients_merged, merged.clients_expected, merged.missing) == (2, 2, ())
    assert merged.window.length_s == pytest.approx(3)
    assert [(entry.operation, entry.kind) for entry in merged.operations] == [
        ("READ", "service"),
        ("UPDATE", "service"),
    ]
    for process in merged.clients:
        assert process.covered_s == pytest.approx(3, abs=0.2)
        assert process.intervals == 3
        assert process.ok == process.operations
        # The summary was printed by YCSB itself: the logs must say the same to the last operation.
        assert process.printed_counts == process.log_counts
    expected = sum(client.ok / client.covered_s for client in merged.clients)
    assert merged.throughput_ops_s == pytest.approx(expected)
    assert merged.total_operations == merged.ok_operations == sum(entry.count for entry in merged.operations)
    read = get_operation(merged, "READ")
    assert read is not None
    assert read.returns["OK"] == sum(client.log_counts["READ"] for client in merged.clients)
    # Nothing but whole intervals of both clients is in it.
    parts = next(entry for entry in collected(clients) if entry.name == "READ")
    middle = parts.midpoint_s
    inside = (middle >= merged.window.from_s) & (middle < merged.window.to_s)
    assert read.histogram == parts.select(inside).histogram()
    assert 0.9 < merged.overlap <= 1


def test_counts_whole_load_without_warmup_to_last_operation():
    merged = merge([client("load/0", 0), client("load/1", 1)], warmup_s=99, phase="load")
    insert = get_operation(merged, "INSERT")
    assert insert is not None
    assert insert.count == merged.ok_operations == 1000
    assert merged.warmup_s == 0
    assert merged.throughput_sum_ops_s == pytest.approx(
        sum(client.printed_throughput_ops_s or 0 for client in merged.clients)
    )
    # Set-up is part of what YCSB divides by, and not of the intervals.
    assert merged.throughput_ops_s > merged.throughput_sum_ops_s


def test_counts_composites_once_and_separates_response_times():
    merged = merge([client("target/0", threads=4)], warmup_s=1)
    modify, read, update = (get_operation(merged, name) for name in ("READ-MODIFY-WRITE", "READ", "UPDATE"))
    assert modify and read and update
    assert modify.is_composite and not read.is_composite
    assert merged.total_operations == read.count + update.count - modify.count
    assert merged.throughput_ops_s == pytest.approx(400, rel=0.03)
    response = get_operation(merged, "READ", "response")
    assert response is not None
    assert response.returns == {} and read.returns
    assert response.histogram.mean > read.histogram.mean
    assert not any(entry.operation == "CLEANUP" for entry in merged.operations)


def test_it_keeps_failures_out_of_throughput_and_latencies():
    merged = merge([client("not_loaded/0")], warmup_s=0)
    read = get_operation(merged, "READ")
    assert read is not None
    assert read.failures == {"FAILED": read.failed}
    assert merged.failed_operations == read.failed > 0
    assert merged.ok_operations == merged.total_operations - merged.failed_operations
    assert merged.throughput_ops_s == pytest.approx(merged.ok_operations / merged.clients[0].covered_s)
    assert read.returns == {"OK": 6791, "NOT_FOUND": 940}


def test_it_takes_the_window_that_all_clients_share():
    # A runs 0..100 s, B 10..110 s, both 100 operations a second: together 200, never 20000 / 110.
    late = steady_log("READ", 100, 100, first_s=10)
    clients = [ClientLogs(0, [steady_log("READ", 100, 100)]), ClientLogs(1, [late])]
    merged = merge(clients, warmup_s=0)
    assert merged.window.from_s - 1_700_000_000 == pytest.approx(10)
    assert merged.window.length_s == pytest.approx(90)
    assert merged.throughput_ops_s == pytest.approx(200)
    assert merged.throughput_wall_ops_s == pytest.approx(20000 / 110)
    assert merged.overlap == pytest.approx(90 / 110)
    assert merged.throughput_sum_ops_s is None


def test_it_applies_the_clocks_offsets():
    # B's clock is 50 s ahead: without its offset the two would hardly overlap.
    ahead = steady_log("READ", 20, 10, first_s=50)
    clients = [ClientLogs(0, [steady_log("READ", 20, 10)]), ClientLogs(1, [ahead], clock_offset_s=-50.0)]
    merged = merge(clients, warmup_s=2)
    assert merged.overlap == pytest.approx(1)
    assert merged.window.length_s == pytest.approx(18)
    assert merged.throughput_ops_s == pytest.approx(20)


def test_it_divides_each_client_by_its_own_length():
    # The second client's intervals are half a second off the first's: it covers as long, from another moment on.
    clients = [
        ClientLogs(0, [steady_log("READ", 30, 100)]),
        ClientLogs(1, [steady_log("READ", 30, 50, first_s=0.5)]),
    ]
    merged = merge(clients, warmup_s=5, measure_s=10)
    assert [client.covered_s for client in merged.clients] == [10.0, 10.0]
    assert [client.throughput_ops_s for client in merged.clients] == [100.0, 50.0]


def test_it_cuts_at_the_measured_length():
    merged = merge([ClientLogs(0, [steady_log("READ", 30, 7)])], warmup_s=3, measure_s=10)
    assert merged.total_operations == 70
    assert merged.clients[0].intervals == 10


def test_it_leaves_a_tail_out():
    clients = [ClientLogs(0, [steady_log("READ", 30, 7)]), ClientLogs(1, [steady_log("READ", 28, 7)])]
    merged = merge(clients, warmup_s=3, tail_s=5)
    assert merged.window.length_s == 20
    assert merged.total_operations == 2 * 20 * 7
    assert merge(clients, warmup_s=3, tail_s=5, measure_s=10).window.length_s == 10
    assert merge(clients, warmup_s=3, tail_s=5, phase="load").total_operations == 58 * 7
    with pytest.raises(MergeError, match=r"3 s of warm-up and 25 s at the end are more than the 28\.0 s"):
        merge(clients, warmup_s=3, tail_s=25)


def test_counts_response_times_if_nothing_else_is_measured():
    summary = made_summary(10_000, 8, READ=80)
    logs = [steady_log("READ", 8, 10), steady_log("READ-FAILED", 8, 1), steady_log("CLEANUP", 1, 1)]
    merged = merge([ClientLogs(0, logs, summary, response_only=True, threads=2)], warmup_s=0)
    (read,) = merged.operations
    assert (read.kind, read.ok, read.failed, read.returns) == ("response", 80, 8, {"OK": 80})
    assert (merged.throughput_ops_s, merged.failed_operations, merged.longest_us) == (10, 8, 0)
    (client,) = merged.clients
    assert client.printed_counts == {"Intended-READ": 80}
    assert client.log_counts == {"CLEANUP": 1, "Intended-READ": 80, "Intended-READ-FAILED": 8}


def test_it_counts_an_operation_that_began_late():
    # The first update came after 5 s: its log begins there, and the seconds before are seconds without updates.
    clients = [ClientLogs(0, [steady_log("READ", 20, 10), steady_log("UPDATE", 15, 10, first_s=5)])]
    merged = merge(clients, warmup_s=0)
    assert merged.throughput_ops_s == pytest.approx((200 + 150) / 20)


def test_it_names_clients_that_left_nothing():
    empty = made_log("READ", [(0, 1, [])])
    clients = [
        ClientLogs(0, [steady_log("READ", 10, 5)]),
        ClientLogs(1, []),
        ClientLogs(2, [empty]),
        ClientLogs(3, [steady_log("CLEANUP", 1, 4)]),
    ]
    merged = merge(clients, warmup_s=0)
    assert (merged.clients_merged, merged.clients_expected) == (1, 4)
    assert [(entry.number, entry.reason) for entry in merged.missing] == [
        (1, "it left no log of any operation"),
        (2, "its logs do not count a single operation"),
        (3, "it left no log of any operation"),
    ]
    with pytest.raises(MergeError, match="client 1: it left no log"):
        merge(clients[1:], warmup_s=0)
    with pytest.raises(MergeError, match="there is no client"):
        merge([], warmup_s=0)


def test_it_names_clients_whose_intervals_took_no_time():
    still = [made_log("READ", [(second, 0.0, [1000]) for second in range(5)])]
    with pytest.raises(MergeError, match="client 0: no interval of its logs has a length"):
        merge([ClientLogs(0, still)], warmup_s=0)


def test_it_merges_a_killed_client_as_far_as_it_came():
    merged = merge([client("killed/0")], warmup_s=1)
    assert merged.total_operations > 1000
    assert merged.clients[0].printed_counts is None
    assert merged.clients[0].init_s is None


def test_it_says_when_there_is_no_common_window():
    clients = [ClientLogs(0, [steady_log("READ", 5, 5)]), ClientLogs(1, [steady_log("READ", 5, 5, first_s=8)])]
    with pytest.raises(MergeError, match="client 1 began last, and 2 s of warm-up later client 0 had ended"):
        merge(clients, warmup_s=2)
    coarse = [ClientLogs(0, [made_log("READ", [(0, 100, [1])])])]
    with pytest.raises(MergeError, match=r"no interval in the window of 10\.0 s: its intervals are 100\.0 s long"):
        merge(coarse, warmup_s=0, measure_s=10)
    with pytest.raises(MergeError, match="same number"):
        merge([ClientLogs(0, []), ClientLogs(0, [])], warmup_s=0)


def test_it_tells_failures_apart_where_ycsb_does():
    logs = [steady_log("READ", 10, 8), steady_log("READ-NOT_FOUND", 10, 1), steady_log("READ-FAILED", 10, 1)]
    merged = merge([ClientLogs(0, logs)], warmup_s=0)
    read = get_operation(merged, "READ")
    assert read is not None
    assert read.failures == {"FAILED": 10, "NOT_FOUND": 10}
    assert (merged.throughput_ops_s, merged.failed_operations) == (8, 20)


def test_it_leaves_the_idle_end_of_a_stopping_client_out():
    # While a client stops, its operations end their last intervals tens of milliseconds apart.
    reads = made_log("READ", [(0, 1, [5] * 100), (1, 0.94, [5] * 94), (1.94, 0.06, []), (2.0, 0.1, [])])
    updates = made_log("UPDATE", [(0, 1, [5] * 100), (1, 0.99, [5] * 94), (1.99, 0.05, []), (2.04, 0.1, [])])
    merged = merge([ClientLogs(0, [reads, updates])], warmup_s=0)
    assert merged.clients[0].covered_s == 1.94
    assert merged.throughput_ops_s == pytest.approx(200)


def test_it_counts_a_stall_at_the_end_as_time():
    stalled = made_log("READ", [(0, 1, [5] * 100), (1, 1, []), (2, 1, []), (3, 1, [3_000_000])])
    merged = merge([ClientLogs(0, [stalled])], warmup_s=0)
    assert merged.throughput_ops_s == pytest.approx(101 / 4)


def test_it_states_the_share_of_setting_up():
    logs = ClientLogs(0, [steady_log("READ", 8, 10)], made_summary(10_000, 8, READ=80))
    merged = merge([logs], warmup_s=0)
    assert merged.clients[0].init_s == pytest.approx(2)
    assert merged.throughput_sum_ops_s == 8


def test_it_adds_up_the_threads_time():
    logs = [steady_log("READ", 10, 1000, latency_us=1500), steady_log("UPDATE-FAILED", 10, 100, latency_us=1000)]
    merged = merge([ClientLogs(0, logs, threads=2)], warmup_s=0)
    assert merged.clients[0].busy_us / 1e6 / 10 == pytest.approx(1.6, rel=1e-3)
    assert merged.longest_us == 3000


log_parts = st.lists(st.lists(st.integers(0, 10**7), min_size=1, max_size=5), min_size=3, max_size=6)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(log_parts, log_parts, st.floats(-0.4, 0.4)), min_size=1, max_size=4), st.randoms())
def test_it_does_not_depend_on_the_order_of_clients_or_logs(parts, dice: random.Random):
    clients = [
        ClientLogs(
            number,
            [
                made_log("READ", [(phase + second, 1.0, values) for second, values in enumerate(reads)]),
                made_log("UPDATE", [(phase + second, 1.0, values) for second, values in enumerate(updates)]),
            ],
        )
        for number, (reads, updates, phase) in enumerate(parts)
    ]
    expected = merge(clients, warmup_s=0.5)
    shuffled = [dataclasses.replace(client, logs=dice.sample(list(client.logs), 2)) for client in clients]
    dice.shuffle(shuffled)
    merged = merge(shuffled, warmup_s=0.5)
    assert merged.throughput_ops_s == expected.throughput_ops_s
    assert merged.clients == expected.clients
    assert merged.operations == expected.operations
    kept, kept_of_shuffled = Kept(), Kept()
    ingest(clients, Cut(0.5), keep=kept)
    ingest(shuffled, Cut(0.5), keep=kept_of_shuffled)
    assert kept.contents() == kept_of_shuffled.contents()


def test_it_cuts_stored_intervals_again_to_the_same_numbers():
    clients = [client("two_clients/0", 0), client("two_clients/1", 1)]
    first = merge(clients, warmup_s=1, measure_s=3)
    stored = [StoredIntervals.from_bytes(pack_intervals(entry)) for entry in collected(clients)]
    again = recut(stored, statements(clients), Cut(1, 3))
    assert again.operations == first.operations
    assert again.clients == first.clients
    longer = recut(stored, statements(clients), Cut(2))
    assert longer.window.from_s == first.window.from_s + 1
    assert longer.total_operations != first.total_operations


def test_adds_all_intervals_of_all_clients_without_a_cut():
    clients = [client("two_clients/0", 0), client("two_clients/1", 1)]
    merged = merge(clients, warmup_s=0, phase="load")
    for name in ("READ", "UPDATE"):
        logs = [log for client in clients for log in client.logs if log.operation == name]
        operation = get_operation(merged, name)
        assert operation is not None
        assert operation.histogram == Histogram.merged(log.histogram() for log in logs)
        assert operation.count == int(np.sum([log.total for log in logs]))


def made_logs_with_stalls(stalls):
    """READ and UPDATE at 100 operations a second each, over 60 s, with a status line each second.

    `stalls` maps the second of a status line to how long the client stalls between READ's and UPDATE's interval.
    """
    done_s = np.arange(0, 60, 0.01)
    reads = [second + 0.0 for second in range(61)]
    updates = [second + 0.005 + stalls.get(second, 0.0) for second in range(61)]
    for second, stall_s in stalls.items():
        # The next status lines come late, too, and then in quick succession.
        reads = [
            second + stall_s + 0.006 + i / 1e4 if second < i <= second + stall_s else at for i, at in enumerate(reads)
        ]
        updates = [
            second + stall_s + 0.0065 + i / 1e4 if second < i <= second + stall_s else at
            for i, at in enumerate(updates)
        ]
    logs = []
    for name, borders in (("READ", reads), ("UPDATE", updates)):
        counts = np.histogram(done_s, [-1.0, *borders[1:]])[0]
        starts = [borders[0], *borders[1:-1]]
        parts = zip(starts, np.diff([starts[0], *borders[1:]]), counts, strict=True)
        logs.append(made_log(name, [(start, length, [500] * int(count)) for start, length, count in parts]))
    return logs


@pytest.mark.parametrize("stalls", [{}, {9: 4.0}, {8: 3.0}, {39: 4.0}, {38: 5.0}, {9: 4.0, 39: 4.0}], ids=str)
def test_cuts_all_operations_at_the_same_instants(stalls):
    merged = merge([ClientLogs(0, made_logs_with_stalls(stalls))], warmup_s=10, measure_s=30)
    read, update = get_operation(merged, "READ"), get_operation(merged, "UPDATE")
    assert read.count / merged.total_operations == pytest.approx(0.5, abs=0.001)
    assert update.count == pytest.approx(100 * merged.clients[0].covered_s, rel=0.001)
    assert merged.throughput_ops_s == pytest.approx(200, rel=0.001)
    # An edge moves inward past the stall and no further.
    assert 30 - 6 * len(stalls) <= merged.clients[0].covered_s <= 34


def test_keeps_the_edges_where_no_borders_lie_together():
    reads, updates = steady_log("READ", 30, 10), steady_log("UPDATE", 30, 10, first_s=0.45)
    merged = merge([ClientLogs(0, [reads, updates])], warmup_s=10, measure_s=10)
    assert get_operation(merged, "READ").count == get_operation(merged, "UPDATE").count == 100
