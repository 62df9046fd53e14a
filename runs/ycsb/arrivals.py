"""What an open load offered: the operations that were due in each second, and what became of them.

`org.benchsite.ycsb.OpenWorkload` counts them, by the second in which they were due. One that was due later than its
patience allowed is dropped: it was never begun, and is in no latency.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
        counts = self.operations.values()
        return Count(
            sum(count.offered for count in counts),
            sum(count.started for count in counts),
            sum(count.dropped for count in counts),
        )

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
        return {
            "offered": count.offered,
            "started": count.started,
            "dropped": count.dropped,
            "offered_percentiles_us": {
                exact(percentile): offered_percentile(response, count, percentile) for percentile in OFFERED_PERCENTILES
            },
        }


def parse_arrivals(text: str, client: int, clock_offset_s: float = 0.0) -> ClientArrivals:
    """Reads a file; a last line that broke off, as of a killed client, is left out."""
    rows = [line.split(",") for line in text.splitlines()[1:]]
    if not text.endswith("\n"):
        rows = rows[:-1]
    columns = list(zip(*rows, strict=True)) or [()] * 7
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
    operations: dict[str, Count] = {}
    gaps, squares, number = 0.0, 0.0, 0
    for client in clients:
        inside = np.flatnonzero((client.second + 0.5 >= from_s) & (client.second + 0.5 < to_s))
        for row in inside.tolist():
            before = operations.get(client.operation[row], Count())
            operations[client.operation[row]] = Count(
                before.offered + int(client.offered[row]),
                before.started + int(client.started[row]),
                before.dropped + int(client.dropped[row]),
            )
        gaps += float(client.gaps[inside].sum())
        squares += float(client.squares[inside].sum())
        number += int(client.offered[inside].sum())

    return Arrivals(
        operations=dict(sorted(operations.items())),
        seconds=max(math.ceil(to_s - 0.5) - math.ceil(from_s - 0.5), 0),
        gap_variation=_variation(gaps, squares, number),
        started_by_client={client.client: int(client.started.sum()) for client in clients},
        client_lag=lags.get(CLIENT_LAG, Histogram()),
        start_lag=lags.get(START_LAG, Histogram()),
        response=response,
    )


def sum_by_second(clients: Iterable[ClientArrivals]) -> dict[int, Count]:
    """All operations of all clients by the second in which they were due."""
    seconds: dict[int, Count] = {}
    for client in clients:
        columns = zip(
            client.second.tolist(), client.offered.tolist(), client.started.tolist(), client.dropped.tolist(),
            strict=True,
        )  # fmt: skip
        for second, offered, started, dropped in columns:
            before = seconds.get(second, Count())
            seconds[second] = replace(
                before,
                offered=before.offered + offered,
                started=before.started + started,
                dropped=before.dropped + dropped,
            )

    return dict(sorted(seconds.items()))


def offered_percentile(response: Histogram, count: Count, percentile: float) -> int | None:
    """The percentile (µs) of what was offered, of which a dropped operation took for ever; None: it lies among those.

    Of n offered and s started the q-quantile of all is the q n / s quantile of those that were started.
    """
    if not count.started or not response.count:
        return None
    of_started = percentile * count.offered / count.started
    if of_started > 100.0:
        return None
    return response.percentile(of_started)


def expected_share(profile: Sequence[Sequence[float]], window_s: float) -> float:
    """The mean over a window of a piecewise linear profile of points (second, %), as a share of 1."""
    points = np.array(profile, dtype=np.float64)
    at = np.union1d(np.clip(points[:, 0], 0.0, window_s), [0.0, window_s])
    share = np.interp(at, points[:, 0], points[:, 1]) / 100
    return float(np.trapezoid(share, at)) / window_s


def share_interval(events: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a binomial share (Clopper and Pearson, 1934)."""
    if not trials:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low, high = 0.0, 1.0
    if events:
        low = beta_quantile(tail, events, trials - events + 1)
    if events < trials:
        high = beta_quantile(1 - tail, events + 1, trials - events)
    return low, high


def _variation(gaps: float, squares: float, number: int) -> float | None:
    if number < 2 or gaps <= 0:
        return None
    mean = gaps / number
    return math.sqrt(max(squares / number - mean**2, 0.0)) / mean


def _percentiles(histogram: Histogram) -> dict[str, int | None]:
    median_us, p99_us = histogram.percentiles([50.0, 99.0])
    return {"p50": median_us, "p99": p99_us, "max": histogram.max}
