"""Every client is told exactly its part."""

from functools import partial

import pytest
from hypothesis import given, strategies as st

from runs.ycsb.command import (
    choose_jvm_options,
    client_properties_for_run,
    go_ycsb_properties,
    java_command,
    operation_count,
    split,
)
from runs.ycsb.errors import SplitError
from runs.ycsb.properties import CORE_WORKLOADS, check_workload

A = check_workload({**CORE_WORKLOADS["A"], "recordcount": "1001"})


def test_it_fixes_heap_locale_and_time_zone():
    command = java_command("/jdk/java", ["a.jar", "b.jar"], main_class="benchsite.Start", arguments=["-P", "x"])
    assert command[0] == "/jdk/java"
    assert {"-Xmx512m", "-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US"} <= set(command)
    assert command[-5:] == ["-cp", "a.jar:b.jar", "benchsite.Start", "-P", "x"]
    own = java_command("java", ["a.jar"], main_class="M", jvm_options=["-Xmx2g", "-Duser.timezone=Asia/Tokyo"])
    assert [option for option in own if option.startswith("-Xmx")] == ["-Xmx2g"]
    assert own.index("-Duser.timezone=UTC") > own.index("-Duser.timezone=Asia/Tokyo"), "the last one wins"


@pytest.mark.parametrize(
    ("duration_s", "inserts", "is_short"),
    [(29, 0, True), (30, 0, False), (None, 499_999, True), (None, 500_000, False)],
)
def test_second_compiler_serves_long_clients_only(duration_s, inserts, is_short):
    options = choose_jvm_options(duration_s=duration_s, inserts=inserts)
    assert ("-XX:TieredStopAtLevel=1" in options) == is_short


@given(st.integers(1, 10_000), st.integers(1, 200))
def test_it_splits_evenly_and_loses_nothing(total, parts):
    if total < parts:
        with pytest.raises(SplitError, match=rf"{total} threads .* {parts} clients"):
            split(total, parts)
        return
    shares = split(total, parts)
    assert sum(shares) == total
    assert len(shares) == parts
    assert max(shares) - min(shares) <= 1
    assert min(shares) >= 1


def test_it_names_both_numbers_when_there_are_too_few():
    with pytest.raises(SplitError, match="1 threads cannot be shared out over 2 clients"):
        split(1, 2)
    with pytest.raises(SplitError, match="no client"):
        split(5, 0)


def test_measuring_client_gets_time_limit_and_no_end_count():
    properties = client_properties_for_run(
        A, phase="measure", client=1, clients=2, threads=8, duration_s=13, binding_properties={"redis.port": "1"}
    )
    assert properties["operationcount"] == "2147483647"
    assert properties["maxexecutiontime"] == "13"
    assert properties["recordcount"] == "1001"
    assert not {"insertstart", "insertcount", "target"} & set(properties)
    assert properties["threadcount"] == "8"
    assert properties["dotransactions"] == "true"
    assert (properties["status"], properties["status.interval"]) == ("true", "1")
    assert properties["measurementtype"] == "hdrhistogram"
    assert properties["hdrhistogram.fileoutput"] == "true"
    assert properties["hdrhistogram.percentiles"] == "50,90,95,99,99.9,99.99"
    assert properties["measurement.interval"] == "op"
    assert properties["redis.port"] == "1"


def test_it_measures_both_latencies_only_with_a_target():
    properties = client_properties_for_run(
        A, phase="measure", client=0, clients=1, threads=1, duration_s=5, target_ops_s=700
    )
    assert (properties["target"], properties["measurement.interval"]) == ("700", "both")
    assert "window.start_s" not in properties


@pytest.mark.parametrize(("target_ops_s", "warmup_s", "expected"), [(700, 0, "0"), (700, 3, "3"), (None, 3, None)])
def test_schedule_of_a_target_knows_its_window(target_ops_s, warmup_s, expected):
    properties = client_properties_for_run(
        A, phase="measure", client=0, clients=1, threads=1, duration_s=5, target_ops_s=target_ops_s, warmup_s=warmup_s
    )
    assert properties.get("window.start_s") == expected


def test_it_needs_a_duration_to_measure():
    with pytest.raises(ValueError, match="how many seconds"):
        client_properties_for_run(A, phase="measure", client=0, clients=1, threads=1)


@pytest.mark.slow
@given(st.integers(1, 5000), st.integers(1, 20))
def test_it_loads_every_record_exactly_once(records, clients):
    workload = check_workload({**A, "recordcount": str(records)})
    if records < clients:
        return
    parts = [
        client_properties_for_run(workload, phase="load", client=client, clients=clients, threads=1)
        for client in range(clients)
    ]
    at = 0
    for part in parts:
        assert int(part["insertstart"]) == at
        assert part["recordcount"] == str(records)
        assert part["dotransactions"] == "false"
        assert "maxexecutiontime" not in part
        at += int(part["insertcount"])
    assert at == records


def test_own_client_repeats_inserts_by_itself():
    """YCSB would hand it values that have been read to their end."""
    workload = check_workload({**A, "core_workload_insertion_retry_limit": "5"})
    load = partial(client_properties_for_run, workload, phase="load", client=0, clients=1, threads=1)
    names = ("core_workload_insertion_retry_limit", "benchsite.retries.insert", "benchsite.retry.delay_ms")
    own = load(is_own_client=True)
    assert [own.get(name) for name in names] == ["0", "5", "3000"]
    assert [load().get(name) for name in names] == ["5", None, None]
    stated = load(is_own_client=True, binding_properties={"benchsite.retries.insert": "2"})
    assert [stated.get(name) for name in names] == ["0", "2", "3000"]


def test_clients_that_insert_together_have_their_numbers():
    inserting = check_workload({**CORE_WORKLOADS["D"], "recordcount": "1000"})
    alone = client_properties_for_run(inserting, phase="measure", client=0, clients=1, threads=1, duration_s=5)
    assert not {"client.number", "client.count", "insert.first"} & set(alone)
    third = client_properties_for_run(
        inserting, phase="measure", client=2, clients=4, threads=1, duration_s=5, first_insert=1500
    )
    assert (third["client.number"], third["client.count"], third["insert.first"]) == ("2", "4", "1500")
    reading = client_properties_for_run(A, phase="measure", client=2, clients=4, threads=1, duration_s=5)
    assert "client.number" not in reading


def test_inserting_zipfian_workload_keeps_small_key_space():
    scans = check_workload(CORE_WORKLOADS["E"])
    assert operation_count(scans, 12) == 600_000
    assert operation_count(scans, 10**9) == 2_147_483_647
    assert operation_count(check_workload(CORE_WORKLOADS["D"]), 12) == 2_147_483_647


def test_go_ycsb_gets_its_own_measurement_and_no_profiler():
    java = client_properties_for_run(A, phase="measure", client=0, clients=1, threads=4, duration_s=9)
    properties = go_ycsb_properties(java, warmup_s=3)
    assert not [name for name in properties if "hdrhistogram" in name or name in ("exporter", "maxexecutiontime")]
    assert properties["measurementtype"] == "histogram" and properties["measurement.interval"] == "1"
    assert (properties["warmuptime"], properties["dropdata"]) == ("3", "false")
    assert properties["debug.pprof"].startswith("127.0.0.1:")
