"""How busy machines and caches were: shares, the busiest resource in words, hit ratios and their trend."""

from dataclasses import replace

import numpy as np
import pytest

from runs.results.measures.host import HostSamples, Samples, read_columns
from runs.results.measures.server_use import busiest_sentence, hit_ratio, rank_uses, summary

GBIT = 1e9


def host(machine="db-1", node=1, seconds=10, nic_bits_per_s=GBIT, server_cpus=(), **columns):
    """Four cores at 41 %, a disk at 97 %, 5 MB/s sent."""
    usual = {
        "interval_s": 1.0, **{f"core{core}_busy": 0.41 for core in range(4)}, "disk_busy": 0.97,
        "network_received_bytes_s": 1e6, "network_sent_bytes_s": 5e6,
        "memory_bytes": 100.0, "memory_available_bytes": 40.0,
    }  # fmt: skip
    return HostSamples(
        machine=machine,
        columns={
            "at_s": np.arange(1.0, seconds + 1),
            **{name: np.full(seconds, value) for name, value in {**usual, **columns}.items()},
        },
        node=node,
        nic_bits_per_s=nic_bits_per_s,
        server_cpus=server_cpus,
    )


def counters(hits, misses, interval_s=1.0):
    at = np.arange(1.0, len(hits) + 1)
    columns = {
        "at_s": at,
        "interval_s": np.ones(at.size) * interval_s,
        "cache_hits_per_s": hits,
        "cache_misses_per_s": misses,
    }
    return Samples(columns={name: np.asarray(values, dtype=float) for name, values in columns.items()})


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_names_the_busiest_resource():
    assert plain(busiest_sentence(rank_uses([host()]))) == (
        "Busiest: disk of db-1, 97 % utilised; CPU 41 %, network 4 %."
    )


def test_names_the_node_where_there_are_several():
    quiet = host("db-2", node=2, disk_busy=0.2)
    assert plain(busiest_sentence(rank_uses([quiet, host()]))).startswith("Busiest: disk of node 1 (db-1), 97 % ")


@pytest.mark.parametrize(
    ("columns", "resource", "share"),
    [
        ({"core0_busy": 1.0, "core1_busy": 0.1, "core2_busy": 0.1, "core3_busy": 0.1}, "a core", 1.0),
        ({"core0_busy": 0.5}, "CPU", 0.4325),
        ({"memory_available_bytes": 2.0}, "memory", 0.98),
        ({"memory_available_bytes": 10.0}, "memory", 0.9),
        ({"network_received_bytes_s": 120e6}, "network", 0.96),
        ({"core0_busy": 0.3, "core1_busy": 0.0, "server_cpus": (0, 1)}, "CPU", 0.15),
        ({"core0_busy": 0.31, "core1_busy": 0.0, "server_cpus": (0, 1)}, "a core", 0.31),
    ],
    ids=["one thread", "CPU", "memory", "90 % of memory", "network", "15 % above the CPU", "16 % above the CPU"],
)
def test_resources_as_shares_of_what_they_can_do(columns, resource, share):
    use = rank_uses([host(disk_busy=0.1, **columns)])[0]
    assert (use["resource"], use["share"]) == (resource, pytest.approx(share))


def test_network_has_no_share_without_its_speed_or_traffic():
    assert [use["resource"] for use in rank_uses([host(nic_bits_per_s=None)])] == ["disk", "CPU"]
    columns = {name: host().columns[name] for name in ("at_s", "interval_s", "disk_busy")}
    only_disk = replace(host(), columns=columns)
    assert plain(busiest_sentence(rank_uses([only_disk]))) == "Busiest: disk of db-1, 97 % utilised."


def test_servers_with_cores_of_their_own_are_judged_by_these():
    busy = host(disk_busy=0.1, core0_busy=0.9, core1_busy=0.9, core2_busy=0.0, core3_busy=0.0, server_cpus=(0, 1))
    assert rank_uses([busy])[0]["share"] == pytest.approx(0.9)


def test_machines_without_servers_and_without_rows_do_not_count():
    client = replace(host("client"), node=None)
    assert busiest_sentence(rank_uses([client, host().within(100.0, 200.0)])) == ""


def test_hit_ratio_and_its_trend():
    ratio, trend = hit_ratio(counters([10, 10, 50, 50, 90, 90], [90, 90, 50, 50, 10, 10]))
    assert (ratio, trend) == (pytest.approx(0.5), pytest.approx(0.8))


@pytest.mark.parametrize(
    ("samples", "ratio", "trend"),
    [
        (counters([90, 50, 10], [10, 50, 90], [1, 1, 2]), 0.4, -0.8),  # 160 hits of 400 reads
        (counters([10, 10, 50, 90], [90, np.nan, 50, 10]), 0.5, 0.8),
        (counters([0.1] * 3, [0.1] * 3), 0.5, 0.0),
        (counters([0, 0, 5, 5, 5, 5], [0, 0, 5, 5, 5, 5]), 0.5, None),
    ],
    ids=["over time", "only where both are known", "less than a read", "no reads at first"],
)
def test_hit_ratio_counts_reads_in_known_intervals(samples, ratio, trend):
    assert hit_ratio(samples) == (pytest.approx(ratio), trend if trend is None else pytest.approx(trend))


@pytest.mark.parametrize(
    "samples",
    [None, counters([0, 0, 0], [0, 0, 0]), counters([np.nan] * 3, [np.nan] * 3), Samples(columns=host().columns)],
    ids=["not asked", "no reads", "unknown", "other counters"],
)
def test_no_hit_ratio_without_counted_reads(samples):
    assert hit_ratio(samples) == (None, None)


def test_summary_is_empty_without_samples():
    assert summary([], None) == {}
    kept = summary([host()], counters([3, 3, 3], [1, 1, 1]))
    assert kept["uses"][0] == {"machine": "db-1", "node": 1, "resource": "disk", "share": pytest.approx(0.97)}
    assert kept["counters"] == {"cache_hits_per_s": 3.0, "cache_misses_per_s": 1.0}
    assert (kept["hit_ratio"], kept["hit_ratio_trend"]) == (0.75, 0.0)


def test_means_leave_out_what_is_not_known():
    columns = read_columns("at_s,interval_s,running\n1,1,2\n2,1,nan\n4,2,4\n")
    assert Samples(columns=columns).mean("running") == pytest.approx(10 / 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "at_s,interval_s\n",
        "at_s,interval_s\n1,2,3\n",
        "at_s,interval_s\n1,1\n2\n",
        "at_s,interval_s\n1,x\n",
        "at_s,busy\n1,2\n",
    ],
    ids=["empty", "no rows", "more values than names", "ragged", "no numbers", "no interval"],
)
def test_files_of_other_programs_are_not_read(text):
    assert read_columns(text) is None


def test_rows_within_a_window_by_their_middle():
    columns = read_columns("at_s,interval_s\n2,2\n4,2\n6,2\n")
    samples = Samples(columns=columns)
    # The middles are 1, 3 and 5.
    assert samples.within(1, 5).columns["at_s"].tolist() == [2, 4]
    assert samples.within(3, 5.2).columns["at_s"].tolist() == [4, 6]
    assert np.isnan(samples.within(100, 200).mean("at_s"))
