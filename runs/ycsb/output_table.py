"""The JSON of `read_output` as aligned text: a line for each operation, latencies in µs, what is odd under it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from benchsite.core.formatting import counted, grouped

_PERCENTILES: Final = ("50", "90", "95", "99", "99.9", "99.99")
_MAX_PERCENTILES: Final = 6
_NONE: Final = "-"


def table(output: Mapping[str, Any]) -> str:
    """All files, and the merged runs where they were asked for."""
    parts = ["\n".join(_file(file)) for file in output["files"]]
    parts += ["\n".join(list_merged_lines(number, run)) for number, run in enumerate(output.get("merged", ()), 1)]
    return "\n\n".join(parts)


def _file(file: Mapping[str, Any]) -> Iterator[str]:
    kind = " ".join(part for part in (file["format"], file["version"]) if part)
    number = len(file["runs"])
    if file["error"] is not None:
        yield f"{file['file']}: refused"
        yield f"  {file['reason']}"
        for line in file["quoted"]:
            yield f"    {line}"
    else:
        yield f"{file['file']}: {kind}, {counted(number, 'run')}"

    for position, run in enumerate(file["runs"], 1):
        yield from _run(f"run {position}" if number > 1 else "run", run)

    for warning in file["warnings"]:
        yield f"  warning: {warning}"


def _run(name: str, run: Mapping[str, Any]) -> Iterator[str]:
    parts = [
        run["phase"] or "phase unknown",
        _with_unit(run["runtime_ms"], "ms"),
        _with_unit(run["throughput_ops_s"], "ops/s"),
        "complete" if run["complete"] else "not complete",
    ]
    if run["status_lines"]:
        parts.append(f"{run['status_lines']:,} status lines")
    if run["source"]:
        parts.append(f"from {run['source']}")
    yield f"  {name}: " + ", ".join(filter(None, parts))
    yield from _operations(run["operations"])


def list_merged_lines(number: int, run: Mapping[str, Any]) -> Iterator[str]:
    """A merged run as `merge_output` describes it."""
    if run["error"] is not None:
        yield f"merged run {number}: {run['error']}"
        return

    parts = [
        run["phase"] or "phase unknown",
        run["merged"],
        run["percentiles"],
        _with_unit(run["throughput_ops_s"], "ops/s"),
    ]
    yield f"merged run {number}: " + ", ".join(filter(None, parts))
    yield from _operations(run["operations"])
    for warning in run["warnings"]:
        yield f"  warning: {warning}"


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{_number(value)} {unit}"


def _number(value: float | None) -> str:
    """At most one decimal, thousands apart."""
    if value is None:
        return _NONE
    decimals = 1
    if float(value).is_integer() or abs(value) >= 10_000:
        decimals = 0
    return grouped(value, decimals)


def _operations(operations: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if not operations:
        return

    # The usual percentiles that anything states, else the highest of those that are stated.
    stated = set().union(*map(_percentiles, operations.values()))
    usual = [name for name in _PERCENTILES if name in stated]
    ranks = usual or sorted(stated, key=float)[-_MAX_PERCENTILES:]
    heading = ["", "count", "mean µs", "min", *(f"p{name}" for name in ranks), "max", "returns"]
    rows = [heading, *(_row(name, operation, ranks) for name, operation in operations.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *middle, last = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        yield "    " + "  ".join([first.strip().ljust(widths[0]), *middle, last.strip()]).rstrip()


def _percentiles(operation: Mapping[str, Any]) -> Mapping[str, str]:
    """By rank a number, or the bounds of one."""
    values = {name: _number(value) for name, value in operation.get("percentiles_us", {}).items()}
    for name, (low, high) in operation.get("percentiles_bounds_us", {}).items():
        bounds = f">{_number(low)}"
        if high is not None:
            bounds = f"{_number(low)}-{_number(high)}"
        values.setdefault(name, bounds)
    return values


def _row(name: str, operation: Mapping[str, Any], ranks: Sequence[str]) -> list[str]:
    percentiles = _percentiles(operation)
    count = _NONE
    if operation["count"] is not None:
        count = f"{operation['count']:,}"
    returns = ", ".join(f"{code} {number:,}" for code, number in operation.get("returns", {}).items())
    return [
        name,
        count,
        _number(operation.get("mean_us")),
        _number(operation.get("min_us")),
        *(percentiles.get(rank, _NONE) for rank in ranks),
        _number(operation.get("max_us")),
        returns,
    ]
