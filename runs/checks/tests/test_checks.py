"""Every check: when it is satisfied, when it warns, when it rejects, and when it cannot tell."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchsite.core.formatting import THIN
from runs.checks import (
    CheckResult,
    ClientFacts,
    ClientProbe,
    ClusterFacts,
    OperationFacts,
    OverTime,
    Profile,
    RunFacts,
    judge_run,
    profile,
)
from runs.checks.tests.verdicts import worst
from runs.results.measures.host import HostSamples
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.evidence import ClientEvidence

MEASURED = profile("measured")
P = {50.0: 900.0, 90.0: 1100.0, 95.0: 1200.0, 99.0: 1500.0, 99.9: 3000.0, 99.99: 5000.0}


def client(number: int, **changes: Any) -> ClientFacts:
    counts = {"READ": 75_000 * 2, "UPDATE": 75_000 * 2, "CLEANUP": 4}
    good = ClientFacts(
        number=number,
        started_s=1000.0 + 0.05 * number,
        ended_s=1305.0 + 0.05 * number,
        covered_s=300.0,
        operations=290_000,
        busy_us=0.95 * 8 * 300e6,
        throughput_ops_s=966.7,
        threads=8,
        runtime_ms=305_200.0,
        printed_throughput_ops_s=300_000 / 305.2,
        log_counts=counts,
        printed_counts=counts,
        init_s=0.2,
        cleanup_s=0.01,
        machine=f"machine {number}",
        cpu_percent=120.0,
        cores=4,
        gc_share=0.004,
        clock_offset_s=0.002,
    )
    return replace(good, **changes)


def host(machine: str, other: Any = 0.05, cores: int = 4, **changes: Any) -> HostSamples:
    """A load generator, 300 s; `other` is the CPU of other processes, in cores, for each second."""
    seconds = np.ones(300)
    columns: dict[str, Any] = {"at_s": 1001.0 + np.arange(300), "interval_s": seconds, "clients_cores": 1.2 * seconds}
    columns |= dict.fromkeys(("servers_cores", "benchsite_cores", "kernel_cores", "steal_cores"), 0.0 * seconds)
    columns["other_cores"] = seconds * other
    columns |= {name: seconds * value for name, value in changes.items()}
    columns |= {f"core{core}_busy": 0.3 * seconds for core in range(cores)}
    return HostSamples(machine=machine, owners=("clients_cores",), columns=columns)


def over_time(warmup_s: int = 5, **changes: Any) -> OverTime:
    """An even run of five minutes."""
    seconds = warmup_s + 300
    good = OverTime(
        warmup_s=warmup_s,
        rate_ops_s=[1933.0 + (second % 7) for second in range(seconds)],
        p95_us=[1200.0 + (second % 5) for second in range(seconds)],
        response_mean_us=[1100.0 + (second % 3) for second in range(300)],
    )
    return replace(good, **changes)


def facts(**changes: Any) -> RunFacts:
    """A good measured run of five minutes."""
    good = RunFacts(
        phase="measure",
        threads=16,
        target_ops_s=None,
        clients_expected=2,
        clients=(client(0), client(1)),
        missing=(),
        window_s=300.0,
        window_asked_s=300.0,
        operations=(
            OperationFacts("READ", ok=290_000, mean_us=1000, min_us=100, max_us=90_000, percentiles_us=P),
            OperationFacts("UPDATE", ok=290_000, mean_us=1000, min_us=100, max_us=90_000, percentiles_us=P),
        ),
        total_operations=580_000,
        ok_operations=580_000,
        failed_operations=0,
        throughput_ops_s=1933.4,
        overlap=0.999,
        longest_us=16 * 90_000.0,
        returns={"OK": 600_000},
        proportions={"READ": 0.5, "UPDATE": 0.5},
        recordcount=10_000_000,
        rows_loaded=10_000_000,
        rate_ops_s=[1933.0 + (second % 7) for second in range(300)],
        over_time=over_time(),
        properties={"readallfields": "true", "fieldcount": "10"},
        record_bytes=1000.0,
        cluster=ClusterFacts(nodes=1, replication_factor=1, machines=({"nic_bits_per_s": 10**10, "swap_bytes": 0},)),
        client_on_database_host=False,
        hosts=(host("machine 0"), host("machine 1")),
    )
    return replace(good, **changes)


def result(check_id: str, run: RunFacts, thresholds: Profile = MEASURED) -> CheckResult | None:
    return next((finding for finding in judge_run(run, thresholds) if finding.check_id == check_id), None)


def severity(check_id: str, run: RunFacts, thresholds: Profile = MEASURED) -> str | None:
    outcome = result(check_id, run, thresholds)
    return outcome.severity if outcome else None


def test_it_passes_a_good_run():
    results = judge_run(facts(), MEASURED)
    assert {result.check_id: result.severity for result in results if result.severity != "pass"} == {}
    assert worst(results) == "pass"
    ids = [result.check_id for result in results]
    always = "E01 V01 V03 V05 V06 V07 V08 V11 V12 V13 V14 V15 V16 V19 V21 V22 V23 V24 V25 V30 V35"
    assert ids == sorted(ids) == always.split()


def both(**changes: Any) -> tuple[ClientFacts, ...]:
    return client(0, **changes), client(1, **changes)


def read_bounded_at(bound_us):
    """A READ whose p99 of 10 ms has this upper bound."""
    return OperationFacts("READ", ok=20_000, percentiles_us={99.0: 10_000.0}, upper_bounds_us={99.0: bound_us})


MAJORITY: dict[str, Any] = {
    "durability": {"ack": "disk"},
    "mode_properties": {"w": "majority", "journal": "false", "readPreference": "primary"},
}


def stated(first: dict[str, str], second: dict[str, str]) -> dict[str, Any]:
    return {"clients": (client(0, evidence=ClientEvidence(first)), client(1, evidence=ClientEvidence(second)))}


LATER_AND_LATER = [1000.0 + 2000.0 * second for second in range(300)]
ON_DISK = {"client_on_database_host": True, "durability": {"ack": "disk"}}


def sampled(nodes: int = 1, **columns: Any) -> dict[str, Any]:
    """A cluster of so many nodes, of which one was sampled."""
    links = ClusterFacts(nodes=nodes, machines=({"nic_bits_per_s": 10**10},) * nodes)
    return {"cluster": links, "hosts": (replace(host("db", **columns), node=1),)}


ONE_FIELD = {"properties": {"readallfields": "false", "fieldcount": "10"}}

CASES: list[tuple[str, dict[str, Any], str | None]] = [
    ("E01", {"missing": ("client 1: it left no log of any operation",), "clients": (client(0),)}, "reject"),
    ("E01", {"ok_operations": 0}, "reject"),
    ("E01", {"returns": None}, "reject"),
    ("E01", {"returns": {"ERROR": 5}}, "reject"),
    ("E01", {"window_s": 200.0}, "reject"),
    ("E01", {"window_s": 299.0}, "pass"),
    ("E01", {"window_asked_s": None, "window_s": 10.0}, "pass"),
    ("E01", {"clients": (client(0, covered_s=599.0), client(1, covered_s=151.0))}, "pass"),
    ("E01", {"clients": (client(0, covered_s=601.0), client(1))}, "reject"),
    ("E01", {"clients": (client(0, covered_s=149.0), client(1))}, "reject"),
    ("E01", {"clients": (client(0, covered_s=60.0, ended_s=1100.0), client(1))}, "pass"),
    ("E01", {"clients": (client(0, truncated=True), client(1))}, "reject"),
    ("V01", {"clients": both(busy_us=0.91 * 8 * 300e6)}, "pass"),
    ("V01", {"clients": both(busy_us=0.89 * 8 * 300e6)}, "warn"),
    ("V01", {"clients": both(busy_us=0.74 * 8 * 300e6)}, "reject"),
    ("V01", {"clients": both(busy_us=1.019 * 8 * 300e6), "longest_us": 0.0}, "pass"),
    ("V01", {"clients": both(busy_us=1.03 * 8 * 300e6), "longest_us": 0.0}, "reject"),
    ("V01", {"clients": both(busy_us=1.03 * 8 * 300e6), "longest_us": 16 * 6e6}, "pass"),
    ("V01", {"clients": both(busy_us=0.1 * 8 * 300e6), "target_ops_s": 2000.0}, "pass"),
    ("V01", {"clients": both(busy_us=1.1 * 8 * 300e6), "target_ops_s": 2000.0}, "reject"),
    ("V01", {"missing": ("client 2: gone",)}, "not_assessed"),
    ("V03", {"clients": both(cpu_percent=330.0)}, "warn"),
    ("V03", {"clients": both(cpu_percent=370.0)}, "reject"),
    ("V03", {"clients": both(cpu_percent=185.0, machine="one")}, "reject"),
    ("V03", {"clients": (client(0), client(1, cpu_percent=None))}, "not_assessed"),
    ("V03", {"clients": both(cores=None)}, "not_assessed"),
    ("V05", {"window_s": 119.0}, "warn"),
    ("V05", {"window_s": 29.0}, "reject"),
    ("V05", {"total_operations": 99_999}, "warn"),
    ("V05", {"total_operations": 200_000, "operations_asked": 200_001}, "warn"),
    ("V05", {"total_operations": 200_000, "operations_asked": 200_000}, "pass"),
    ("V05", {"operations": (OperationFacts("READ", ok=458),)}, "warn"),
    ("V05", {"operations": (OperationFacts("READ", ok=459),)}, "pass"),
    ("V05", {"operations": (read_bounded_at(None),)}, "warn"),
    ("V05", {"operations": (read_bounded_at(12_600.0),)}, "warn"),
    ("V05", {"operations": (read_bounded_at(12_500.0),)}, "pass"),
    ("V06", {"clients": both(init_s=9.0)}, "warn"),
    ("V06", {"clients": both(init_s=20.0, cleanup_s=20.0)}, "reject"),
    ("V06", {"clients": both(runtime_ms=None)}, "not_assessed"),
    ("V07", {"failed_operations": 580}, "pass"),
    ("V07", {"failed_operations": 581}, "warn"),
    ("V07", {"failed_operations": 5_801}, "reject"),
    ("V07", {"failed_operations": 5_801, "returns": {"OK": 1, "NOT_FOUND": 9}}, "reject"),
    ("V07", {"failed_operations": 700, "returns": {"OK": 1, "NOT_FOUND": 5, "ERROR": 5}}, "pass"),
    ("V07", {"total_operations": 0}, "not_assessed"),
    ("V08", {"proportions": {"READ": 0.52, "UPDATE": 0.48}}, "warn"),
    ("V08", {"proportions": {"READ": 0.509, "UPDATE": 0.491}}, "pass"),
    ("V08", {"proportions": {"READ": 0.5, "UPDATE": 0.495, "INSERT": 0.005}}, "warn"),
    ("V08", {"proportions": {"READ": 1.0}}, "reject"),
    ("V08", {"proportions": {"READ": 0.56, "UPDATE": 0.44}}, "reject"),
    ("V08", {"proportions": {"READ": 0.52, "UPDATE": 0.48}, "whole_runs": True}, "reject"),
    ("V08", {"proportions": {"READ": 0.509, "UPDATE": 0.491}, "whole_runs": True}, "pass"),
    ("V08", {"proportions": None}, None),
    ("V09", {}, None),
    ("V09", {"target_ops_s": 1960.0}, "pass"),
    ("V09", {"target_ops_s": 1990.0}, "info"),
    ("V09", {"target_ops_s": 2100.0}, "warn"),
    ("V31", {}, None),
    ("V31", {"target_ops_s": 1000.0, "throughput_ops_s": None}, "not_assessed"),
    ("V31", {"target_ops_s": 1000.0, "throughput_ops_s": 1020.0}, "pass"),
    ("V31", {"target_ops_s": 1000.0, "throughput_ops_s": 1021.0}, "warn"),
    ("V31", {"target_ops_s": 1000.0, "throughput_ops_s": 1100.0}, "warn"),
    ("V31", {"target_ops_s": 1000.0, "throughput_ops_s": 1101.0}, "reject"),
    ("V12", {"rate_ops_s": [1000.0] * 94 + [500.0] * 6}, "warn"),
    ("V12", {"rate_ops_s": [1000.0] * 96 + [880.0] * 4}, "pass"),
    ("V12", {"rate_ops_s": [1000.0, 700.0] * 50}, "warn"),
    ("V12", {"rate_ops_s": [1000.0] * 59}, "not_assessed"),
    ("V12", {"rate_ops_s": None}, "not_assessed"),
    ("V14", {"clients": (client(0), client(1, started_s=1002.0))}, "warn"),
    ("V14", {"clients": (client(0), client(1, ended_s=1285.0))}, "reject"),
    ("V14", {"overlap": 0.89}, "warn"),
    ("V14", {"clients": (client(0),), "clients_expected": 1}, None),
    ("V15", {"clients": (client(0), client(1, throughput_ops_s=700.0))}, "warn"),
    ("V15", {"clients": (client(0), client(1, throughput_ops_s=400.0))}, "reject"),
    ("V15", {"clients": (client(0), client(1, throughput_ops_s=0.0))}, "reject"),
    ("V15", {"clients": (client(0), client(1, throughput_ops_s=484.0, threads=4))}, "pass"),
    ("V15", {"clients": (client(0),)}, None),
    ("V19", {"rows_loaded": 9_999_999}, "reject"),
    ("V19", {"rows_loaded": 10_000_001}, "reject"),
    ("V19", {"rows_loaded": 10_000_001, "proportions": {"READ": 0.95, "INSERT": 0.05}}, "pass"),
    ("V19", {"rows_loaded": 9_999_999, "proportions": {"READ": 0.95, "INSERT": 0.05}}, "reject"),
    ("V19", {"rows_loaded": None}, "not_assessed"),
    ("V22", {"operations": (OperationFacts("READ", ok=1, percentiles_us={50.0: 9.0, 99.0: 8.0}),)}, "reject"),
    ("V22", {"operations": (OperationFacts("READ", ok=1, max_us=5.0, percentiles_us={99.0: 8.0}),)}, "reject"),
    ("V22", {"operations": (OperationFacts("READ", ok=1, mean_us=5.0, min_us=6.0),)}, "reject"),
    ("V22", {"operations": (OperationFacts("READ", ok=1, mean_us=5.0, max_us=4.0),)}, "reject"),
    ("V22", {"target_ops_s": 2000.0}, "warn"),
    ("V23", {"clients": both(printed_throughput_ops_s=300_000 / 305.2 * 1.002)}, "reject"),
    ("V23", {"clients": both(printed_throughput_ops_s=300_000 / 305.2 * 1.0005)}, "pass"),
    ("V23", {"clients": both(log_counts={"READ": 149_999, "UPDATE": 150_000, "CLEANUP": 4})}, "reject"),
    ("V23", {"clients": both(log_counts={"READ": 150_000, "CLEANUP": 4})}, "reject"),
    ("V23", {"clients": both(log_counts={"READ": 150_000, "UPDATE": 150_000, "CLEANUP": 2})}, "pass"),
    ("V23", {"clients": (client(0), client(1, printed_counts=None))}, "not_assessed"),
    ("V24", {"client_on_database_host": True}, "warn"),
    ("V24", {"client_on_database_host": None}, "not_assessed"),
    ("V02", {}, None),
    ("V02", {"target_ops_s": 1940.0}, "pass"),
    ("V02", {"target_ops_s": 2500.0, "clients": both(busy_us=0.5 * 8 * 300e6)}, "pass"),
    ("V02", {"target_ops_s": 2500.0, "clients": both(busy_us=0.97 * 8 * 300e6)}, "not_assessed"),
    ("V02", {"target_ops_s": 2500.0, "clients": both(busy_us=0.97 * 8 * 300e6), "low_latency_us": 900.0}, "warn"),
    ("V02", {"target_ops_s": 2500.0, "clients": both(busy_us=0.97 * 8 * 300e6), "low_latency_us": 400.0}, "pass"),
    ("V02", {"target_ops_s": 2500.0, "threads": None}, "not_assessed"),
    ("V03", {"clients": (client(0), client(1, gc_share=0.06))}, "warn"),
    ("V03", {"clients": both(gc_share=0.06, cpu_percent=None)}, "warn"),
    ("V03", {"clients": both(gc_share=0.04, cpu_percent=None)}, "not_assessed"),
    ("V04", {}, None),
    ("V04", {"probe": ClientProbe(3, 1933.4 * 1.04)}, "pass"),
    ("V04", {"probe": ClientProbe(3, 1933.4 * 1.06)}, "warn"),
    ("V04", {"probe": ClientProbe(3, 1933.4 * 1.06), "target_ops_s": 1900.0}, None),
    ("V06", {"phase": "load"}, None),
    ("V06", {"clients": both(init_s=None, cleanup_s=4.0)}, "not_assessed"),
    ("V06", {"clients": both(init_s=None, cleanup_s=40.0)}, "reject"),
    ("V06", {"clients": both(init_s=None, cleanup_s=None)}, "not_assessed"),
    ("V08", {"made_elsewhere": True, "proportions": None}, "not_assessed"),
    ("V10", {}, None),
    ("V10", {"target_ops_s": 1940.0}, "pass"),
    ("V10", {"target_ops_s": 1940.0, "over_time": over_time(response_mean_us=LATER_AND_LATER)}, "reject"),
    ("V10", {"target_ops_s": 2500.0, "over_time": over_time(response_mean_us=LATER_AND_LATER)}, "warn"),
    ("V10", {"target_ops_s": 1940.0, "over_time": over_time(response_mean_us=())}, "not_assessed"),
    ("V10", {"target_ops_s": 1940.0, "over_time": None}, "not_assessed"),
    ("V11", {"over_time": None}, "not_assessed"),
    ("V11", {"over_time": over_time(rate_ops_s=[1000.0] * 60)}, "not_assessed"),
    ("V11", {"over_time": over_time(rate_ops_s=[100.0 + 3 * second for second in range(305)])}, "warn"),
    ("V11", {"over_time": over_time(rate_ops_s=[1000.0 - 0.2 * second for second in range(305)])}, "warn"),
    ("V11", {"over_time": over_time(rate_ops_s=[1000.0 - 0.1 * second for second in range(305)])}, "pass"),
    ("V11", {"over_time": over_time(rate_ops_s=[*range(100, 1000, 18), *[1000.0] * 255])}, "warn"),
    ("V11", {"over_time": over_time(60, rate_ops_s=[*range(100, 1000, 18), *[1000.0] * 310])}, "pass"),
    ("V11", {"over_time": over_time(p95_us=[*range(90_000, 1000, -890), *[1000.0] * 205])}, "warn"),
    ("V12", {"over_time": over_time(resolution_s=10.0)}, "not_assessed"),
    ("V12", {"over_time": over_time(resolution_s=None), "rate_ops_s": [1000.0, 700.0] * 50}, "warn"),
    ("V13", {"rate_ops_s": [1000.0] * 50 + [0.0] + [1000.0] * 50}, "pass"),
    ("V13", {"rate_ops_s": [1000.0] * 50 + [0.0] * 2 + [1000.0] * 50}, "warn"),
    ("V13", {"rate_ops_s": [5.0, 0.0, 0.0] * 50}, "not_assessed"),
    ("V13", {"rate_ops_s": None}, "not_assessed"),
    ("V13", {"operations": (OperationFacts("READ", ok=1, max_us=10.1e6),)}, "warn"),
    ("V13", {"operations": (OperationFacts("READ", ok=1, max_us=10.1e6),), "rate_ops_s": None}, "warn"),
    ("V13", {"over_time": over_time(resolution_s=10.0)}, "not_assessed"),
    ("V14", {"clients": both(started_s=None)}, "warn"),
    ("V14", {"clients": (client(0), client(1, ended_s=None, runtime_ms=200_000.0))}, "warn"),
    ("V15", {"clients": both(throughput_ops_s=None)}, "not_assessed"),
    ("V16", {"clients": (client(0), client(1, clock_offset_s=-0.05))}, "pass"),
    ("V16", {"clients": (client(0), client(1, clock_offset_s=-0.051))}, "warn"),
    ("V16", {"clients": (client(0), client(1, clock_offset_s=None))}, "not_assessed"),
    ("V20", {"durability": {"ack": "none"}}, "warn"),
    ("V20", {"durability": {"ack": "none"}, "proportions": {"READ": 1.0}}, None),
    ("V20", {"durability": {"ack": "memory"}}, None),
    ("V20", {"durability": {"ack": "memory"}, "mode_stated": True}, "warn"),
    ("V20", MAJORITY | {"clients": both(evidence=ClientEvidence({"w": "0"}))}, "reject"),
    ("V20", MAJORITY | {"clients": (client(0), client(1, evidence=ClientEvidence({"w": "1"})))}, "reject"),
    ("V20", MAJORITY | {"clients": both(evidence=ClientEvidence({"w": "Majority"}))}, "pass"),
    ("V20", MAJORITY | {"clients": both(evidence=ClientEvidence({"w": "majority", "journal": "true"}))}, "pass"),
    ("V20", MAJORITY | {"clients": both(evidence=ClientEvidence({"readPreference": "nearest"}))}, "warn"),
    ("V20", MAJORITY | {"clients": both(evidence=ClientEvidence())}, "not_assessed"),
    ("V20", MAJORITY, None),
    (
        "V27",
        {"clients": (client(0), client(1, evidence=ClientEvidence(copy_of=0)))},
        "reject",
    ),
    ("V27", {"clients": both(evidence=ClientEvidence())}, "pass"),
    ("V35", {"clients": both(clock_steps=())}, "pass"),
    ("V35", {"clients": (client(0), client(1, clock_steps=(ClockStep(3.0, -2.0),)))}, "warn"),
    ("V27", {"clients": (client(0, evidence=ClientEvidence()),), "clients_expected": 1}, None),
    ("V28", stated({"recordcount": "1000"}, {"recordcount": "2000"}), "reject"),
    ("V28", stated({"requestdistribution": "zipfian"}, {"requestdistribution": "uniform"}), "reject"),
    ("V28", stated({"readproportion": "0.5"}, {"readproportion": " .50"}), "pass"),
    ("V28", stated({"recordcount": "1000"}, {"w": "1"}), "not_assessed"),
    ("V29", {"clients": both(evidence=ClientEvidence(has_messages=True))}, "pass"),
    ("V29", {"clients": both(evidence=ClientEvidence())}, "not_assessed"),
    (
        "V29",
        {"clients": both(evidence=ClientEvidence(messages=["An exception was thrown: IOException"]))},
        "warn",
    ),
    ("V30", {"recordcount": 65_000}, "warn"),
    ("V30", {"recordcount": 66_000}, "pass"),
    ("V30", {"recordcount": 66_000, "cluster": ClusterFacts(nodes=3, replication_factor=1)}, "warn"),
    ("V30", {"recordcount": None}, "not_assessed"),
    ("V21", {"cluster": ClusterFacts(nodes=1, machines=({"nic_bits_per_s": 7_000_000},))}, "reject"),
    ("V21", {"cluster": ClusterFacts(nodes=1, machines=({"nic_bits_per_s": {"value": "9000000"}},))}, "pass"),
    ("V21", {"cluster": ClusterFacts(nodes=1, machines=({"nic_bits_per_s": 7_000_000},)), **ONE_FIELD}, "pass"),
    ("V21", {"cluster": ClusterFacts(nodes=1, machines=({"nic_bits_per_s": 700_000},)), **ONE_FIELD}, "warn"),
    ("V21", {"cluster": ClusterFacts(nodes=2, machines=({"nic_bits_per_s": 10**9}, {}))}, "not_assessed"),
    ("V21", {"record_bytes": None}, "not_assessed"),
    ("V21", sampled(network_sent_bytes_s=2e9), "pass"),
    ("V21", sampled(network_sent_bytes_s=1.0), "reject"),
    ("V21", {**sampled(network_sent_bytes_s=1.0), "client_on_database_host": None}, "pass"),
    ("V21", sampled(2, network_sent_bytes_s=1.0), "pass"),  # one of two nodes was not sampled
    ("V21", {**sampled(disk_written_bytes_s=1.0), **ON_DISK}, "warn"),
    ("V21", {**sampled(disk_written_bytes_s=1e9), **ON_DISK}, "pass"),
    ("V21", {**sampled(disk_written_bytes_s=1.0), **ON_DISK, "durability": {"ack": "memory"}}, None),
    ("V21", {**sampled(disk_written_bytes_s=0.0), **ON_DISK}, None),
    ("V21", {"client_on_database_host": True}, None),
    ("V22", {"operations": (OperationFacts("READ", ok=1, mean_us=1.0, resolution_us=1000.0),)}, "warn"),
    ("V22", {"operations": (OperationFacts("READ", ok=1, mean_us=1.0, averaged=True),)}, "warn"),
    ("V22", {"operations": (OperationFacts("READ", ok=1, mean_us=1.0, contradiction="its buckets"),)}, "reject"),
    ("V22", {"operations": ()}, "not_assessed"),
    ("V23", {"clients": both(runtime_ms=-5731.0)}, "reject"),
    ("V24", {"cluster": ClusterFacts(nodes=1, replication_factor=3)}, "warn"),
    ("V24", {"cluster": ClusterFacts(machines=({"instance_type": {"value": "t2.medium"}},))}, "warn"),
    ("V24", {"cluster": ClusterFacts(machines=({"burstable": "yes"},))}, "warn"),
    ("V24", {"cluster": ClusterFacts(machines=({"swap_bytes": 1},))}, "warn"),
    ("V24", {"cluster": ClusterFacts(machines=({"transparent_huge_pages": "always"},))}, "warn"),
    ("V24", {"cluster": ClusterFacts(nodes=1, replication_factor=3), "client_on_database_host": None}, "warn"),
]


@pytest.mark.parametrize(("check_id", "changes", "expected"), CASES)
def test_it_judges(check_id, changes, expected):
    assert severity(check_id, facts(**changes)) == expected


@pytest.mark.slow
def test_it_says_what_was_measured_against_what_and_what_to_do():
    for check_id, changes, expected in CASES:
        outcome = result(check_id, facts(**changes))
        if outcome is None:
            continue
        assert outcome.message.endswith(".") and "  " not in outcome.message, outcome
        assert len(outcome.title) <= 80 and len(outcome.measured) <= 120 and len(outcome.threshold) <= 120, outcome
        assert outcome.threshold
        if expected in ("warn", "reject"):
            assert outcome.remedy and outcome.measured, outcome


def test_it_keeps_not_found_apart_from_errors():
    outcome = result("V07", facts(failed_operations=5_801, returns={"OK": 600_000, "NOT_FOUND": 5_900}))
    assert outcome is not None
    assert outcome.measured == f"0{THIN}% errors, 1{THIN}% not found"
    assert "NOT_FOUND 5,900" in outcome.message
    assert "load the data set" in outcome.remedy


def test_it_counts_read_modify_writes_once_in_the_mix():
    operations = (
        OperationFacts("READ", ok=100_000),
        OperationFacts("UPDATE", ok=50_000),
        OperationFacts("READ-MODIFY-WRITE", ok=50_000, is_composite=True),
        OperationFacts("READ", kind="response", ok=100_000),
    )
    mixed = facts(operations=operations, total_operations=100_000, proportions={"READ": 0.5, "READ-MODIFY-WRITE": 0.5})
    outcome = result("V08", mixed)
    assert outcome is not None
    assert (outcome.severity, outcome.measured) == ("pass", f"READ 50{THIN}%, READ-MODIFY-WRITE 50{THIN}%")


@pytest.mark.parametrize(
    ("threads", "whole_runs", "severity"), [(16, False, "reject"), (128, False, "pass"), (128, True, "reject")]
)
def test_threads_in_a_stalled_operation_are_no_other_mix(threads: int, whole_runs: bool, severity: str):
    """Of 2,000 operations 120 more reads and 120 fewer updates: as many as a stall of all threads at an edge moves."""
    operations = (OperationFacts("READ", ok=1_120), OperationFacts("UPDATE", ok=880))
    stalled = facts(operations=operations, total_operations=2_000, threads=threads, whole_runs=whole_runs)
    outcome = result("V08", replace(stalled, proportions={"READ": 0.5, "UPDATE": 0.5}))
    assert outcome is not None
    assert outcome.severity == severity


def test_it_does_not_miss_what_was_hardly_expected():
    rare = facts(total_operations=580_000, proportions={"READ": 0.5, "UPDATE": 0.49999, "SCAN": 0.00001})
    assert severity("V08", rare) == "pass"


def test_it_never_lets_what_is_unknown_count_as_a_pass():
    results = judge_run(facts(rows_loaded=None, client_on_database_host=None), MEASURED)
    assert worst(results) == "pass"
    assert [result.check_id for result in results if result.severity == "not_assessed"] == ["V19", "V24"]


def test_it_is_not_confused_by_infinite_imbalance():
    outcome = result("V15", facts(clients=(client(0), client(1, throughput_ops_s=0.0))))
    assert outcome is not None
    assert "\N{INFINITY}" in outcome.measured
