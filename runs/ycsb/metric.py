"""The lines of a summary, `[METRIC], KEY, VALUE`, gathered into one operation for each metric.

The text and the JSON exporters write the same metrics, keys and values, so both are gathered here.
"""

import html
import math
import re
from array import array
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from runs.ycsb.numbers import NO_MINIMUM, finite, ungrouped, whole
from runs.ycsb.operation import Bucket, ReadOperation, SeriesPoint

_LATENCY: Final = re.compile(r"(Average|Min|Max)(?:Latency\((us|ms)\))?")
_PERCENTILE: Final = re.compile(
    r"(\d{1,3}(?:\.\d{1,10})?)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)|p(\d{1,3}(?:\.\d{1,10})?)", re.ASCII
)
# A row of buckets or of a series: a key that is a number, then one value, or two in the Thumbtack lineage.
_ROW: Final = re.compile(r"(>?\d{1,18}),[ \t]+([^,\s]+(?:,[ \t]+[^,\s]+)?)", re.ASCII)
_COMMENT: Final = re.compile(r"(?<!\s)\s{1,80}#.*")
_NO_NAME: Final = frozenset("[]{}=")
_ROW_KEY: Final = re.compile(r">?\d{1,18}", re.ASCII)
_COUNTS: Final = ("Operations", "Total Operations")
_RAW_HEADLINE: Final = "Below is a summary of latency in microseconds:"
_TAG: Final = re.compile(r"</?[a-z]{1,10}>", re.IGNORECASE)
_US: Final = {"us": 1.0, "ms": 1000.0}
_BUCKET_US: Final = 1000.0  # of the measurement types histogram and timeseries: YCSB counts by whole milliseconds
_WITH_COMMAS: Final = re.compile(r"-?[\d.]{0,400},[\d.,]{1,400}", re.ASCII)
_MAX_KEYS: Final = 1_000  # of one metric: a client that prints more prints something else as well
_NEARLY: Final = 0.01  # of the operations: rates of seconds are rounded
_MIN_SECONDS: Final = 3
_SIGNIFICANT_BITS: Final = 11  # HdrHistogram with three significant digits keeps 2048 values apart


def split_line(line: str) -> tuple[str, str, str] | None:
    """Metric, key and value of one line of a summary, or None where the line is none."""
    text = line.strip()
    end = text.find("],")
    if not text.startswith("[") or end < 2:
        return None

    metric, rest = text[1:end], text[end + 2 :].strip()
    if "#" in rest:  # a tutorial's comment
        rest = _COMMENT.sub("", rest)
    if not _NO_NAME.isdisjoint(metric):
        return None

    if "<" in rest or "&" in rest:  # pasted from a web page
        rest = _TAG.sub("", html.unescape(rest)).strip()
    if not rest[:1].isalpha():
        row = _ROW.fullmatch(rest)
        if row:
            return metric, row[1], row[2]

    # Values hold no comma but those of a copy, keys may: the last comma with a blank behind it parts the two.
    key, comma, value = rest.rpartition(", ")
    if not comma:
        key, comma, value = rest.partition(",")
    # Some Go programs write `Return=OK, Count, 11970`.
    if key.startswith("Return="):
        key = key.removesuffix(", Count")
    if not comma or not key.strip():
        return None
    return metric, key.strip(), value.strip()


def is_row(key: str) -> bool:
    """Whether the key is that of a row: of a bucket, a recorded value, a point in time."""
    return not key[:1].isalpha() and _ROW_KEY.fullmatch(key) is not None


class MetricDraft:
    """One metric while its lines are read."""

    def __init__(self) -> None:
        self.count: int | None = None
        self.has_double_count = False  # `499.0`, as HdrHistogram's counts were printed up to 0.12
        self.is_average = False  # a count is a fraction
        self.has_millisecond_percentiles = False
        self.has_millisecond_average = False
        self.latency: dict[str, float | None] = {}
        self.variance: float | None = None
        self.percentiles: dict[str, float] = {}
        self.returns: dict[str, int] = {}
        self.extra: dict[str, str] = {}
        self.rows = _Rows()
        self._seen: set[str] = set()

    @property
    def is_measured(self) -> bool:
        """Whether there is anything in it that only an operation has."""
        return bool(self._seen or self.rows)

    @property
    def keys(self) -> frozenset[str]:
        """Stated keys but returns and rows: the same for every metric that one client prints whole."""
        return frozenset(self._seen - {"returns"})

    @property
    def doubtful(self) -> dict[str, str]:
        """The keys that were left out since the comma in their value may mean two things, and the value as printed."""
        doubtful = {}
        for key, value in self.extra.items():
            name, _ = _parse_key(key)
            if _WITH_COMMAS.fullmatch(value) and (key.startswith("Return=") or name is not None):
                doubtful[key] = value
        return doubtful

    def take(self, key: str, value: str) -> bool:
        """Keep one line; whether it states something again. Of what is stated twice the first counts."""
        if is_row(key):
            self.rows.take(key, value)
            return False
        if len(self.returns) + len(self.extra) + len(self.percentiles) >= _MAX_KEYS:
            return False
        if key.startswith("Return=") and len(key) > 7:
            return self._take_return(key[7:], value)

        name, unit = _parse_key(key)
        if name is None:
            return self._take_extra(key, value)
        if name in self._seen:
            return True

        digits = ungrouped(value, is_whole=name not in ("Average", "variance"))
        number = None
        if digits is not None:
            number = finite(digits)
        if digits is None or (name == "count" and number is None):
            return self._take_extra(key, value)

        if number is None and value.strip() != "NaN":
            self.extra[key] = value  # Infinity: kept as it was printed
        self._seen.add(name)
        if name == "count":
            self.count = self._count(digits)
            self.has_double_count = "." in digits and not self.is_average
        elif name == "variance":
            self.variance = number
        elif name in ("Average", "Min", "Max"):
            self.latency[name] = None if number is None else number * _US[unit]
            self.has_millisecond_average |= unit == "ms"
        elif number is not None:
            self.percentiles[name] = number * _US[unit]
            self.has_millisecond_percentiles |= unit == "ms"

        return False

    def states_otherwise(self, key: str, value: str) -> bool:
        """Whether another value was stated under this key: one client states each number once."""
        name, unit = _parse_key(key)
        if name not in self._seen:
            return False
        number = finite(ungrouped(value, is_whole=name not in ("Average", "variance")) or "")
        if number is None:
            return False
        stated = {"count": self.count, "variance": self.variance, **self.latency, **self.percentiles}.get(name)
        return stated is not None and stated != number * _US.get(unit, 1.0)

    def includes(self, earlier: "MetricDraft") -> bool:
        """Whether everything that was counted in the earlier one may be counted here too."""
        if (self.count or 0) < (earlier.count or 0):
            return False
        if any(self.returns.get(code, 0) < count for code, count in earlier.returns.items()):
            return False
        min_us, max_us = self.latency.get("Min") or 0.0, self.latency.get("Max") or 0.0
        earlier_min_us = earlier.latency.get("Min") or min_us
        earlier_max_us = earlier.latency.get("Max") or max_us
        return min_us <= earlier_min_us and max_us >= earlier_max_us

    def take_rows_for_rates(self, runtime_ms: float | None) -> bool:
        """Whether the rows state how many operations each second did, as some forks print them; then they are dropped.

        They are even, reach to the end of the run, and add up to its operations.
        """
        if not (runtime_ms and self.count) or not self.rows.are_even(runtime_ms):
            return False
        if abs(sum(self.rows.values) - self.count) > _NEARLY * self.count:
            return False
        self.rows = _Rows()
        return True

    def take_back(self, key: str) -> None:
        """Forget a value of which digits may be missing."""
        if is_row(key):
            self.rows.take_back()
        elif key.startswith("Return="):
            self.returns.pop(key[7:], None)
            self.extra.pop(key, None)
        else:
            name, _ = _parse_key(key)
            self._seen.discard(name or "")
            self.extra.pop(key, None)
            self.latency.pop(name or "", None)
            self.percentiles.pop(name or "", None)
            if name == "count":
                self.count = None
            if name == "variance":
                self.variance = None

    def done(self) -> ReadOperation:
        kind = self.rows.kind(self.has_histogram, bool(self.percentiles), self.count)
        min_us = self.latency.get("Min")
        if min_us is not None and min_us >= NO_MINIMUM:
            min_us = None
        resolution_us = None
        if self.percentiles and (self.has_histogram or self.has_millisecond_percentiles):
            resolution_us = _BUCKET_US

        return ReadOperation(
            count=self.count,
            mean_us=self.latency.get("Average"),
            min_us=min_us,
            max_us=self.latency.get("Max"),
            variance_us2=self.variance,
            percentiles_us=self.percentiles,
            resolution_us=resolution_us,
            returns=self.returns,
            buckets=self.rows.buckets(kind),
            series=self.rows.series(kind),
            is_average=self.is_average,
            extra=self.extra,
        )

    @property
    def has_histogram(self) -> bool:
        """Whether the measurement type counts in buckets of one millisecond."""
        return "variance" in self._seen or self.rows.are_histogram

    def _take_return(self, code: str, value: str) -> bool:
        digits = ungrouped(value, is_whole=True)
        count = None
        if digits is not None:
            count = self._count(digits)
        if count is None:
            return self._take_extra(f"Return={code}", value)
        # The same name twice is two statuses that differ only in what they describe.
        self.returns[code] = self.returns.get(code, 0) + count
        self._seen.add("returns")
        return False

    def _count(self, digits: str) -> int | None:
        """A count, rounded where it is a fraction: only people and scripts that average runs write such."""
        count = whole(digits)
        number = finite(digits)
        if count is None and number is not None:
            self.is_average = True
            return round(number)
        return count

    def _take_extra(self, key: str, value: str) -> bool:
        is_repeated = key in self.extra
        if key != _RAW_HEADLINE:
            self.extra.setdefault(key, value)
        return is_repeated


@lru_cache(maxsize=1_000)
def _parse_key(key: str) -> tuple[str | None, str]:
    """The one name of a key that versions and measurement types spell in several ways, and its unit."""
    if key in _COUNTS:
        return "count", ""
    if key == "LatencyVariance(us)":
        return "variance", "us"
    latency = _LATENCY.fullmatch(key)
    if latency:
        statistic, unit = latency.groups()
        return statistic, unit or "us"
    percentile = _PERCENTILE.fullmatch(key)
    if percentile:
        rank, unit, short_rank = percentile.groups()
        return rank or short_rank, unit or "us"
    return None, ""


class _Rows:
    """The rows of one metric, kept as numbers until the end of it tells what they are."""

    def __init__(self) -> None:
        self.keys = array("q")
        self.values = array("d")  # NaN where the row states none
        self.rates = array("d")
        self.overflow: tuple[int, int] | None = None
        self.have_doubles = False
        self.have_gaps = False

    def __bool__(self) -> bool:
        return bool(self.keys) or self.overflow is not None

    @property
    def are_histogram(self) -> bool:
        """Only a histogram has an overflow, and only its counts are printed as whole numbers."""
        return self.overflow is not None or (bool(self.keys) and not self.have_doubles and not self.rates)

    def take(self, key: str, text: str) -> None:
        value, comma, rate = text.partition(",")
        number = finite(value)
        per_second = finite(rate) if comma else None
        if key.startswith(">"):
            count = whole(value)
            if not comma and count is not None:
                self.overflow = int(key[1:]), count
        elif number is not None or value.strip() == "NaN":
            self.have_gaps |= number is None
            is_double = number is None or "." in value
            self.add(int(key), math.nan if number is None else number, is_double=is_double, rate=per_second)

    def add(self, key: int, value: float, *, is_double: bool, rate: float | None) -> None:
        self.have_doubles |= is_double
        self.keys.append(key)
        self.values.append(value)
        if rate is not None:
            self.rates.append(rate)

    def are_even(self, runtime_ms: float) -> bool:
        """Whether they are so many seconds, one after the other from the first to the last of the run."""
        if len(self.keys) < _MIN_SECONDS or self.overflow is not None or self.rates:
            return False
        step = self.keys[1] - self.keys[0]
        steps = {later - earlier for earlier, later in pairwise(self.keys)}
        return step >= 100 and steps == {step} and abs(self.keys[-1] + step - runtime_ms) <= 2 * step

    def take_back(self) -> None:
        """Forget the last row."""
        if self.overflow is not None:
            self.overflow = None
        elif self.keys:
            if len(self.rates) == len(self.keys):
                self.rates.pop()
            self.keys.pop()
            self.values.pop()

    def kind(
        self, has_histogram: bool, has_percentiles: bool, count: int | None
    ) -> Literal["histogram", "recorded", "series"]:
        """A time series never has percentiles, and HdrHistogram's recorded values come after them.

        Rows that add up to all operations are counts, and no latencies.
        """
        if has_histogram:
            return "histogram"
        if self.have_doubles and count and sum(self.values) == count:
            return "recorded"
        if has_percentiles and not self.have_gaps and not self.rates:
            return "recorded"
        return "series"

    def buckets(self, kind: str) -> tuple[Bucket, ...]:
        if kind == "series":
            return ()
        limits = _limits_of_millisecond if kind == "histogram" else _limits_of_recorded
        buckets = []
        for key, count in zip(self.keys, self.values, strict=True):
            if count > 0:
                buckets.append(Bucket(*limits(key), int(count)))
        if self.overflow is not None:
            from_ms, overflow_count = self.overflow
            buckets.append(Bucket(from_ms * _BUCKET_US, None, overflow_count))
        return tuple(buckets)

    def series(self, kind: str) -> tuple[SeriesPoint, ...]:
        """Sorted by time. The Thumbtack lineage writes rows while it runs and once more at the end: the last counts."""
        if kind != "series":
            return ()
        rates = self.rates if len(self.rates) == len(self.keys) else [None] * len(self.keys)
        points = {}
        for at_ms, value, rate in zip(self.keys, self.values, rates, strict=True):
            mean_us = None if math.isnan(value) else value
            points[at_ms] = SeriesPoint(float(at_ms), mean_us, rate)
        return tuple(points[at_ms] for at_ms in sorted(points))


def _limits_of_millisecond(floor_ms: int) -> tuple[float, float]:
    return floor_ms * _BUCKET_US, (floor_ms + 1) * _BUCKET_US


def _limits_of_recorded(highest_us: int) -> tuple[float, float]:
    """HdrHistogram prints the highest value that it cannot tell from the recorded one."""
    width = 1 << max(0, highest_us.bit_length() - _SIGNIFICANT_BITS)
    return float(highest_us - width + 1), float(highest_us + 1)
