"""The facts of a run: what its clients left behind, with what is facts beside it."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from runs.checks import ClientFacts, OperationFacts, Surroundings, collect_facts
from runs.checks.facts import RunContext
from runs.results.measures.host import HostSamples
from runs.ycsb.bounds import Bounds
from runs.ycsb.evidence import ClientEvidence
from runs.ycsb.merged import ClientLogs, MissingClient, Window
from runs.ycsb.properties import CORE_WORKLOADS, check_workload
from runs.ycsb.series import POINT, Series
from runs.ycsb.summary_run import SummarisedClient, SummarisedOperation, SummarisedRun
from runs.ycsb.tests.samples import build_series, made_log, made_summary, merge, steady_log

BASE = 1_700_000_000.0
A = check_workload({**CORE_WORKLOADS["A"], "recordcount": "5000"})


def read(**changes: Any) -> SummarisedOperation:
    values: dict[str, Any] = {
        "kind": "service",
        "ok": 90,
        "failed": 10,
        "failures": {"ERROR": 10},
        "returns": {"OK": 90, "ERROR": 10},
        "is_composite": False,
        "mean_us": 5.0,
        "min_us": 1.0,
        "max_us": 9.0,
        "percentiles_us": {"95": Bounds(7.0, 8.0), "99.9": Bounds(9.0, None)},
    }
    return SummarisedOperation("READ", **{**values, **changes})


def summarised(*clients: SummarisedClient, **changes: Any) -> SummarisedRun:
    values: dict[str, Any] = {
        "phase": "measure",
        "operations": (read(),),
        "missing": (MissingClient(7, "it left nothing"),),
        "total_operations": 100,
        "ok_operations": 90,
        "failed_operations": 10,
        "throughput_ops_s": 45.0,
        "basis": "stated",
        "throughput_sum_ops_s": 45.0,
        "throughput_wall_ops_s": None,
        "overlap": 0.9,
        "window": None,
    }
    return SummarisedRun(clients=clients, **{**values, **changes})


def lasting(number: int, runtime_ms: float | None, **changes: Any) -> SummarisedClient:
    values: dict[str, Any] = {
        "operations": 100,
        "ok": 90,
        "failed": 10,
        "busy_us": 500.0,
        "throughput_ops_s": 45.0,
        "threads": 4,
        "printed_counts": {"READ": 100},
        "format": "ycsb-text",
    }
    return SummarisedClient(number=number, runtime_ms=runtime_ms, **{**values, **changes})


def test_a_client_of_a_summary_keeps_what_it_printed():
    evidence = ClientEvidence(gc_share=0.03)
    stated = lasting(
        3, 2000.0, evidence=evidence, started_s=1.0, ended_s=3.0, cleanup_s=0.5, complete=False,
        status_operations=99, status_coverage=0.98, status_interval_s=10.0,
    )  # fmt: skip
    beside = Surroundings(
        machines={3: "lab"}, cores={3: 8}, cpu_percent={3: 250.0}, clock_offsets_s={3: 0.001}, gc_shares={4: 0.5}
    )
    (facts,) = collect_facts(summarised(stated), threads=4, context=beside).clients
    assert facts == ClientFacts(
        number=3, started_s=1.0, ended_s=3.0, covered_s=2.0, operations=100, busy_us=500.0, throughput_ops_s=45.0,
        threads=4, runtime_ms=2000.0, printed_throughput_ops_s=45.0, printed_counts={"READ": 100},
        status_operations=99, status_coverage=0.98, status_interval_s=10.0, cleanup_s=0.5, truncated=True,
        machine="lab", cpu_percent=250.0, cores=8, gc_share=0.03, clock_offset_s=0.001, evidence=evidence,
    )  # fmt: skip
    measured = collect_facts(summarised(stated), threads=4, context=replace(beside, gc_shares={3: 0.01}))
    assert measured.clients[0].gc_share == 0.01
    unknown = collect_facts(summarised(lasting(5, None), lasting(6, -3.0)), threads=4).clients
    assert [(entry.covered_s, entry.machine, entry.gc_share) for entry in unknown] == [(0.0, "", None)] * 2
    assert not unknown[0].truncated


def test_facts_of_a_summary_are_those_of_whole_runs():
    facts = collect_facts(
        summarised(lasting(0, 3000.0), lasting(1, 2000.0)), threads=8, target_ops_s=50.0, rows_loaded=4999, measure_s=3
    )
    assert (facts.phase, facts.threads, facts.target_ops_s, facts.rows_loaded) == ("measure", 8, 50.0, 4999)
    assert (facts.window_s, facts.window_asked_s, facts.whole_runs) == (2.0, 3, True)
    assert (facts.total_operations, facts.ok_operations, facts.failed_operations) == (100, 90, 10)
    assert (facts.clients_expected, facts.missing) == (3, ("client 7: it left nothing",))
    assert (facts.throughput_ops_s, facts.overlap, facts.returns) == (45.0, 0.9, {"OK": 90, "ERROR": 10})
    assert (facts.over_time, facts.rate_ops_s, facts.properties, facts.proportions) == (None, None, {}, None)


@pytest.mark.parametrize(
    ("runtimes_ms", "window_s"), [((None, 2000.0), 2.0), ((0.0, 2000.0), 2.0), ((0.5, 2.0), 0.0005), ((-1.0,), None)]
)
def test_window_of_summaries_is_the_shortest_run_time(runtimes_ms, window_s):
    clients = [lasting(number, runtime_ms) for number, runtime_ms in enumerate(runtimes_ms)]
    assert collect_facts(summarised(*clients), threads=1).window_s == window_s


@pytest.mark.parametrize(
    ("intervals_s", "resolution_s"), [((10.0, 1.0), 10.0), ((1.0, 10.0), 10.0), ((10.0, None), None)]
)
def test_seconds_of_summaries_are_as_fine_as_status_lines(intervals_s, resolution_s):
    rows = np.zeros(6, dtype=POINT)
    rows["second"], rows["rate_ops_s"], rows["count"] = np.arange(6), 10 * np.arange(6), 1
    status = Series("TOTAL", "service", BASE, 1, 1, rows)
    clients = [lasting(number, 9000.0, status_interval_s=apart_s) for number, apart_s in enumerate(intervals_s)]
    facts = collect_facts(summarised(*clients, window=Window(BASE + 1, BASE + 5), series=(status,)), threads=1)
    assert facts.window_s == 4.0
    assert facts.over_time is not None
    assert (facts.over_time.warmup_s, facts.over_time.resolution_s) == (0, resolution_s)
    assert facts.rate_ops_s == [10.0, 20.0, 30.0, 40.0]


def test_an_operation_of_a_summary_keeps_lower_bounds():
    entry = read(kind="response", is_composite=True, resolution_us=1000.0, contradiction="its buckets")
    (facts,) = collect_facts(summarised(lasting(0, 1.0), operations=(entry,)), threads=1).operations
    assert facts == OperationFacts(
        "READ", kind="response", is_composite=True, ok=90, failed=10, mean_us=5.0, min_us=1.0, max_us=9.0,
        percentiles_us={95.0: 7.0, 99.9: 9.0}, resolution_us=1000.0, contradiction="its buckets",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("formats", "changes", "averaged"),
    [
        (["ycsb-text"], {"percentiles_us": {"95": Bounds(7.5, None)}}, True),
        (["ycsb-text"], {"percentiles_us": {"95": Bounds(7.0, 7.5)}}, True),
        (["ycsb-text", "ycsb-json", "thumbtack"], {"percentiles_us": {"95": Bounds(7.5, 7.5)}}, True),
        (["ycsb-text", "go-ycsb"], {"percentiles_us": {"95": Bounds(7.5, 7.5)}}, False),
        (["go-ycsb"], {"percentiles_us": {"95": Bounds(7.5, 7.5)}}, False),
        (["go-ycsb"], {"is_average": True}, True),
        (["ycsb-text"], {}, False),
    ],
)
def test_fractions_of_whole_numbers_are_averages(formats, changes, averaged):
    clients = [lasting(number, 1.0, format=name) for number, name in enumerate(formats)]
    (facts,) = collect_facts(summarised(*clients, operations=(read(**changes),)), threads=1).operations
    assert facts.averaged is averaged


def test_return_codes_are_added_without_composites():
    update = replace(read(returns={"OK": 5, "TIMEOUT": 1}), operation="UPDATE")
    both = replace(read(returns={"OK": 1000}, is_composite=True), operation="READ-MODIFY-WRITE")
    facts = collect_facts(summarised(lasting(0, 1.0), operations=(read(), update, both)), threads=1)
    assert facts.returns == {"OK": 95, "ERROR": 10, "TIMEOUT": 1}
    assert collect_facts(summarised(operations=(read(returns={}),)), threads=1).returns is None


def test_the_workload_states_proportions_and_records():
    facts = collect_facts(summarised(lasting(0, 1.0)), threads=1, workload=A)
    assert (facts.properties, facts.proportions) == (A, {"READ": 0.5, "UPDATE": 0.5})
    assert (facts.recordcount, facts.record_bytes) == (5000, 1000.0)
    # What a load is asked for is no mix; its phase is given where summaries do not show it.
    load = collect_facts(summarised(lasting(0, 1.0), phase=None), threads=1, workload=A, phase="load")
    assert (load.phase, load.proportions, load.recordcount) == ("load", None, 5000)
    assert collect_facts(summarised(lasting(0, 1.0)), threads=1, phase="load").phase == "measure"


def test_what_is_known_of_the_run_is_passed_on():
    beside = Surroundings(
        client_on_database_host=True, divided_cpus=(2, 1), low_latency_us=5.0, durability={"ack": "disk"},
        mode_properties={"w": "1"}, mode_stated=True, made_elsewhere=True, without_codes=True, has_faults=True,
        other_system="redis",
    )  # fmt: skip
    facts = collect_facts(summarised(lasting(0, 1.0)), threads=1, context=beside)
    for entry in fields(RunContext):
        assert getattr(facts, entry.name) == getattr(beside, entry.name), entry.name


def test_facts_of_histograms_are_those_of_the_window():
    """One thread at 10 ops/s is due every 100 ms, so a read of 1 s delays nine others, by 900 ms to 100 ms."""
    logs = [
        made_log("READ", [(second, 1.0, [1000] * 9 + [1_000_000]) for second in range(6)]),
        steady_log("READ-MODIFY-WRITE", 6, 5),
    ]
    client = ClientLogs(0, logs, summary=made_summary(6000.0, 10.0, READ=60), threads=1)
    merged = merge([client], warmup_s=2, measure_s=3)
    at_s = BASE + np.arange(1.0, 8.0)
    columns = {"at_s": at_s, "interval_s": np.ones(7), "other_cores": np.arange(7.0)}
    beside = Surroundings(hosts=(HostSamples(machine="lab", columns=columns),), machines={0: "lab"})
    rates = [9.0, 9.0, 9.0]
    facts = collect_facts(
        merged, threads=1, target_ops_s=10.0, measure_s=3, rate_ops_s=rates, series=build_series(merged), context=beside
    )
    assert (facts.window_s, facts.window_asked_s, facts.whole_runs, facts.overlap) == (3.0, 3, False, merged.overlap)
    assert (facts.rate_ops_s, facts.longest_us) == (rates, merged.longest_us)
    assert facts.over_time is not None and facts.over_time.warmup_s == 2
    # The samples of the seconds from 2 to 5.
    assert facts.hosts[0].columns["other_cores"].tolist() == [2.0, 3.0, 4.0]
    (row,) = facts.clients
    share = merged.clients[0]
    assert (row.operations, row.threads, row.machine, row.evidence) == (share.operations, 1, "lab", None)
    assert (row.covered_s, row.log_counts, row.printed_counts) == (share.covered_s, share.log_counts, {"READ": 60})
    operations = {entry.operation: entry for entry in facts.operations}
    reads, merged_reads = operations["READ"], next(entry for entry in merged.operations if entry.operation == "READ")
    assert (reads.ok, reads.failed, reads.min_us) == (30, 0, 1000)
    assert reads.upper_bounds_us == merged_reads.upper_bounds_us
    assert reads.response_estimated_us == pytest.approx(1_000_000, rel=0.002)
    assert operations["READ-MODIFY-WRITE"].response_estimated_us is None
    # Without a target, or without threads, nothing was due.
    for unknown in ({"threads": 1}, {"threads": None, "target_ops_s": 10.0}):
        assert {entry.response_estimated_us for entry in collect_facts(merged, **unknown).operations} == {None}


def test_an_estimate_depends_on_how_often_an_operation_was_due():
    """99 quick reads and one of 1 s: at p99 only what waited behind it counts, every 100 ms or every 500 ms."""
    merged = merge([ClientLogs(0, [made_log("READ", [(0, 1.0, [1000] * 99 + [1_000_000])])], threads=1)], warmup_s=0)

    def p99_us(threads: int, target_ops_s: float) -> float | None:
        return collect_facts(merged, threads=threads, target_ops_s=target_ops_s).operations[0].response_estimated_us

    # 109 values: the 108th is the second longest, 900 ms. 101 values: the 100th is what waited 500 ms.
    assert p99_us(1, 10.0) == pytest.approx(900_000, rel=0.002)
    assert p99_us(5, 50.0) == pytest.approx(900_000, rel=0.002)
    assert p99_us(1, 2.0) == pytest.approx(500_000, rel=0.002)
    both = merge(
        [
            ClientLogs(
                0,
                [made_log("READ", [(0, 1.0, [1000] * 9)]), made_log("Intended-READ", [(0, 1.0, [2000] * 9)])],
                threads=1,
            )
        ],
        warmup_s=0,
    )
    assert {entry.response_estimated_us for entry in collect_facts(both, threads=1, target_ops_s=10.0).operations} == {
        None
    }
