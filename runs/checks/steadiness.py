"""Was it even over time? V10 backlog, V11 warm-up and drift, V12 stability, V13 stalls."""

import numpy as np

from benchsite.core.formatting import exact, latency, percent, throughput
from runs.checks.check import Outcome, check, not_assessed, sentence
from runs.checks.default_thresholds import Profile
from runs.checks.facts import OverTime, RunFacts
from runs.checks.messages import NO_STEADY_STATE, RATES_UNKNOWN, STALLS_BY_CHANCE, TOO_FEW_SECONDS, WARMED_LATE
from runs.checks.results import Severity, warn_if
from runs.results.measures.stability import longest_run, stability
from runs.results.measures.steady import compute_drift, mser5
from runs.results.measures.sustained_load import backlog_growth


@check("V10", "Backlog", "growth of {backlog_share} of the mean, at least {backlog_least_s:latency}")
def backlog(facts: RunFacts, profile: Profile) -> Outcome | None:
    """A target that the database cannot keep up with makes every operation later than the one before it.

    Formula: b x T, with b the least-squares slope of each second's mean response time
    Warns: growth > max({backlog_share} of its mean, {backlog_least_s:latency})
    Rejects: the same where X / target >= {target_warn}, because then it claims to be sustained
    Not assessed without: response times by the second
    """
    if not facts.target_ops_s:
        return None

    if facts.over_time is None or not len(facts.over_time.response_mean_us):
        return not_assessed("Response times by the second are not known; measurement.interval=both measures them.")
    series = facts.over_time.response_mean_us
    growth = backlog_growth(series)
    if growth is None:
        return not_assessed(f"{len(series)} seconds are too few to judge by.")

    growth_us, mean_us = growth
    growth_text = "no"
    if growth_us > 0:
        growth_text = latency(growth_us)
    measured = f"mean response time {latency(mean_us)}, {growth_text} growth"
    if growth_us <= max(profile.backlog_share * mean_us, profile.backlog_least_s * 1e6):
        return Outcome("pass", measured, "Operations did not become later and later.")

    # Below the share that counts as sustained nobody claims that the target was kept: V09 says so already.
    severity: Severity = "warn"
    if (facts.throughput_ops_s or 0.0) / facts.target_ops_s >= profile.target_warn:
        severity = "reject"
    return Outcome(
        severity, measured,
        f"The response time grew by {latency(growth_us)} over the window: more was asked for than the database could "
        "do, and the queue would have grown without end.",
        "Take this rung as beyond the ceiling; measure a lower target.",
    )  # fmt: skip


@check("V11", "Steady state", "no longer warm-up than planned, drift {drift_warn}")
def warm_up(facts: RunFacts, profile: Profile) -> Outcome:
    """The window begins after the warm-up, by MSER-5 over the whole run, and does not drift.

    Formula: MSER-5 over the whole run, of throughput and of p95: where the warm-up ends; drift of the window by
        least squares and between its halves
    Warns: warm-up longer than was cut off, or no end to it, if that changes the mean by > {steady_gain}; drift >
        max({drift_warn}, {drift_sigmas} standard errors); of a plan with settling: background work of the servers left
    Not assessed without: {steady_least_s} of window, second by second
    """
    over_time = facts.over_time
    if over_time is None:
        return not_assessed(RATES_UNKNOWN)
    window = over_time.rate_ops_s[over_time.warmup_s :]
    if len(window) < profile.steady_least_s:
        return not_assessed(TOO_FEW_SECONDS.format(length=len(window), least=exact(profile.steady_least_s)))

    drift = compute_drift(window)
    measured = f"drift {percent(drift.slope)}, halves {percent(drift.halves)} apart"
    complaints = []
    warmed_late = _find_late_warm_up(over_time, profile)
    if warmed_late:
        complaints.append(warmed_late)
    if drift.exceeds(profile.drift_warn, profile.drift_sigmas):
        larger = max(drift.slope, drift.halves, key=abs)
        change = "rose" if larger > 0 else "fell"
        complaints.append(f"the throughput {change} by {percent(abs(larger))} in the window")

    if facts.background_work:
        work = ", ".join(f"{name.replace('_', ' ')} {exact(value)}" for name, value in facts.background_work.items())
        complaints.append(f"the servers still had work of their own when the clients began ({work})")

    return Outcome(
        warn_if(complaints), measured,
        f"{sentence(complaints)}.",
        "Warm up longer and measure longer; the run page cuts a longer warm-up off without a new run.",
        good="The window is in a steady state.",
    )  # fmt: skip


def _find_late_warm_up(over_time: OverTime, profile: Profile) -> str:
    """The objection of MSER-5 to the planned warm-up, by throughput and p95; empty where it makes no difference.

    By itself it cuts something off many a healthy run, so it counts only where what it keeps has another mean.
    """
    for label, values in (("throughput", over_time.rate_ops_s), ("p95", over_time.p95_us)):
        series = np.asarray(values, dtype=np.float64)
        if series.size < over_time.warmup_s + 1 or not np.isfinite(series).all():
            continue
        steady, mean = mser5(series.tolist()), float(series[over_time.warmup_s :].mean())
        if steady is None or not mean or abs(steady.mean_kept / mean - 1) <= profile.steady_gain:
            continue
        if steady.at_limit:
            return NO_STEADY_STATE.format(series=label)
        if steady.truncate_s > over_time.warmup_s:
            return WARMED_LATE.format(series=label, warmup_s=steady.truncate_s, cut_s=over_time.warmup_s)
    return ""


@check("V12", "Stability", "variation {cv_warn}, slow seconds {slow_seconds_warn}")
def instability(facts: RunFacts, profile: Profile) -> Outcome:
    """The throughput of every second of the window.

    Formula: variation (standard deviation / mean) of the seconds' throughput; share of seconds below 0.9 of the
        median
    Warns: > {cv_warn}; > {slow_seconds_warn}
    Not assessed without: {stability_least_s} of window. Means over longer intervals can warn, never pass
    """
    series = facts.rate_ops_s or ()
    spread = stability(series)
    if spread is None or spread.seconds < profile.stability_least_s:
        if facts.rate_ops_s is None and facts.over_time is None:
            return not_assessed(RATES_UNKNOWN)
        missing = TOO_FEW_SECONDS.format(length=len(series), least=exact(profile.stability_least_s))
        return not_assessed(missing, f"{len(series)} s" if series else "")

    bad = spread.cv > profile.cv_warn or spread.slow_share > profile.slow_seconds_warn
    measured = f"variation {percent(spread.cv)}, slow seconds {percent(spread.slow_share)}"
    if not bad and facts.over_time and not facts.over_time.is_by_second:
        return not_assessed("Only means over several seconds are known: they hide what single seconds do.", measured)

    return Outcome(
        warn_if(bad), measured,
        f"The throughput of single seconds is {spread.grade}: it varies by {percent(spread.cv)}, and "
        f"{percent(spread.slow_share)} of the seconds lie below 90 % of the median; the deepest dip takes "
        f"{percent(spread.down_spike_share)} away.",
        "Look at the series for compactions, checkpoints or neighbours, and measure longer.",
    )  # fmt: skip


@check("V13", "Stalls", "{stall_s} without operations, {stall_latency_s} for one")
def stalls(facts: RunFacts, profile: Profile) -> Outcome:
    """Seconds in a row in which nothing was done at all, or one operation that took far too long.

    Formula: seconds in a row without any operation; the longest operation
    Warns: >= {stall_s}; > {stall_latency_s}
    Not assessed without: seconds, at {stall_rate_least} or more (below, empty seconds come by chance)
    """
    series = facts.rate_ops_s or ()
    longest_us = max((operation.max_us for operation in facts.service if operation.max_us is not None), default=None)
    is_slow = longest_us is not None and longest_us > profile.stall_latency_s * 1e6
    empty_s = None
    if series and sum(series) / len(series) >= profile.stall_rate_least:
        empty_s = longest_run([rate <= 0 for rate in series])
    if not is_slow and (empty_s is None or longest_us is None):
        return not_assessed(_explain_unknown_stalls(facts, profile))

    stalled = empty_s is not None and empty_s >= profile.stall_s
    complaints = []
    if stalled:
        complaints.append(f"nothing was done for {empty_s} s in a row")
    if is_slow and longest_us is not None:
        complaints.append(f"one operation took {latency(longest_us)}")
    by_second = facts.over_time is None or facts.over_time.is_by_second
    if not complaints and not by_second:
        return not_assessed("Only means over several seconds are known: they hide short stalls.")

    measured = []
    if stalled or (empty_s is not None and by_second):
        measured.append(f"{empty_s} s empty")
    if longest_us is not None:
        measured.append(f"longest operation {latency(longest_us)}")

    return Outcome(
        warn_if(complaints), ", ".join(measured),
        f"{sentence(complaints, ' and ')}.",
        "Look at the server's log at that time: checkpoints, compactions, elections, collecting garbage.",
        good="The database never stopped answering.",
    )  # fmt: skip


def _explain_unknown_stalls(facts: RunFacts, profile: Profile) -> str:
    if facts.rate_ops_s:
        return STALLS_BY_CHANCE.format(throughput=throughput(profile.stall_rate_least))
    return RATES_UNKNOWN
