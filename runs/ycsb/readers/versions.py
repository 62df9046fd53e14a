"""Which version of YCSB printed a run, and what its numbers mean where a version differs from all others.

Summaries carry no version. A jar's name or the banner tells it, or else the layout narrows it down to a range.
What is stated counts even where the layout speaks against it: people leave lines out of a copy, and layouts get edited.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from runs.ycsb.messages import (
    BATCHED_COUNTED,
    COMPOSITES_IN_MILLISECONDS,
    FAILED_COUNTED,
    INTENDED_TIMES,
    OTHER_LAYOUT,
    P90_NAMED_P95,
    PERCENTILES_CUT_OFF,
    VERIFY_WITHOUT_LATENCIES,
    WHOLE_MILLISECONDS,
)
from runs.ycsb.metric import MetricDraft
from runs.ycsb.operation import Bucket, ReadOperation, parse_name
from runs.ycsb.readers.preamble import Preamble

Version = tuple[int, int, int]

_FIRST: Final[Version] = (0, 1, 0)
_FIRST_WITH_GC: Final[Version] = (0, 9, 0)
_LATEST: Final[Version] = (0, 17, 0)
_MASTER: Final[Version] = (0, 18, 0)  # never released
_MASTER_NAME: Final = "0.18.0-SNAPSHOT"
_OLD_BANNER: Final = "0.1"  # what every version up to 0.7 calls itself
_NOT_A_LATENCY_US: Final = 2  # the largest of the codes that VERIFY "took" before 0.8: equal, different, nothing read


@dataclass(frozen=True, slots=True)
class Layout:
    """Features of an output by which versions differ."""

    preamble: Preamble
    metrics: Mapping[str, MetricDraft]
    runtime: str | None  # as printed
    has_gc: bool
    is_master: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Every version from low to high may have printed it."""

    low: Version
    high: Version

    def __str__(self) -> str:
        if self.low == self.high:
            return _format_version(self.low)
        return f"{_format_version(self.low)}-{_format_version(self.high)}"


def _format_version(version: Version) -> str:
    return _MASTER_NAME if version == _MASTER else ".".join(map(str, version))


def detect_version(layout: Layout) -> Range | None:
    """By jar or banner, else by layout; None where nothing tells."""
    stated = _read_stated(layout.preamble)
    if stated is not None:
        return Range(stated, stated)
    lows, highs = _collect_limits(layout)
    low, high = max(lows), min(highs)
    if high == _MASTER and low != _MASTER:
        high = _LATEST
    if low > high or (len(lows), len(highs)) == (1, 1):
        return None
    return Range(low, high)


def find_contradiction(layout: Layout) -> str | None:
    """A sentence where the layout cannot be that of the version which is stated."""
    stated = _read_stated(layout.preamble)
    if stated is None:
        return None
    # That garbage collection is missing speaks against no version: its lines are the first to be left out of a copy.
    lows, highs = _collect_limits(replace(layout, has_gc=layout.has_gc or stated >= _FIRST_WITH_GC))
    low, high = max(lows), min(highs)
    if low <= stated and (stated <= high or high == _MASTER):
        return None
    return OTHER_LAYOUT.format(version=Range(stated, stated))


def _read_stated(preamble: Preamble) -> Version | None:
    for name in (preamble.jar, preamble.banner):
        if name is None or name == _OLD_BANNER:
            continue
        version = _parse_version(name)
        if version is not None:
            return version
    return None


def _parse_version(name: str) -> Version | None:
    number, _, _ = name.partition("-")
    parts = number.split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isdecimal() and len(part) < 6 for part in parts):
        return None
    major, minor, patch, *_ = (*map(int, parts), 0)
    return major, minor, patch


def _collect_limits(layout: Layout) -> tuple[list[Version], list[Version]]:
    """The versions before which, and those after which, an output with this layout was not printed."""
    metrics, runtime = layout.metrics, layout.runtime
    drafts = metrics.values()
    lows: list[Version] = [_FIRST]
    highs: list[Version] = [_MASTER]
    is_first = any(draft.has_millisecond_average for draft in drafts)
    has_millisecond_percentiles = any(draft.has_millisecond_percentiles for draft in drafts)
    if is_first:
        highs.append((0, 1, 2))
    elif has_millisecond_percentiles and _has_cleanup(metrics):
        lows.append((0, 2, 0))
        highs.append((0, 3, 1))
    elif has_millisecond_percentiles:
        lows.append((0, 1, 3))
        highs.append((0, 1, 4))
    elif any(draft.percentiles for draft in drafts):
        lows.append((0, 4, 0))

    codes = set().union(*(draft.returns for draft in drafts))
    if any(code.removeprefix("-").isdecimal() for code in codes):
        highs.append((0, 4, 0))
    elif codes:
        lows.append((0, 5, 0))
    if any("variance" in draft.keys or name.endswith("-FAILED") for name, draft in metrics.items()):
        lows.append((0, 6, 0))
    if layout.has_gc:
        lows.append(_FIRST_WITH_GC)
    if runtime is not None and not is_first:
        # Whole numbers were printed as doubles from 0.1.3 to 0.12.
        if "." not in runtime:
            lows.append((0, 13, 0))
        elif layout.has_gc:
            highs.append((0, 12, 0))
        else:
            highs.append((0, 8, 0))

    if layout.preamble.banner == _OLD_BANNER:
        highs.append((0, 7, 0))
    if layout.preamble.is_new_package:
        lows.append(_LATEST)
    if layout.is_master:
        lows.append(_MASTER)
    return lows, highs


def corrected(
    operations: Mapping[str, ReadOperation],
    metrics: Mapping[str, MetricDraft],
    version: Range | None,
    properties: Mapping[str, str],
) -> tuple[dict[str, ReadOperation], list[str]]:
    """The operations with every exception of their version applied, and a sentence for each exception."""
    corrected_operations = dict(operations)
    remarks = [*_say_units(metrics), *_say_intended(properties)]
    for name, operation in operations.items():
        parsed = parse_name(name)
        draft = metrics[name]
        if parsed.is_composite and version is not None and _is_thousandth(version, metrics):
            corrected_operations[name] = _convert_from_milliseconds(operation)
            remarks.append(COMPOSITES_IN_MILLISECONDS)

        if parsed.operation == "VERIFY" and _is_code(operation, version):
            corrected_operations[name] = replace(
                operation,
                mean_us=None,
                min_us=None,
                max_us=None,
                percentiles_us={},
                buckets=(),
                returns=operation.returns or _returns_by_codes(operation),
            )
            remarks.append(VERIFY_WITHOUT_LATENCIES)

        if _is_shifted(name, draft) and "95" in operation.percentiles_us:
            percentiles_us = {"90": operation.percentiles_us["95"], **operation.percentiles_us}
            del percentiles_us["95"]
            corrected_operations[name] = replace(operation, percentiles_us=percentiles_us)
            remarks.append(P90_NAMED_P95)

    remarks += _say_counts(operations, version)
    return corrected_operations, list(dict.fromkeys(remarks))


def _say_units(metrics: Mapping[str, MetricDraft]) -> Iterable[str]:
    if any(draft.has_millisecond_average for draft in metrics.values()):
        yield WHOLE_MILLISECONDS
    if any(draft.has_histogram or draft.has_millisecond_percentiles for draft in metrics.values()):
        yield PERCENTILES_CUT_OFF


def _say_intended(properties: Mapping[str, str]) -> Iterable[str]:
    if properties.get("measurement.interval") == "intended":
        yield INTENDED_TIMES


def _say_counts(operations: Mapping[str, ReadOperation], version: Range | None) -> Iterable[str]:
    if version is None:
        return
    failures = set().union(*(operation.returns for operation in operations.values())) - {"OK", "0", "BATCHED_OK"}
    if failures and version.high < (0, 6, 0):
        yield FAILED_COUNTED
    batched = any("BATCHED_OK" in operation.returns for operation in operations.values())
    if batched and version.low >= (0, 10, 0) and version.high < (0, 12, 0):
        yield BATCHED_COUNTED


def _is_thousandth(version: Range, metrics: Mapping[str, MetricDraft]) -> bool:
    """A development build of 0.2 carries the number of the release before it, but measures CLEANUP, and all in µs."""
    return version.low >= (0, 1, 3) and version.high <= (0, 1, 4) and not _has_cleanup(metrics)


def _has_cleanup(metrics: Mapping[str, MetricDraft]) -> bool:
    return any(parse_name(name).operation == "CLEANUP" for name in metrics)


def _is_code(verify: ReadOperation, version: Range | None) -> bool:
    """Whether what VERIFY measures are the result codes of the versions before 0.8."""
    if verify.max_us is None or (version is not None and version.low >= (0, 8, 0)):
        return False
    return verify.max_us <= _NOT_A_LATENCY_US or (version is not None and version.high < (0, 8, 0))


def _returns_by_codes(verify: ReadOperation) -> dict[str, int]:
    """How many verifications ended how: the codes are 0 (equal), 1 (different), 2 (nothing read). Empty if unknown."""
    if verify.count is None or verify.mean_us is None or verify.max_us is None:
        return {}
    if verify.max_us > _NOT_A_LATENCY_US:
        return {}
    # Where both 1 and 2 occur, their sum lies between its half and itself: the least that must be wrong is stated.
    wrong = round(verify.mean_us * verify.count / max(verify.max_us, 1.0))
    returns = {"OK": verify.count - wrong}
    if wrong:
        returns["UNEXPECTED_STATE"] = wrong
    return returns


def _is_shifted(name: str, draft: MetricDraft) -> bool:
    """HdrHistogram's percentiles in milliseconds exist in 0.2.0 to 0.3.1 only; its counts are doubles there."""
    return draft.has_millisecond_percentiles and (name.startswith("Hdr") or draft.has_double_count)


def _convert_from_milliseconds(operation: ReadOperation) -> ReadOperation:
    """Latencies that were printed as microseconds and are milliseconds."""
    buckets = []
    for bucket in operation.buckets:
        buckets.append(Bucket(bucket.from_us * 1000.0, _to_microseconds(bucket.to_us), bucket.count))
    return replace(
        operation,
        mean_us=_to_microseconds(operation.mean_us),
        min_us=_to_microseconds(operation.min_us),
        max_us=_to_microseconds(operation.max_us),
        percentiles_us={name: value * 1000.0 for name, value in operation.percentiles_us.items()},
        resolution_us=_to_microseconds(operation.resolution_us),
        buckets=tuple(buckets),
    )


def _to_microseconds(value: float | None) -> float | None:
    return None if value is None else value * 1000.0
