"""Was it even over time? V10 backlog, V11 warm-up and drift, V12 stability, V13 stalls."""

import numpy as np

from benchsite.formatting import duration, exact, latency, percent, throughput
from runs.measures.stability import longest_run, stability
from runs.measures.steady import drift_of, mser5
from runs.measures.sustained import backlog_growth
from runs.validity.facts import OverTime, RunFacts
from runs.validity.profile import Profile
from runs.validity.results import TITLES, CheckResult, not_assessed


def backlog(facts: RunFacts, profile: Profile) -> CheckResult | None:
    """V10: a target that the database cannot keep up with makes every operation later than the one before it."""
    if not facts.target_ops_s:
        return None
    title = TITLES["V10"]
    limits = (
        f"growth of {percent(profile.backlog_share)} of the mean, at least {latency(profile.backlog_least_s * 1e6)}"
    )
    series = facts.over_time.response_mean_us if facts.over_time else ()
    found = backlog_growth(series)
    if found is None:
        missing = "Response times by the second are not known; measurement.interval=both measures them."
        if len(series):
            missing = f"{len(series)} seconds are too few to judge by."
        return not_assessed("V10", title, limits, missing)
    growth_us, mean_us = found
    growing = growth_us > max(profile.backlog_share * mean_us, profile.backlog_least_s * 1e6)
    shown = f"mean response time {latency(mean_us)}, {latency(growth_us) if growth_us > 0 else 'no'} growth"
    if not growing:
        return CheckResult("V10", "pass", title, shown, limits, "Operations did not become later and later.")
    # Below the share that counts as sustained nobody claims that the target was kept: V09 says so already.
    claimed = (facts.throughput_ops_s or 0.0) / facts.target_ops_s >= profile.target_warn
    return CheckResult(
        "V10", "reject" if claimed else "warn", title, shown, limits,
        f"The response time grew by {latency(growth_us)} over the window: more was asked for than the database could "
        "do, and the queue would have grown without end.",
        "Take this rung as beyond the ceiling; measure a lower target.",
    )  # fmt: skip


def warm_up(facts: RunFacts, profile: Profile) -> CheckResult:
    """V11: the window begins after the warm-up, by MSER-5 over the whole run, and does not drift."""
    title = TITLES["V11"]
    limits = f"no longer warm-up than planned, drift {percent(profile.drift_warn)}"
    known = facts.over_time
    window = known.rate_ops_s[known.warmup_s :] if known else ()
    if known is None or len(window) < profile.steady_least_s:
        return not_assessed("V11", title, limits, _too_short(known, len(window), profile.steady_least_s))
    drift = drift_of(window)
    shown = f"drift {percent(drift.slope)}, halves {percent(drift.halves)} apart"
    complaints = [said for said in [_warmed_late(known, profile)] if said]
    if drift.exceeds(profile.drift_warn, profile.drift_sigmas):
        larger = max(drift.slope, drift.halves, key=abs)
        complaints.append(f"the throughput {'rose' if larger > 0 else 'fell'} by {percent(abs(larger))} in the window")
    sentence = "; ".join(complaints)
    return CheckResult(
        "V11", "warn" if complaints else "pass", title, shown, limits,
        sentence[0].upper() + sentence[1:] + "." if complaints else "The window is in a steady state.",
        "Warm up longer and measure longer; the run page cuts a longer warm-up off without a new run."
        if complaints
        else "",
    )  # fmt: skip


def _warmed_late(known: OverTime, profile: Profile) -> str:
    """What MSER-5 says against the planned warm-up, of the throughput and of p95; empty where it makes no difference.

    By itself it cuts something off many a healthy run, so it counts only where what it keeps has another mean.
    """
    for what, values in (("throughput", known.rate_ops_s), ("p95", known.p95_us)):
        series = np.asarray(values, dtype=np.float64)
        if series.size < known.warmup_s + 1 or not np.isfinite(series).all():
            continue
        found, mean = mser5(series.tolist()), float(series[known.warmup_s :].mean())
        if found is None or not mean or abs(found.mean_kept / mean - 1) <= profile.steady_gain:
            continue
        if found.at_limit:
            return f"the {what} reached no steady state: the run is too short"
        if found.truncate_s > known.warmup_s:
            return f"by its {what} the warm-up took {found.truncate_s} s, and {known.warmup_s} s were cut off"
    return ""


def _too_short(known: OverTime | None, length: int, least: float) -> str:
    if known is None:
        return "Nothing tells how much was done in each second."
    return f"{length} seconds are too few to judge by: {exact(least)} are needed."


def instability(facts: RunFacts, profile: Profile) -> CheckResult:
    """V12: the throughput of every second of the window."""
    title = TITLES["V12"]
    limits = f"variation {percent(profile.cv_warn)}, slow seconds {percent(profile.slow_seconds_warn)}"
    series = facts.rate_ops_s or ()
    found = stability(series)
    if found is None or found.seconds < profile.stability_least_s:
        missing = (
            _too_short(facts.over_time, 0, 0)
            if facts.rate_ops_s is None and facts.over_time is None
            else f"{len(series)} seconds are too few to judge by: {exact(profile.stability_least_s)} are needed."
        )
        return not_assessed("V12", title, limits, missing, f"{len(series)} s" if series else "")
    bad = found.cv > profile.cv_warn or found.slow_share > profile.slow_seconds_warn
    shown = f"variation {percent(found.cv)}, slow seconds {percent(found.slow_share)}"
    if not bad and facts.over_time and not facts.over_time.is_by_second:
        return not_assessed(
            "V12", title, limits, "Only means over several seconds are known: they hide what single seconds do.", shown
        )
    return CheckResult(
        "V12", "warn" if bad else "pass", title, shown, limits,
        f"The throughput of single seconds is {found.grade}: it varies by {percent(found.cv)}, and "
        f"{percent(found.slow_share)} of the seconds lie below 90 % of the median; the deepest dip takes "
        f"{percent(found.down_spike_share)} away.",
        "Look at the series for compactions, checkpoints or neighbours, and measure longer." if bad else "",
    )  # fmt: skip


def stalls(facts: RunFacts, profile: Profile) -> CheckResult:
    """V13: seconds in a row in which nothing was done at all, or one operation that took far too long."""
    title = TITLES["V13"]
    limits = f"{duration(profile.stall_s)} without operations, {duration(profile.stall_latency_s)} for one"
    series = facts.rate_ops_s or ()
    longest_us = max((entry.max_us for entry in facts.service if entry.max_us is not None), default=None)
    slow = longest_us is not None and longest_us > profile.stall_latency_s * 1e6
    enough = bool(series) and sum(series) / len(series) >= profile.stall_rate_least
    empty = longest_run([rate <= 0 for rate in series]) if enough else 0
    if not slow and (not enough or longest_us is None):
        return not_assessed("V13", title, limits, _stalls_unknown(facts, profile))
    stalled = empty >= profile.stall_s
    complaints = []
    if stalled:
        complaints.append(f"nothing was done for {empty} s in a row")
    if slow and longest_us is not None:
        complaints.append(f"one operation took {latency(longest_us)}")
    sentence = " and ".join(complaints)
    by_second = facts.over_time is None or facts.over_time.is_by_second
    if not complaints and not by_second:
        return not_assessed("V13", title, limits, "Only means over several seconds are known: they hide short stalls.")
    shown = [f"{empty} s empty"] if stalled or (enough and by_second) else []
    shown += [f"longest operation {latency(longest_us)}"] if longest_us is not None else []
    return CheckResult(
        "V13", "warn" if complaints else "pass", title, ", ".join(shown), limits,
        sentence[0].upper() + sentence[1:] + "." if complaints else "The database never stopped answering.",
        "Look at the server's log at that time: checkpoints, compactions, elections, collecting garbage."
        if complaints
        else "",
    )  # fmt: skip


def _stalls_unknown(facts: RunFacts, profile: Profile) -> str:
    if facts.rate_ops_s:
        return f"Below {throughput(profile.stall_rate_least)} seconds without any operation come by chance."
    return "Nothing tells how much was done in each second."
