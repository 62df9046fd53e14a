"""The lines of go-ycsb's reports: plain of every age, tables, JSON. Each is one operation, counted from the start."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from runs.ycsb.numbers import NO_MINIMUM, finite, whole
from runs.ycsb.operation import ReadOperation

# `READ   - Takes(s): 10.0, Count: 216563, ...`, from February 2018 on; `Count` came first then.
_PLAIN: Final = re.compile(
    r"(?:^|[\s|>`])(?P<operation>[A-Za-z][\w-]{0,60}) {1,40}- "
    r"(?P<stated>(?:Takes\(s\): \d{1,15}(?:\.\d{1,9})?, )?Count: \d{1,18}(?:,.*|\s*$))",
    re.ASCII,
)
_PAIR: Final = re.compile(r"([\w.]{1,20}(?:\([a-z]{1,2}\))?): {0,4}([^\s,]{1,40})", re.ASCII)
_PERCENTILE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)(?:st|nd|rd|th)\((us|ms)\)", re.ASCII)
_LATENCY: Final = re.compile(r"(avg|min|max)\((us|ms)\)")
_US: Final = {"us": 1.0, "ms": 1000.0}
# The first layout of all, a block of lines: `READ:`, `Operations  : 1000`, `Avg  Lan(us): 100`.
_BLOCK_NAME: Final = re.compile(r"([A-Z][A-Z0-9_]{0,60}):", re.ASCII)
_BLOCK_ROW: Final = re.compile(
    r"([A-Z0-9][\w.]{1,15})(?: {1,4}Lan)?(\([a-z]{1,2}\))? {0,8}: {0,8}(\d\S{0,40})", re.ASCII
)
# Columns that only reports of exact histograms have.
_FINE: Final = ("50th(us)", "90th(us)")


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One operation of one report."""

    operation: str
    count: int
    takes_s: float  # since the operation was first done
    columns: Mapping[str, str]  # printed values by names in lower case

    @classmethod
    def of(cls, operation: str, columns: Mapping[str, str]) -> "ReportLine | None":
        """None where the operations are not counted."""
        count = whole(columns.get("count", ""))
        takes_s = finite(columns.get("takes(s)", ""))
        if count is None or count < 0:
            return None
        return cls(operation, count, takes_s or 0.0, columns)

    def read(self) -> ReadOperation:
        latencies: dict[str, float] = {}
        percentiles: dict[str, float] = {}
        extra: dict[str, str] = {}
        for name, text in self.columns.items():
            number = finite(text)
            latency, percentile = _LATENCY.fullmatch(name), _PERCENTILE.fullmatch(name)
            if latency and number is not None:
                statistic, unit = latency.groups()
                latencies[statistic] = number * _US[unit]
            elif percentile and number is not None:
                rank, unit = percentile.groups()
                percentiles[rank] = number * _US[unit]
            elif name not in ("count", "ops", "qps"):
                extra[name] = text

        min_us = latencies.get("min")
        if min_us is not None and min_us >= NO_MINIMUM:
            min_us = None

        return ReadOperation(
            count=self.count,
            mean_us=latencies.get("avg"),
            min_us=min_us,
            max_us=latencies.get("max"),
            percentiles_us=percentiles,
            rate_ops_s=finite(self.columns.get("ops", self.columns.get("qps", ""))),
            extra=extra,
        )

    @property
    def is_fine(self) -> bool:
        return any(name in self.columns for name in _FINE)


def plain_line(text: str, *, may_be_cut: bool = False) -> ReportLine | None:
    """A line of the plain style. Of the very last line of a file the last value may lack digits."""
    match = _PLAIN.search(text)
    if match is None:
        return None
    pairs = _PAIR.findall(match["stated"])
    if may_be_cut:
        pairs.pop()
    return ReportLine.of(match["operation"], {name.lower(): value for name, value in pairs})


def json_lines(text: str) -> tuple[ReportLine, ...]:
    """A report of the style json: an array of objects whose values are all strings."""
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        return ()

    if not isinstance(report, list):
        return ()

    lines = []
    for entry in report:
        if not isinstance(entry, dict) or not isinstance(entry.get("Operation"), str):
            continue
        columns = {str(name).lower(): str(value) for name, value in entry.items() if name != "Operation"}
        line = ReportLine.of(entry["Operation"], columns)
        if line is not None:
            lines.append(line)

    return tuple(lines)


def cells(text: str) -> list[str]:
    """The cells of a row of a table, whatever its lines are drawn with; none where the text is no row."""
    row = text.strip().replace("│", "|").replace("┃", "|")
    if len(row) < 2 or not (row.startswith("|") and row.endswith("|")):
        return []
    return [cell.strip() for cell in row[1:-1].split("|")]


def is_heading(row: Sequence[str]) -> bool:
    """Whether the row names the columns of a report."""
    names = [cell.lower() for cell in row]
    return names[:1] == ["operation"] and "count" in names


def row_line(heading: Sequence[str], row: Sequence[str]) -> ReportLine | None:
    """One row of a table under its heading; None where it is none."""
    if not row or len(row) != len(heading) or is_heading(row):
        return None
    operation, *values = row
    if not operation:
        return None
    columns = {name.lower(): value for name, value in zip(heading[1:], values, strict=True)}
    return ReportLine.of(operation, columns)


class BlockLines:
    """The reports of go-ycsb's first weeks: a line with the name, then one for each number."""

    def __init__(self) -> None:
        self._operation = ""
        self._columns: dict[str, str] = {}

    def take(self, text: str) -> bool:
        """Whether the line goes on with the block at hand, or begins one while there is none."""
        name = _BLOCK_NAME.fullmatch(text)
        if name and not self._operation:
            self._operation = name[1]
            return True

        row = None
        if self._operation:
            row = _BLOCK_ROW.fullmatch(text)
        if row is None:
            return False

        key, unit, value = row.groups(default="")
        column = key.lower() + unit
        if key.lower() == "operations":
            column = "count"
        self._columns[column] = value
        return True

    def end(self) -> ReportLine | None:
        """The block that was read, unless it was none."""
        if not self._operation:
            return None
        line = ReportLine.of(self._operation, self._columns)
        self._operation, self._columns = "", {}
        return line
