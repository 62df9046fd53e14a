"""YCSB-cpp and YCSB-C: relatives of YCSB that print the totals of a phase and little else.

YCSB-cpp prints three lines for each phase. Its status lines count from the start of the phase, so the last one before
the totals states the latencies of every operation. YCSB-C prints how many records it loaded and one throughput.
"""

import re
from collections.abc import Mapping
from typing import Final

from runs.ycsb.merged import Phase
from runs.ycsb.numbers import finite, whole
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.readers.unparsed_lines import LineReader
from runs.ycsb.redact import redact
from runs.ycsb.status import StatusLine, StatusOperation, read_head

# Of more, every second one is dropped, which loses nothing but how closely they stand.
_MAX_REPORTS: Final = 10_000


class Reports:
    """The reports of one run, the final one among them or not, made into status lines.

    They count from the start of a client, as go-ycsb and YCSB-cpp print them.
    """

    def __init__(self) -> None:
        self._reports: list[tuple[float, int, Mapping[str, int], float | None]] = []
        self._step = 1
        self._seen = 0

    def __bool__(self) -> bool:
        return bool(self._reports)

    def add(self, elapsed_s: float, done: int, counts: Mapping[str, int], at_s: float | None = None) -> None:
        """`counts` and `done` are from the start on; `done` counts what the workload asked for."""
        if self._seen % self._step == 0:
            self._reports.append((elapsed_s, done, counts, at_s))
        self._seen += 1
        if len(self._reports) == _MAX_REPORTS:
            self._reports = self._reports[::2]
            self._step *= 2

    def lines(self) -> tuple[StatusLine, ...]:
        """With what each operation did since the report before. Their means cannot be told: they are rounded."""
        lines = []
        previous: Mapping[str, int] = {}
        for elapsed_s, done, counts, at_s in self._reports:
            operations = {}
            for name, count in counts.items():
                operations[name] = StatusOperation(count=max(count - previous.get(name, 0), 0))
            previous = counts
            lines.append(StatusLine(int(elapsed_s), done, None, operations, at_s))
        return tuple(lines)


_PHASES: Final[dict[str, Phase]] = {"Load": "load", "Loading": "load", "Run": "measure", "Transaction": "measure"}
_TOTAL: Final = re.compile(
    r"(?P<phase>Load|Run) (?P<name>runtime\(sec\)|operations\(ops\)|throughput\(ops/sec\)): *(?P<value>\S+)"
)
_OPERATION: Final = re.compile(r"\[([A-Za-z][\w-]{0,79}): (Count=[^\[\]]{1,2000})\]", re.ASCII)
_PAIR: Final = re.compile(r"(?:^|[ ,])(Count|Max|Min|Avg|\d{1,3}(?:\.\d{1,6})?)=(\S+)", re.ASCII)
_COUNTED: Final = re.compile(r"# (?P<phase>Loading|Transaction) (?:records|count):\s*(?P<value>\d{1,18})", re.ASCII)
_THROUGHPUT: Final = re.compile(r"# (?P<phase>Load|Transaction) throughput \(KTPS\):?\s*(?P<value>\S+)?")
# Totals are of all operations, whatever they were called.
_ALL: Final = "TOTAL"
_INSERT: Final = "INSERT"


class TotalsReader(LineReader):
    def __init__(self, run_format: Format) -> None:
        super().__init__()
        self._format = run_format
        self._draft = _Draft(run_format, 1)
        self._awaited: Phase | None = None  # the throughput that the next line states

    def take(self, line: bytes, number: int, *, may_be_cut: bool) -> bool:
        if not (b"):" in line or b"# " in line or b" sec: " in line or self._awaited):
            return False

        text = line.decode(errors="replace")
        awaited, self._awaited = self._awaited, None
        if self._take_total(text, number, may_be_cut=may_be_cut):
            return True
        head = read_head(line)
        if head is not None:
            status, _ = head
            self._get_draft(None, number).status(status, text, is_whole=not may_be_cut)
            return True
        if self._take_ycsb_c(text, number, may_be_cut=may_be_cut):
            return True
        columns = text.split("\t")
        if awaited is None or len(columns) < 2:
            return False
        self._get_draft(awaited, number).row(columns, is_whole=not may_be_cut)
        return True

    def _take_total(self, text: str, number: int, *, may_be_cut: bool) -> bool:
        """Whether the line is a total of YCSB-cpp."""
        total = _TOTAL.search(text)
        if total is None:
            return False
        name, _, _ = total["name"].partition("(")
        self._get_draft(_PHASES[total["phase"]], number).total(name, "" if may_be_cut else total["value"])
        return True

    def _take_ycsb_c(self, text: str, number: int, *, may_be_cut: bool) -> bool:
        """Whether the line is a count of YCSB-C, or its throughput, which may stand in the next line."""
        count, throughput = _COUNTED.search(text), _THROUGHPUT.search(text)
        if count:
            self._get_draft(_PHASES[count["phase"]], number).total("operations", "" if may_be_cut else count["value"])
        elif throughput and throughput["value"]:
            self._get_draft(_PHASES[throughput["phase"]], number).thousands("" if may_be_cut else throughput["value"])
        elif throughput:
            self._awaited = _PHASES[throughput["phase"]]
            self._get_draft(self._awaited, number)
        else:
            return False
        return True

    def run(self, last_line: int) -> ReadRun | None:
        return self._draft.done(last_line)

    def _get_draft(self, phase: Phase | None, number: int) -> "_Draft":
        """The run that a line of this phase belongs to; None is of whatever runs at the time."""
        if self._draft.is_ended or (phase is not None and self._draft.phase not in (None, phase)):
            self._end(number - 1)
            self._draft = _Draft(self._format, number)
        self._draft.phase = self._draft.phase or phase
        return self._draft


class _Draft:
    """One phase while its lines are read."""

    def __init__(self, run_format: Format, first_line: int) -> None:
        self.phase: Phase | None = None
        self._format = run_format
        self._first_line = first_line
        self._totals: dict[str, float | None] = {}
        self._count: int | None = None
        self._operations: dict[str, ReadOperation] = {}
        self._reports = Reports()
        self._properties: dict[str, str] = {}

    @property
    def is_ended(self) -> bool:
        return "throughput" in self._totals

    def total(self, name: str, value: str) -> None:
        if name == "operations":
            self._count = whole(value)
        else:
            self._totals[name] = finite(value)

    def thousands(self, value: str) -> None:
        """A throughput in thousands of operations per second."""
        number = finite(value)
        self._totals["throughput"] = None if number is None else number * 1000.0

    def row(self, columns: list[str], *, is_whole: bool) -> None:
        """The row under YCSB-C's heading: database, workload, threads and the throughput."""
        *values, throughput = columns
        for name, value in zip(("db", "workload", "threadcount"), values, strict=False):
            self._properties[name] = redact(value.strip())
        self.thousands(throughput if is_whole else "")

    def status(self, status: StatusLine, text: str, *, is_whole: bool) -> None:
        if not is_whole and not text.rstrip().endswith("]"):
            return
        counts = {}
        for name, stated in _OPERATION.findall(text):
            operation = _read_operation(dict(_PAIR.findall(stated)))
            self._operations[name] = operation
            counts[name] = operation.count or 0
        self._reports.add(status.elapsed_s, status.operations_done, counts, status.at_s)

    def done(self, last_line: int) -> ReadRun | None:
        status = self._reports.lines()
        throughput = self._totals.get("throughput")
        if not self._totals and self._count is None and not self._operations:
            return None

        operations = dict(self._operations)
        if not operations and self._count is not None:
            operations[_INSERT if self.phase == "load" else _ALL] = ReadOperation(count=self._count)
        runtime = self._totals.get("runtime")
        runtime_ms = None
        if runtime is not None:
            runtime_ms = runtime * 1000.0

        return ReadRun(
            format=self._format,
            phase=self.phase,
            runtime_ms=runtime_ms,
            throughput_ops_s=throughput,
            complete=throughput is not None or (self._format == "ycsb-c" and self.phase == "load"),
            operations=operations,
            status=status,
            properties=self._properties,
            first_line=self._first_line,
            last_line=last_line,
        )


def _read_operation(pairs: dict[str, str]) -> ReadOperation:
    numbers = {name: finite(value) for name, value in pairs.items()}
    return ReadOperation(
        count=whole(pairs["Count"]),
        mean_us=numbers.get("Avg"),
        min_us=numbers.get("Min"),
        max_us=numbers.get("Max"),
        percentiles_us={name: value for name, value in numbers.items() if value is not None and name[:1].isdigit()},
    )
