"""The shares of the hottest keys are those that YCSB's generators draw."""

import numpy as np
import pytest

from runs.ycsb.key_shares import compute_key_shares, compute_scrambled_shares, find_key_shares
from runs.ycsb.properties import CORE_WORKLOADS, check_workload


def shares(letter="A", *, clients=1, duration_s=None, **changes):
    workload = check_workload({**CORE_WORKLOADS[letter], **changes})
    return compute_key_shares(workload, clients=clients, duration_s=duration_s)


@pytest.mark.parametrize(("keys", "measured"), [(1_000, 0.131), (10_000, 0.214), (100_000, 0.304), (1_000_000, 0.402)])
def test_scrambled_zipfian_gets_more_uneven_with_the_keys(keys, measured):
    """Measured with 2 million draws of YCSB 0.17.0's ScrambledZipfianGenerator over so many keys."""
    assert compute_scrambled_shares(keys, keys).hottest_percent == pytest.approx(measured, abs=0.01)


@pytest.mark.parametrize(("keys", "percent"), [(2**20, 0.4005), (2**20 + 1, 0.4005), (10**8, 0.59), (2**31 - 1, 0.723)])
def test_large_numbers_of_keys_are_sampled(keys, percent):
    sampled = compute_scrambled_shares(keys, keys + 1)
    assert sampled.hottest_percent == pytest.approx(percent, abs=0.005)
    assert sampled.hottest_ten == pytest.approx(0.118, abs=0.0005)


@pytest.mark.parametrize(
    ("changes", "percent", "ten"),
    [
        ({"requestdistribution": "uniform"}, 0.01, 0.01),
        ({"requestdistribution": "sequential"}, 0.01, 0.01),
        ({"requestdistribution": "hotspot"}, 0.04, 0.04),
        (
            {"requestdistribution": "hotspot", "hotspotdatafraction": "0.005", "hotspotopnfraction": "0.5"},
            0.5025,
            0.5025,
        ),
        ({"requestdistribution": "hotspot", "hotspotdatafraction": "0"}, 0.01, 0.01),
        ({"requestdistribution": "exponential"}, 0.0354, 0.0354),
        ({"requestdistribution": "exactzipfian"}, 0.3825, 0.3825),
        ({"requestdistribution": "exactzipfian", "zipfianconstant": "1"}, 0.3913, 0.3913),
        ({"requestdistribution": "exactzipfian", "zipfianconstant": "0.001"}, 0.0101, 0.0101),
        ({"requestdistribution": "exactzipfian", "recordcount": "100000"}, 0.6048, 0.2313),
        ({"requestdistribution": "exactzipfian", "zipfianconstant": "1.2", "recordcount": "100000"}, 0.8516, 0.4847),
        ({"requestdistribution": "zipfian", "zipfianconstant": "0.01"}, 0.010, 0.010),
    ],
)
def test_distributions_by_their_formulas(changes, percent, ten):
    result = shares(**changes)
    assert result.hottest_percent == pytest.approx(percent, abs=0.0005)
    assert result.hottest_ten == pytest.approx(ten, abs=0.0005)


def test_latest_is_zipf_over_the_newest():
    """YCSB's formula approximates a Zipf distribution: about a point apart."""
    ranks = np.arange(1, 100_000) ** -0.99
    true = ranks[:1000].sum() / ranks.sum()
    assert shares("D", recordcount="100000").hottest_percent == pytest.approx(true, abs=0.01)


def test_clients_that_insert_have_newest_records_of_their_own():
    alone, four = (shares("D", recordcount="100000", clients=clients) for clients in (1, 4))
    assert four.hottest_percent < alone.hottest_percent - 0.1
    assert four.hottest_ten < alone.hottest_ten - 0.1
    assert shares("A", recordcount="100000", clients=4) == shares("A", recordcount="100000")


def test_places_for_inserts_change_the_skew():
    short, longer = (shares("E", recordcount="100000", duration_s=seconds) for seconds in (10, 60))
    assert abs(short.hottest_percent - longer.hottest_percent) > 0.01


@pytest.mark.parametrize("records", ["1", "2", "3", "4", "12"])
@pytest.mark.parametrize("distribution", ["uniform", "zipfian", "latest", "hotspot", "exponential", "exactzipfian"])
def test_few_keys_get_all_requests(records, distribution):
    result = shares(recordcount=records, requestdistribution=distribution)
    assert 0 < result.hottest_percent <= result.hottest_ten <= 1 + 1e-12
    if int(records) <= 10:
        assert result.hottest_ten == pytest.approx(1)


@pytest.mark.parametrize("records", ["", "0", "many", str(2**40)])
def test_unknown_records_have_no_shares(records):
    assert find_key_shares({"recordcount": records}, clients=1, warmup_s=0, measure_s=60) is None


def test_unknown_distributions_have_no_stated_shares():
    assert compute_key_shares({**CORE_WORKLOADS["A"], "recordcount": "1000", "requestdistribution": "gaussian"}) is None
