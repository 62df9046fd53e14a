"""Do the numbers agree with each other? V22 measurement, V23 arithmetic."""

from collections.abc import Mapping
from itertools import pairwise

from runs.validity.facts import ClientFacts, OperationFacts, RunFacts
from runs.validity.profile import Profile
from runs.validity.results import CheckResult, Severity
from runs.validity.words import count, percent
from runs.ycsb.merge import Phase
from runs.ycsb.names import parse_name


def measurement(facts: RunFacts, profile: Profile) -> CheckResult:
    """V22: latencies in an order that a distribution can have, and measured from the moment that the load asks for."""
    title, limits = "Latencies", "min <= mean <= max, percentiles ascending; response times with a target"
    wrong = [f"{entry.operation}: {problem}" for entry in facts.operations if (problem := _disorder(entry))]
    severity: Severity = "pass"
    message, remedy = "The latencies of every operation are in order.", ""
    if facts.target_ops_s and facts.operations and not any(entry.kind == "response" for entry in facts.operations):
        severity = "warn"
        message = "The load had a target, but latencies count from the call: a stalled database hides its queue."
        remedy = "Measure with measurement.interval=both."
    if wrong:
        severity = "reject"
        message = f"Latencies contradict each other ({'; '.join(wrong)})."
        remedy = "The output is damaged or was edited: read the raw files."
    return CheckResult("V22", severity, title, f"distributions: {len(facts.operations)}", limits, message, remedy)


def _disorder(entry: OperationFacts) -> str:
    """What is impossible about the latencies of an operation, or nothing."""
    known = [(name, value) for name, value in sorted((entry.percentiles_us or {}).items()) if value is not None]
    for (lower, below), (upper, above) in pairwise(known):
        if above < below:
            return f"p{upper:g} is below p{lower:g}"
    if known and entry.max_us is not None and known[-1][1] > entry.max_us:
        return f"p{known[-1][0]:g} is above the maximum"
    if entry.mean_us is not None and entry.min_us is not None and entry.min_us > entry.mean_us:
        return "the minimum is above the mean"
    if entry.mean_us is not None and entry.max_us is not None and entry.mean_us > entry.max_us:
        return "the mean is above the maximum"
    return ""


def arithmetic(facts: RunFacts, profile: Profile) -> CheckResult:
    """V23: every client's summary agrees with itself, and its histogram log with the summary to the last operation."""
    title, limits = "Arithmetic", f"throughput within {percent(profile.arithmetic_reject)}, counts equal"
    unknown = [client.number for client in facts.clients if client.printed_counts is None]
    wrong = [
        f"client {client.number}: {problem}"
        for client in facts.clients
        if client.printed_counts is not None
        and (problem := _contradiction(client, client.printed_counts, facts.phase, profile))
    ]
    if wrong:
        return CheckResult(
            "V23", "reject", title, f"contradictions: {len(wrong)}", limits,
            f"The printed numbers contradict each other ({'; '.join(wrong)}).",
            "Output is missing or was edited: read the raw files, and run it again.",
        )  # fmt: skip
    if unknown or not facts.clients:
        who = ", ".join(str(number) for number in unknown) or "any"
        return CheckResult("V23", "not_assessed", title, "", limits, f"There is no summary of client {who}.")
    return CheckResult(
        "V23", "pass", title, f"summaries: {len(facts.clients)}", limits,
        "Every client's log and summary agree to the last operation.",
    )  # fmt: skip


def _contradiction(client: ClientFacts, printed: Mapping[str, int], phase: Phase, profile: Profile) -> str:
    """The first contradiction in one client's numbers, or nothing."""
    for name, number in sorted(printed.items()):
        logged = (client.log_counts or {}).get(name)
        if logged is not None and logged != number:
            return f"{name} has {count(number)} operations in the summary and {count(logged)} in the log"
        if logged is None and number:
            return f"{name} has {count(number)} operations in the summary and no log"
    if not client.runtime_ms or client.runtime_ms <= 0 or client.printed_throughput_ops_s is None:
        return ""
    computed = _counted_by_ycsb(printed, phase) / client.runtime_ms * 1000
    stated = client.printed_throughput_ops_s
    if abs(stated - computed) > profile.arithmetic_reject * max(computed, stated):
        return f"{stated:,.1f} ops/s are printed, and operations by run time are {computed:,.1f}"
    return ""


def _counted_by_ycsb(printed: Mapping[str, int], phase: Phase) -> int:
    """The operations in YCSB's own throughput: a run counts failed ones, a load does not."""
    total = 0
    for name, number in printed.items():
        parsed = parse_name(name)
        if parsed.kind == "service" and parsed.is_operation and not (phase == "load" and parsed.status):
            total += -number if parsed.is_composite else number
    return total
