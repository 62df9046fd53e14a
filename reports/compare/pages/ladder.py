"""What to measure next to see more of a sweep's ladder; `sweep/next_loads.txt` has the English."""

from typing import Any, Final

from benchsite.core import formatting
from reports.compare.analysis.ceiling import Ceiling
from reports.compare.analysis.knee import refine_ladder
from reports.compare.curves import Curve
from runs.results.measures.search import Goal, next_target

COARSE_STEP: Final = 1.25  # from target to target where nothing shows how far it is


def load_text(rung: Ceiling) -> str:
    """ "32 threads", or "a target of 2.00k ops/s"."""
    if rung.target_ops_s:
        return f"a target of {formatting.throughput(rung.target_ops_s)}"
    return formatting.counted(rung.threads, "thread")


def choose_next_loads(curve: Curve) -> dict[str, Any] | None:
    """The target that narrows the bracket, and the threads that place the knee or show the ceiling.

    None while the sweep is measured, without a ceiling, and where nobody knows the machines to measure it on.
    """
    ceiling, knee = curve.ceiling, curve.knee
    is_elsewhere = curve.uploaded and not curve.setup.cluster_machines
    if ceiling is None or curve.progress.going or is_elsewhere:
        return None

    threads = ceiling.threads
    refine = refine_ladder(curve.counted_rungs, knee) if knee and knee.reached else ()
    target_ops_s = None
    if ceiling.bracket:
        target_ops_s = next_target(*ceiling.bracket, Goal(step=COARSE_STEP))
    fewer = None
    if threads > 1:
        fewer = max(threads // 2, 1)

    return {
        "ceiling": ceiling,
        "knee": knee,
        "target_ops_s": target_ops_s,
        "refine": refine,
        "fewer": fewer,
        "more": (2 * threads,) if refine else (2 * threads, 4 * threads),
    }
