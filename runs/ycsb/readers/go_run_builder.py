"""One run of go-ycsb while its lines are read."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import Final

from benchsite.core.formatting import exact
from runs.ycsb.block import Note
from runs.ycsb.merged import Phase
from runs.ycsb.messages import BEYOND_LAST_BUCKET
from runs.ycsb.numbers import whole
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.go_report_lines import ReportLine
from runs.ycsb.readers.points import Points
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.readers.totals import Reports
from runs.ycsb.redact import HIDDEN, is_secret, redact
from runs.ycsb.status import StatusLine, StatusOperation

_MAX_OPERATIONS: Final = 200
_MAX_PROPERTIES: Final = 1_000
_TOTAL: Final = "TOTAL"
_COMPOSITE: Final = "READ_MODIFY_WRITE"
_FAILED: Final = "_ERROR"
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|µs|μs|us|ns)", re.ASCII)
_NS: Final = {"h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "µs": 1000, "μs": 1000, "us": 1000, "ns": 1}
_BUCKET_US: Final = 1000.0
_NEARLY: Final = 0.98
_EXACT: Final = 0.002  # of a rate that is rounded to a decimal, and of the time of the last report
_BATCH: Final = "BATCH_"
_LAST_BUCKET_S: Final = 1.024
# What go-ycsb itself measures, and the spans of transactions that forks put around that.
KNOWN: Final = frozenset({"READ", "UPDATE", "INSERT", "SCAN", "DELETE", _COMPOSITE})
SPAN: Final = re.compile(r"(?:TXN?|TRANSACTION|START|BEGIN|COMMIT|ABORT|ROLLBACK)(?:[-_]?\w+)?", re.IGNORECASE)


def duration_ms(text: str) -> float | None:
    """A duration as Go prints it: `1m7.43s`, `151.030789ms`, `872.5µs`."""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    # Go counts whole nanoseconds, so nothing is lost before the last division.
    return float(sum(Decimal(number) * _NS[unit] for number, unit in parts)) / 1e6


class GoDraft:
    """Gathers one run."""

    def __init__(self, first_line: int) -> None:
        self.command = ""
        self.points = Points(per_second=1_000_000, times_are_starts=True)
        self.unparsed: list[Note] = []  # the first lines
        self.is_finished = False  # the client said so
        self._is_load = False  # it said that a load finished
        self.is_cut = False  # the file ends in the middle of a line
        self._first_line = first_line
        self._format: Format = "go-ycsb"
        self._runtime_ms: float | None = None
        self._properties: dict[str, str] = {}
        self._reports = Reports()
        self._report: dict[str, ReportLine] = {}  # the one at hand
        self._latest: dict[str, ReportLine] = {}
        self._final: dict[str, ReportLine] = {}
        self._notes: list[Note] = []

    @property
    def says_something(self) -> bool:
        return self.is_finished or bool(self._latest) or bool(self.points)

    @property
    def has_begun(self) -> bool:
        return self.says_something or bool(self._properties)

    def is_reported(self, operation: str) -> bool:
        """Whether the final report has it already."""
        return operation in self._final

    def is_over(self, line: ReportLine) -> bool:
        """Whether the line is of a later run: a wrapper says that a load finished below its last report."""
        if not (self._is_load and self._latest) or self._final:
            return False
        latest = self._latest.get(line.operation)
        return latest is None or line.count < latest.count

    def take_property(self, name: str, value: str) -> None:
        if len(self._properties) < _MAX_PROPERTIES:
            self._properties[name] = HIDDEN if is_secret(name) and value else redact(value)

    def stopped(self, number: int) -> None:
        self._notes.append(Note("The client was stopped by a signal before its work was done.", number))

    def finish(self, duration: str | None, *, is_load: bool = False) -> None:
        """`duration` is None where digits of it may be missing."""
        self._end_report()
        self.is_finished = True
        self._is_load |= is_load
        self._runtime_ms = None
        if duration is not None:
            self._runtime_ms = duration_ms(duration)

    def report(self, run_format: Format, line: ReportLine) -> None:
        """One operation. Reports are sorted, so one that comes again or before the last is the next report's."""
        if len(self._latest) == _MAX_OPERATIONS and line.operation not in self._latest:
            return
        self._format = run_format
        if self._report and line.operation <= next(reversed(self._report)):
            self._end_report()
        self._report[line.operation] = self._latest[line.operation] = line
        if self.is_finished:
            self._final[line.operation] = line

    def _end_report(self) -> None:
        if self._report:
            counts = {name: line.count for name, line in self._latest.items()}
            elapsed_s = max(line.takes_s for line in self._latest.values())
            self._reports.add(elapsed_s, _count_done(counts), counts)
        self._report = {}

    def done(self, last_line: int) -> ReadRun:
        if self._covers_all(self._report):
            self._end_report()  # else it broke off, and what it lacks would count as not done
        lines = self._leave_out_spans(self._final or self._latest)
        total = lines.get(_TOTAL)
        operations = _read_operations(lines)
        if _are_batches(lines):
            operations = _count_records(operations, self._batch_size)

        return ReadRun(
            format="go-ycsb-csv" if self.points else self._format,
            phase=self._phase(lines),
            runtime_ms=self._measured_ms(total),
            throughput_ops_s=self._throughput(lines, total),
            complete=self._is_complete,
            operations=operations,
            status=self._reports.lines(),
            logs=tuple(replace(log, operation=_translate_name(log.operation)) for log in self.points.logs()),
            properties=self._properties,
            command=redact(self.command),
            warnings=tuple(self._warnings(lines)),
            first_line=self._first_line,
            last_line=last_line,
        )

    @property
    def _batch_size(self) -> int:
        return whole(self._properties.get("batch.size", "")) or 1

    def _leave_out_spans(self, lines: Mapping[str, ReportLine]) -> Mapping[str, ReportLine]:
        """Without the spans of transactions, which contain operations that are counted under their own names."""
        named = {name.removesuffix(_FAILED) for name in lines} - {_TOTAL}
        if not named & KNOWN or named <= KNOWN or not any(SPAN.fullmatch(name) for name in named):
            return lines
        return {name: line for name, line in lines.items() if not SPAN.fullmatch(name.removesuffix(_FAILED))}

    def _throughput(self, lines: Mapping[str, ReportLine], total: ReportLine | None) -> float | None:
        if total is None:
            return None
        rate = total.read().rate_ops_s
        if len(lines) < len(self._final or self._latest):
            # The total has the spans in it.
            done = sum(line.count for name, line in lines.items() if name != _TOTAL and not name.endswith(_FAILED))
            rate = done / total.takes_s if total.takes_s else None
        if rate is not None and _are_batches(lines):
            return rate * self._batch_size
        return rate

    def _measured_ms(self, total: ReportLine | None) -> float | None:
        """Without the warm-up, in which nothing is measured: `takes` counts from before it, the rates from its end."""
        if total is None or self._runtime_ms is None or not total.takes_s:
            return self._runtime_ms
        rate = total.read().rate_ops_s
        if not rate:
            return self._runtime_ms
        takes_ms = total.takes_s * 1000
        is_measured = abs(total.count / total.takes_s - rate) <= _EXACT * rate
        if is_measured and takes_ms < self._runtime_ms * (1 - _EXACT) - 1000:
            return takes_ms
        return self._runtime_ms

    def _covers_all(self, report: Mapping[str, ReportLine]) -> bool:
        """Whether a report has all operations: those of earlier ones, and what its total counts.

        The lines of a report in the middle of a run are not of the same moment, so their sum may miss a little.
        """
        if report.keys() != self._latest.keys():
            return False
        total = report.get(_TOTAL)
        if total is None:
            return bool(self._reports)
        counted = 0
        for name, line in report.items():
            # The read and the update in a composite operation are counted by their own names.
            if name not in (_TOTAL, _COMPOSITE) and not name.endswith(_FAILED):
                counted += line.count
        return counted >= total.count * (1 if self.is_finished else _NEARLY)

    @property
    def _is_complete(self) -> bool:
        """Points may be in a file of their own: then that has nothing else, and what the client printed no report."""
        if self.is_cut:
            return False
        if bool(self.points) and not self._properties:
            return True
        elsewhere = "measurement.output_file" in self._properties
        if self._is_load and self._latest and not self._final:
            return True
        if self._final:
            return self.is_finished and (_TOTAL not in self._latest or self._covers_all(self._final))
        return self.is_finished and (bool(self.points) or elsewhere)

    def _phase(self, lines: Mapping[str, ReportLine]) -> Phase | None:
        """The stated phase; else `measure` where there are operations that a load never does."""
        if self._is_load:
            return "load"

        transactions = self._properties.get("dotransactions", "")
        command = {"true": "run", "false": "load"}.get(transactions) or self._properties.get("command")
        operations = {*lines, *self.points.operations} - {_TOTAL}
        if command not in ("load", "run") and any(not name.startswith("INSERT") for name in operations):
            return "measure"
        if command is None and not self.command:
            return None
        if command == "load" or (command is None and " load " in f"{self.command} "):
            return "load"
        return "measure"

    def _warnings(self, lines: Mapping[str, ReportLine]) -> list[Note]:
        notes = list(self._notes)
        if lines and not self._final and not self._is_load:
            notes.append(Note("There is no final report: the numbers are those of the last one before the end."))
        if lines and _are_buckets(lines):
            notes.append(Note("The percentiles are the upper ends of buckets of 1 ms, as go-ycsb counted until 2021."))
            notes += [Note(text) for text in _find_overflows(lines)]

        if len(lines) < len(self._final or self._latest):
            notes.append(Note("The spans of transactions contain other operations: those alone are counted."))
        if _are_batches(lines):
            notes.append(
                Note(f"Batches of {self._batch_size:,}: operations are records; latencies of batches are left out.")
            )

        if self.points.dropped:
            notes.append(Note(f"{self.points.dropped:,} points of too many different operations were left out."))
        return notes


def _count_done(counts: Mapping[str, int]) -> int:
    """Operations of the workload, failed ones included; a read-modify-write once, although its halves are counted."""
    done = 0
    for name, count in counts.items():
        if name != _TOTAL:
            done += -count if name == _COMPOSITE else count
    return done


def _are_buckets(lines: Mapping[str, ReportLine]) -> bool:
    if any(line.is_fine for line in lines.values()):
        return False
    values = list(chain.from_iterable(line.read().percentiles_us.values() for line in lines.values()))
    return bool(values) and not any(value % _BUCKET_US for value in values)


def _are_batches(lines: Mapping[str, ReportLine]) -> bool:
    return any(name.startswith(_BATCH) for name in lines)


def _count_records(operations: Mapping[str, ReadOperation], size: int) -> dict[str, ReadOperation]:
    """Batches of records under the names of their operations."""
    records = {}
    for name, batches in operations.items():
        count, rate_ops_s = batches.count, batches.rate_ops_s
        if count is not None:
            count *= size
        if rate_ops_s is not None:
            rate_ops_s *= size
        records[name.removeprefix(_BATCH)] = ReadOperation(count=count, rate_ops_s=rate_ops_s)
    return records


def _find_overflows(lines: Mapping[str, ReportLine]) -> Iterator[str]:
    """The percentiles that lie beyond the last bucket, which are printed as 0."""
    for name, line in lines.items():
        ranks = [rank for rank, value in line.read().percentiles_us.items() if not value]
        if ranks and line.count:
            percent = 100 - min(map(float, ranks))
            yield BEYOND_LAST_BUCKET.format(percent=exact(percent), operation=name, seconds=_LAST_BUCKET_S)


def _read_operations(lines: Mapping[str, ReportLine]) -> dict[str, ReadOperation]:
    operations = {name: line.read() for name, line in lines.items()}
    if not _are_buckets(lines):
        return operations
    for name, operation in operations.items():
        # A percentile beyond the last bucket was printed as 0.
        percentiles_us = {rank: value for rank, value in operation.percentiles_us.items() if value}
        operations[name] = replace(operation, percentiles_us=percentiles_us, resolution_us=_BUCKET_US, rounds_up=True)
    return operations


def _translate_name(name: str) -> str:
    """The names that logs of histograms have, so that both are merged by the same rules."""
    if name.endswith(_FAILED):
        name = name.removesuffix(_FAILED) + "-FAILED"
    return name.replace(_COMPOSITE, "READ-MODIFY-WRITE")


class LiveReports:
    """The reports of a client while it runs, each as a status line."""

    def __init__(self) -> None:
        self._report: dict[str, ReportLine] = {}
        self._counts: dict[str, int] = {}  # of the report before
        self._takes_s = 0.0

    def add(self, line: ReportLine) -> StatusLine | None:
        """The report that ended with the line before, if this line begins another.

        Counts are of the interval; latencies are of the whole measurement, as go-ycsb prints them.
        """
        status = None
        if self._report and line.operation <= next(reversed(self._report)):
            status = self._build_status()
            self._report = {}
        self._report[line.operation] = line
        return status

    def _build_status(self) -> StatusLine:
        counts = {name: line.count for name, line in self._report.items()}
        takes_s = max(line.takes_s for line in self._report.values())
        done = _count_done(counts)
        length_s = takes_s - self._takes_s
        operations = {}
        for name, line in self._report.items():
            read = line.read()
            count = line.count - self._counts.get(name, 0)
            operations[_translate_name(name)] = StatusOperation(
                count=count, max=read.max_us, avg=read.mean_us, p99=read.percentiles_us.get("99")
            )

        rate = None
        if length_s > 0:
            rate = (done - _count_done(self._counts)) / length_s
        self._counts, self._takes_s = counts, takes_s
        return StatusLine(int(takes_s), done, rate, operations)
