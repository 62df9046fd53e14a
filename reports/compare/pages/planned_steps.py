"""The effect of each planned difference of two sweeps, where their plan measured a pair that differs in it alone."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final
from uuid import UUID

from benchsite.core import formatting
from reports.compare.analysis.causes import Step
from reports.compare.curves import Curve, Point, durability_key
from reports.compare.messages import SIDE_AT_THREADS
from reports.compare.pages.baseline_ratios import throughput_ratio


def _read_promise(curve: Curve) -> Hashable:
    """Modes of two systems are alike where they promise the same."""
    if curve.durability:
        return durability_key(curve.durability)
    return curve.mode


# By the titles of `causes`; a pair is alike in all but one.
AXES: Final[Mapping[str, Callable[[Curve], Hashable]]] = {
    "Database": lambda curve: curve.database_name,
    "Durability mode": _read_promise,
    "Workload": lambda curve: curve.workload,
    "Commit": lambda curve: curve.commit,
}


def measure_steps(a: Curve, b: Curve, others: Sequence[Curve], labels: Mapping[UUID, str]) -> dict[str, list[Step]]:
    """By title of the difference. `others` are sweeps of the plan of both."""
    steps = {"Threads": list(_thread_steps(a, b))}
    if not a.same_plan(b):
        return steps
    for title in AXES:
        pairs = chain(((a, other) for other in others), ((other, b) for other in others))
        pair = next((pair for pair in pairs if _isolates(title, pair, (a, b))), None)
        steps[title] = list(_ceiling_steps(*pair, labels)) if pair else []
    return steps


def _isolates(title: str, pair: tuple[Curve, Curve], sides: tuple[Curve, Curve]) -> bool:
    """Whether the pair differs as the sides do in this, and in no other of the axes."""
    read = AXES[title]
    values = [read(curve) for curve in pair]
    differs = values[0] != values[1] and values == [read(curve) for curve in sides]
    rest = [other for name, other in AXES.items() if name != title]
    return differs and all(other(pair[0]) == other(pair[1]) for other in rest)


def _ceiling_steps(before: Curve, after: Curve, labels: Mapping[UUID, str]) -> Iterator[Step]:
    ratio = throughput_ratio(after, before, None)
    if ratio.comparison and ratio.comparison.ratio:
        first, second = (labels.get(curve.sweep_id, curve.label) for curve in (before, after))
        yield Step(first, second, f"{ratio.times} {ratio.interval}".strip(), ratio.at)


def _thread_steps(a: Curve, b: Curve) -> Iterator[Step]:
    """What each side did with the threads of the other's ceiling."""
    rungs = a.ceiling_rung, b.ceiling_rung
    if not rungs[0] or not rungs[1] or rungs[0].threads == rungs[1].threads:
        return
    for name, curve in (("A", a), ("B", b)):
        points = [_find_point(curve, rung.threads) for rung in rungs if rung]
        if points[0] and points[1] and points[0].throughput_ops_s.geomean > 0:
            before, after = (
                SIDE_AT_THREADS.format(side=name, threads=formatting.counted(point.threads, "thread"))
                for point in points
                if point
            )
            times = formatting.times(points[1].throughput_ops_s.geomean / points[0].throughput_ops_s.geomean)
            yield Step(before, after, times)


def _find_point(curve: Curve, threads: int) -> Point | None:
    """The counted point of a ladder of threads."""
    return next((point for point in curve.counted if point.threads == threads and not point.target_ops_s), None)
