"""One run while its lines are read."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import numpy as np

from runs.ycsb.block import Note
from runs.ycsb.failure_symptoms import SymptomCounter
from runs.ycsb.merged import Phase
from runs.ycsb.metric import MetricDraft
from runs.ycsb.numbers import finite, ungrouped
from runs.ycsb.operation import KNOWN_OPERATIONS, ReadOperation, parse_name
from runs.ycsb.readers.completeness import Sums, compare_sums, counted, find_spans, what_breaks_off
from runs.ycsb.readers.points import Points
from runs.ycsb.readers.preamble import Preamble
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.readers.statuses import MAX_LINES, StatusTable
from runs.ycsb.readers.versions import Layout, corrected, detect_version, find_contradiction
from runs.ycsb.summary import is_process

RUNTIME: Final = "RunTime(ms)"
THROUGHPUT: Final = "Throughput(ops/sec)"
_STEP: Final = 0.05  # of the step between two statements of one run: how uneven it may be
_TELLING: Final = 3  # so many equal status lines are no accident
_MAX_METRICS: Final = 500
_MAX_COMMAS: Final = 100  # that are warned of one by one
_THUMBTACK_VERSION: Final = "0.1.4"


class RunDraft:
    """Everything of one run, in the order of its lines."""

    def __init__(self, first_line: int = 1) -> None:
        self.first_line = first_line
        self.last_line = first_line
        self.preamble = Preamble()
        self.overall: dict[str, str] = {}
        self.metrics: dict[str, MetricDraft] = {}
        self.process: dict[str, float] = {}
        self.symptoms = SymptomCounter()
        self.points = Points()
        self.is_cut = False  # its last line was
        self.is_doubled = False  # every line stands there twice
        self.has_overall_last = False
        self._statuses: list[StatusTable] = []
        self._status_count = 0
        self._is_thinned = False  # of the last status lines only one is kept
        self._notes: list[Note] = []
        self._repeated: int | None = None  # the first line that states something once more

    # --- what it has so far --------------------------------------------------------------------------------------

    @property
    def has_measurements(self) -> bool:
        """Whether a metric was stated, and not only rows as the Thumbtack lineage writes them while it runs."""
        return any(draft.keys or draft.returns for draft in self.metrics.values())

    @property
    def has_summary(self) -> bool:
        return RUNTIME in self.overall or self.has_measurements

    @property
    def has_results(self) -> bool:
        if self.overall or self._statuses or self.points:
            return True
        return any(draft.is_measured for draft in self.metrics.values())

    @property
    def has_statuses(self) -> bool:
        return bool(self._statuses)

    def has_same_statuses(self, earlier: "RunDraft") -> bool:
        """Whether this is nothing but the status lines of another one, as printed on the other stream."""
        if self.has_summary or self._status_count != earlier._status_count or self._status_count < _TELLING:
            return False
        table, earlier_table = StatusTable.joined(self._statuses), StatusTable.joined(earlier._statuses)
        if not np.array_equal(table.operations_done, earlier_table.operations_done):
            return False
        return np.array_equal(table.at_s, earlier_table.at_s, equal_nan=True)

    @property
    def is_thumbtack(self) -> bool:
        """The lineage counts retries and reconnections, and its rows have a rate."""
        if "Reconnections" in self.overall:
            return True
        return any("Retries" in draft.extra or draft.rows.rates for draft in self.metrics.values())

    @property
    def last_status(self) -> tuple[int, int, float]:
        """Elapsed seconds, operations done so far, and when it was written (NaN where it does not say so)."""
        if not self._statuses:
            return 0, 0, math.nan
        last = self._statuses[-1]
        return int(last.elapsed_s[-1]), int(last.operations_done[-1]), float(last.at_s[-1])

    def continues(self, earlier: "RunDraft", first: "RunDraft") -> bool:
        """Whether this states the run of an earlier block once more, one step later."""
        step_ms, earlier_ms, runtime_ms = first.runtime_ms, earlier.runtime_ms, self.runtime_ms
        if step_ms is None or earlier_ms is None or runtime_ms is None:
            return False
        if self.preamble or self._statuses or self.metrics.keys() != earlier.metrics.keys():
            return False
        if abs(runtime_ms - earlier_ms - step_ms) > _STEP * step_ms:
            return False
        return all(draft.includes(earlier.metrics[name]) for name, draft in self.metrics.items())

    # --- lines ---------------------------------------------------------------------------------------------------

    def take_measurement(self, metric: str, key: str, value: str, number: int) -> None:
        """One line of the summary."""
        self.last_line = number
        is_repeated = False
        if metric == "OVERALL":
            is_repeated = key in self.overall
            self.overall.setdefault(key, value)
        elif is_process(metric):
            count = finite(value)
            if count is not None and not key.lstrip(">").isdecimal():  # the rows of a histogram of it
                self.process[f"{metric} {key}"] = count
        elif metric in self.metrics or len(self.metrics) < _MAX_METRICS:
            draft = self.metrics.get(metric)
            if draft is None:
                draft = self.metrics[metric] = MetricDraft()
            is_repeated = draft.take(key, value)

        if is_repeated:
            self._repeated = self._repeated or number

    def states_otherwise(self, metric: str, key: str, value: str) -> bool:
        """Whether the line states another value of what was stated: then it is of another run."""
        if metric == "OVERALL":
            differs = key == THROUGHPUT and self.overall.get(key, value) != value
        elif metric in self.metrics:
            differs = self.metrics[metric].states_otherwise(key, value)
        else:
            stated = self.process.get(f"{metric} {key}")
            differs = stated is not None and stated != finite(value) and self.has_measurements
        return differs and not self.is_thumbtack

    def take_back(self, metric: str, key: str) -> None:
        """Forget the value of the last line, of which digits may be missing."""
        if metric == "OVERALL":
            self.overall.pop(key, None)
        elif is_process(metric):
            self.process.pop(f"{metric} {key}", None)
        elif metric in self.metrics:
            self.metrics[metric].take_back(key)

    def returns_add_up(self, metric: str) -> bool:
        """Whether a metric's return codes make up its operations, with or without those that failed."""
        draft = self.metrics.get(metric)
        if draft is None or not draft.count:
            return False
        failed = 0
        for name, other in self.metrics.items():
            parsed = parse_name(name)
            if parsed.operation == metric and parsed.status:
                failed += other.count or 0
        return sum(draft.returns.values()) in (draft.count, draft.count + failed)

    def take_statuses(self, statuses: StatusTable, last_line: int) -> None:
        self.last_line = last_line
        if self._status_count >= MAX_LINES:
            # Only how far it came is kept from here on.
            if self._is_thinned:
                self._statuses.pop()
            self._is_thinned = True
            self._statuses.append(statuses.select([len(statuses) - 1]))
        else:
            self._statuses.append(statuses)
        self._status_count += len(statuses)

    def note(self, text: str, line: int | None = None) -> None:
        self._notes.append(Note(text, line))

    def adopt(self, later: "RunDraft") -> None:
        """Take over what was written of the same run later, or in another stream."""
        self.preamble.adopt(later.preamble)
        self.overall.update(later.overall)
        self.metrics.update(later.metrics)
        self.process.update(later.process)
        self._statuses += later._statuses
        self._status_count += later._status_count
        self._notes += later._notes
        self.symptoms.adopt(later.symptoms)
        self.is_cut |= later.is_cut
        self.last_line = max(self.last_line, later.last_line)

    # --- the result ----------------------------------------------------------------------------------------------

    @property
    def runtime_ms(self) -> float | None:
        return self._overall_number(RUNTIME, is_whole=True)

    @property
    def throughput_ops_s(self) -> float | None:
        return self._overall_number(THROUGHPUT, is_whole=False)

    def done(self, run_format: Format, source: str) -> ReadRun:
        """The run as it stands; applying the exceptions of its version and saying what is doubtful."""
        runtime_ms, throughput_ops_s = self.runtime_ms, self.throughput_ops_s
        rates = [name for name, draft in self.metrics.items() if draft.take_rows_for_rates(runtime_ms)]
        is_thumbtack = self.is_thumbtack
        if is_thumbtack and run_format == "ycsb-text":
            run_format = "thumbtack"
        measured = {name: draft.done() for name, draft in self.metrics.items() if draft.is_measured}
        status = StatusTable.joined(self._statuses)
        runtime = None
        if RUNTIME in self.overall:
            runtime = ungrouped(self.overall[RUNTIME], is_whole=True)
        layout = Layout(
            self.preamble,
            self.metrics,
            runtime=runtime,
            has_gc=self._has_gc,
            is_master=status.has_median,
        )
        version = None
        version_text: str | None = self.preamble.jar or _THUMBTACK_VERSION
        if not is_thumbtack:
            version = detect_version(layout)
            version_text = str(version) if version else None
        logs = self.points.logs()
        counts = counted(measured, logs)
        properties = self.preamble.properties
        operations, sentences = corrected(measured, self.metrics, version, properties)
        spans = find_spans(operations, runtime_ms, throughput_ops_s)
        if spans:
            sentences.append(f"{', '.join(spans)} contain other operations, and the throughput counts those alone.")
            operations = {name: operation for name, operation in operations.items() if name not in spans}
            counts = {name: operation for name, operation in counts.items() if name not in spans}

        sums = compare_sums(counts, runtime_ms, throughput_ops_s)
        is_complete = self._is_complete(measured, sums)
        if rates:
            sentences.append(f"The rows of {', '.join(rates)} are operations of a second each, and no latencies.")
        self._notes = [Note(text) for text in sentences] + self._notes
        if any(operation.is_average for operation in counts.values()):
            self.note("Counts are fractions: these numbers are averages of several runs, not the output of one.")
        if is_thumbtack:
            self._note_what_is_doubtful(None, None)
        else:
            self._note_what_is_doubtful(find_contradiction(layout), sums)

        names: Iterable[str] = counts
        if status and not counts:
            names = status[-1].operations
        return ReadRun(
            format=run_format,
            phase=self.preamble.phase or detect_phase(names),
            runtime_ms=runtime_ms,
            throughput_ops_s=throughput_ops_s,
            complete=is_complete,
            version=version_text,
            operations=operations,
            status=status,
            logs=logs,
            properties=properties,
            command=self.preamble.command,
            process=self._process(),
            symptoms=self.symptoms.most_telling(),
            warnings=tuple(self._notes),
            source=source,
            first_line=self.first_line,
            last_line=self.last_line,
        )

    def _overall_number(self, key: str, *, is_whole: bool) -> float | None:
        digits = ungrouped(self.overall.get(key, ""), is_whole=is_whole)
        if digits is None:
            return None
        return finite(digits)

    @property
    def _has_gc(self) -> bool:
        return any(name.startswith("TOTAL_GC") for name in self.process)

    def _is_complete(self, measured: dict[str, ReadOperation], sums: Sums | None) -> bool:
        if self.is_cut or RUNTIME not in self.overall or THROUGHPUT not in self.overall:
            return False
        # With the totals at the end, nothing can be missing before them.
        if self.is_thumbtack or self.has_overall_last:
            return True

        broken = what_breaks_off(measured, self.metrics, is_untouched=self._has_gc)
        if broken is not None:
            self.note(broken, self.last_line)
            return False
        if sums is None or not sums.tell_of_missing:
            return True

        # People edit what they publish; what a machine wrote, or what lacks all metrics, was cut.
        return bool(measured) and not self._has_gc

    def _note_what_is_doubtful(self, contradiction: str | None, sums: Sums | None) -> None:
        if contradiction is not None:
            self.note(contradiction)
        if sums is not None and not sums.agree:
            self.note(str(sums))
        if self.has_statuses and not self.has_summary:
            elapsed_s, operations, _ = self.last_status
            self.note(
                "There is no summary: the client was killed, or its file was cut. "
                f"By its last status line it had done {operations:,} operations after {elapsed_s} s."
            )
        elif RUNTIME not in self.overall:
            self.note("The run time and the throughput of this run are missing.")

        if self._repeated is not None:
            self.note("Some values are stated more than once; the first of each counts.", self._repeated)
        if self._is_thinned:
            self.note(
                f"Only the first {MAX_LINES:,} of {self._status_count:,} status lines were kept, and the last one."
            )

        for key, value in islice(self._doubtful_commas(), _MAX_COMMAS):
            self.note(f"{key} reads {value}: its comma may part thousands or decimals, so it was left out.")

    def _doubtful_commas(self) -> Iterator[tuple[str, str]]:
        for key, value in self.overall.items():
            if key in (RUNTIME, THROUGHPUT) and "," in value and ungrouped(value, is_whole=key == RUNTIME) is None:
                yield key, value
        for name, draft in self.metrics.items():
            yield from ((f"[{name}], {key}", value) for key, value in draft.doubtful.items())

    def _process(self) -> dict[str, float]:
        """Numbers of the client itself, with the totals that only forks state."""
        process = dict(self.process)
        for key, value in self.overall.items():
            number = None
            if key not in (RUNTIME, THROUGHPUT):
                number = finite(value)
            if number is not None:
                process[f"OVERALL {key}"] = number
        return process


def detect_phase(names: Iterable[str]) -> Phase | None:
    """A load inserts and does nothing else; None where an operation is unknown, or there is none."""
    measurements = map(parse_name, names)
    done = {measurement.operation for measurement in measurements if measurement.is_operation}
    if not done or not done <= set(KNOWN_OPERATIONS):
        return None
    if done == {"INSERT"}:
        return "load"
    return "measure"
