"""Little's law: what the threads did adds up to the time they had."""

import pytest

from runs.results.measures.little import edge_allowance, explained_share
from runs.ycsb.tests.samples import golden


def test_it_adds_up_every_client_over_its_own_time():
    assert explained_share([(9_000_000, 10.0), (4_000_000, 5.0)], 2) == pytest.approx(0.85, rel=1e-9)
    assert explained_share([(250_000, 0.5)], 1) == pytest.approx(0.5, rel=1e-9)


def test_it_knows_nothing_without_threads_or_time():
    assert explained_share([(1, 1)], 0) is None
    assert explained_share([], 4) is None
    assert explained_share([(1, 0.0)], 4) is None


def test_it_finds_impossible_headlines():
    """A published run: 66,648.9 ops/s at a mean of 401.87 us on 8 threads explains 3.35 times what they had."""
    assert explained_share([(66_648.894 * 401.87, 1.0)], 8) == pytest.approx(3.348, abs=1e-3)


def test_it_agrees_with_values_computed_elsewhere():
    implied = golden("vari_histogram")["little_implied_threads"]
    assert explained_share([(66_648.894 * 401.87, 1.0)], 1) == pytest.approx(implied, abs=1e-3)


def test_allows_an_operation_per_thread_before_the_window():
    assert edge_allowance(4 * 2_000_000, 4, 10) == pytest.approx(0.2)
    assert edge_allowance(500_000, 1, 10) == pytest.approx(0.05, rel=1e-9)
    assert edge_allowance(100_000, 1, 0.5) == pytest.approx(0.2)
    assert edge_allowance(1000, 0, 10) == 0
    assert edge_allowance(1000, 4, 0) == 0
