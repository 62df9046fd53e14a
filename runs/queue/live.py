"""The live view of running clients: what each of them said this second, kept for an hour in Redis.

Nothing here is a result. Results come from the clients' histograms after the run; this is what a person watches
meanwhile. So Redis may be missing at any time: publishing then does nothing, reading says "no live view", and neither
breaks a run or a page.

Rates of the clients are added, their means are weighted by their counts. Percentiles cannot be merged without
histograms and are never averaged: of several clients the highest is shown, and named so.
"""

import json
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import NamedTuple, TypedDict, cast
from uuid import UUID

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from benchsite.core.formatting import counted, duration, throughput

log = logging.getLogger(__name__)

MAX_ENTRIES = 5_000
MAX_LINE_LENGTH = 1_000
KEPT_S = 3_600
# A Redis that hangs costs the caller one timeout, and then nothing for a while.
TIMEOUT_S = 1.0
PAUSE_AFTER_FAILURE_S = 10.0
# A second that some client has not reported yet is left out while it may still come.
LATE_S = 3
# One status line speaks for the seconds since the line before it, but not for a long silence.
MAX_HOLD_S = 15


class OperationStatus(TypedDict, total=False):
    """One kind of operation in one status line of one client; latencies in microseconds."""

    count: float
    failed: float
    mean_us: float
    max_us: float
    p99_us: float


@dataclass(frozen=True, slots=True)
class StatusLine:
    """One status line of one client."""

    client_number: int
    elapsed_s: float
    at_epoch_s: float  # on PostgreSQL's clock
    operations_total: int
    rate_ops_s: float
    by_operation: Mapping[str, OperationStatus]
    line: str = ""

    @property
    def text(self) -> str:
        """The line as the client printed it, or the same facts where only the numbers were published."""
        done = counted(self.operations_total, "operation")
        return self.line or f"{duration(self.elapsed_s)}: {done}; {throughput(self.rate_ops_s)}"


class OperationSeries(NamedTuple):
    """One kind of operation, per second; None: nothing was said."""

    rate_ops_s: tuple[float | None, ...]
    mean_us: tuple[float | None, ...]
    highest_p99_us: tuple[float | None, ...]


class ClientSeries(NamedTuple):
    """One client, with its newest status line."""

    number: int
    elapsed_s: float
    operations_total: int
    rate_ops_s: float
    seconds: tuple[int, ...]
    rates_ops_s: tuple[float, ...]
    p99_us: dict[str, float]  # by operation
    lines: tuple[str, ...]  # the newest last


@dataclass(frozen=True, slots=True)
class LiveSeries:
    """All clients of a run, second by second since the first of them began."""

    available: bool
    seconds: tuple[int, ...] = ()
    rate_ops_s: tuple[float, ...] = ()
    operations: Mapping[str, OperationSeries] = field(default_factory=dict)
    clients: tuple[ClientSeries, ...] = ()

    @property
    def operations_total(self) -> int:
        return sum(client.operations_total for client in self.clients)

    @property
    def current_ops_s(self) -> float | None:
        return self.rate_ops_s[-1] if self.rate_ops_s else None

    @property
    def elapsed_s(self) -> float:
        return max((client.elapsed_s for client in self.clients), default=0.0)


NO_LIVE_VIEW = LiveSeries(available=False)


def build_key(run_id: UUID | str) -> str:
    return f"live:{run_id}"


@cache
def connection() -> Redis:
    """This process's client of the site's Redis. Opens its connection when first used."""
    return Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


class _Patience:
    """Remembers that Redis just failed, so that it is neither asked every second nor complained about twice."""

    def __init__(self) -> None:
        self.until = 0.0
        self.failing = False

    def waits(self) -> bool:
        return time.monotonic() < self.until

    def failed(self, error: Exception) -> None:
        if not self.failing:
            log.warning("No live view: Redis does not answer (%s). Runs go on without it.", error)
        self.failing = True
        self.until = time.monotonic() + PAUSE_AFTER_FAILURE_S

    def succeeded(self) -> None:
        if self.failing:
            log.info("The live view is back: Redis answers again.")
        self.failing = False
        self.until = 0.0


_patience = _Patience()


def publish(run_id: UUID | str, line: StatusLine) -> None:
    """Keep what one client said this second. Never raises for Redis's sake."""
    if _patience.waits():
        return

    content = json.dumps(asdict(replace(line, line=line.line[:MAX_LINE_LENGTH])))
    try:
        pipeline = connection().pipeline(transaction=False)
        pipeline.xadd(build_key(run_id), {"line": content}, maxlen=MAX_ENTRIES, approximate=True)
        pipeline.expire(build_key(run_id), KEPT_S)
        pipeline.execute()
    except RedisError as error:
        _patience.failed(error)
    else:
        _patience.succeeded()


def read(run_id: UUID | str, after: int | None = None, *, newest: int | None = None) -> LiveSeries:
    """All clients of a run merged per second; only seconds later than `after`, only the `newest` entries if given."""
    try:
        entries = connection().xrevrange(build_key(run_id), count=newest)
    except RedisError as error:
        log.debug("No live view of %s: %s", run_id, error)
        return NO_LIVE_VIEW
    oldest_first = reversed(cast(list[tuple[str, dict[str, str]]], entries))
    # The previous release wrote other fields.
    lines = [StatusLine(**json.loads(fields["line"])) for _, fields in oldest_first if "line" in fields]
    return merge(lines, after=after)


def merge(lines: Sequence[StatusLine], *, after: int | None = None) -> LiveSeries:
    """The pure part of `read`: status lines in, one series out.

    A client's second is its own `elapsed_s` shifted by when it began, so that the jitter of when a line was read makes
    no holes. What a line says holds for every second since the line before it.
    """
    by_client: defaultdict[int, list[StatusLine]] = defaultdict(list)
    for line in lines:
        by_client[line.client_number].append(line)
    if not by_client:
        return LiveSeries(available=True)

    began_s = {
        number: min(line.at_epoch_s - line.elapsed_s for line in client_lines)
        for number, client_lines in by_client.items()
    }
    first_s = min(began_s.values())
    by_second = {
        number: _assign_seconds(client_lines, began_s[number] - first_s) for number, client_lines in by_client.items()
    }
    seconds = _list_reported_seconds(by_second, after)
    lines_by_second = [_select_lines(by_second, second) for second in seconds]
    names: set[str] = set()
    for client_seconds in by_second.values():
        names.update(*(line.by_operation for line in client_seconds.values()))

    return LiveSeries(
        available=True,
        seconds=seconds,
        rate_ops_s=tuple(sum(line.rate_ops_s for line in lines) for lines in lines_by_second),
        operations={name: _merge_operation(name, lines_by_second) for name in sorted(names)},
        clients=tuple(
            _build_client(number, by_client[number], by_second[number], after) for number in sorted(by_client)
        ),
    )


def _assign_seconds(lines: Sequence[StatusLine], offset_s: float) -> dict[int, StatusLine]:
    """Each second since the first client began, with the line that speaks for it."""
    by_second: dict[int, StatusLine] = {}
    previous: int | None = None
    for line in lines:
        end = begin = round(offset_s + line.elapsed_s)
        if previous is not None:
            begin = max(previous + 1, end - MAX_HOLD_S + 1)
        for second in range(begin, end + 1):
            by_second.setdefault(second, line)
        previous = end if previous is None else max(previous, end)
    return by_second


def _list_reported_seconds(by_second: Mapping[int, Mapping[int, StatusLine]], after: int | None) -> tuple[int, ...]:
    """The newest seconds only where every client has reported them."""
    seconds = sorted(set().union(*by_second.values()))
    latest_complete = seconds[-1] - LATE_S
    while seconds and seconds[-1] > latest_complete and len(_select_lines(by_second, seconds[-1])) < len(by_second):
        seconds.pop()
    return tuple(second for second in seconds if after is None or second > after)


def _select_lines(by_second: Mapping[int, Mapping[int, StatusLine]], second: int) -> list[StatusLine]:
    """Those of all clients that speak for a second."""
    return [client_lines[second] for client_lines in by_second.values() if second in client_lines]


def _merge_operation(name: str, lines_by_second: Sequence[Sequence[StatusLine]]) -> OperationSeries:
    rates: list[float | None] = []
    means: list[float | None] = []
    p99s: list[float | None] = []
    for lines in lines_by_second:
        stating = [line for line in lines if name in line.by_operation]
        statuses = [line.by_operation[name] for line in stating]
        rates.append(sum(_compute_rate(line, name) for line in stating) if stating else None)
        means.append(_weighted_mean(statuses))
        p99s.append(max((status["p99_us"] for status in statuses if "p99_us" in status), default=None))
    return OperationSeries(tuple(rates), tuple(means), tuple(p99s))


def _compute_rate(line: StatusLine, name: str) -> float:
    """An operation's part of a client's rate, by the counts of the same line."""
    counts = sum(status.get("count", 0.0) for status in line.by_operation.values())
    if not counts:
        return 0.0
    return line.rate_ops_s * line.by_operation[name].get("count", 0.0) / counts


def _weighted_mean(statuses: Sequence[OperationStatus]) -> float | None:
    measured = [
        (status["count"], status["mean_us"]) for status in statuses if "count" in status and "mean_us" in status
    ]
    total = sum(count for count, _ in measured)
    if not total:
        return None
    return sum(count * mean for count, mean in measured) / total


def _build_client(
    number: int, lines: Sequence[StatusLine], by_second: Mapping[int, StatusLine], after: int | None
) -> ClientSeries:
    newest = lines[-1]
    seconds = tuple(second for second in sorted(by_second) if after is None or second > after)
    return ClientSeries(
        number=number,
        elapsed_s=newest.elapsed_s,
        operations_total=newest.operations_total,
        rate_ops_s=newest.rate_ops_s,
        seconds=seconds,
        rates_ops_s=tuple(by_second[second].rate_ops_s for second in seconds),
        p99_us={name: status["p99_us"] for name, status in newest.by_operation.items() if "p99_us" in status},
        lines=tuple(line.text for line in lines[-5:]),
    )
