"""What the pack disputes, computed again from its own facts with the functions that compute everything else."""

from pathlib import Path

import pytest

from reports.analysis import scalability, sizing
from reports.figures.overlay import overlays
from reports.studied import bucket_of, buckets_of, checks_of
from reports.studied.checks import mean_bounds, rounds_to, throughputs_by_nodes
from runs.measures.little import explained_share_of_operations
from runs.studies import Study, study_of
from runs.ycsb.tests.samples import golden


def pack(slug: str) -> Study:
    study = study_of(slug)
    assert study
    return study


def values(slug: str):
    """The value of each fact by its number, and the computed numbers of the disputes."""
    study = pack(slug)
    facts = {int(fact.id.rsplit("-", 1)[1]): fact.value for fact in study.facts}
    return facts, {dispute.slug: dispute.computed for dispute in study.disputes}


def busy_threads(*operations):
    """Little's law: threads that are busy with (operations per second, mean in microseconds) of each operation."""
    return explained_share_of_operations([(rate, mean_us) for rate, mean_us in operations], 1)


def test_fifteen_of_eighteen_scores_reproduce():
    checks = checks_of(pack("thumbtack-2014"))
    assert len(checks) == 18 and sum(check.reproduces for check in checks) == 15
    assert {check.fact.id for check in checks if not check.reproduces} == {"tt14-041", "tt14-042", "tt14-046"}
    expected = sorted((row["printed"], row["computed"]) for row in golden("scalability"))
    assert sorted((check.fact.value, round(check.value, 4)) for check in checks) == expected


def test_couchbase_on_eight_nodes():
    facts, disputes = values("thumbtack-2014")
    told = disputes["couchbase-eight-nodes"]
    sizes = throughputs_by_nodes(pack("thumbtack-2014"))["Read-heavy 95/5", "Couchbase"]
    score = scalability.score(sizes)
    assert 100 * score.gains[8] == pytest.approx(told["gain_percent"], abs=1e-4)
    assert 100 * score.score == pytest.approx(told["score_percent"], abs=1e-4)
    # What the printed gain would mean, given that it was rounded to two decimals.
    assert round(facts[2] * (1 + (facts[41] - 0.005) / 100)) == told["least_implied"]
    assert round(facts[2] * (1 + (facts[41] + 0.005) / 100)) == told["most_implied"]
    assert (facts[40] / 0.5 + facts[41]) / 2 == pytest.approx(told["score_of_printed_gains"])
    assert rounds_to(told["score_of_printed_gains"] + 1e-9, "86.95", 2)
    assert 8 in score.super_linear
    assert sizing.per_node(facts[8], 8) > sizing.per_node(facts[2], 4)


def test_twenty_five_ten_was_cut_off():
    facts, disputes = values("thumbtack-2014")
    gain = 100 * scalability.score({4: facts[10], 6: facts[13]}).gains[6]
    assert gain == pytest.approx(disputes["twenty-five-ten"]["gain_percent"], abs=1e-4)
    assert not rounds_to(gain, "25.10", 2) and rounds_to(gain, "25.11", 2)


def test_more_than_the_network_carries():
    facts, disputes = values("thumbtack-2014")
    for number, nodes, name in ((2, 4, "four"), (5, 6, "six"), (8, 8, "eight")):
        gbit_s = facts[number] * 0.95 * 1500 * 8 / 1e9
        assert gbit_s == pytest.approx(disputes["more-than-the-network"][f"{name}_nodes_gbit_s"], abs=1e-3)
        assert gbit_s > 2 * nodes  # both ports of 1 Gbit/s


def test_gigabytes_are_binary():
    _, disputes = values("thumbtack-2014")
    for millions, name in ((20, "four"), (30, "six"), (40, "eight")):
        assert millions * 1e6 * 1500 / 2**30 == pytest.approx(disputes["binary-gigabytes"][f"{name}_gib"], abs=1e-3)


def test_the_ratios_of_2017():
    checks = {check.fact.id: check for check in checks_of(pack("aerospike-2017"))}
    not_so = {identity for identity, check in checks.items() if not check.reproduces}
    assert not_so == {"as17-011", "as17-043", "as17-047", "as17-049", "as17-050", "as17-052"}
    assert all(check.fact.disputed for check in checks.values() if not check.reproduces)
    assert len(checks) == 30
    for row in golden("ratios"):
        same = [check for check in checks.values() if check.fact.value == row["printed"] and check.fact.unit == "x"]
        assert any(one.value == pytest.approx(row["computed"], abs=1e-4) for one in same), row
        assert all(one.reproduces == row["reproduces"] for one in same), row


def test_ratio_disputes_say_what_was_computed():
    facts, disputes = values("aerospike-2017")
    assert facts[7] / facts[3] == pytest.approx(disputes["seventy-two"]["ratio"], abs=1e-3)
    assert facts[1] / facts[17] == pytest.approx(disputes["three-sixty-two"]["ratio"], abs=1e-4)
    assert facts[1] / facts[5] == pytest.approx(disputes["eight"]["ratio"], abs=1e-4)
    assert pytest.approx(disputes["four-times-the-data"]["ratio"], abs=1e-4) == 1000 / 215
    spread = disputes["mean-variance"]
    assert 100 * facts[54] / facts[1] == pytest.approx(spread["read_percent"], abs=1e-4)
    assert 100 * facts[57] / facts[2] == pytest.approx(spread["update_percent"], abs=1e-4)
    assert 100 * facts[60] / facts[59] == pytest.approx(spread["latency_percent"], abs=1e-3)


def test_little_finds_the_wrong_label():
    facts, disputes = values("aerospike-2017")
    told, threads = disputes["average-or-percentile"], 4 * 90
    busy = busy_threads((facts[5], 1000 * facts[78]), (facts[6], 1000 * facts[8]))
    assert busy == pytest.approx(told["busy_threads"], abs=0.1) and busy > threads
    assert 1000 * threads / (facts[5] + facts[6]) == pytest.approx(told["most_mean_ms"], abs=1e-3)
    told = disputes["latency-of-which-kind"]
    assert busy_threads((facts[1], facts[56]), (facts[2], facts[59])) == pytest.approx(told["busy_threads"])
    assert 1e6 * threads / (facts[1] + facts[2]) == pytest.approx(told["mean_us"], abs=1e-2)
    told = disputes["called-average"]
    assert 1000 * threads / (facts[17] + facts[18]) == pytest.approx(told["mean_ms"], abs=1e-4)
    assert (facts[80] / 1000 + facts[81]) / 2 == pytest.approx(told["of_printed_ms"])


def test_the_cost_product_and_what_binds():
    facts, disputes = values("aerospike-2017")
    told, golden_numbers = disputes["cost-product"], golden("tco")
    assert sizing.product_as_published(facts[43], facts[45]) == pytest.approx(told["product"])
    unrounded = (1000 / 215, facts[1] / facts[17])
    assert sizing.product_as_published(*unrounded) == pytest.approx(told["unrounded_product"], abs=1e-3)
    assert max(unrounded) == pytest.approx(told["unrounded_binding"], abs=1e-4)
    assert max(facts[43], facts[45]) == told["binding"] == golden_numbers["binding"]
    assert golden_numbers["product"] == told["product"]


def test_percentiles_of_the_histogram_are_one_bucket_lower():
    told = values("vari-2013")[1]["one-bucket-too-high"]
    buckets = [bucket for bucket in buckets_of(pack("vari-2013")) if bucket.high_us is not None]
    for name, share in (("p95", 0.95), ("p99", 0.99), ("p999", 0.999)):
        found = bucket_of(buckets, share)
        assert (found.low_us, found.high_us) == (told[f"{name}_low_us"], told[f"{name}_high_us"])


def test_the_line_beyond_128_seconds_is_too_much():
    facts, disputes = values("vari-2013")
    told, buckets = disputes["beyond-the-run"], buckets_of(pack("vari-2013"))
    assert sum(bucket.count for bucket in buckets[:-1]) == told["without"] == facts[11]
    assert sum(bucket.count for bucket in buckets) == told["with"]
    assert buckets[-1].low_us > 1000 * facts[9] > 1e6 * facts[14] / 1000
    assert sum(bucket.count for bucket in buckets[:-1]) == golden("vari_histogram")["sum_without_overflow"]


def test_the_mean_lies_within_the_bounds_of_the_buckets():
    buckets = [bucket for bucket in buckets_of(pack("vari-2013")) if bucket.high_us is not None]
    low, high = mean_bounds(buckets, 146.0, 2_110_000.0)
    assert (round(low), round(high)) == (302, 571)


def test_threads_that_the_console_output_needs():
    facts, disputes = values("vari-2013")
    told = disputes["busy-threads"]
    assert busy_threads((facts[10], facts[12])) == pytest.approx(told["busy_threads"], abs=1e-3)
    assert busy_threads((facts[10], facts[12])) / 8 == pytest.approx(told["of_eight"], abs=1e-3)
    assert 20 * 8 / (facts[12] / 1e6) == pytest.approx(golden("vari_histogram")["headline_check"], abs=1)


def test_the_sweet_spot_is_rounded_in_two_ways():
    facts, disputes = values("vari-2013")
    told = disputes["sweet-spot"]
    assert 100 * facts[43] / facts[41] == pytest.approx(told["low_percent"], abs=1e-3)
    assert 100 * facts[45] / facts[41] == pytest.approx(told["high_percent"], abs=1e-3)
    assert (0.15 * facts[41], 0.8 * facts[41]) == (told["low_ops_s"], told["high_ops_s"])


def test_the_loads_of_2016():
    facts, disputes = values("columbia-2016")
    assert all(check.reproduces for check in checks_of(pack("columbia-2016")))
    told = disputes["half-is-cleanup"]
    assert 100 * facts[4] / 1000 / facts[1] == pytest.approx(told["cleanup_percent"], abs=0.01)
    assert busy_threads((facts[2], facts[10])) == pytest.approx(told["busy_threads"], abs=1e-4)
    assert facts[32] / 40 == pytest.approx(disputes["load-shown-as-run"]["times_target"], abs=0.01)


def test_the_best_disk_layout_is_best_for_inserts_only():
    facts, disputes = values("thumbtack-2013")
    told = disputes["best-layout"]
    assert facts[24] - facts[30] == told["balanced_loss"] and facts[25] - facts[31] == told["read_heavy_loss"]
    assert facts[29] - facts[23] == told["insert_gain"]


def test_every_computed_number_of_a_dispute_has_a_test():
    """Whoever adds a number to a dispute finds this list, and the tests above."""
    tested = Path(__file__).read_text("utf-8")
    for slug in ("thumbtack-2013", "thumbtack-2014", "aerospike-2017", "vari-2013", "columbia-2016"):
        for dispute in pack(slug).disputes:
            assert not dispute.computed or f'"{dispute.slug}"' in tested


def test_overlays_are_throughputs_and_say_what_they_are():
    found = overlays(["aerospike-2017"])
    assert [(one.throughput_ops_s, one.latency_us) for one in found] == [
        (820_000, 300.0),
        (103_600, 21_860.0),
        (226_000, 202.0),
    ]
    assert all("sum of the printed rates" in one.note and (one.study, one.year) == ("Aerospike", 2017) for one in found)


def test_a_latency_is_laid_only_over_its_own_kind():
    assert [overlay.latency_us for overlay in overlays(["vari-2013"], operation="READ", statistic="mean")] == [
        400.0,
        None,
        401.87,
    ]
    assert not any(overlay.latency_us for overlay in overlays(["vari-2013"], operation="READ", statistic="p99"))
    assert not any(overlay.latency_us for overlay in overlays(["vari-2013"], operation="UPDATE", statistic="mean"))


def test_load_overlays_are_loads_and_unknown_study_has_none():
    assert not overlays(["columbia-2016"]) and len(overlays(["columbia-2016"], phase="load")) == 3
    assert not overlays(["nobody-1999", ""])


def test_a_disputed_number_is_disputed_in_the_overlay_too():
    found = {overlay.label: overlay for overlay in overlays(["thumbtack-2014"])}
    assert "107.89 %" in found["Couchbase, 8 nodes, 95/5"].disputed
    assert not found["MongoDB, 8 nodes, 95/5"].disputed
    assert all(one.latency_us is None for one in found.values())
