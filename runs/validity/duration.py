"""Was it long, even and common enough? V05 duration, V06 set-up, V12 stability, V14 start skew."""

from runs.measures.stability import stability
from runs.validity.facts import RunFacts
from runs.validity.profile import Profile
from runs.validity.results import CheckResult, Severity
from runs.validity.words import count, percent, seconds


def duration(facts: RunFacts, profile: Profile) -> CheckResult:
    """V05: a window that is long enough, and enough operations for the percentiles that are shown."""
    beyond = 1 - profile.percentile_shown / 100
    least_values = round(profile.values_beyond_percentile / beyond)
    short = [
        f"{operation.operation} has {count(operation.ok)} values"
        for operation in facts.operations
        if operation.kind == "service" and not operation.is_composite and 0 < operation.ok < least_values
    ]
    complaints: list[str] = []
    severity: Severity = "pass"
    if facts.window_s < profile.duration_warn_s:
        complaints.append(f"it lasted {seconds(facts.window_s)}")
    if facts.total_operations < profile.operations_least:
        complaints.append(f"it did {count(facts.total_operations)} operations")
    if short:
        complaints.append(f"{' and '.join(short)}, and p{profile.percentile_shown:g} wants {count(least_values)}")
    if complaints:
        severity = "reject" if facts.window_s < profile.duration_reject_s else "warn"
    return CheckResult(
        check_id="V05",
        severity=severity,
        title="Duration",
        measured=f"{seconds(facts.window_s)}, {count(facts.total_operations)} operations",
        threshold=f"{seconds(profile.duration_warn_s)} and {count(profile.operations_least)} operations; "
        f"under {seconds(profile.duration_reject_s)} reject",
        message=(
            f"This run is too short to publish: {', '.join(complaints)}. Its shape may be right, its digits are not."
            if complaints
            else "The window is long enough for its percentiles."
        ),
        remedy="Measure longer." if complaints else "",
    )


def set_up(facts: RunFacts, profile: Profile) -> CheckResult:
    """V06: connecting and cleaning up are part of the run time that YCSB divides by."""
    title = "Set-up and clean-up"
    limits = f"above {percent(profile.setup_warn)} warn, above {percent(profile.setup_reject)} reject"
    shares = [
        ((client.init_s or 0.0) + (client.cleanup_s or 0.0)) / (client.runtime_ms / 1000)
        for client in facts.clients
        if client.runtime_ms and client.init_s is not None
    ]
    if not shares:
        return CheckResult("V06", "not_assessed", title, "", limits, "No client printed its run time.")
    share = max(shares)
    severity: Severity = "pass"
    if share > profile.setup_warn:
        severity = "reject" if share > profile.setup_reject else "warn"
    return CheckResult(
        check_id="V06",
        severity=severity,
        title=title,
        measured=f"{percent(share)} of the run time",
        threshold=limits,
        message=(
            f"Connecting and cleaning up took {percent(share)} of the longest client's run time; "
            "the throughput that YCSB prints includes it, the window's does not."
        ),
        remedy="Measure longer, or find out why connecting takes so long." if severity != "pass" else "",
    )


def instability(facts: RunFacts, profile: Profile) -> CheckResult:
    """V12: the throughput of every second of the window."""
    title = "Stability"
    limits = f"variation {percent(profile.cv_warn)}, slow seconds {percent(profile.slow_seconds_warn)}"
    series = facts.rate_ops_s or ()
    found = stability(series)
    if found is None or found.seconds < profile.stability_least_s:
        return CheckResult(
            check_id="V12",
            severity="not_assessed",
            title=title,
            measured=f"{len(series)} s",
            threshold=limits,
            message=f"{len(series)} seconds are too few to judge by: {profile.stability_least_s} are needed.",
        )
    bad = found.cv > profile.cv_warn or found.slow_share > profile.slow_seconds_warn
    return CheckResult(
        check_id="V12",
        severity="warn" if bad else "pass",
        title=title,
        measured=f"variation {percent(found.cv)}, slow seconds {percent(found.slow_share)}",
        threshold=limits,
        message=(
            f"The throughput of single seconds varies by {percent(found.cv)}, and {percent(found.slow_share)} of the "
            f"seconds lie below 90 % of the median; the deepest dip takes {percent(found.down_spike_share)} away."
        ),
        remedy="Look at the series for compactions, checkpoints or neighbours, and measure longer." if bad else "",
    )


def start_skew(facts: RunFacts, profile: Profile) -> CheckResult | None:
    """V14: all clients at the same time. One client alone has nothing to be late for."""
    if facts.clients_expected < 2 or len(facts.clients) < 2:
        return None
    starts = [client.started_s for client in facts.clients]
    ends = [client.ended_s for client in facts.clients]
    spread = max(max(starts) - min(starts), max(ends) - min(ends))
    little = facts.overlap is not None and facts.overlap < profile.overlap_warn
    severity: Severity = "pass"
    if spread > profile.skew_warn_s or little:
        severity = "warn"
    if spread > profile.skew_warn_s and spread > profile.skew_reject_share * facts.window_s:
        severity = "reject"
    overlap = f", {percent(facts.overlap)} in common" if facts.overlap is not None else ""
    return CheckResult(
        check_id="V14",
        severity=severity,
        title="Clients together",
        measured=f"starts {max(starts) - min(starts):.2f} s apart, ends {max(ends) - min(ends):.2f} s{overlap}",
        threshold=f"{seconds(profile.skew_warn_s)} apart and {percent(profile.overlap_warn)} in common warn; "
        f"{percent(profile.skew_reject_share)} of the window reject",
        message=(
            "The clients began and ended together."
            if severity == "pass"
            else "The clients did not load the database at the same time; only their common window is counted."
        ),
        remedy="" if severity == "pass" else "Look at the clocks and the load of the load generators.",
    )
