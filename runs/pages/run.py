"""The page of one run: what came out, what was asked for, what happened, as plain values for the template."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from runs.artifacts import open_artifact
from runs.catalog import Durability
from runs.measures.host import KIND, OWN, HostSamples
from runs.models import Artifact, ClientRun, Finding, Measurement, MeasurementSet, Run, RunEvent
from runs.models.result import LatencyKind
from runs.models.run import Phase, Reason, Stage, Status
from runs.pages.container import RanInContainer, container_of
from runs.pages.window import WindowPanel, window_panel
from runs.recording.intervals import INTERVALS
from runs.recording.surroundings import hosts_of
from runs.remedies import remedy
from runs.ycsb.redact import is_secret, redact

LAST_LINES = 24
HOST_COLUMNS = (*OWN, "other_cores", "steal_cores", "io_wait_cores")
STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")
SERVER_REASONS = frozenset({Reason.SERVER_DID_NOT_START, Reason.SERVER_LOST, Reason.MODE_NOT_IN_FORCE})
NOT_SHOWN = "(not shown)"
BAD_FIRST = (
    Finding.Severity.REJECT, Finding.Severity.WARN, Finding.Severity.INFO, Finding.Severity.NOT_ASSESSED,
    Finding.Severity.PASS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the current cut: its latencies by kind, and the return codes of the whole run."""

    name: str
    service: Measurement | None
    response: Measurement | None

    @property
    def main(self) -> Measurement:
        """Its service times; its response times where nothing else was measured."""
        return self.lines[0]

    @property
    def lines(self) -> list[Measurement]:
        return [line for line in (self.service, self.response) if line is not None]


@dataclass(frozen=True, slots=True)
class ReturnCode:
    operation: str
    code: str
    count: int
    share: float  # of the operation's calls in the whole run

    @property
    def is_ok(self) -> bool:
        return self.code == "OK"


@dataclass(frozen=True, slots=True)
class Client:
    """One client run with its share of the current cut."""

    row: ClientRun
    merged: Mapping[str, Any]
    start_offset_s: float | None  # after the first client's first operation

    @property
    def command(self) -> str:
        return shlex.join(self.row.command)

    @property
    def clock_offset_ms(self) -> float | None:
        return None if self.row.clock_offset_s is None else self.row.clock_offset_s * 1e3

    @property
    def properties(self) -> list[tuple[str, str]]:
        """The whole property file; what is secret is named and not shown."""
        properties = self.row.order.get("properties", {})
        return [(k, NOT_SHOWN if is_secret(k) else redact(str(v))) for k, v in sorted(properties.items())]


@dataclass(frozen=True, slots=True)
class HostUse:
    """What one machine did within the window, on average; CPU in cores."""

    machine: str
    cores: int
    cpu: tuple[float, ...]  # in all, then by HOST_COLUMNS
    other_cores: list[float]  # over time
    cpu_pressure: float | None  # share of the time that some process waited for a core
    memory_available_bytes: float | None  # the least


@dataclass(frozen=True, slots=True)
class Readback:
    """One server setting as it was expected and as the server answered."""

    setting: str
    expected: str
    before: str | None  # None: nobody asked; empty is an answer
    after: str | None
    ok: bool


@dataclass(frozen=True, slots=True)
class Tail:
    """The last lines of one artifact."""

    artifact: Artifact
    lines: tuple[str, ...]
    cut: bool

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Moment:
    """One event, and how long after the run was submitted."""

    event: RunEvent
    after_s: float


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of a run's way."""

    name: str
    state: str  # done | now | ahead


@dataclass(frozen=True, slots=True)
class RunPage:
    run: Run
    cut: MeasurementSet | None
    window: WindowPanel | None
    operations: tuple[Operation, ...]
    returns: tuple[ReturnCode, ...]
    findings: tuple[Finding, ...]
    clients: tuple[Client, ...]
    hosts: tuple[HostUse, ...]
    readback: tuple[Readback, ...]
    moments: tuple[Moment, ...]
    artifacts: tuple[Artifact, ...]
    tails: tuple[Tail, ...]

    @property
    def remedy(self) -> str:
        return remedy(self.run.reason)

    @property
    def telling(self) -> list[Finding]:
        """The findings that a person should read, the worst first."""
        return [f for f in self.findings if f.severity not in ("pass", "not_assessed")]

    @property
    def passed(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == Finding.Severity.PASS]

    @property
    def not_assessed(self) -> list[Finding]:
        """What nobody could look at, which is no pass; each message says what is missing."""
        return [f for f in self.findings if f.severity == Finding.Severity.NOT_ASSESSED]

    @property
    def override(self) -> Moment | None:
        """When and by whom a rejected run was counted."""
        if not self.run.counts_although_rejected:
            return None
        return next((m for m in reversed(self.moments) if m.event.kind == "override"), None)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The columns of the table of latencies."""
        return STATISTICS

    @property
    def from_summaries(self) -> bool:
        """Whether its clients left no histograms that Benchsite could merge."""
        return self.run.source == Run.Source.UPLOADED and not any(one.kind == INTERVALS for one in self.artifacts)

    @property
    def has_bounds(self) -> bool:
        return any(line.bounds for operation in self.operations for line in operation.lines)

    @property
    def has_upper_bounds(self) -> bool:
        return any(line.upper_bounds for operation in self.operations for line in operation.lines)

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        count = {s: sum(f.severity == s for f in self.findings) for s in Finding.Severity}
        checked = sum(count.values()) - count[Finding.Severity.NOT_ASSESSED]
        if not self.findings:
            return "No check has looked at this run."
        coverage = f"{checked} of {sum(count.values())} checks assessed"
        if rejecting := count[Finding.Severity.REJECT]:
            stands = (
                "it counts by a written reason"
                if self.run.counts_although_rejected
                else "do not compare it as it stands"
            )
            return f"{coverage}, {rejecting} reject: {stands}."
        if count[Finding.Severity.WARN]:
            return f"{coverage}, {count[Finding.Severity.WARN]} warn: read them before you quote this run."
        return f"{coverage}, none warns or rejects."

    @property
    def durability(self) -> str:
        """The mode's promise in plain words, from what was submitted."""
        try:
            return Durability.from_dict(self.run.spec["mode"]["record"]).sentence()
        except (KeyError, TypeError, ValueError):
            return ""

    @property
    def container(self) -> RanInContainer | None:
        return container_of(self.run.evidence)

    @property
    def disk(self) -> Mapping[str, Any]:
        """The write + fdatasync probe of the server's data folder; empty where nobody could probe."""
        found = self.run.evidence.get("disk")
        return found if isinstance(found, Mapping) else {}


def run_page(run: Run) -> RunPage:
    """Everything the page of an ended run shows, in a constant number of queries."""
    sets = list(run.measurement_sets.select_related("created_by"))
    cut = next((one for one in sets if one.is_current), None)
    measurements = list(cut.measurements.all()) if cut else []
    artifacts = tuple(
        run.artifacts.select_related("client_run__load_generator__machine").order_by("client_run__number", "kind")
    )
    has_intervals = any(artifact.kind == INTERVALS for artifact in artifacts)
    clients = clients_of(run, cut)
    return RunPage(
        run=run,
        cut=cut,
        window=window_panel(run, sets, has_intervals=has_intervals),
        operations=_operations(measurements),
        returns=_returns(measurements),
        findings=_findings(cut),
        clients=clients,
        hosts=_hosts(run, cut, artifacts),
        readback=_readback(run.evidence),
        moments=moments_of(run),
        artifacts=artifacts,
        tails=_tails(run, artifacts) if run.status == Status.FAILED else (),
    )


def clients_of(run: Run, cut: MeasurementSet | None = None) -> tuple[Client, ...]:
    rows = list(run.client_runs.select_related("load_generator__machine"))
    merged = {entry.get("number"): entry for entry in (cut.clients if cut else [])}
    starts = {number: entry["started_s"] for number, entry in merged.items() if entry.get("started_s") is not None}
    first = min(starts.values(), default=0.0)
    return tuple(
        Client(
            row,
            merged.get(row.number, {}),
            starts[row.number] - first if row.number in starts else None,
        )
        for row in rows
    )


def _hosts(run: Run, cut: MeasurementSet | None, artifacts: Iterable[Artifact]) -> tuple[HostUse, ...]:
    if cut is None or cut.window_from is None or cut.window_to is None:
        return ()
    try:
        hosts = hosts_of(run.spec, [artifact for artifact in artifacts if artifact.kind == KIND])
    except OSError:
        return ()  # The list of artifacts names the files.
    begin_s, end_s = cut.window_from.timestamp(), cut.window_to.timestamp()
    return tuple(_host_use(host) for host in (host.within(begin_s, end_s) for host in hosts) if len(host))


def _host_use(host: HostSamples) -> HostUse:
    return HostUse(
        machine=host.machine,
        cores=host.cores,
        cpu=tuple(host.mean(*names) for names in (HOST_COLUMNS[:-2], *((name,) for name in HOST_COLUMNS))),
        other_cores=[float(part.max()) for part in np.array_split(host.columns["other_cores"], min(len(host), 90))],
        cpu_pressure=host.mean("cpu_pressure") if "cpu_pressure" in host.columns else None,
        memory_available_bytes=(
            float(host.columns["memory_available_bytes"].min()) if "memory_available_bytes" in host.columns else None
        ),
    )


def moments_of(run: Run) -> tuple[Moment, ...]:
    return tuple(Moment(event, (event.at - run.created_at).total_seconds()) for event in run.events.all())


def _operations(measurements: Iterable[Measurement]) -> tuple[Operation, ...]:
    by_name: dict[str, dict[str, Measurement]] = defaultdict(dict)
    for one in measurements:
        by_name[one.operation][one.latency_kind] = one
    return tuple(
        Operation(name, kinds.get(LatencyKind.SERVICE), kinds.get(LatencyKind.RESPONSE))
        for name, kinds in sorted(by_name.items())
    )


def _returns(measurements: Iterable[Measurement]) -> tuple[ReturnCode, ...]:
    found = []
    for one in measurements:
        total = sum(one.returns.values())
        codes = sorted(one.returns.items(), key=lambda item: (item[0] != "OK", -item[1]))
        found += [ReturnCode(one.operation, code, count, count / total if total else 0.0) for code, count in codes]
    return tuple(found)


def _findings(cut: MeasurementSet | None) -> tuple[Finding, ...]:
    if cut is None:
        return ()
    return tuple(sorted(cut.findings.all(), key=lambda f: (BAD_FIRST.index(Finding.Severity(f.severity)), f.check_id)))


def _readback(evidence: Mapping[str, Any]) -> tuple[Readback, ...]:
    """Settings as read back before and after; either is missing when the run ended in between."""
    before, after = (evidence.get(when) or {} for when in ("before", "after"))
    expected = {**after.get("expected", {}), **before.get("expected", {})}
    answers = [reading.get("found", {}) for reading in (before, after)]
    differing = " ".join([*before.get("differences", []), *after.get("differences", [])])
    # The reading itself knows that 1GB and 1073741824 are the same; a setting is wrong where a difference names it.
    return tuple(
        Readback(
            setting=setting,
            expected=str(expected.get(setting, "")),
            before=_answer(answers[0], setting),
            after=_answer(answers[1], setting),
            ok=f"{setting} should be" not in differing,
        )
        for setting in dict.fromkeys([*expected, *answers[0], *answers[1]])
    )


def _answer(answers: Mapping[str, Any], setting: str) -> str | None:
    return str(answers[setting]) if setting in answers else None


def _tails(run: Run, artifacts: Sequence[Artifact]) -> tuple[Tail, ...]:
    """The last lines of what is likeliest to say why: the server's log, or the log of the client that failed."""
    kinds = ("server_log",) if run.reason in SERVER_REASONS else ("stderr", "stdout", "server_log")
    wanted = sorted(
        (a for a in artifacts if a.kind in kinds and a.size), key=lambda a: (_blameless(a), kinds.index(a.kind))
    )
    tails = []
    for artifact in wanted[:2]:
        try:
            lines = open_artifact(artifact).decode("utf-8", errors="replace").splitlines()
        except OSError:
            continue  # The page still has the reason and the detail; the list of artifacts names the file.
        tails.append(Tail(artifact, tuple(lines[-LAST_LINES:]), len(lines) > LAST_LINES))
    return tuple(tails)


def _blameless(artifact: Artifact) -> bool:
    client = artifact.client_run
    return client is not None and client.state != ClientRun.State.FAILED


@dataclass(frozen=True, slots=True)
class Way:
    """How far an unfinished run has come, and when it should end."""

    steps: tuple[Step, ...]
    elapsed_s: float | None
    left_s: float | None  # None before it has started, and when it is late
    ends_at: datetime | None
    share: float  # 0..1 of the expected time

    @property
    def late(self) -> bool:
        return self.elapsed_s is not None and self.left_s is None


def way_of(run: Run, now: datetime | None = None) -> Way:
    now = now or timezone.now()
    if run.started_at is None:
        return Way(_steps(run), None, None, None, 0.0)
    elapsed = max((now - run.started_at).total_seconds(), 0.0)
    left = run.expected_s - elapsed
    share = min(elapsed / run.expected_s, 0.99) if run.expected_s else 0.0
    ends_at = run.started_at + timedelta(seconds=run.expected_s)
    return Way(_steps(run), elapsed, left if left > 0 else None, ends_at, share)


def _steps(run: Run) -> tuple[Step, ...]:
    load = run.phase == Phase.LOAD
    busy = Stage.LOADING if load else Stage.MEASURING
    stages = [Stage.PROVISIONING, *([] if load else [Stage.PREPARING]), busy, Stage.COLLECTING, Stage.JUDGING]
    now = stages.index(Stage(run.stage)) if run.stage in stages else -1
    return tuple(
        Step(str(stage.label), "done" if i < now else "now" if i == now else "ahead") for i, stage in enumerate(stages)
    )
