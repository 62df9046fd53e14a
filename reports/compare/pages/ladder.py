"""What to measure next to see more of a sweep's ladder."""

from collections.abc import Sequence
from typing import Final

from benchsite.core import formatting
from reports.compare.analysis.ceiling import CLIENT_LIMITED, NOT_KNOWN, THREAD_LIMITED, Ceiling, Ladder, Rung
from reports.compare.analysis.knee import Knee, refine_ladder
from reports.compare.curves import Curve
from reports.compare.ladder_text import threads_text
from runs.results.measures.search import Goal, next_target

COARSE_STEP: Final = 1.25  # from target to target where nothing shows how far it is


def next_step(curve: Curve) -> str:
    """A sentence; empty while the sweep is measured, and where nothing more is needed."""
    return "" if curve.progress.going else choose_next_loads(curve.ceiling, curve.knee, curve.counted_rungs)


def load_text(rung: Ceiling) -> str:
    """ "32 threads", or "a target of 2.00k ops/s"."""
    if rung.target_ops_s:
        return f"a target of {formatting.throughput(rung.target_ops_s)}"
    return f"{rung.threads} thread{'' if rung.threads == 1 else 's'}"


def choose_next_loads(ceiling: Ceiling | None, knee: Knee | None = None, rungs: Sequence[Rung] = ()) -> str:
    """The target that narrows the bracket, or the threads that place the knee and show the ceiling."""
    if ceiling is None:
        return ""
    if ceiling.bracket:
        low, high = ceiling.bracket
        if {CLIENT_LIMITED, THREAD_LIMITED} & set(ceiling.notes):
            more = "clients" if CLIENT_LIMITED in ceiling.notes else "threads"
            return f"Measure the target of {formatting.throughput(high)} with more {more} next."
        if NOT_KNOWN in ceiling.notes:
            return f"Measure the target of {formatting.throughput(high)} again next: no run of it counts."
        wanted = next_target(low, high, Goal(step=COARSE_STEP))
        if wanted is None:
            return "The bracket is narrower than 5 %: repeat its lower end for longer to confirm it."
        target = formatting.grouped(wanted)
        if high is None:
            return f"Measure a target of {target} ops/s next: every target so far was sustained."
        if not low:
            return f"Measure a target of {target} ops/s next: none was sustained so far."
        ends = f"{formatting.short(low)} to {formatting.throughput(high)}"
        return f"Measure a target of {target} ops/s next: it narrows the bracket, now {ends}."
    refine = refine_ladder(rungs, knee) if knee and knee.reached else ()
    parts = [f"{threads_text(refine)} to place the knee"] if refine else []
    if CLIENT_LIMITED in ceiling.notes:
        parts.append(f"{threads_text((ceiling.threads,))} on more clients to see the database's ceiling")
    elif ceiling.ladder is Ladder.FIRST:
        lower = max(ceiling.threads // 2, 1)
        parts = [f"{threads_text((lower,))} to see the ceiling", *parts] if lower < ceiling.threads else parts
    elif ceiling.ladder is Ladder.OPEN:
        again = "every rung three times" if not ceiling.is_estimate else "more repeats, and twice the threads,"
        parts.append(f"{again} to see where throughput ends")
    elif ceiling.ladder is Ladder.SHORT:
        further = (2 * ceiling.threads, 4 * ceiling.threads) if not refine else (2 * ceiling.threads,)
        parts.append(f"{threads_text(further)} to see the ceiling")
    elif knee and not knee.reached:
        return "Measure fewer threads, or rungs between these, to see the knee." if ceiling.rungs > 1 else ""
    return f"Measure {' and '.join(parts)} next." if parts else ""
