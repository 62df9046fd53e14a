"""Prices and numbers of nodes: the worked numbers of analysis 9."""

import math

import pytest

from reports.sizing.analysis import (
    ByMeasurement,
    Need,
    binding_ratio,
    dollars_per_million,
    nodes_by_measurement,
    nodes_needed,
    operations_per_dollar,
    per_node,
    product_as_published,
)


@pytest.mark.parametrize(
    ("throughput", "node", "millions", "dollars"),
    [(820_000, 273_333, 492.0, 0.00203), (226_000, 75_333, 135.6, 0.00737)],
)
def test_three_nodes_at_two_dollars_an_hour(throughput, node, millions, dollars):
    assert round(per_node(throughput, 3)) == node
    assert operations_per_dollar(throughput, 6.0) / 1e6 == pytest.approx(millions)
    assert dollars_per_million(throughput, 6.0) == pytest.approx(dollars, abs=5e-6)


@pytest.mark.parametrize("price", [None, 0.0, -1.0, math.nan, math.inf])
def test_without_a_price_nothing_is_said(price):
    assert operations_per_dollar(1000.0, price) is None and dollars_per_million(1000.0, price) is None


def test_without_nodes_or_throughput_nothing_is_said():
    assert per_node(1000.0, None) is None and per_node(1000.0, 0) is None
    assert dollars_per_million(0.0, 2.0) is None


def test_the_worked_sizing():
    parts = nodes_needed(Need(1_000_000, data_gb=4000, copies=2, node_gb=3200), 820_000 / 3)
    assert parts == {"throughput": 6, "storage": 4, "copies": 2}


def test_storage_and_copies_can_bind():
    parts = nodes_needed(Need(100_000, data_gb=8000, copies=2, node_gb=3200), 273_333)
    assert max(parts.values()) == parts["storage"] > parts["throughput"]
    assert nodes_needed(Need(1000, copies=3), 273_333) == {"throughput": 1, "copies": 3}
    assert nodes_needed(Need(1000), 0.0) is None


def test_a_whole_quotient_is_not_rounded_up():
    assert (
        nodes_needed(Need(2100), 1000)["throughput"] == 3
    )  # 2100 / (1000 * 0.7) is 3.0000000000000004 in floating point
    assert nodes_needed(Need(2101), 1000)["throughput"] == 4


def test_the_product_of_the_study_of_2017_is_no_ratio_of_nodes():
    assert product_as_published(4, 3.6) == pytest.approx(14.4)
    assert binding_ratio(4.0, 3.6) == 4.0
    storage, throughput = 1_000_000_000 / 215_000_000, 410_000 / 113_000
    assert product_as_published(storage, throughput) == pytest.approx(16.8759, abs=1e-4)
    assert binding_ratio(storage, throughput) == pytest.approx(4.651, abs=5e-4)


def test_measured_sizes_say_how_many_nodes():
    sizes = {4: 400.0, 8: 600.0}
    assert nodes_by_measurement(sizes, 400) == ByMeasurement(4, False)
    assert nodes_by_measurement(sizes, 401) == ByMeasurement(5, False)
    assert nodes_by_measurement(sizes, 100) == ByMeasurement(1, False)
    assert nodes_by_measurement(sizes, 700) == ByMeasurement(10, True)


def test_where_more_nodes_brought_nothing_more_are_no_answer():
    assert nodes_by_measurement({4: 400.0, 8: 390.0}, 450) is None
    assert nodes_by_measurement({4: 400.0, 6: 390.0, 8: 500.0}, 450) == ByMeasurement(6, False)
    assert nodes_by_measurement({4: 400.0}, 100) is None
