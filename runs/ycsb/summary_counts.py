"""One client's operations as its summary states them, whatever its version counted under which name."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from runs.ycsb.numbers import added, finite
from runs.ycsb.operation import (
    OVERALL,
    VERIFY,
    LatencyKind,
    MeasurementName,
    ReadOperation,
    parse_name,
    split_collector,
)
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.stated_failures import count_failures

# Return codes of success. 0 is that of YCSB up to 0.4.
SUCCESSES: Final = frozenset({"OK", "BATCHED_OK", "0"})
_BATCHED: Final = "BATCHED_OK"
# What measurement types of two kinds print twice, the finest one first.
_FINEST_FIRST: Final = ("", "Hdr", "Raw", "Bucket")
_GO_FAILED: Final = "_ERROR"
_GO_COMPOSITE: Final = "READ_MODIFY_WRITE"
_COMPOSITE: Final = "READ-MODIFY-WRITE"
_TOTAL: Final = f"{OVERALL} "  # in front of the totals of forks among a run's numbers


@dataclass(frozen=True, slots=True)
class StatedOperation:
    """One operation of one client. `latencies` are those of its successful values."""

    name: MeasurementName
    ok: int | None
    failed: int | None
    failures: Mapping[str, int]
    returns: Mapping[str, int]
    latencies: tuple[ReadOperation, ...]
    failed_latencies: tuple[ReadOperation, ...] = ()

    @property
    def count(self) -> int | None:
        if self.ok is None or self.failed is None:
            return None
        return self.ok + self.failed


Operations = Mapping[tuple[str, LatencyKind], StatedOperation]


def interpret_name(name: str, run: ReadRun) -> MeasurementName:
    """The meaning of a printed name in this run.

    With measurement.interval=intended alone YCSB measures from the scheduled start and keeps the plain names. go-ycsb
    writes underscores.
    """
    if run.format.startswith("go-ycsb"):
        operation, status = name, ""
        if name.endswith(_GO_FAILED) and len(name) > len(_GO_FAILED):
            operation, status = name.removesuffix(_GO_FAILED), "FAILED"
        if operation == _GO_COMPOSITE:
            operation = _COMPOSITE
        return MeasurementName(operation, "service", status)

    parsed = parse_name(name)
    if is_response(run):
        return replace(parsed, kind="response")

    return parsed


def is_response(run: ReadRun) -> bool:
    """Whether the plain names of this run are response times."""
    return run.properties.get("measurement.interval", "").strip() == "intended"


def collect_operations(run: ReadRun) -> Operations:
    """The operations of the workload: neither bookkeeping nor the same values a second time."""
    drafts: dict[tuple[str, LatencyKind], _Draft] = {}
    for name, operation in _once(run.operations):
        parsed = interpret_name(name, run)
        has_values = operation.count is not None or operation.mean_us is not None or operation.percentiles_us
        if not parsed.is_operation or not has_values:
            continue
        draft = drafts.setdefault((parsed.operation, parsed.kind), _Draft(replace(parsed, status="")))
        draft.take(parsed.status, operation)
        draft.take_extra(operation.extra)
    operations: Operations = {key: draft.done() for key, draft in drafts.items()}
    return {**operations, **_collect_other_failures(run, operations)}


def _collect_other_failures(run: ReadRun, operations: Operations) -> Operations:
    """The failures that only a total states, as those of an operation of their own."""
    kind: LatencyKind = "service"
    if is_response(run):
        kind = "response"
    counted = [operation for operation in operations.values() if counts_operations(operation.name, run)]
    totals = {key.removeprefix(_TOTAL): value for key, value in run.process.items() if key.startswith(_TOTAL)}
    # In all, by the totals; and by the operations themselves.
    stated = count_failures(totals, sum(operation.ok or 0 for operation in counted))
    failed_operations = 0
    for operation in counted:
        if operation.name.operation == OVERALL:
            stated = max(stated, operation.failed or 0)
        elif not operation.name.is_composite:
            failed_operations += operation.failed or 0
    failed = max(stated - failed_operations, 0)
    if not failed and (OVERALL, kind) not in operations:
        return {}

    failures = {"FAILED": failed} if failed else {}
    name = MeasurementName(OVERALL, kind, "")
    return {(OVERALL, kind): StatedOperation(name, 0, failed, failures, returns={}, latencies=())}


def counts_operations(name: MeasurementName, run: ReadRun) -> bool:
    """Whether values under this name are operations that add up, and not the same ones seen from another moment."""
    return name.is_operation and name.kind == ("response" if is_response(run) else "service")


def printed_counts(run: ReadRun) -> dict[str, int]:
    """Counts by name, each measurement once."""
    return {name: operation.count for name, operation in _once(run.operations) if operation.count is not None}


def verification_codes(operations: Mapping[str, ReadOperation]) -> dict[str, int] | None:
    """How often each return code was given where data was verified; None where no code tells.

    A client may also measure what did not match under the name of its status.
    """
    codes: dict[str, int] = {}
    failed: dict[str, int] = {}
    for name, operation in _once(operations):
        parsed = parse_name(name)
        if parsed.operation == VERIFY and parsed.kind == "service":
            codes = added([codes, operation.returns])
            if parsed.status and operation.count:
                failed |= {parsed.status: operation.count}

    stated = sum(count for code, count in codes.items() if code not in SUCCESSES)
    if sum(failed.values()) > stated:
        codes = {code: count for code, count in codes.items() if code in SUCCESSES} | failed
    return codes or None


def _once(operations: Mapping[str, ReadOperation]) -> Iterable[tuple[str, ReadOperation]]:
    """Each measurement once, by its finest collector; what only the others have is kept with it."""
    by_name: defaultdict[str, dict[str, ReadOperation]] = defaultdict(dict)
    for name, operation in operations.items():
        collector, rest = split_collector(name)
        by_name[rest][collector] = operation

    for name, collected in by_name.items():
        finest, *others = (collected[collector] for collector in _FINEST_FIRST if collector in collected)
        for other in others:
            variance_us2 = finest.variance_us2
            if variance_us2 is None:
                variance_us2 = other.variance_us2
            finest = replace(
                finest,
                returns=finest.returns or other.returns,
                buckets=finest.buckets or other.buckets,
                series=finest.series or other.series,
                variance_us2=variance_us2,
            )
        yield name, finest


@dataclass
class _Draft:
    """One operation while its metrics are gathered."""

    name: MeasurementName
    plain: ReadOperation | None = None
    failed: dict[str, ReadOperation] = field(default_factory=dict)

    def take(self, status: str, operation: ReadOperation) -> None:
        if status:
            self.failed[status] = operation
        else:
            self.plain = operation

    def take_extra(self, extra: Mapping[str, str]) -> None:
        """Failures beside the operations of a metric, where no metric of their own counts them."""
        numbers = {key: finite(value) for key, value in extra.items()}
        totals = {key: number for key, number in numbers.items() if number is not None}
        operations = 0
        if self.plain is not None:
            operations = self.plain.count or 0
        failed = count_failures(totals, operations)
        if failed:
            self.failed.setdefault("FAILED", ReadOperation(count=failed))

    def done(self) -> StatedOperation:
        plain = self.plain or ReadOperation(count=0)
        returns = added(operation.returns for operation in (plain, *self.failed.values()))
        if self.failed:
            return self._build_split(plain, returns)

        ok, failed = plain.count, None if plain.count is None else 0
        failures = {code: count for code, count in returns.items() if code not in SUCCESSES and count}
        total_failed = sum(failures.values())
        if failures and plain.count is not None and sum(returns.values()) == plain.count:
            # Up to 0.5 failed operations are counted, and timed, with the others.
            ok, failed = plain.count - total_failed, total_failed
        elif failures and sum(returns.values()) - total_failed == plain.count:
            # Only the successful ones are counted, and what failed has no metric.
            failed = total_failed
        else:
            failures = {}
        return StatedOperation(self.name, ok, failed, failures, returns, latencies=(plain,))

    def _build_split(self, plain: ReadOperation, returns: Mapping[str, int]) -> StatedOperation:
        failures = {status: operation.count for status, operation in self.failed.items() if operation.count}
        counted = sum(failures.values())
        batched = returns.get(_BATCHED, 0)
        if batched and plain.count is not None and returns.get("OK", 0) == plain.count and batched <= counted:
            # 0.10 and 0.11 count what was accepted into a batch as failed.
            return self._build_batched(plain, returns, batched, counted - batched)

        failed_latencies = tuple(self.failed.values())
        failed: int | None = counted
        if any(operation.count is None for operation in failed_latencies):
            failed = None
        return StatedOperation(
            name=self.name,
            ok=plain.count,
            failed=failed,
            failures=failures,
            returns=returns,
            latencies=(plain,),
            failed_latencies=failed_latencies,
        )

    def _build_batched(
        self, plain: ReadOperation, returns: Mapping[str, int], batched: int, failed: int
    ) -> StatedOperation:
        """Nothing tells the latencies of what was batched and of what failed apart."""
        failures: dict[str, int] = {}
        latencies: tuple[ReadOperation, ...] = (plain, *self.failed.values())
        failed_latencies: tuple[ReadOperation, ...] = ()
        if failed:
            failures = {"FAILED": failed}
            latencies, failed_latencies = (plain,), tuple(self.failed.values())
        return StatedOperation(
            name=self.name,
            ok=(plain.count or 0) + batched,
            failed=failed,
            failures=failures,
            returns=returns,
            latencies=latencies,
            failed_latencies=failed_latencies,
        )
