"""How sure a knee is, and what other rules say about the same ladder. Dearer than the knee: for one sweep's page.

The greatest distance from the chord, and Kneedle (Satopää et al. 2011) on a convex, increasing curve of latency over
throughput, depend on where the ladder ends: adding an overloaded rung moves them, so they never decide (analysis 2.2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reports.analysis.ceiling import Ceiling, Rung, ceiling
from reports.analysis.knee import MIN_RUNGS, NEAR_PEAK, Knee, electable_of, ladder_of, latency, power_knee
from reports.analysis.scalability import Usl, fit_usl

Floats = npt.NDArray[np.float64]

MIN_CHORD_RUNGS = 3
SURE_RUNGS = 6
SURE_SIDE = 2  # rungs on either side of the knee
SURE_SHARE = 0.8  # of the resampled ladders that have their knee on the same rung
DOUBTFUL_SHARE = 0.5
RESAMPLES = 500
SEED = 1979  # Kleinrock's year


@dataclass(frozen=True, slots=True)
class Repeats:
    """What the repeats of one rung measured, each in its place: operations per second, and mean latency in seconds."""

    throughputs_ops_s: tuple[float, ...]
    latencies_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Opinions:
    """The knee with its confidence, and the others."""

    knee: Knee
    leaning: Knee | None  # the peak of X²/R, which leans to throughput
    kneedle: Rung | None  # None: the curve does not bend enough
    chord: Rung | None
    usl: Usl | None  # None: fewer than six rungs, or targets
    asymptote_threads: float | None  # N_b = X_max · R_1: more threads than that wait for each other
    resampled_share: float | None  # of the resampled ladders with the same knee; None: too few repeats
    refine: tuple[int, ...]  # the threads (or targets in ops/s) to measure next


def opinions(rungs: Sequence[Rung], repeats: Sequence[Repeats] = (), stated: Ceiling | None = None) -> Opinions | None:
    """Everything about a ladder's knee (analysis 2.1 to 2.4); None for no rung. `repeats` stand in the rungs' order.

    `stated` is the ladder's ceiling where more is known than these rungs say: no rule looks for a knee above it.
    """
    knee = power_knee(rungs, stated=stated)
    if knee is None:
        return None
    ladder = ladder_of(rungs)
    top = max(range(len(ladder)), key=lambda i: ladder[i].throughput_ops_s)
    stated = stated or ceiling(ladder)
    electable = electable_of(ladder, stated)
    rising: list[Rung] = []
    for rung in [ladder[i] for i in electable]:
        if not rising or rung.throughput_ops_s > rising[-1].throughput_ops_s:
            rising.append(rung)
    xs, ys = [rung.throughput_ops_s for rung in rising], [latency(rung) for rung in rising]
    chord, bend = chord_knee(xs, ys), kneedle(xs, ys)
    at = next(i for i, rung in enumerate(ladder) if rung.load == knee.load)
    chord_at = ladder.index(rising[chord]) if chord is not None else None
    share = _resampled_share(rungs, repeats, knee, electable)
    targets = any(rung.target_ops_s for rung in ladder)
    return Opinions(
        knee=replace(knee, confidence=_confidence(knee, ladder, at, chord_at, share)),
        leaning=power_knee(rungs, alpha=2.0, stated=stated),
        kneedle=rising[bend] if bend is not None else None,
        chord=rising[chord] if chord is not None else None,
        usl=None if targets else fit_usl([r.threads for r in ladder], [r.throughput_ops_s for r in ladder]),
        asymptote_threads=None if targets else ladder[top].throughput_ops_s * latency(ladder[0]),
        resampled_share=share,
        refine=refining(ladder, at, reached=knee.reached or at == 0),
    )


def _confidence(knee: Knee, ladder: Sequence[Rung], at: int, chord_at: int | None, share: float | None) -> str:
    """The grade of analysis 2.4; empty where the knee is not reached.

    high: six rungs, two on each side, the chord's knee on the same rung, and 80 % of the resampled ladders agree.
    medium: the chord's knee on the same or a neighbouring rung, one rung on each side, and where there are repeats at
    least half of the resampled ladders agree (a judgement). low: otherwise. Without repeats nothing is high.
    """
    if not knee.reached:
        return ""
    side = min(at, len(ladder) - 1 - at)
    apart = abs(at - chord_at) if chord_at is not None else len(ladder)
    sure = share is not None and share >= SURE_SHARE
    if len(ladder) >= SURE_RUNGS and side >= SURE_SIDE and apart == 0 and sure:
        return "high"
    doubtful = share is not None and share < DOUBTFUL_SHARE
    return "medium" if apart <= 1 and side >= 1 and not doubtful else "low"


def refining(ladder: Sequence[Rung], at: int, *, reached: bool) -> tuple[int, ...]:
    """Two rungs between the knee and its neighbours, at the geometric mean.

    Below the first rung where that has the highest power, beyond the last where the knee is not reached.
    """
    loads = [rung.load for rung in ladder]
    if not reached:
        return (round(loads[-1] * 2), round(loads[-1] * 4))
    pairs = [(loads[i], loads[i + 1]) for i in (at - 1, at) if 0 <= i < len(loads) - 1]
    below = [round(loads[0] / 2)] if at == 0 else []
    middles = below + [round(math.sqrt(low * high)) for low, high in pairs]
    return tuple(middle for middle in middles if middle and middle not in loads)


def _resampled_share(
    rungs: Sequence[Rung], repeats: Sequence[Repeats], knee: Knee, electable: Sequence[int]
) -> float | None:
    """Of the ladders made of resampled repeats, those with the knee on the same rung; seeded, all at once.

    None unless the knee's rung and its neighbours have two repeats each: one run says nothing about the next.
    """
    order = sorted(range(len(rungs)), key=lambda i: (rungs[i].target_ops_s or 0.0, rungs[i].threads))
    kept = [i for i in order if rungs[i].throughput_ops_s > 0 and latency(rungs[i]) > 0]
    if len(repeats) != len(rungs) or len(kept) < MIN_RUNGS or not knee.reached:
        return None
    at = next(place for place, i in enumerate(kept) if rungs[i].load == knee.load)
    near = [repeats[kept[place]] for place in (at - 1, at, at + 1) if 0 <= place < len(kept)]
    if any(len(rung.throughputs_ops_s) < 2 for rung in near):
        return None
    random = np.random.default_rng(SEED)
    drawn = [_medians(repeats[i], random) for i in kept]
    # Of threads every rung may come out highest; of targets only those that were sustained stand for election.
    targets = any(rung.target_ops_s for rung in rungs)
    standing = np.isin(np.arange(len(kept)), electable if targets else np.arange(len(kept)))
    knees = _knees(np.column_stack([x for x, _ in drawn]), np.column_stack([r for _, r in drawn]), standing)
    return float((knees == at).mean())


def _medians(repeats: Repeats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Throughput and latency of as many resampled rungs: each repeat is drawn with its own latency."""
    size = len(repeats.throughputs_ops_s)
    chosen = random.integers(0, size, size=(RESAMPLES, size))
    x, r = np.asarray(repeats.throughputs_ops_s), np.asarray(repeats.latencies_s)
    return np.median(x[chosen], axis=1), np.median(r[chosen], axis=1)


def _knees(x: Floats, r: Floats, standing: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """`power_knee` for many ladders: a row each, the last rung standing up to X_max with P >= 0.95 P_max."""
    places = np.arange(x.shape[1])
    top = np.where(standing, x, -np.inf).argmax(axis=1)[:, None]
    powers = np.where(standing & (places <= top), x / r, -np.inf)
    near = powers >= NEAR_PEAK * powers.max(axis=1)[:, None]
    return np.asarray(x.shape[1] - 1 - near[:, ::-1].argmax(axis=1), dtype=np.int64)


def chord_knee(xs: Sequence[float], ys: Sequence[float]) -> int | None:
    """The index of the greatest x_n - y_n, both scaled to [0, 1]; None for fewer than three or equal values."""
    distances = _distances(xs, ys)
    return None if distances is None else int(np.argmax(distances[1]))


def kneedle(xs: Sequence[float], ys: Sequence[float]) -> int | None:
    """The index of the knee; None where the curve does not bend enough.

    xs ascend. D = x_n - y_n; its first peak from the right whose D falls, on the way to the left, below
    D_max - mean |Δx_n| before it rises to another peak: its sensitivity is 1, as its authors advise.
    """
    curve = _distances(xs, ys)
    if curve is None:
        return None
    scaled, distances = curve
    allowance = float(np.abs(np.diff(scaled)).mean())
    peak: int | None = None
    for index in range(len(distances) - 2, -1, -1):
        if peak is None or distances[index] > distances[peak]:
            peak = index
        elif distances[index] < distances[peak] - allowance:
            return peak
    return None


def _distances(xs: Sequence[float], ys: Sequence[float]) -> tuple[Floats, Floats] | None:
    x, y = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    if x.size < MIN_CHORD_RUNGS or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    if np.ptp(x) <= 0 or np.ptp(y) <= 0:
        return None
    scaled = (x - x.min()) / np.ptp(x)
    return scaled, scaled - (y - y.min()) / np.ptp(y)
