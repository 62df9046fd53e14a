"""A merge as the command prints it."""

import json

from runs.ycsb.file_grouping import group
from runs.ycsb.merge_output import as_json
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.tests.samples import steady_log


def summary(name, count, percentiles, *, mean, least, most, failed=0):
    operations = {
        "READ": ReadOperation(count=count, mean_us=mean, min_us=least, max_us=most, percentiles_us=percentiles,
                              returns={"OK": count})
    }  # fmt: skip
    if failed:
        operations["READ-FAILED"] = ReadOperation(count=failed, mean_us=7.0)
    run = ReadRun(format="ycsb-text", phase="measure", runtime_ms=1000.0, throughput_ops_s=float(count + failed),
                  operations=operations, complete=True)  # fmt: skip
    return ReadFile(name, format="ycsb-text", runs=(run,))


# The two clients of analysis.md, section 6.
FAST = summary("a.txt", 10_000, {"50": 1e3, "95": 1e3, "99": 1e4}, mean=1135.0, least=1e3, most=1e4)
SLOW = summary("b.txt", 1_000, {"50": 1e3, "95": 1e5, "99": 1e5}, mean=10_900.0, least=1e3, most=1e5, failed=10)


def log(name, latency_us):
    run = ReadRun(format="hdr-log", logs=(steady_log("READ", 5, 100, latency_us=latency_us),))
    return ReadFile(name, format="hdr-log", runs=(run,))


def merged(*files):
    (run,) = group(files, together=True)
    data = as_json(run)
    assert json.loads(json.dumps(data)) == data
    return data


def test_summaries_give_bounds_and_say_so():
    measured = merged(FAST, SLOW)
    read = measured["operations"]["READ"]
    assert read["percentiles_bounds_us"] == {"50": [1e3, 1e3], "95": [1e3, 1e4], "99": [10_000.0, 100_000.0]}
    assert read["percentiles_us"] == {"50": 1e3}, "a point only where the bounds meet"
    assert measured["percentiles"] == "bounds, histograms missing"
    assert (read["count"], round(read["mean_us"], 1)) == (11_000, 2022.7)
    assert measured["merged"] == "2 of 2 clients merged"
    assert "client 0 left no histograms; client 1 left no histograms" in measured["warnings"][0]


def test_a_single_client_states_points():
    measured = merged(FAST)
    assert measured["operations"]["READ"]["percentiles_us"] == {"50": 1e3, "95": 1e3, "99": 1e4}
    assert (measured["percentiles"], measured["warnings"]) == ("as the client states them", [])


def test_failed_operations_stand_apart():
    measured = merged(FAST, SLOW)
    assert measured["operations"]["READ-FAILED"] == {"count": 10, "mean_us": 7.0, "returns": {"FAILED": 10}}
    assert (measured["total_operations"], measured["failed_operations"]) == (11_010, 10)
    assert (measured["throughput_ops_s"], measured["throughput_sum_ops_s"]) == (11_000.0, 11_010.0)


def test_histograms_give_points():
    measured = merged(log("a/READ.hdr", 1000), log("b/READ.hdr", 3000))
    read = measured["operations"]["READ"]
    assert (read["count"], read["mean_us"], read["min_us"], read["max_us"]) == (1000, 2000.5, 1000, 3001)
    assert read["percentiles_us"]["50"] == 1000
    assert read["percentiles_us"]["99"] == 3001
    assert "percentiles_bounds_us" not in read
    assert (measured["percentiles"], measured["clients_merged"]) == ("exact, histograms added", 2)
    assert measured["clients"] == [["a/READ.hdr"], ["b/READ.hdr"]]


def test_what_cannot_be_merged_says_why():
    empty = ReadFile("b/READ.hdr", runs=(ReadRun(format="hdr-log", logs=(steady_log("READ", 0, 0),)),))
    (run,) = group([empty])
    data = as_json(run)
    assert data["clients_merged"] == 0
    assert "Nothing can be merged" in data["error"]
