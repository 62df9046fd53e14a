"""The effect of each planned difference of two sweeps, where their plan measured a pair that differs in it alone."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from benchsite.core import formatting
from reports.compare.analysis.causes import Step
from reports.compare.analysis.differences import PLANNED
from reports.compare.curves import Curve, durability_key
from reports.compare.messages import SIDE_AT_THREADS
from reports.compare.pages.baseline_ratios import throughput_ratio


def _read_promise(curve: Curve) -> Hashable:
    """Modes of two systems are alike where they promise the same."""
    if curve.durability:
        return durability_key(curve.durability)
    return curve.mode


# A pair is alike in all but one.
AXES: Final[Mapping[str, Callable[[Curve], Hashable]]] = {**PLANNED, "durability mode": _read_promise}


def measure_steps(a: Curve, b: Curve, others: Sequence[Curve], labels: Mapping[UUID, str]) -> dict[str, list[Step]]:
    """By title of the difference. `others` are sweeps of the plan of both."""
    steps = {"Threads": list(_thread_steps(a, b))}
    if not a.same_plan(b):
        return steps
    pairs = [*((a, other) for other in others), *((other, b) for other in others)]
    for axis, read in AXES.items():
        steps[axis.capitalize()] = []
        for pair in pairs:
            differing = [other for other in AXES if AXES[other](pair[0]) != AXES[other](pair[1])]
            # The pair differs as the sides do in this axis, and in no other one.
            if differing == [axis] and list(map(read, pair)) == [read(a), read(b)]:
                steps[axis.capitalize()] = list(_ceiling_steps(*pair, labels))
                break
    return steps


def _ceiling_steps(before: Curve, after: Curve, labels: Mapping[UUID, str]) -> Iterator[Step]:
    ratio = throughput_ratio(after, before, None)
    if ratio.comparison and ratio.comparison.ratio:
        first, second = (labels.get(curve.sweep_id, curve.label) for curve in (before, after))
        yield Step(first, second, f"{ratio.times} {ratio.interval}".strip(), ratio.at)


def _thread_steps(a: Curve, b: Curve) -> Iterator[Step]:
    """What each side did with the threads of the other's ceiling."""
    threads = [curve.ceiling_rung.threads for curve in (a, b) if curve.ceiling_rung]
    if len(set(threads)) < 2:
        return
    before, after = threads
    for name, curve in (("A", a), ("B", b)):
        throughputs = {threads: point.throughput_ops_s.geomean for threads, point in curve.counted_by_threads.items()}
        if throughputs.get(before, 0.0) > 0 and after in throughputs:
            first, second = (
                SIDE_AT_THREADS.format(side=name, threads=formatting.counted(count, "thread")) for count in threads
            )
            yield Step(first, second, formatting.times(throughputs[after] / throughputs[before]))
