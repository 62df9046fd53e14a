"""What an open load offered: the operations that were due in each second, and what became of them.

`org.benchsite.ycsb.OpenWorkload` counts them, by the second in which they were due. One that was due later than its
patience allowed is dropped: it was never begun, and is in no latency.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchsite.core.formatting import exact
from runs.ycsb.distributions import beta_quantile
from runs.ycsb.histogram import Floats, Histogram, Ints
from runs.ycsb.operation import CLIENT_LAG, START_LAG

HEADER: Final = "second,operation,offered,started,dropped,gaps,squares"
FILE_NAME: Final = "arrivals.csv"
CONFIDENCE: Final = 0.95
# Percentiles of what was offered are stored for these.
OFFERED_PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True, slots=True)
class ClientArrivals:
    """One client's file: a row for each second and operation, in the order of time."""

    client: int
    second: Ints  # since the epoch on the reference clock; the client's own second begins there
    operation: tuple[str, ...]
    offered: Ints
    started: Ints
    dropped: Ints
    gaps: Floats  # sums over the gaps between arrivals, at rate 1
    squares: Floats


@dataclass(frozen=True, slots=True)
class Count:
    offered: int = 0
    started: int = 0
    dropped: int = 0

    @property
    def dropped_share(self) -> float:
        return self.dropped / self.offered if self.offered else 0.0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            offered=self.offered + other.offered,
            started=self.started + other.started,
            dropped=self.dropped + other.dropped,
        )


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The arrivals of all clients in the window; latencies in µs."""

    operations: Mapping[str, Count]
    seconds: int  # how many seconds of the window they were counted in
    gap_variation: float | None  # standard deviation / mean of the gaps at rate 1; None for fewer than two
    started_by_client: Mapping[int, int]  # over whole runs
    client_lag: Histogram
    start_lag: Histogram
    response: Mapping[str, Histogram]  # successful operations by name

    @property
    def total(self) -> Count:
        return sum(self.operations.values(), Count())

    @property
    def offered_ops_s(self) -> float:
        return self.total.offered / max(self.seconds, 1)

    def as_dict(self) -> dict[str, Any]:
        """The column `MeasurementSet.arrivals`."""
        total = self.total
        return {
            "offered": total.offered,
            "started": total.started,
            "dropped": total.dropped,
            "dropped_share": total.dropped_share,
            "dropped_interval": list(share_interval(total.dropped, total.offered)),
            "offered_ops_s": self.offered_ops_s,
            "client_lag_us": _percentiles(self.client_lag),
            "start_lag_us": _percentiles(self.start_lag),
            "operations": {name: self._operation(name, count) for name, count in self.operations.items()},
        }

    def _operation(self, name: str, count: Count) -> dict[str, Any]:
        response = self.response.get(name, Histogram())
        percentiles_us = {}
        for percentile in OFFERED_PERCENTILES:
            percentiles_us[exact(percentile)] = offered_percentile(response, count, percentile)
        return {
            "offered": count.offered,
            "started": count.started,
            "dropped": count.dropped,
            "offered_percentiles_us": percentiles_us,
        }


def parse_arrivals(text: str, client: int, clock_offset_s: float = 0.0) -> ClientArrivals:
    """Reads a file; a last line that broke off, as of a killed client, is left out."""
    lines = text.splitlines()[1:]
    if not text.endswith("\n"):
        lines = lines[:-1]
    rows = [line.split(",") for line in lines]
    columns = list(zip(*rows, strict=True)) or [()] * len(HEADER.split(","))
    second, operation, offered, started, dropped, gaps, squares = columns

    return ClientArrivals(
        client=client,
        second=np.array(second, dtype=np.int64) + round(clock_offset_s),
        operation=tuple(operation),
        offered=np.array(offered, dtype=np.int64),
        started=np.array(started, dtype=np.int64),
        dropped=np.array(dropped, dtype=np.int64),
        gaps=np.array(gaps, dtype=np.float64),
        squares=np.array(squares, dtype=np.float64),
    )


def merge_arrivals(
    clients: Sequence[ClientArrivals],
    from_s: float,
    to_s: float,
    lags: Mapping[str, Histogram],
    response: Mapping[str, Histogram],
) -> Arrivals:
    """The seconds whose middle lies in [from_s, to_s), of all clients."""
    operations: defaultdict[str, Count] = defaultdict(Count)
    gaps, squares, number = 0.0, 0.0, 0
    for client in clients:
        middle = client.second + 0.5
        inside = np.flatnonzero((middle >= from_s) & (middle < to_s))
        for row in inside.tolist():
            operations[client.operation[row]] += Count(
                offered=int(client.offered[row]),
                started=int(client.started[row]),
                dropped=int(client.dropped[row]),
            )
        gaps += float(client.gaps[inside].sum())
        squares += float(client.squares[inside].sum())
        number += int(client.offered[inside].sum())

    return Arrivals(
        operations=dict(sorted(operations.items())),
        seconds=max(math.ceil(to_s - 0.5) - math.ceil(from_s - 0.5), 0),
        gap_variation=_compute_variation(gaps, squares, number),
        started_by_client={client.client: int(client.started.sum()) for client in clients},
        client_lag=lags.get(CLIENT_LAG, Histogram()),
        start_lag=lags.get(START_LAG, Histogram()),
        response=response,
    )


def sum_by_second(clients: Iterable[ClientArrivals]) -> dict[int, Count]:
    """All operations of all clients by the second in which they were due."""
    seconds: defaultdict[int, Count] = defaultdict(Count)
    for client in clients:
        columns = (client.second, client.offered, client.started, client.dropped)
        for second, *counts in zip(*(column.tolist() for column in columns), strict=True):
            seconds[second] += Count(*counts)

    return dict(sorted(seconds.items()))


def offered_percentile(response: Histogram, count: Count, percentile: float) -> int | None:
    """The percentile (µs) of what was offered, of which a dropped operation took for ever; None: it lies among those.

    Of n offered and s started the q-quantile of all is the q n / s quantile of those that were started.
    """
    if not count.started or not response.count:
        return None
    percentile_of_started = percentile * count.offered / count.started
    if percentile_of_started > 100.0:
        return None
    return response.percentile(percentile_of_started)


def expected_share(profile: Sequence[Sequence[float]], window_s: float) -> float:
    """The mean over a window of a piecewise linear profile of points (second, %), as a share of 1."""
    seconds, percents = np.array(profile, dtype=np.float64).T
    corners_s = np.union1d(np.clip(seconds, 0.0, window_s), [0.0, window_s])
    shares = np.interp(corners_s, seconds, percents) / 100
    return float(np.trapezoid(shares, corners_s)) / window_s


def share_interval(events: int, trials: int) -> tuple[float, float]:
    """The exact interval of a binomial share (Clopper and Pearson, 1934)."""
    if not trials:
        return 0.0, 1.0
    tail = (1 - CONFIDENCE) / 2
    low, high = 0.0, 1.0
    if events:
        low = beta_quantile(tail, events, trials - events + 1)
    if events < trials:
        high = beta_quantile(1 - tail, events + 1, trials - events)
    return low, high


def _compute_variation(gaps: float, squares: float, number: int) -> float | None:
    if number < 2 or gaps <= 0:
        return None
    mean = gaps / number
    return math.sqrt(max(squares / number - mean**2, 0.0)) / mean


def _percentiles(histogram: Histogram) -> dict[str, int | None]:
    median_us, p99_us = histogram.percentiles([50.0, 99.0])
    return {"p50": median_us, "p99": p99_us, "max": histogram.max}
