"""Recorded runs of real clients, from their files to their verdict."""

import pytest

from runs.checks import Surroundings, collect_facts, judge_run, profile
from runs.checks.tests.verdicts import worst
from runs.ycsb.properties import CORE_WORKLOADS, check_workload
from runs.ycsb.series import total_rate
from runs.ycsb.tests.samples import build_series, client, merge

A, F = check_workload(CORE_WORKLOADS["A"]), check_workload(CORE_WORKLOADS["F"])


def judged(merged, purpose, **more):
    results = judge_run(collect_facts(merged, **more), profile(purpose))
    return results, {result.check_id: result.severity for result in results}


def test_a_short_run_of_two_clients_is_a_good_demo():
    merged = merge([client("two_clients/0", 0), client("two_clients/1", 1)], warmup_s=1, measure_s=3)
    results, severities = judged(
        merged,
        "demo",
        threads=4,
        workload=A,
        rows_loaded=1000,
        measure_s=3,
        rate_ops_s=total_rate(merged).tolist(),
        series=build_series(merged),
        context=Surroundings(
            client_on_database_host=True,
            machines={0: "here", 1: "here"},
            cpu_percent={0: 60.0, 1: 60.0},
            cores={0: 2, 1: 2},
            clock_offsets_s={0: 0.0, 1: 0.001},
        ),
    )
    assert "reject" not in severities.values()
    for check_id in ("E01", "V03", "V07", "V08", "V13", "V14", "V15", "V16", "V19", "V22", "V23"):
        assert severities[check_id] == "pass", next(result for result in results if result.check_id == check_id)
    assert severities["V05"] == "info"


def test_a_load_is_judged_by_what_applies_to_it():
    merged = merge([client("load/0", 0), client("load/1", 1)], warmup_s=0, phase="load")
    results, severities = judged(merged, "measured", threads=4, workload=A, rows_loaded=1000)
    assert list(severities) == ["E01", "V01", "V03", "V07", "V16", "V19", "V22", "V23", "V24", "V25", "V35"]
    assert worst(results) in ("pass", "warn")
    assert severities["E01"] == severities["V19"] == severities["V23"] == "pass"
    _, severities = judged(merged, "measured", threads=4, workload={**A, "recordcount": "1200"}, rows_loaded=1000)
    assert severities["E01"] == severities["V19"] == "reject"


def test_throttled_read_modify_write_run_reaches_its_target():
    merged = merge([client("target/0", threads=4)], warmup_s=1)
    series = build_series(merged)
    _, severities = judged(merged, "demo", threads=4, target_ops_s=400, workload=F, rows_loaded=1000, series=series)
    for check_id in ("E01", "V01", "V02", "V08", "V09", "V22", "V23"):
        assert severities[check_id] == "pass"
    assert severities["V10"] == "not_assessed"  # Two seconds say nothing about a backlog.


def test_a_run_over_an_empty_database_is_rejected():
    merged = merge([client("not_loaded/0")], warmup_s=0)
    results, severities = judged(merged, "demo", threads=2, workload=A, rows_loaded=0)
    assert severities["V07"] == severities["V19"] == "reject"
    assert any("not found" in result.measured for result in results if result.check_id == "V07")
    # YCSB's own arithmetic counts the failed ones, and still agrees with itself.
    assert severities["V23"] == "pass"


def test_a_killed_client_shows_no_success():
    results, severities = judged(merge([client("killed/0")], warmup_s=1), "demo", threads=2, workload=A, measure_s=30)
    assert severities["E01"] == "reject"
    assert severities["V23"] == "not_assessed"
    assert worst(results) == "reject"


@pytest.mark.parametrize("lost", [0, 1])
def test_a_client_without_logs_is_named(lost):
    clients = [client("two_clients/0", 0), client("two_clients/1", 1)]
    clients[lost] = type(clients[lost])(lost, [])
    results, severities = judged(merge(clients, warmup_s=1), "demo", threads=4, workload=A)
    assert severities["E01"] == "reject"
    assert f"client {lost}: it left no log" in next(result for result in results if result.check_id == "E01").message
    assert severities["V01"] == "not_assessed"
