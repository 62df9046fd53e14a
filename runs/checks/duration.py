"""Was it long enough? V05 duration, V06 set-up and clean-up."""

from benchsite.core import formatting
from benchsite.core.formatting import exact, grouped, percent
from runs.checks.check import Outcome, check, not_assessed
from runs.checks.default_thresholds import Profile
from runs.checks.facts import RunFacts
from runs.checks.messages import NO_UPPER_BOUND, OPERATIONS_NOT_DONE
from runs.checks.results import graded, warn_if
from runs.ycsb.command import PERCENTILES
from runs.ycsb.upper_bounds import CONFIDENCE, min_values


@check(
    "V05", "Duration",
    "{duration_warn_s}, {operations_least} operations, p{percentile_shown} known within {percentile_margin}; "
    "under {duration_reject_s} reject", untrusted=True,
)  # fmt: skip
def duration(facts: RunFacts, profile: Profile) -> Outcome:
    """A window that is long enough, and percentiles whose upper bounds lie near them.

    Formula: T; operations; the [upper bound](../how-results-are-judged.md#percentiles-with-confidence) of the
        percentile shown (p{percentile_shown}) of each operation
    Warns: T < {duration_warn_s}, < {operations_least} operations, fewer than the plan asks for, no upper bound, or
        one more than {percentile_margin} above the percentile
    Rejects: T < {duration_reject_s}
    Not assessed without: how long it lasted, how much was done
    """
    if facts.window_s is None:
        return not_assessed("How long it lasted is not known.")
    if facts.total_operations is None:
        return not_assessed("How many operations were done is not known.")

    complaints: list[str] = []
    if facts.window_s < profile.duration_warn_s:
        complaints.append(f"it lasted {formatting.duration(facts.window_s)}")
    if facts.total_operations < profile.operations_least:
        complaints.append(f"it did {grouped(facts.total_operations)} operations")
    if facts.total_operations < facts.operations_asked:
        complaints.append(OPERATIONS_NOT_DONE.format(operations=grouped(facts.operations_asked)))
    complaints += _unsure_percentiles(facts, profile)
    severity = warn_if(complaints)
    if facts.window_s < profile.duration_reject_s:
        severity = "reject"

    measured = f"{formatting.duration(facts.window_s)}, {grouped(facts.total_operations)} operations"
    return Outcome(
        severity, measured,
        f"This run is too short to publish: {', '.join(complaints)}. Its shape may be right, its digits are not.",
        "Measure longer.",
        good="The window is long enough for its percentiles.",
    )  # fmt: skip


def _unsure_percentiles(facts: RunFacts, profile: Profile) -> list[str]:
    """The operations whose percentile that is shown has no upper bound, or one far above it."""
    percentile = min((p for p in PERCENTILES if p >= profile.percentile_shown), default=PERCENTILES[-1])
    complaints = []
    for operation in facts.service:
        if not operation.ok:
            continue
        name = f"p{exact(percentile)} of {operation.operation}"
        value = (operation.percentiles_us or {}).get(percentile)
        bound = (operation.upper_bounds_us or {}).get(percentile)
        if operation.ok < min_values(percentile) or (operation.upper_bounds_us is not None and bound is None):
            complaints.append(NO_UPPER_BOUND.format(percentile=name, values=grouped(operation.ok)))
        elif value and bound and bound > value * (1 + profile.percentile_margin):
            complaints.append(
                f"{name} is {formatting.latency(value)}, at most {formatting.latency(bound)} ({percent(CONFIDENCE)})"
            )

    return complaints


@check("V06", "Set-up and clean-up", "above {setup_warn} warn, above {setup_reject} reject", loads=True)
def set_up(facts: RunFacts, profile: Profile) -> Outcome | None:
    """Connecting and cleaning up are part of the run time that YCSB divides by.

    Of a load it matters only where its throughput is the one that YCSB printed.

    Formula: (connecting + cleaning up) / run time, of the worst client. Of a summary only cleaning up is known: it
        can warn, never pass
    Warns: > {setup_warn}
    Rejects: > {setup_reject}
    Not assessed without: run times
    """
    if facts.phase == "load" and not facts.whole_runs:
        return None

    shares = []
    for client in facts.clients:
        if not client.runtime_ms or client.runtime_ms < 0 or (client.init_s is None and client.cleanup_s is None):
            continue
        set_up_s = (client.init_s or 0.0) + (client.cleanup_s or 0.0)
        shares.append(set_up_s / (client.runtime_ms / 1000))
    if not shares:
        return not_assessed("No client printed its run time with its set-up or clean-up.")

    share = max(shares)
    severity = graded(share, profile.setup_warn, profile.setup_reject)
    measured = f"{percent(share)} of the run time"
    parts = "Connecting and cleaning"
    if any(client.init_s is None for client in facts.clients):
        parts = "Cleaning"
        if severity == "pass":
            return not_assessed(f"Cleaning up took {percent(share)}; how long connecting took is not known.", measured)

    other_throughput = ", the window's does not."
    if facts.whole_runs:
        other_throughput = ", and no other is known."
    return Outcome(
        severity, measured,
        f"{parts} up took {percent(share)} of the run time of a client; the throughput that YCSB prints includes "
        f"it{other_throughput}",
        "Measure longer, or find out why it takes so long.",
    )  # fmt: skip
