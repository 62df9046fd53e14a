"""Was it the load that was asked for? V08 mix of operations, V09 target, V31 target exceeded."""

import math
from collections.abc import Mapping

from benchsite.core.formatting import grouped, percent, throughput
from runs.checks.check import ROUNDING, Outcome, check, not_assessed
from runs.checks.default_thresholds import Profile
from runs.checks.facts import RunFacts, parse_number
from runs.checks.messages import MEASURE_MIX_AGAIN, MIX_EDGES, MIX_LIMITS, OTHER_MIX, STATE_WORKLOAD
from runs.checks.results import Severity, find_worst, graded
from runs.ycsb.arrivals import Count
from runs.ycsb.properties import YCSB_PROPORTIONS, proportions


def _mix_limits(facts: RunFacts, profile: Profile) -> str:
    if facts.whole_runs:
        return MIX_LIMITS
    return f"{MIX_LIMITS} {MIX_EDGES} warn, {{mix_reject:points}} points reject"


@check("V08", "Mix of operations", _mix_limits)
def mix(facts: RunFacts, profile: Profile) -> Outcome | None:
    """The operations that were done are those the workload asks for.

    A share p of n operations may be off by 1 percentage point or four standard deviations, whichever is more. At the
    edges of a window each of m threads is in an operation, all in operations of one kind where these stall: m/n more.

    Formula: each operation's share of n against its proportion p
    Warns: in a window: off by more than max({mix_points:points} percentage point, {mix_sigmas} sqrt(p(1-p)/n)) + m/n,
        or missing; more than {mix_reject:points} percentage points off YCSB's file of a workload that a command line
        names
    Rejects: the same over whole runs, m/n = 0; in a window also off by more than {mix_reject:points} percentage points
    Not assessed without: counts, the workload's proportions
    """
    if facts.proportions is None:
        if facts.made_elsewhere and facts.phase != "load":
            return not_assessed("The workload's proportions are not known.")
        return None

    total = facts.total_operations
    done = _count_operations(facts)
    if done is None:
        return not_assessed("The counts of its operations are not known.")
    if not total:
        return not_assessed("There are no operations.")

    shares = {operation: number / total for operation, number in sorted(done.items())}
    complaints: list[str] = []
    severities: list[Severity] = []
    for operation in sorted({*facts.proportions, *shares}):
        severity, complaint = _judge_share(operation, shares, facts, profile)
        if complaint:
            severities.append(severity)
            complaints.append(complaint)

    other_mix = _find_other_mix(facts, shares, profile)
    if other_mix:
        complaints.append(other_mix)
        severities.append("warn")

    return Outcome(
        find_worst(severities), _list_shares(shares),
        f"The operations are not what the workload asks for: {'; '.join(complaints)}.",
        STATE_WORKLOAD if facts.made_elsewhere else MEASURE_MIX_AGAIN,
        good="The operations have the shares that the workload asks for.",
    )  # fmt: skip


def _judge_share(
    operation: str, shares: Mapping[str, float], facts: RunFacts, profile: Profile
) -> tuple[Severity, str]:
    """How far an operation's share is off its proportion; no complaint where it is not."""
    assert facts.proportions is not None and facts.total_operations
    total = facts.total_operations
    expected, share = facts.proportions.get(operation, 0.0), shares.get(operation, 0.0)
    deviation = abs(share - expected)
    at_edges = 0.0 if facts.whole_runs else (facts.threads or 0) / total
    by_chance = profile.mix_sigmas * math.sqrt(expected * (1 - expected) / total)
    allowed = max(profile.mix_points, by_chance) + at_edges

    severity: Severity = "warn"
    if facts.whole_runs or deviation > max(allowed, profile.mix_reject) + ROUNDING:
        severity = "reject"
    if not share and expected * total >= profile.mix_expected_least:
        return severity, f"{operation} is missing"
    if deviation > allowed + ROUNDING:
        return severity, f"{operation} has {percent(share)} instead of {percent(expected)}"
    return "pass", ""


def _list_shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{operation} {percent(share)}" for operation, share in shares.items())


def _find_other_mix(facts: RunFacts, shares: Mapping[str, float], profile: Profile) -> str:
    """The first command line that asks for other shares, as far as YCSB's own file of its workload tells."""
    for client in facts.clients:
        if client.evidence is None:
            continue
        properties = client.evidence.properties
        weights = [parse_number(properties.get(name)) for name in YCSB_PROPORTIONS]
        if None in weights or not sum(weight or 0.0 for weight in weights) > 0:
            continue
        expected = proportions(properties)
        deviations = [
            abs(shares.get(operation, 0.0) - expected.get(operation, 0.0)) for operation in {*shares, *expected}
        ]
        if max(deviations) > profile.mix_reject + ROUNDING:
            return OTHER_MIX.format(number=client.number, mix=_list_shares(expected))
    return ""


def _count_operations(facts: RunFacts) -> dict[str, int] | None:
    """Operations as the workload names them: what a read-modify-write read and updated is no READ and no UPDATE."""
    counts: dict[str, int] = {}
    inner = 0
    for operation in facts.operations:
        if operation.kind != "service":
            continue
        if operation.count is None:
            return None
        counts[operation.operation] = operation.count
        if operation.is_composite:
            inner += operation.count

    for name in ("READ", "UPDATE"):
        if inner and name in counts:
            counts[name] = max(counts[name] - inner, 0)

    return {name: number for name, number in counts.items() if number}


@check("V09", "Target", "under {target_info} marginal, under {target_warn} not sustained")
def target(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What was offered and what was reached.

    Formula: X / target; of an open load the share of the arrivals that were dropped
    Warns: < {target_warn} not sustained (info: < {target_info} marginal); more than {dropped_warn} dropped
    Not assessed without: X
    """
    if not facts.target_ops_s:
        return None
    if facts.throughput_ops_s is None:
        return not_assessed("The throughput is not known.")
    if facts.arrivals is not None:
        return _not_dropped(facts.arrivals.total, profile)

    ratio = facts.throughput_ops_s / facts.target_ops_s
    severity: Severity = "pass"
    consequence = "was sustained"
    if ratio < profile.target_info:
        severity, consequence = "info", "was nearly sustained"
        if ratio < profile.target_warn:
            severity, consequence = "warn", "was not sustained"

    return Outcome(
        severity, f"{throughput(facts.throughput_ops_s)} of {throughput(facts.target_ops_s)}",
        f"The target of {throughput(facts.target_ops_s)} {consequence}: {percent(ratio)} of it was reached.",
        "Take this rung as beyond the ceiling, or give it more threads and run it again.",
    )  # fmt: skip


def _not_dropped(total: Count, profile: Profile) -> Outcome:
    measured = f"{grouped(total.dropped)} of {grouped(total.offered)} arrivals dropped"
    if total.dropped_share <= profile.dropped_warn + ROUNDING:
        return Outcome("pass", measured, "What was offered was begun: the load was sustained.")
    return Outcome(
        "warn", measured,
        f"{percent(total.dropped_share)} of the operations were dropped, since no thread was free in time: the load "
        "was not sustained.",
        "Take this rung as beyond the ceiling, or give it more threads and run it again.",
    )  # fmt: skip


@check("V31", "Target exceeded", "above {exceeded_warn} warn, above {exceeded_reject} reject", untrusted=True)
def exceeded(facts: RunFacts, profile: Profile) -> Outcome | None:
    """A client makes up for a stall: what was due before the window is measured in it, and the load is not the target.

    YCSB's schedule begins with each thread. Clients that Benchsite starts drop what was due before the window.

    Formula: X / target
    Warns: > {exceeded_warn}
    Rejects: > {exceeded_reject}
    Not assessed without: X
    """
    if not facts.target_ops_s or facts.phase == "load" or facts.open_load:
        return None
    if facts.throughput_ops_s is None:
        return not_assessed("The throughput is not known.")

    ratio = facts.throughput_ops_s / facts.target_ops_s
    return Outcome(
        graded(ratio, profile.exceeded_warn, profile.exceeded_reject),
        f"{throughput(facts.throughput_ops_s)} of {throughput(facts.target_ops_s)}",
        f"{percent(ratio)} of the target was done in the window: clients made up for operations due before it. "
        "Load and latencies are not those of the target.",
        "Run it again with a longer warm-up, and check the stated target.",
        good="No more than the target was offered in the window.",
    )  # fmt: skip
