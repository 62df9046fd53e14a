"""Prices and numbers of nodes: the worked numbers of analysis 9."""

import math

import pytest

from reports.sizing.analysis import (
    HEADROOM,
    binding_ratio,
    count_nodes,
    dollars_per_million,
    nodes_by_measurement,
    operations_per_dollar,
    per_node,
    product_as_published,
    scale_linearly,
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
    nodes = scale_linearly(1_000_000 / HEADROOM, 820_000 / 3)
    assert count_nodes(nodes, data_gb=4000, copies=2, node_gb=3200) == {"throughput": 6, "storage": 4, "copies": 2}


def test_storage_and_copies_can_bind():
    parts = count_nodes(1, data_gb=8000, copies=2, node_gb=3200)
    assert max(parts.values()) == parts["storage"] > parts["throughput"]
    assert count_nodes(1, copies=3) == {"throughput": 1, "copies": 3}


def test_nodes_that_do_nothing_are_no_number():
    assert scale_linearly(1000.0, 0.0) is None


def test_a_whole_quotient_is_not_rounded_up():
    assert scale_linearly(3000.0000000000005, 1000.0) == 3
    assert scale_linearly(2101 / 0.7, 1000.0) == 4


def test_the_product_of_the_study_of_2017_is_no_ratio_of_nodes():
    assert product_as_published(4, 3.6) == pytest.approx(14.4)
    assert binding_ratio(4.0, 3.6) == 4.0
    storage, throughput = 1_000_000_000 / 215_000_000, 410_000 / 113_000
    assert product_as_published(storage, throughput) == pytest.approx(16.8759, abs=1e-4)
    assert binding_ratio(storage, throughput) == pytest.approx(4.651, abs=5e-4)


def test_measured_sizes_say_how_many_nodes():
    sizes = {4: 400.0, 8: 600.0}
    assert nodes_by_measurement(sizes, 400) == (4, False, "")
    assert nodes_by_measurement(sizes, 401) == (5, False, "")
    assert nodes_by_measurement(sizes, 100) == (1, False, "")
    assert nodes_by_measurement(sizes, 700) == (10, True, "")


def test_where_more_nodes_brought_nothing_more_are_no_answer():
    assert nodes_by_measurement({4: 400.0, 8: 390.0}, 450) is None
    assert nodes_by_measurement({4: 400.0, 6: 390.0, 8: 500.0}, 450) == (6, False, "")
    assert nodes_by_measurement({4: 400.0}, 100) is None
