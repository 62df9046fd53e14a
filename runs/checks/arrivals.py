"""Was an open load offered as it was asked for? V36 start lag, V37 arrivals counted, V38 arrivals as asked."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from benchsite.core.formatting import exact, grouped, latency, percent, throughput
from runs.checks.check import Outcome, check, not_assessed
from runs.checks.default_thresholds import Profile
from runs.checks.facts import RunFacts
from runs.checks.messages import MORE_THAN
from runs.checks.results import Severity
from runs.ycsb.arrivals import expected_share
from runs.ycsb.histogram import Histogram

# Gaps at rate 1: their standard deviation over their mean is 1 for a Poisson process and 0 for equal ones.
POISSON_TOLERANCE: Final = 0.05
MAX_CONSTANT_VARIATION: Final = 0.1
# Standard deviations that a count may be off by chance.
SIGMAS: Final = 4.0
# By so much a constant rate may be off: the window begins and ends within a second.
CONSTANT_TOLERANCE: Final = 0.01
# A larger shift says no more: dropped arrivals have a lag and no response, so lags may add up to more than responses.
MAX_SHIFT_SHOWN: Final = 10.0


@check(
    "V36", "Start lag", "longer responses by {lag_shift_warn}, or p99 over {lag_warn} of theirs, warn", untrusted=True
)
def start_lag(facts: RunFacts, profile: Profile) -> Outcome | None:
    """A client that begins operations late makes the database look slower than it is.

    What counts is by how much arrivals were taken late that were due while a thread was free, dropped ones included.

    Formula: sum of that lag / (sum of the response times - that); p99 of it / p99 of the response time of the operation
        that was done most; p99 of it / mean response time
    Warns: > {lag_shift_warn}; > {lag_warn}, and p99 > {lag_least_s}
    Rejects: > {lag_shift_reject}, or > {lag_shift_warn} and p99 > {lag_least_s}; p99 > {lag_reject} of the mean and
        > {lag_least_s}, or > {lag_reject_s}
    Not assessed without: the client's own measurement of its lag
    """
    if facts.open_load is None:
        return None
    arrivals = facts.arrivals
    if arrivals is None or not arrivals.client_lag.count or not arrivals.response:
        return not_assessed("The clients left no measurement of how late they began operations.")
    lag, responses = arrivals.client_lag, list(arrivals.response.values())
    lag_us = lag.percentile(99.0) or 0
    shift = compute_shift(lag, responses)
    response_us = _get_main_p99_us(responses)
    severity, crossed = find_crossed_limit(lag, responses, profile)
    least = longer = percent(min(shift, MAX_SHIFT_SHOWN))
    if shift > MAX_SHIFT_SHOWN:
        longer = MORE_THAN.format(share=least)
    return Outcome(
        severity,
        f"p99 {latency(lag_us)}, response p99 {latency(response_us)}, responses longer by {longer}",
        f"Though threads were free, operations began late, one of a hundred by {latency(lag_us)} or more: response "
        f"times are at least {least} longer by the clients, not by the database.",
        "Run the clients on machines, or on cores, that nothing else uses, or offer less with each of them.",
        limits=crossed,
        good="Operations began when they were due.",
    )


def compute_shift(lag: Histogram, responses: Iterable[Histogram]) -> float:
    """By which share responses are longer than if no operation had begun late, as far as none waits for another one."""
    response_us = sum(histogram.total_us for histogram in responses)
    return lag.total_us / max(response_us - lag.total_us, 1.0)


def _get_main_p99_us(responses: Sequence[Histogram]) -> int:
    """That of the operation that was done most."""
    return max(responses, key=lambda histogram: histogram.count).percentile(99.0) or 0


def find_crossed_limit(lag: Histogram, responses: Sequence[Histogram], profile: Profile) -> tuple[Severity, str]:
    """By how the client's own lateness shifts the mean, and by its 99th percentile.

    Waking a thread up takes tens of microseconds on an idle machine too, and a fast database answers in a hundred: what
    lies below a millisecond warns, unless it is a third of the response times. What is late by half a response leaves
    the database idle and then meets a queue, which grows by more than the lag where little capacity is spare.

    With the limit that rejects; empty where none does.
    """
    shift = compute_shift(lag, responses)
    lag_us = lag.percentile(99.0) or 0
    if lag_us > profile.lag_reject_s * 1e6:
        return "reject", "p99 over {lag_reject_s} rejects"
    if shift > profile.lag_shift_reject:
        return "reject", "responses longer by {lag_shift_reject} reject"
    mean_us = Histogram.merged(responses).mean or 0
    is_late = lag_us > profile.lag_least_s * 1e6
    if is_late and lag_us > profile.lag_reject * mean_us:
        return "reject", "p99 over {lag_least_s} and over {lag_reject} of the mean response rejects"
    if is_late and shift > profile.lag_shift_warn:
        return "reject", "p99 over {lag_least_s} with responses longer by {lag_shift_warn} rejects"
    if shift > profile.lag_shift_warn or (is_late and lag_us > profile.lag_warn * _get_main_p99_us(responses)):
        return "warn", ""
    return "pass", ""


@check("V37", "Arrivals counted", "offered = started + dropped, and started = measured", untrusted=True)
def counted(facts: RunFacts, profile: Profile) -> Outcome | None:
    """Every operation that was due was begun or dropped, and every one that was begun is in the logs.

    Formula: offered - started - dropped; operations begun - operations measured, of each client over its whole run
    Rejects: not 0; more than its threads
    Not assessed without: the clients' counts of arrivals
    """
    if facts.open_load is None:
        return None
    arrivals = facts.arrivals
    if arrivals is None:
        return not_assessed("The clients left no counts of arrivals.")
    total = arrivals.total
    measured = f"{grouped(total.offered)} offered, {grouped(total.started)} started, {grouped(total.dropped)} dropped"
    complaints = []
    missing = total.offered - total.started - total.dropped
    if missing:
        complaints.append(f"{grouped(abs(missing))} arrivals are neither")
    for client in facts.clients:
        started = arrivals.started_by_client.get(client.number)
        if started is None:
            continue
        done = facts.measured_by_client.get(client.number, started)
        if abs(started - done) > (client.threads or 0):
            complaints.append(
                f"client {client.number} began {grouped(started)} operations and measured "
                f"{grouped(client.operations or 0)}"
            )
    uncounted = {client.number for client in facts.clients}.difference(arrivals.started_by_client)
    complaints += [f"client {number} left no counts" for number in sorted(uncounted)]
    if not complaints:
        return Outcome("pass", measured, "Every operation that was due was begun or dropped.")
    return Outcome(
        "reject", measured, f"The counts of arrivals do not add up: {'; '.join(complaints)}.",
        "Look at the client's log for an error, and run it again.",
    )  # fmt: skip


@check("V38", "Arrivals as asked", "as many as asked for, and as even", untrusted=True)
def as_asked(facts: RunFacts, profile: Profile) -> Outcome | None:
    """The load is what the plan says: its rate over the window, and the gaps between arrivals.

    Formula: offered / (target x profile's mean x seconds); standard deviation / mean of the gaps at rate 1
    Rejects: off by more than 4 standard deviations of a Poisson count, or 1 % of equal gaps; a variation of the gaps
        that is not 1 within 5 %, or above 0.1 for equal gaps
    Not assessed without: the clients' counts of arrivals, 100 of them
    """
    open_load = facts.open_load
    if open_load is None or not facts.target_ops_s:
        return None
    arrivals = facts.arrivals
    if arrivals is None or arrivals.gap_variation is None or arrivals.total.offered < 100 or not arrivals.seconds:
        return not_assessed("The clients counted too few arrivals.")
    share = 1.0
    if open_load["profile"] and facts.window_s:
        share = expected_share(open_load["profile"], facts.window_s)
    expected = facts.target_ops_s * share * arrivals.seconds
    offered = arrivals.total.offered
    variation = arrivals.gap_variation
    tolerance = CONSTANT_TOLERANCE * expected
    if open_load["profile"]:
        # The seconds in which arrivals are counted are not those of the window: each end may be off by one.
        tolerance = max(tolerance, 2 * facts.target_ops_s)
    even = variation <= MAX_CONSTANT_VARIATION
    if open_load["arrivals"] == "poisson":
        tolerance = max(tolerance, SIGMAS * math.sqrt(expected))
        even = abs(variation - 1) <= POISSON_TOLERANCE + SIGMAS / math.sqrt(offered)
    measured = f"{throughput(offered / arrivals.seconds)} of {throughput(expected / arrivals.seconds)}"
    measured += f", variation of the gaps {exact(round(variation, 2))}"
    if even and abs(offered - expected) <= tolerance:
        return Outcome("pass", measured, "The load was offered as it was asked for.")
    return Outcome(
        "reject", measured,
        f"The load was not what was asked for: {percent(offered / expected)} of the operations were due.",
        "Run it again; a client that stood still at the begin or the end of the window shows in its log.",
    )  # fmt: skip
