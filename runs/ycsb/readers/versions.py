"""Which version of YCSB printed a run, and what its numbers mean where a version differs from all others.

Summaries carry no version. A jar's name or the banner tells it, or else the layout narrows it down to a range.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from runs.ycsb.metric import MetricDraft
from runs.ycsb.names import parse_name
from runs.ycsb.operation import Bucket, ReadOperation
from runs.ycsb.readers.preamble import Preamble

Version = tuple[int, int, int]

_FIRST: Final[Version] = (0, 1, 0)
_LATEST: Final[Version] = (0, 17, 0)
_MASTER: Final[Version] = (0, 18, 0)  # never released
_MASTER_NAME: Final = "0.18.0-SNAPSHOT"
_OLD_BANNER: Final = "0.1"  # what every version up to 0.7 calls itself
_NOT_A_LATENCY_US: Final = 2  # the largest of the codes that VERIFY "took" before 0.8: equal, different, nothing read


@dataclass(frozen=True, slots=True)
class Range:
    """Every version from low to high may have printed it."""

    low: Version
    high: Version

    def __str__(self) -> str:
        names = [_MASTER_NAME if version == _MASTER else _text(version) for version in (self.low, self.high)]
        return names[0] if self.low == self.high else "-".join(names)


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def version_of(
    preamble: Preamble, metrics: Mapping[str, MetricDraft], runtime: str | None, *, has_gc: bool, is_master: bool
) -> Range | None:
    """By jar and banner, unless the layout contradicts them, else by layout; None where nothing tells."""
    by_layout = _by_layout(preamble, metrics, runtime, has_gc=has_gc, is_master=is_master)
    for name in (preamble.jar, preamble.banner):
        stated = None if name in (None, _OLD_BANNER) else _parsed(str(name))
        # A development build carries the number of the release before it.
        if stated is not None and (by_layout is None or by_layout.low <= stated <= by_layout.high):
            return Range(stated, stated)
    return by_layout


def _parsed(name: str) -> Version | None:
    parts = name.split("-")[0].split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isdecimal() and len(part) < 6 for part in parts):
        return None
    major, minor, *patch = (int(part) for part in parts)
    return major, minor, patch[0] if patch else 0


def _by_layout(
    preamble: Preamble, metrics: Mapping[str, MetricDraft], runtime: str | None, *, has_gc: bool, is_master: bool
) -> Range | None:
    drafts = metrics.values()
    lows: list[Version] = [_FIRST]
    highs: list[Version] = [_MASTER]
    codes = {code for draft in drafts for code in draft.returns}
    is_numeric = any(code.removeprefix("-").isdecimal() for code in codes)
    in_ms = any(draft.has_millisecond_percentiles for draft in drafts)
    has_cleanup = any(parse_name(name).operation == "CLEANUP" for name in metrics)
    is_first = any(draft.has_millisecond_average for draft in drafts)
    if is_first:
        highs.append((0, 1, 2))
    elif in_ms:
        lows.append((0, 2, 0) if has_cleanup else (0, 1, 3))
        highs.append((0, 3, 1) if has_cleanup else (0, 1, 4))
    elif any(draft.percentiles for draft in drafts):
        lows.append((0, 4, 0))
    if codes:
        (highs if is_numeric else lows).append((0, 4, 0) if is_numeric else (0, 5, 0))
    if any("variance" in draft.keys or name.endswith("-FAILED") for name, draft in metrics.items()):
        lows.append((0, 6, 0))
    if has_gc:
        lows.append((0, 9, 0))
    if runtime is not None and not is_first:
        # Whole numbers were printed as doubles from 0.1.3 to 0.12.
        highs.append(((0, 12, 0) if has_gc else (0, 8, 0)) if "." in runtime else _MASTER)
        lows.append(_FIRST if "." in runtime else (0, 13, 0))
    if preamble.banner == _OLD_BANNER:
        highs.append((0, 7, 0))
    if preamble.is_new_package:
        lows.append(_LATEST)
    if is_master:
        lows.append(_MASTER)
    low, high = max(lows), min(highs)
    if high == _MASTER and low != _MASTER:
        high = _LATEST
    return None if low > high or (len(lows), len(highs)) == (1, 1) else Range(low, high)


def corrected(
    operations: Mapping[str, ReadOperation],
    metrics: Mapping[str, MetricDraft],
    version: Range | None,
    properties: Mapping[str, str],
) -> tuple[dict[str, ReadOperation], list[str]]:
    """The operations with every exception of their version applied, and a sentence for each exception."""
    found = dict(operations)
    said = [*_say_units(metrics), *_say_intended(properties)]
    for name, operation in operations.items():
        parsed = parse_name(name)
        draft = metrics[name]
        if parsed.is_composite and version is not None and version.low >= (0, 1, 3) and version.high <= (0, 1, 4):
            found[name] = _thousandfold(operation)
            said.append(
                "YCSB 0.1.3 and 0.1.4 measure READ-MODIFY-WRITE in milliseconds and print them as microseconds: "
                "its latencies were multiplied by 1000."
            )
        if parsed.operation == "VERIFY" and _is_code(operation, version):
            found[name] = replace(operation, mean_us=None, min_us=None, max_us=None, percentiles_us={}, buckets=())
            said.append(
                "Before YCSB 0.8 VERIFY has no latencies: what it prints are result codes, which were left out."
            )
        if _is_shifted(name, draft) and "95" in operation.percentiles_us:
            found[name] = replace(operation, percentiles_us=_shifted(operation.percentiles_us))
            said.append(
                "With measurementtype=hdrhistogram YCSB 0.2.0 to 0.3.1 print the 90th percentile under the name of the "
                "95th: it is shown as p90, and there is no p95."
            )
    said += _say_counts(operations, version)
    return found, list(dict.fromkeys(said))


def _say_units(metrics: Mapping[str, MetricDraft]) -> Iterable[str]:
    if any(draft.has_millisecond_average for draft in metrics.values()):
        yield "YCSB 0.1.0 to 0.1.2 measure in whole milliseconds: its latencies were multiplied by 1000."
    if any(draft.has_histogram or draft.has_millisecond_percentiles for draft in metrics.values()):
        yield (
            "These percentiles are whole milliseconds, cut off: the true value lies up to 1 ms above. "
            "Do not compare them with HdrHistogram's."
        )


def _say_intended(properties: Mapping[str, str]) -> Iterable[str]:
    if properties.get("measurement.interval") == "intended":
        yield (
            "measurement.interval=intended: the latencies are response times, counted from when each operation "
            "should have started, although their names do not say so."
        )


def _say_counts(operations: Mapping[str, ReadOperation], version: Range | None) -> Iterable[str]:
    if version is None:
        return
    failures = {code for entry in operations.values() for code in entry.returns} - {"OK", "0", "BATCHED_OK"}
    if failures and version.high < (0, 6, 0):
        yield "Before YCSB 0.6 failed operations are counted and measured together with the successful ones."
    batched = any("BATCHED_OK" in entry.returns for entry in operations.values())
    if batched and version.low >= (0, 10, 0) and version.high < (0, 12, 0):
        yield "YCSB 0.10 and 0.11 count BATCHED_OK as failed: those under -FAILED with this return code succeeded."


def _is_code(verify: ReadOperation, version: Range | None) -> bool:
    """Whether what VERIFY measures are the result codes of the versions before 0.8."""
    if verify.max_us is None or (version is not None and version.low >= (0, 8, 0)):
        return False
    return verify.max_us <= _NOT_A_LATENCY_US or (version is not None and version.high < (0, 8, 0))


def _is_shifted(name: str, draft: MetricDraft) -> bool:
    """HdrHistogram's percentiles in milliseconds exist in 0.2.0 to 0.3.1 only; its counts are doubles there."""
    return draft.has_millisecond_percentiles and (name.startswith("Hdr") or draft.has_double_count)


def _shifted(percentiles: Mapping[str, float]) -> dict[str, float]:
    return {"90" if name == "95" else name: value for name, value in percentiles.items()}


def _thousandfold(operation: ReadOperation) -> ReadOperation:
    def times(value: float | None, factor: float = 1000.0) -> float | None:
        return None if value is None else value * factor

    return replace(
        operation,
        mean_us=times(operation.mean_us),
        min_us=times(operation.min_us),
        max_us=times(operation.max_us),
        percentiles_us={name: value * 1000.0 for name, value in operation.percentiles_us.items()},
        resolution_us=times(operation.resolution_us),
        buckets=tuple(
            Bucket(bucket.from_us * 1000.0, times(bucket.to_us), bucket.count) for bucket in operation.buckets
        ),
    )
