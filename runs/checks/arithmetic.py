"""Do the numbers agree with each other? V22 measurement, V23 arithmetic."""

from collections.abc import Mapping
from typing import Final

from benchsite.core.formatting import duration, grouped, latency, percent
from runs.checks.check import Outcome, check, not_assessed
from runs.checks.default_thresholds import Profile
from runs.checks.facts import ClientFacts, OperationFacts, RunFacts, parse_number
from runs.checks.messages import (
    CLOCK_SET_BACK,
    COARSE_PERCENTILES,
    FRACTIONS_PRINTED,
    MEASURE_BOTH,
    MEASURE_HDR,
    NO_LOG_OF_OPERATION,
    NO_RUN_TIME,
    RESPONSE_ESTIMATE,
    SERVICE_TIMES_ONLY,
    STATUS_COVERAGE,
    STATUS_LINES_APART,
    STATUS_LINES_COUNT,
    SUMMARY_AND_LOG_DIFFER,
    THROUGHPUT_DIFFERS,
    UPLOAD_AS_PRINTED,
)
from runs.checks.results import warn_if
from runs.ycsb.contradictions import disorder
from runs.ycsb.merged import Phase
from runs.ycsb.operation import parse_name

_TOTAL: Final = "TOTAL"


@check(
    "V22", "Latencies",
    "min <= mean <= max, percentiles ascending, buckets add up; response times with a target", loads=True,
)  # fmt: skip
def measurement(facts: RunFacts, profile: Profile) -> Outcome:
    """Latencies as a distribution can have them, finely enough, from the moment that the load asks for.

    Formula: min <= mean <= max; percentiles ascend and stay below the maximum; buckets add up to the count and end
        at the maximum; no more return codes of success than operations. Without histograms all of these hold for every
        client; finer than {resolution_warn_s:ms}; no averaged percentiles; response times where there is a target
    Warns: buckets of {resolution_warn_s:ms} or more; fractions of a count or of a microsecond where YCSB prints whole
        ones (an average of several runs: its values are kept, its arithmetic is not assessed); service times only,
        with a target
    Rejects: numbers that contradict each other
    Not assessed without: latencies with percentiles
    """
    measured = f"distributions: {len(facts.operations)}"
    contradictions = []
    for operation in facts.operations:
        contradiction = _disorder(operation) or operation.contradiction
        if contradiction:
            contradictions.append(f"{operation.operation}: {contradiction}")
    if contradictions:
        return Outcome(
            "reject", measured,
            f"Latencies contradict each other ({'; '.join(contradictions)}).",
            "The output is damaged or was edited: read the raw files.",
        )  # fmt: skip
    if not any(operation.mean_us is not None or operation.percentiles_us for operation in facts.operations):
        return not_assessed("No latencies are known.", measured)

    without_percentiles = sorted(
        {operation.operation for operation in facts.operations if not operation.percentiles_us}
    )
    doubts = list(filter(None, (_averaged(facts), _coarse(facts, profile), _service_only(facts))))
    if without_percentiles and not doubts:
        return not_assessed(
            f"Percentiles of {', '.join(without_percentiles)} are not known; what is known of the latencies is in "
            "order.", measured,
        )  # fmt: skip

    return Outcome(
        warn_if(doubts), measured,
        " ".join(doubt for doubt, _ in doubts) or "The latencies of every operation are in order.",
        " ".join(remedy for _, remedy in doubts),
    )  # fmt: skip


def _averaged(facts: RunFacts) -> tuple[str, str] | None:
    names = sorted({operation.operation for operation in facts.operations if operation.averaged})
    if not names:
        return None
    return FRACTIONS_PRINTED.format(operations=", ".join(names)), UPLOAD_AS_PRINTED


def _coarse(facts: RunFacts, profile: Profile) -> tuple[str, str] | None:
    widths = [operation.resolution_us for operation in facts.operations if operation.resolution_us is not None]
    if not widths or max(widths) < profile.resolution_warn_s * 1e6:
        return None
    return COARSE_PERCENTILES.format(resolution=latency(max(widths))), MEASURE_HDR


def _service_only(facts: RunFacts) -> tuple[str, str] | None:
    """A target, but nothing that counts from when an operation was due."""
    kinds = {operation.kind for operation in facts.operations}
    if not facts.target_ops_s or not kinds or "response" in kinds:
        return None
    estimates_us = {
        operation.operation: operation.response_estimated_us
        for operation in facts.service
        if operation.response_estimated_us is not None
    }
    message = SERVICE_TIMES_ONLY
    if estimates_us:
        slowest = max(estimates_us, key=estimates_us.__getitem__)
        message += RESPONSE_ESTIMATE.format(operation=slowest, latency=latency(estimates_us[slowest]))
    return message, MEASURE_BOTH


def _disorder(operation: OperationFacts) -> str:
    return disorder(
        operation.percentiles_us or {},
        operation.min_us,
        operation.mean_us,
        operation.max_us,
        operation.resolution_us or 0.0,
    )


@check("V23", "Arithmetic", "throughput within {arithmetic_reject}, counts equal", loads=True, untrusted=True)
def arithmetic(facts: RunFacts, profile: Profile) -> Outcome:
    """Every client's summary agrees with itself, and its histogram log with the summary to the last operation.

    Formula: each client's printed throughput = operations / run time; its log = its summary, to the last operation
        of every measured operation (CLEANUP is none); its status lines count no more operations than its summary,
        and line by line as many; they are as far apart as its command line states
    Warns: status lines that count less than that by more than {arithmetic_reject}, or are more than
        {status_stretch} x as far apart
    Rejects: off by more than {arithmetic_reject}, more, or a run time of 0 or below
    Not assessed without: a summary; run time, throughput and counts
    """
    contradictions, gaps = [], []
    for client in facts.clients:
        if client.printed_counts is None:
            continue
        contradiction = _contradiction(client, client.printed_counts, facts.phase, profile)
        if contradiction:
            contradictions.append(f"client {client.number}: {contradiction}")
        gap = _lost_lines(client, profile)
        if gap:
            gaps.append(f"client {client.number}: {gap}")
    if contradictions:
        return Outcome(
            "reject", f"contradictions: {len(contradictions)}",
            f"The printed numbers contradict each other ({'; '.join(contradictions)}).",
            "Output is missing or was edited: read the raw files, and run it again.",
        )  # fmt: skip
    if gaps:
        return Outcome(
            "warn", f"clients with gaps: {len(gaps)}",
            f"Status lines are missing ({'; '.join(gaps)}), so the course over time is not that of the run.",
            "Upload the whole standard error of every client.",
        )  # fmt: skip

    missing, agreement = "summary", "Every client's log and summary agree to the last operation."
    if facts.whole_runs:
        missing = "run time, throughput or counts"
        agreement = "Every client's throughput is its operations by its run time."
    unchecked = [str(client.number) for client in facts.clients if not _can_be_checked(client, whole=facts.whole_runs)]
    if unchecked or not facts.clients:
        return not_assessed(f"There is no {missing} of client {', '.join(unchecked) or 'any'}.")

    return Outcome("pass", f"summaries: {len(facts.clients)}", agreement)


def _can_be_checked(client: ClientFacts, *, whole: bool) -> bool:
    if client.printed_counts is None:
        return False
    return not whole or bool(
        client.runtime_ms and client.printed_throughput_ops_s is not None and client.printed_counts
    )


def _contradiction(client: ClientFacts, printed: Mapping[str, int], phase: Phase | None, profile: Profile) -> str:
    """The first contradiction in one client's numbers, or nothing."""
    if client.log_counts is not None:
        contradiction = _compare_with_log(printed, client.log_counts)
        if contradiction:
            return contradiction

    if client.runtime_ms is not None and client.runtime_ms < 0:
        return CLOCK_SET_BACK.format(runtime_ms=grouped(client.runtime_ms))
    if client.runtime_ms == 0 and (client.operations or 0) > 0:
        return NO_RUN_TIME
    if client.status_operations is not None and client.status_operations > (client.operations or 0):
        counted = STATUS_LINES_COUNT.format(operations=grouped(client.status_operations))
        return f"{counted}, and the summary {grouped(client.operations or 0)}"
    if not client.runtime_ms or client.printed_throughput_ops_s is None or not printed:
        return ""

    stated = client.printed_throughput_ops_s
    computed = [number / client.runtime_ms * 1000 for number in _counted_in_throughput(printed, phase)]
    nearest = min(computed, key=lambda value: abs(value - stated))
    # Where one decimal was printed the rest was rounded away.
    rounded = 0.0
    if (stated * 10).is_integer():
        rounded = 0.05
    if abs(stated - nearest) > profile.arithmetic_reject * max(nearest, stated) + rounded:
        return THROUGHPUT_DIFFERS.format(printed_ops_s=grouped(stated, 1), computed_ops_s=grouped(nearest, 1))

    return ""


def _compare_with_log(printed: Mapping[str, int], log_counts: Mapping[str, int]) -> str:
    """The first operation of which summary and log have different numbers, or nothing."""
    for name, number in sorted(printed.items()):
        # CLEANUP and other bookkeeping are no operations: many keep only the logs of those, and threads clean up while
        # the log is closed.
        if not parse_name(name).is_operation:
            continue
        logged = log_counts.get(name)
        if logged is not None and logged != number:
            return SUMMARY_AND_LOG_DIFFER.format(operation=name, printed=grouped(number), logged=grouped(logged))
        if logged is None and number:
            return NO_LOG_OF_OPERATION.format(operation=name, printed=grouped(number))
    return ""


def _lost_lines(client: ClientFacts, profile: Profile) -> str:
    """Every operation is counted in exactly one status line, so lines that were removed take theirs with them."""
    if client.status_coverage is not None and client.status_coverage < 1 - profile.arithmetic_reject:
        return STATUS_COVERAGE.format(share=percent(client.status_coverage))
    if client.evidence is None or client.status_interval_s is None:
        return ""
    stated_s = parse_number(client.evidence.properties.get("status.interval"))
    if stated_s and client.status_interval_s > profile.status_stretch * stated_s:
        return STATUS_LINES_APART.format(apart=duration(client.status_interval_s), stated=duration(stated_s))
    return ""


def _counted_in_throughput(printed: Mapping[str, int], phase: Phase | None) -> list[int]:
    """How many operations the printed throughput may be of: those of the client's own total where it prints one."""
    if _TOTAL in printed:
        return [printed[_TOTAL]]
    phases: tuple[Phase, ...] = ("load", "measure") if phase is None else (phase,)
    return [_counted_by_ycsb(printed, stated_phase) for stated_phase in phases]


def _counted_by_ycsb(printed: Mapping[str, int], phase: Phase) -> int:
    """The operations in YCSB's own throughput: a run counts failed ones, a load does not."""
    total = 0
    for name, number in printed.items():
        parsed = parse_name(name)
        if parsed.kind != "service" or not parsed.is_operation:
            continue
        if phase == "load" and parsed.status:
            continue
        # Its parts are counted by their own names.
        total += -number if parsed.is_composite else number
    return total
