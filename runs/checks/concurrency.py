"""Did the threads wait for the database, or something else for the threads? V01 Little's law, V02 thread limit."""

from collections.abc import Sequence
from typing import Final

from benchsite.core.formatting import counted, grouped, latency, percent
from runs.checks.check import Outcome, check, not_assessed
from runs.checks.default_thresholds import Profile
from runs.checks.facts import OperationFacts, RunFacts
from runs.checks.messages import THREADS_UNKNOWN, TIMES_MISSING, TIMES_UNKNOWN
from runs.checks.results import at_most, graded
from runs.results.measures.little import edge_allowance, explained_share

REFERENCE_RUNG: Final = ", lowest rung "  # in what V02 measured, before the latency that it referred to


def busy_share(facts: RunFacts) -> float | None:
    """U, the share of the threads' time that their operations took; None where something of it is unknown."""
    if facts.missing or not facts.threads:
        return None
    busy_times = [
        (client.busy_us, client.covered_s)
        for client in facts.clients
        if client.busy_us is not None and client.covered_s > 0
    ]
    if len(busy_times) < len(facts.clients):
        return None
    return explained_share(busy_times, facts.threads)


def _compute_largest_share(facts: RunFacts, profile: Profile) -> float:
    """The largest share of the threads' time that is possible."""
    if not facts.threads or not facts.window_s:
        return profile.little_reject_above
    return profile.little_reject_above + edge_allowance(facts.longest_us, facts.threads, facts.window_s)


def _little_limits(facts: RunFacts, profile: Profile) -> str:
    largest = percent(_compute_largest_share(facts, profile))
    if facts.target_ops_s:
        return f"at most {largest}"
    return f"{percent(profile.little_warn_below)} to {largest}"


@check("V01", "Threads accounted for", _little_limits, loads=True, untrusted=True)
def little(facts: RunFacts, profile: Profile) -> Outcome:
    """The operations' service times must add up to the time that the threads had, and can never exceed it.

    Formula: Little's law: U = sum of all service times / (N x covered time)
    Warns: U < {little_warn_below}
    Rejects: U < {little_reject_below}, or U > {little_reject_above} + e
    Not assessed without: threads, run times, every client's counts and means
    """
    share = busy_share(facts)
    if share is None or facts.threads is None:
        return not_assessed(_unknown(facts))

    measured = f"{percent(share)} of the time of {counted(facts.threads, 'thread')}"
    if share > _compute_largest_share(facts, profile):
        return Outcome(
            "reject", measured,
            f"The operations took {percent(share)} of the time that {grouped(facts.threads)} threads have: that is "
            "impossible, so a thread count, a unit or a label is wrong.",
            "Find out how many threads really ran, and in which unit their latencies are.",
        )  # fmt: skip
    if facts.target_ops_s:
        return Outcome("pass", measured, "The threads had time to spare, as a target wants it.")

    # The share should be large.
    severity = graded(-share, -profile.little_warn_below, -profile.little_reject_below)
    if facts.phase == "load":
        # The threads of a load end one after the other, so some of their time is missing in every load.
        severity = at_most(severity, "warn")

    message = f"The threads spent {percent(share)} of their time in operations"
    return Outcome(
        severity, measured, f"{message}; the rest went into the clients themselves.",
        "Look at the load generators' CPU and garbage collection, or use more of them.",
        good=f"{message}.",
    )  # fmt: skip


def _unknown(facts: RunFacts) -> str:
    if not facts.threads:
        return THREADS_UNKNOWN
    if facts.missing:
        return TIMES_MISSING
    return TIMES_UNKNOWN


@check("V02", "Threads for the target", "{threads_busy} busy, latency under {latency_risen} x the lowest rung's")
def thread_limit(facts: RunFacts, profile: Profile) -> Outcome | None:
    """A target that was missed because every thread was waiting, while the database was as quick as ever.

    Formula: U >= {threads_busy} and X / target < {target_info}, while R < {latency_risen} x R of the sweep's
        lowest rung
    Warns: yes
    Not assessed without: the same, and a lower rung of the sweep where the first two hold
    """
    if not facts.target_ops_s:
        return None

    share = busy_share(facts)
    mean_us = mean_service_us(facts.service)
    ratio = facts.reached_share
    if share is None or mean_us is None or ratio is None:
        return not_assessed(_unknown(facts))

    measured = f"{percent(share)} busy at {percent(ratio)} of the target, mean {latency(mean_us)}"
    if ratio >= profile.target_info or share < profile.threads_busy:
        return Outcome("pass", measured, "There were threads enough for what was offered.")

    return beside_lowest_rung(
        measured, facts.service, facts.threads or 1, facts.target_ops_s, facts.low_latency_us, profile
    )


def beside_lowest_rung(
    measured: str,
    service: Sequence[OperationFacts],
    threads: int,
    target_ops_s: float,
    low_latency_us: float | None,
    profile: Profile,
) -> Outcome:
    """V02 of a run that missed its target with all threads busy, as `measured` says: whose limit it was.

    `low_latency_us` is the mean service time on the sweep's lowest rung; None: it is not measured yet.
    """
    mean_us = mean_service_us(service)
    if low_latency_us is None or mean_us is None:
        return not_assessed(
            "All threads were busy and the target was missed. Whether the threads or the database set the limit shows "
            "only beside a lower rung of the sweep, and there is none yet.",
            measured,
        )  # fmt: skip

    measured += f"{REFERENCE_RUNG}{latency(low_latency_us)}"
    if mean_us >= profile.latency_risen * low_latency_us:
        return Outcome("pass", measured, "The database slowed down: the limit is its own.")

    return Outcome(
        "warn", measured,
        "Every thread was busy while the database answered as quickly as on the lowest rung: the target was missed "
        "for want of threads, and this rung says nothing about the database's ceiling.",
        f"Give it at least {_advise_threads(service, threads, target_ops_s)} threads and run it again.",
    )  # fmt: skip


def _advise_threads(service: Sequence[OperationFacts], threads: int, target_ops_s: float) -> str:
    """1.5 x target x p99: enough threads that one in a hundred slow operations does not hold the others up."""
    p99_us = [(operation.percentiles_us or {}).get(99.0) or 0.0 for operation in service]
    return grouped(1.5 * max(target_ops_s * max(p99_us, default=0.0) / 1e6, threads))


def mean_service_us(service: Sequence[OperationFacts]) -> float | None:
    """The mean service time of all operations together, of which a read-modify-write's parts are two."""
    timed = [
        (operation.ok, operation.mean_us) for operation in service if operation.ok and operation.mean_us is not None
    ]
    done = sum(ok for ok, _ in timed)
    if done:
        return sum(ok * mean for ok, mean in timed) / done
    return None
