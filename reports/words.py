"""Ceilings and knees in whole sentences, with the rule that made them. Pure."""

from benchsite import formatting
from reports.analysis.ceiling import LEAST_GAIN_PER_DOUBLING, Ceiling, Ladder
from reports.analysis.knee import Knee
from reports.curves import Curve


def ceiling_sentence(found: Ceiling | None) -> str:
    """What the ladder shows about the ceiling."""
    if found is None:
        return "No point counts, so there is no ceiling."
    value = formatting.throughput(found.throughput_ops_s)
    if found.target_ops_s:
        return _target_sentence(found, value)
    at = f"{found.threads} threads"
    gain = formatting.signed_percent(found.last_gain)
    if found.rungs == 1:
        return f"{value} at {at} is a lower bound: one rung says nothing about where throughput ends."
    if found.ladder is Ladder.SHORT:
        return (
            f"At least {value}, reached at {at}, the last rung. The ladder is too short: its last step still brought "
            f"{gain} per doubling of the threads. Add rungs to see the ceiling."
        )
    near = (
        f" {found.saturation_threads} threads already come within 5 % of it."
        if found.saturation_threads < found.threads
        else ""
    )
    if found.ladder is Ladder.RETROGRADE:
        return f"{value} at {at} is the ceiling: with more threads throughput falls clearly below it.{near}"
    least = formatting.percent(LEAST_GAIN_PER_DOUBLING)
    return f"{value} at {at} is the ceiling: the last step brought {gain} per doubling, less than {least}.{near}"


def _target_sentence(found: Ceiling, value: str) -> str:
    target = formatting.throughput(found.target_ops_s)
    if found.ladder is Ladder.SHORT:
        return f"At least {value}: every target up to {target} was sustained. Add higher targets to see the ceiling."
    return f"{value} is the ceiling: {target} is the highest target that was sustained with all targets below it."


def knee_sentence(found: Knee | None) -> str:
    """Where latency begins to rise faster than throughput."""
    if found is None:
        return ""
    where = f"{formatting.throughput(found.throughput_ops_s)} at {found.threads} threads"
    if not found.reached:
        return f"The knee is not reached ({found.reason}): it lies at or beyond {where}."
    return (
        f"The knee is at {where}: {formatting.percent(found.share_of_ceiling)} of the ceiling, for "
        f"{formatting.significant(found.latency_growth, 2)} times the mean latency of the first rung."
    )


def progress_sentence(curve: Curve) -> str:
    """How many runs have ended, and how."""
    done = curve.progress
    if not done.runs:
        return "No run belongs to this sweep."
    parts = [f"{done.succeeded} of {done.runs} runs succeeded"]
    if done.failed:
        parts.append(f"{done.failed} failed")
    if done.cancelled:
        parts.append(f"{done.cancelled} cancelled")
    waiting = done.runs - done.succeeded - done.failed - done.cancelled
    if waiting:
        parts.append(f"{waiting} to come")
    return ", ".join(parts) + "."
