"""Whether an open load was offered as it was asked for, and whether the database bore it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runs.checks import RunFacts, judge_run
from runs.checks.tests.test_checks import MEASURED, client, facts, severity
from runs.queue.spec import OpenLoadSpec
from runs.ycsb.arrivals import Arrivals, Count
from runs.ycsb.histogram import Histogram, highest_values

POISSON: OpenLoadSpec = {"arrivals": "poisson", "patience_ms": 1.0, "profile": []}
EQUAL: OpenLoadSpec = {"arrivals": "constant", "patience_ms": 1.0, "profile": []}
RAMP: OpenLoadSpec = {"arrivals": "constant", "patience_ms": 1.0, "profile": [[0.0, 0.0], [300.0, 100.0]]}
SECONDS = 300
BUCKETS_US = highest_values(np.arange(20_000))


def all_at(value_us: int, count: int = 1000) -> Histogram:
    """Every value in the bucket of this one."""
    index = int(np.searchsorted(BUCKETS_US, value_us))
    return Histogram.of_sparse(np.array([index]), np.array([count]))


def offered(
    count: Count, *, load: OpenLoadSpec = POISSON, variation: float = 1.0, lag_us: int = 50, response_us: int = 500,
    **changes: Any,
) -> RunFacts:  # fmt: skip
    arrivals = Arrivals(
        operations={"READ": count},
        seconds=SECONDS,
        gap_variation=variation,
        started_by_client={0: 1000, 1: 1000},
        client_lag=all_at(lag_us),
        start_lag=all_at(lag_us),
        response={"READ": all_at(response_us)},
    )
    measured = {0: 1000, 1: 1000}
    return facts(target_ops_s=1000, open_load=load, arrivals=arrivals, **{"measured_by_client": measured, **changes})


WHOLE = Count(300_000, 300_000, 0)


@pytest.mark.parametrize(
    ("lag_us", "response_us", "expected"),
    [
        (28, 1000, "pass"),
        (90, 300, "warn"),  # a fast server, and a client that is quick to wake up
        (90, 200, "reject"),  # by half as long again, or more
        (990, 10_000, "warn"),
        (1990, 10_000, "reject"),
        (1990, 80_000, "pass"),
        (1990, 60_000, "reject"),  # 3.4 %
        (30_000, 2_000_000, "reject"),  # more than 20 ms in any case
    ],
)
def test_lateness_of_clients_is_not_the_database(lag_us, response_us, expected):
    assert severity("V36", offered(WHOLE, lag_us=lag_us, response_us=response_us)) == expected


@pytest.mark.parametrize(
    ("lag_us", "response_us", "limit"),
    [
        (30_000, 2_000_000, "p99 over 20.0 ms rejects"),
        (90, 200, "responses longer by 50 % reject"),
        (1990, 80_000, "longer responses by 3 %, or p99 over 10 % of theirs, warn"),
    ],
)
def test_start_lag_states_the_limit_that_was_crossed(lag_us, response_us, limit):
    run = offered(WHOLE, lag_us=lag_us, response_us=response_us)
    finding = next(result for result in judge_run(run, MEASURED) if result.check_id == "V36")
    assert finding.threshold.replace("\u202f", " ") == limit


@pytest.mark.parametrize(("lag_us", "longer"), [(5_400, "900 %"), (250_000, "more than 1000 %")])
def test_lags_above_the_responses_make_no_giant_number(lag_us, longer):
    """Dropped arrivals have a lag and no response."""
    run = offered(WHOLE, lag_us=lag_us, response_us=6_000)
    finding = next(result for result in judge_run(run, MEASURED) if result.check_id == "V36")
    assert finding.severity == "reject"
    assert finding.measured.replace("\u202f", " ").endswith(f"responses longer by {longer}")
    assert f"at least {longer.removeprefix('more than ')} longer" in finding.message.replace("\u202f", " ")


@pytest.mark.parametrize(("lag_us", "expected"), [(4000, "warn"), (6000, "reject")])
def test_few_operations_that_are_late_shift_the_mean_little(lag_us, expected):
    """One of fifty is late by 4 ms, where responses take 10 ms: 1 %. By 6 ms it meets a queue."""
    run = offered(WHOLE, response_us=10_000)
    arrivals = replace(run.arrivals, client_lag=Histogram.merged([all_at(50, 980), all_at(lag_us, 20)]))
    assert severity("V36", replace(run, arrivals=arrivals)) == expected


@pytest.mark.parametrize(
    ("count", "changes", "expected"),
    [
        (WHOLE, {}, "pass"),
        (Count(300_000, 299_000, 1000), {}, "pass"),
        (Count(300_000, 299_000, 999), {}, "reject"),
        (WHOLE, {"measured_by_client": {0: 1000, 1: 1008}}, "pass"),  # what its threads had begun when it ended
        (WHOLE, {"measured_by_client": {0: 1000, 1: 900}}, "reject"),
        (WHOLE, {"clients": (client(0), client(1), client(2))}, "reject"),
    ],
)
def test_what_was_due_was_begun_or_dropped(count, changes, expected):
    assert severity("V37", offered(count, **changes)) == expected


@pytest.mark.parametrize(
    ("number", "load", "variation", "expected"),
    [
        (300_000, POISSON, 1.0, "pass"),
        (302_000, POISSON, 1.0, "pass"),
        (310_000, POISSON, 1.0, "reject"),
        (300_000, POISSON, 0.5, "reject"),
        (300_000, EQUAL, 0.0, "pass"),
        (300_000, EQUAL, 1.0, "reject"),
        (304_000, EQUAL, 0.0, "reject"),
        (150_000, RAMP, 0.0, "pass"),
        (300_000, RAMP, 0.0, "reject"),
    ],
)
def test_load_is_what_was_asked_for(number, load, variation, expected):
    assert severity("V38", offered(Count(number, number, 0), load=load, variation=variation)) == expected


@pytest.mark.parametrize(("dropped", "expected"), [(0, "pass"), (300, "pass"), (301, "warn")])
def test_load_is_sustained_where_a_thousandth_is_dropped(dropped, expected):
    """Whatever its throughput was: what arrives varies from run to run."""
    run = offered(Count(300_000, 300_000 - dropped, dropped), throughput_ops_s=940.0)
    assert severity("V09", run) == expected
    assert severity("V31", run) is None


def test_profile_is_no_steady_load():
    by_id = {result.check_id: result for result in judge_run(offered(WHOLE, load=RAMP), MEASURED)}
    assert {by_id[check].severity for check in ("V11", "V12", "V13")} == {"not_assessed"}


def test_closed_loads_have_no_arrivals():
    ids = {result.check_id for result in judge_run(facts(target_ops_s=2000.0), MEASURED)}
    assert not ids & {"V36", "V37", "V38"}


def test_client_without_counts_is_not_assessed():
    run = facts(target_ops_s=1000, open_load=POISSON)
    assert {severity(check, run) for check in ("V36", "V37", "V38")} == {"not_assessed"}
