"""The output of LoadGenerator, a fork of YCSB for memcached and Couchbase of about 2013.

There is no comma behind the bracket, every latency carries its unit, and the buckets of the histogram double in width.
What is left of it are copies in web pages, so entities and tags are undone.
"""

import html
import re
from typing import Final

from runs.ycsb.block import Note
from runs.ycsb.numbers import finite, ungrouped, whole
from runs.ycsb.operation import Bucket, ReadOperation
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.unparsed_lines import LineReader

_LINE: Final = re.compile(r"\[([A-Za-z][\w-]{0,79})\],? +(.{1,200}?) *, *(\S+)", re.ASCII)
_LATENCY: Final = re.compile(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?) ?(us|µs|ms|s)", re.ASCII)
_BUCKET: Final = re.compile(r"(\d+(?:us|ms|s)) *- *(\d+(?:us|ms|s))|> *(\d+(?:us|ms|s))", re.ASCII)
_PERCENTILE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,10})?)(?:st|nd|rd|th)?PercentileLatency", re.ASCII)
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_US: Final = {"us": 1.0, "µs": 1.0, "ms": 1000.0, "s": 1_000_000.0}
_NAMED: Final = {"AverageLatency": "mean", "MinLatency": "min", "MaxLatency": "max"}
_RUNTIME: Final = "RunTime(ms)"
_THROUGHPUT: Final = "Throughput(ops/sec)"
_MAX_OPERATIONS: Final = 200


def latency_us(text: str) -> float | None:
    """A latency with its unit: `401.87us`, `2ms`, `2.11s`."""
    match = _LATENCY.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = match.groups()
    return float(number) * _US[unit]


class LoadGeneratorReader(LineReader):
    def __init__(self) -> None:
        super().__init__()
        self._draft = _Draft(1)

    def take(self, line: bytes, number: int, *, may_be_cut: bool) -> bool:
        if b"[" not in line:
            return False

        text = line.decode(errors="replace")
        plain = text
        if "&" in text or "<" in text:
            plain = _TAG.sub("", html.unescape(text))
        match = _LINE.fullmatch(plain.strip())
        if match is None:
            return False

        metric, key, value = match.groups()
        if metric == "OVERALL" and key == _RUNTIME and self._draft.has_runtime:
            self._end(number - 1)
            self._draft = _Draft(number)

        # Before a tag nothing is missing.
        if may_be_cut and not text.rstrip().endswith(">"):
            self._draft.is_cut = True
            return True

        return self._draft.take(metric, key, value)

    def run(self, last_line: int) -> ReadRun | None:
        return self._draft.done(last_line)


class _Draft:
    """One run while its lines are read."""

    def __init__(self, first_line: int) -> None:
        self.is_cut = False
        self._first_line = first_line
        self._overall: dict[str, float | None] = {}
        self._operations: dict[str, _Operation] = {}

    @property
    def has_runtime(self) -> bool:
        return _RUNTIME in self._overall

    def take(self, metric: str, key: str, value: str) -> bool:
        if metric == "OVERALL":
            if key not in (_RUNTIME, _THROUGHPUT):
                return False
            self._overall[key] = finite(value)
            return True
        if metric not in self._operations and len(self._operations) == _MAX_OPERATIONS:
            return False
        self._operations.setdefault(metric, _Operation()).take(key, value)
        return True

    def done(self, last_line: int) -> ReadRun | None:
        operations = {name: draft.done() for name, draft in self._operations.items() if draft.is_measured}
        if not operations and not self._overall:
            return None

        notes = []
        if operations:
            notes = [Note("Percentiles are the upper ends of buckets whose width doubles.")]
        is_whole = all(_is_whole(operation) for operation in operations.values())
        if not is_whole:
            notes.append(Note(f"The results of {list(operations)[-1]} break off."))

        return ReadRun(
            format="load-generator",
            runtime_ms=self._overall.get(_RUNTIME),
            throughput_ops_s=self._overall.get(_THROUGHPUT),
            complete=bool(operations) and self.has_runtime and is_whole and not self.is_cut,
            operations=operations,
            warnings=tuple(notes),
            first_line=self._first_line,
            last_line=last_line,
        )


def _is_whole(operation: ReadOperation) -> bool:
    """Whether the return codes and the buckets, which come last, count every operation."""
    if operation.count is None or operation.mean_us is None:
        return False
    returned = sum(operation.returns.values())
    in_buckets = sum(bucket.count for bucket in operation.buckets)
    return min(returned, in_buckets) >= operation.count


class _Operation:
    """One metric while its lines are read."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._latencies: dict[str, float] = {}
        self._percentiles: dict[str, float] = {}
        self._returns: dict[str, int] = {}
        self._buckets: dict[float, Bucket] = {}
        self._extra: dict[str, str] = {}

    @property
    def is_measured(self) -> bool:
        return bool(self._latencies or self._percentiles or self._returns or self._buckets) or self._count is not None

    def take(self, key: str, value: str) -> None:
        count = whole(ungrouped(value, is_whole=True) or "")
        latency = latency_us(value)
        if count is not None and self._take_count(key, count):
            return
        if latency is not None and self._take_latency(key, latency):
            return
        self._extra.setdefault(key, value)

    def _take_count(self, key: str, count: int) -> bool:
        bucket = _BUCKET.fullmatch(key)
        if key == "Operations":
            self._count = count
        elif key.startswith("Return="):
            code = key.removeprefix("Return=")
            self._returns[code] = self._returns.get(code, 0) + count
        elif bucket:
            low, high, overflow = bucket.groups(default="")
            from_us = latency_us(low or overflow) or 0.0
            self._buckets[from_us] = Bucket(from_us, latency_us(high), count)
        else:
            return False
        return True

    def _take_latency(self, key: str, latency: float) -> bool:
        percentile = _PERCENTILE.fullmatch(key)
        if key in _NAMED:
            self._latencies[_NAMED[key]] = latency
        elif percentile:
            self._percentiles[percentile[1]] = latency
        else:
            return False
        return True

    def done(self) -> ReadOperation:
        buckets = [self._buckets[start] for start in sorted(self._buckets)]
        return ReadOperation(
            count=self._count,
            mean_us=self._latencies.get("mean"),
            min_us=self._latencies.get("min"),
            max_us=self._latencies.get("max"),
            percentiles_us=self._percentiles,
            rounds_up=True,
            returns=self._returns,
            buckets=tuple(bucket for bucket in buckets if bucket.count or bucket.to_us is None),
            extra=self._extra,
        )
