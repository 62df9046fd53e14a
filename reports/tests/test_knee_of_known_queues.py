"""The knee of queues of known theory, and where a ladder is refined around its knee."""

import numpy as np
import pytest

from reports.compare.analysis.ceiling import Rung
from reports.compare.analysis.knee import power_knee, refine_ladder
from reports.tests.test_ceiling_and_knee import L1, ladder


def erlang_c(servers, load):
    term = total = 1.0
    for k in range(1, servers):
        term *= servers * load / k
        total += term
    last = term * servers * load / servers / (1 - load)
    return last / (total + last)


def response(servers, load):
    return 1 + erlang_c(servers, load) / (servers * (1 - load))


@pytest.mark.parametrize(
    ("servers", "peak", "last"), [(1, 0.500, 0.612), (4, 0.665, 0.756), (16, 0.810, 0.877), (64, 0.900, 0.945)]
)
def test_the_knee_of_a_queue_of_known_theory(servers, peak, last):
    """M/M/m with unit service: the utilisation at the greatest power, and the last within 5 % of it (the knee)."""
    loads = np.linspace(0.05, 0.995, 1891)
    rungs = [Rung(i, servers * load, response(servers, load)) for i, load in enumerate(loads, 1)]
    powers = [rung.throughput_ops_s / rung.latency_s for rung in rungs]
    assert loads[int(np.argmax(powers))] == pytest.approx(peak, abs=0.0021)
    assert power_knee(rungs).throughput_ops_s / servers == pytest.approx(last, abs=0.0021)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.500), (4, 0.835), (16, 0.951), (64, 0.986)])
def test_where_the_latency_of_such_a_queue_has_doubled(servers, load):
    assert response(servers, load) == pytest.approx(2.0, abs=0.04)


def refined(rungs):
    knee = power_knee(rungs)
    assert knee.reached
    return refine_ladder(rungs, knee)


def test_the_worked_ladder_is_refined_around_its_knee():
    assert power_knee(ladder(L1)).threads == 32
    assert refined(ladder(L1)) == (23, 45)


def test_neighbouring_rungs_cannot_be_refined():
    assert refined(ladder({1: 1000, 2: 1900, 3: 2500, 4: 2520, 5: 2530, 6: 2535})) == ()


def test_target_ladder_is_refined_by_targets():
    rungs = [
        Rung(64, target, 0.001, target, response_s=0.001 * (1 + index**3 / 4))
        for index, target in enumerate((1000.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0))
    ]
    assert power_knee(rungs).target_ops_s == 2000.0
    assert refined(rungs) == (1414, 2449)
