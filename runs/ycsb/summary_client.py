"""One client whose run is to be merged without histograms: what follows from its statements."""

from dataclasses import dataclass, replace
from functools import cached_property

from runs.ycsb.numbers import add_known_parts
from runs.ycsb.operation import count_done
from runs.ycsb.progress import Progress, counted_so_far, get_progress
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.summary import without_steps
from runs.ycsb.summary_counts import Operations, StatedOperation, collect_operations, counts_operations


@dataclass(frozen=True)
class SummaryClient:
    number: int
    output: ReadRun
    clock_offset_s: float = 0.0  # the reference clock minus this client's
    threads: int | None = None

    @cached_property
    def progress(self) -> Progress | None:
        return get_progress(self.output.status, self.clock_offset_s)

    @cached_property
    def run(self) -> ReadRun:
        """Without the steps of its clock."""
        if self.progress is None:
            return self.output
        return without_steps(self.output, sum(step.by_s for step in self.progress.clock_steps))

    @cached_property
    def operations(self) -> Operations:
        operations = collect_operations(self.run)
        if not operations and self.run.throughput_ops_s is None and self.progress is not None:
            # It was killed before its summary: its status lines still count and add.
            return collect_operations(replace(self.run, operations=counted_so_far(self.progress)))
        return operations

    @property
    def says_something(self) -> bool:
        return bool(self.operations) or self.run.throughput_ops_s is not None or self.progress is not None

    @cached_property
    def _counting(self) -> list[StatedOperation]:
        """The operations that make up the workload, each seen from one moment only."""
        return [operation for operation in self.operations.values() if counts_operations(operation.name, self.run)]

    @cached_property
    def total(self) -> int | None:
        """Failed operations included, a read-modify-write once although its read and its update are counted too."""
        counts = [(operation.name, operation.count) for operation in self._counting if operation.count is not None]
        if counts and len(counts) == len(self._counting):
            return count_done(counts)
        if self.progress is not None:
            return int(self.progress.done[-1])
        return None

    @cached_property
    def failed(self) -> int | None:
        if not self._counting:
            return None
        return add_known_parts(operation.failed for operation in self._plain)

    @cached_property
    def ok(self) -> int | None:
        total, failed = self.total, self.failed
        if total is None or failed is None:
            return None
        return max(total - failed, 0)

    @cached_property
    def _plain(self) -> list[StatedOperation]:
        return [operation for operation in self._counting if not operation.name.is_composite]

    @property
    def ok_share(self) -> float:
        """The share of successful operations of the workload among those that the client's own throughput counts."""
        ok, total, failed = self.ok, self.total, self.failed
        if ok is None or total is None or failed is None:
            return 1.0

        counted = total
        if self.run.format.startswith("go-ycsb"):
            # Its total has no failed operation in it, and both halves of a read-modify-write.
            counted = add_known_parts(operation.ok for operation in self._plain) or 0
        elif self.run.phase == "load":
            counted = ok

        return ok / counted if counted else 1.0

    @property
    def goodput_ops_s(self) -> float | None:
        """Successful operations per second by the client's own clock."""
        if self.run.throughput_ops_s is not None:
            return self.run.throughput_ops_s * self.ok_share
        if self.ok is not None and self.run.runtime_ms:
            return self.ok * 1000.0 / self.run.runtime_ms
        if self.progress is None or self.progress.ended_s <= self.progress.started_s:
            return None
        return float(self.progress.done[-1]) / (self.progress.ended_s - self.progress.started_s) * self.ok_share

    @property
    def busy_us(self) -> float | None:
        """Only service times are time in which a thread waited for the database."""
        plain = self._plain
        if not plain or any(operation.name.kind != "service" for operation in plain):
            return None
        total = 0.0
        for operation in plain:
            for latency in (*operation.latencies, *operation.failed_latencies):
                if latency.count is None or (latency.count and latency.mean_us is None):
                    return None
                total += latency.count * (latency.mean_us or 0.0)
        return total
