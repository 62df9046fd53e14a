"""The page of one run: what came out, what was asked for, what happened, as plain values for the template."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from django.db.models import F, QuerySet, Value
from django.utils import timezone

from benchsite.core.formatting import grouped, size
from runs.models import Artifact, ClientRun, Finding, Measurement, MeasurementSet, Run, RunEvent
from runs.models.run import Phase, Stage, Status
from runs.queue.failure_hints import remedy
from runs.queue.reasons import Reason
from runs.results.artifacts import open_artifact
from runs.results.measures.host import COUNTERS_KIND, FOREIGN, OWN, HostSamples
from runs.results.measures.server_use import busiest_sentence, rank_uses
from runs.results.pages.durability import durability_sentence
from runs.results.pages.recovery import applied_faults
from runs.results.pages.window import window_panel
from runs.results.recording.intervals import INTERVALS
from runs.results.recording.server_samples import read_host_samples
from runs.ycsb.redact import HIDDEN, allow_names, is_secret, redact

DIGITS = 12  # of an id, which is unique enough for the eye


def describe_container(evidence: Mapping[str, Any]) -> dict[str, str] | None:
    """What a page says of it; None for a server that ran in no container."""
    container = evidence.get("container")
    if not isinstance(container, Mapping) or not container.get("reference"):
        return None
    digest = str(container.get("digest") or "").partition("@")[2]
    network, memory, cpus = (container.get(name) for name in ("network", "memory_bytes", "cpus"))
    circumstances = (
        f"Docker {container.get('engine') or 'of an unknown version'}",
        "host network" if network == "host" else f"network {network}",
        f"memory limited to {size(memory)}" if memory else "no limit of memory",
        f"CPUs limited to {grouped(cpus, 2).rstrip('0').rstrip('.')}" if cpus else "no limit of CPUs",
    )
    return {
        "image": str(container["reference"]),
        # The only name of an image that always means the same one.
        "digest": digest or str(container.get("image_id") or ""),
        "digest_kind": "digest of the registry" if digest else "image id (it came from no registry)",
        "container": str(container.get("container") or "")[:DIGITS],
        "circumstances": ", ".join(circumstances),
    }


LAST_LINES = 24
HOST_COLUMNS = (*OWN, "other_cores", "steal_cores", "io_wait_cores")
STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")
SERVER_REASONS = frozenset({Reason.SERVER_DID_NOT_START, Reason.SERVER_LOST, Reason.MODE_NOT_IN_FORCE})
NOT_SHOWN = "(not shown)"
BAD_FIRST = (
    Finding.Severity.REJECT, Finding.Severity.WARN, Finding.Severity.INFO, Finding.Severity.NOT_ASSESSED,
    Finding.Severity.PASS,
)  # fmt: skip


def run_page(run: Run) -> dict[str, object]:
    """Everything the page of an ended run shows, in a constant number of queries."""
    sets = list(run.measurement_sets.select_related("created_by"))
    cut = next((entry for entry in sets if entry.is_current), None)
    # Of each operation the service times before the response times.
    measurements = list(cut.measurements.order_by("operation", "-latency_kind")) if cut else []
    artifacts = tuple(
        run.artifacts.select_related("client_run__load_generator__machine").order_by("client_run__number", "kind")
    )
    has_intervals = any(artifact.kind == INTERVALS for artifact in artifacts)
    findings = sorted(
        cut.findings.all() if cut else (), key=lambda f: (BAD_FIRST.index(Finding.Severity(f.severity)), f.check_id)
    )
    events = list(get_run_events(run))
    hosts = _hosts(run, cut, artifacts)
    overrides = [event for event in events if event.kind == "override"] if run.counts_although_rejected else []
    return {
        "cut": cut,
        "window": window_panel(run, sets, has_intervals=has_intervals),
        "measurements": measurements,
        "statistics": STATISTICS,
        "has_bounds": any(line.bounds for line in measurements),
        "has_upper_bounds": any(line.upper_bounds for line in measurements),
        # Its clients left no histograms that Benchsite could merge.
        "from_summaries": run.source == Run.Source.UPLOADED and not has_intervals,
        "returns": _returns(measurements),
        "faults": applied_faults(run),
        "findings": findings,
        "headline": _headline(run, findings),
        # What a person should read, the worst first.
        "telling": [f for f in findings if f.severity not in ("pass", "not_assessed")],
        "passed": [f for f in findings if f.severity == Finding.Severity.PASS],
        # What nobody could look at, which is no pass; each message says what is missing.
        "not_assessed": [f for f in findings if f.severity == Finding.Severity.NOT_ASSESSED],
        "override": overrides[-1] if overrides else None,
        "remedy": remedy(run.reason),
        "clients": (clients := get_clients(run, cut)),
        "hidden_values": sum(map(_hidden_values, clients)),
        "hosts": [_host_use(host) for host in hosts],
        "servers": _servers(run, hosts, artifacts),
        "readback": _readback(run.evidence),
        "durability": durability_sentence(run.spec["mode"].get("record", {})),
        "container": describe_container(run.evidence),
        "disk": run.evidence.get("disk"),  # the write + fdatasync probe of the server's data folder
        "moments": events,
        "artifacts": artifacts,
        "tails": _tails(run, artifacts) if run.status == Status.FAILED else (),
    }


def _headline(run: Run, findings: Sequence[Finding]) -> str:
    """The verdict in one sentence."""
    if not findings:
        return "No check has looked at this run."
    count = {s: sum(f.severity == s for f in findings) for s in Finding.Severity}
    coverage = f"{len(findings) - count[Finding.Severity.NOT_ASSESSED]} of {len(findings)} checks assessed"
    if rejecting := count[Finding.Severity.REJECT]:
        stands = "it counts by a written reason" if run.counts_although_rejected else "do not compare it as it stands"
        return f"{coverage}, {rejecting} reject: {stands}."
    if count[Finding.Severity.WARN]:
        return f"{coverage}, {count[Finding.Severity.WARN]} warn: read them before you quote this run."
    return f"{coverage}, none warns or rejects."


def _hidden_values(client: ClientRun) -> int:
    """A command line repeats what stands among the properties."""
    return max(
        client.command_line.count(HIDDEN),
        sum(value == NOT_SHOWN or HIDDEN in value for _, value in client.shown_properties),
    )


def get_clients(run: Run, cut: MeasurementSet | None = None) -> list[ClientRun]:
    """The client runs, each with its share of the cut, and how many seconds after the first one it began."""
    clients = list(run.client_runs.select_related("load_generator__machine"))
    merged = {entry.get("number"): entry for entry in (cut.clients if cut else [])}
    starts = {number: entry["started_s"] for number, entry in merged.items() if entry.get("started_s") is not None}
    first = min(starts.values(), default=0.0)
    for client in clients:
        client.merged = merged.get(client.number, {})
        client.start_offset_s = starts[client.number] - first if client.number in starts else None
        properties = client.order.get("properties", {})
        with allow_names(run.team.harmless_properties):
            client.shown_properties = [
                (name, NOT_SHOWN if is_secret(name) else redact(str(value)))
                for name, value in sorted(properties.items())
            ]
    return clients


def _hosts(run: Run, cut: MeasurementSet | None, artifacts: Iterable[Artifact]) -> list[HostSamples]:
    """What was sampled of the run's machines within its window."""
    if cut is None or cut.window_from is None or cut.window_to is None:
        return []
    try:
        hosts = read_host_samples(run, artifacts)
    except OSError:
        return []  # The list of artifacts names the files.
    begin_s, end_s = cut.window_from.timestamp(), cut.window_to.timestamp()
    return [host for host in (host.within(begin_s, end_s) for host in hosts) if len(host)]


def _servers(run: Run, hosts: Sequence[HostSamples], artifacts: Iterable[Artifact]) -> dict[str, object]:
    """What the page says of the servers' machines: the busiest resource, and what was not sampled."""
    sampled = {host.machine for host in hosts}
    nodes = dict.fromkeys(machine["name"] for machine in run.spec["cluster"]["machines"])
    return {
        "busiest": busiest_sentence(rank_uses(hosts)),
        "missing": [name for name in nodes if name not in sampled],
        "has_counters": any(artifact.kind == COUNTERS_KIND for artifact in artifacts),
    }


def _host_use(host: HostSamples) -> dict[str, object]:
    """What one machine did within the window, on average; CPU in cores."""
    columns = host.columns
    busy = (*OWN, FOREIGN[0]) if host.is_attributed else tuple(f"core{core}_busy" for core in range(host.cores))
    return {
        "machine": host.machine,
        "cores": host.cores,
        # In all, then by HOST_COLUMNS.
        "cpu": [
            host.mean(*busy) if busy else None,
            *(host.mean(name) if name in columns else None for name in HOST_COLUMNS),
        ],
        "other_cores": [float(part.max()) for part in np.array_split(columns["other_cores"], min(len(host), 90))]
        if host.is_attributed
        else (),
        # The share of the time that some process waited for a core.
        "cpu_pressure": host.mean("cpu_pressure") if "cpu_pressure" in columns else None,
        "disk_busy": host.mean("disk_busy") if "disk_busy" in columns else None,
        "memory_available_bytes": (
            float(columns["memory_available_bytes"].min()) if "memory_available_bytes" in columns else None
        ),
    }


def get_run_events(run: Run) -> QuerySet[RunEvent]:
    """What happened to the run, each `after` its submission."""
    return run.events.annotate(after=F("at") - Value(run.created_at))


def _returns(measurements: Iterable[Measurement]) -> list[dict[str, object]]:
    """Each return code with its share of the calls of its operation in the whole run."""
    returns = []
    for row in measurements:
        total = sum(row.returns.values())
        for code, count in sorted(row.returns.items(), key=lambda item: (item[0] != "OK", -item[1])):
            share = count / total if total else 0.0
            returns.append({"operation": row.operation, "code": code, "count": count, "share": share})
    return returns


def _readback(evidence: Mapping[str, Any]) -> list[dict[str, object]]:
    """Settings as read back before and after; either is missing when the run ended in between.

    None: nobody asked; empty is an answer.
    """
    before, after = (evidence.get(when) or {} for when in ("before", "after"))
    expected = {**after.get("expected", {}), **before.get("expected", {})}
    answers = [reading.get("found", {}) for reading in (before, after)]
    # The reading itself knows that 1GB and 1073741824 are the same.
    wrong = {*before.get("wrong", []), *after.get("wrong", [])}
    return [
        {
            "setting": setting,
            "expected": str(expected.get(setting, "")),
            "before": _answer(answers[0], setting),
            "after": _answer(answers[1], setting),
            "ok": setting not in wrong,
        }
        for setting in dict.fromkeys([*expected, *answers[0], *answers[1]])
    ]


def _answer(answers: Mapping[str, Any], setting: str) -> str | None:
    return str(answers[setting]) if setting in answers else None


def _tails(run: Run, artifacts: Sequence[Artifact]) -> list[dict[str, object]]:
    """The last lines of what is likeliest to say why: the server's log, or the log of the client that failed."""
    kinds = ("server_log",) if run.reason in SERVER_REASONS else ("stderr", "stdout", "server_log")
    wanted = [a for a in artifacts if a.kind in kinds and a.size]
    failed = ClientRun.State.FAILED
    wanted.sort(key=lambda a: (bool(a.client_run and a.client_run.state != failed), kinds.index(a.kind)))
    tails: list[dict[str, object]] = []
    for artifact in wanted[:2]:
        try:
            lines = open_artifact(artifact).decode("utf-8", errors="replace").splitlines()
        except OSError:
            continue  # The page still has the reason and the detail; the list of artifacts names the file.
        text, is_cut = "\n".join(lines[-LAST_LINES:]), len(lines) > LAST_LINES
        tails.append({"artifact": artifact, "text": text, "cut": is_cut})
    return tails


def estimate_run_progress(run: Run) -> dict[str, object]:
    """How far an unfinished run has come, and when it should end. `share` is of the expected time."""
    if run.started_at is None:
        return {"steps": _steps(run), "elapsed_s": None, "left_s": None, "late": False, "ends_at": None, "share": 0.0}
    elapsed = max((timezone.now() - run.started_at).total_seconds(), 0.0)
    left = run.expected_s - elapsed
    return {
        "steps": _steps(run),
        "elapsed_s": elapsed,
        "left_s": left if left > 0 else None,
        "late": left <= 0,
        "ends_at": run.started_at + timedelta(seconds=run.expected_s),
        "share": min(elapsed / run.expected_s, 0.99) if run.expected_s else 0.0,
    }


def _steps(run: Run) -> list[dict[str, str]]:
    """The stages of a run's way: done, now or ahead."""
    load = run.phase == Phase.LOAD
    busy = Stage.LOADING if load else Stage.MEASURING
    stages = [Stage.PROVISIONING, *([] if load else [Stage.PREPARING]), busy, Stage.COLLECTING, Stage.JUDGING]
    now = stages.index(Stage(run.stage)) if run.stage in stages else -1
    return [
        {"name": str(stage.label), "state": "done" if i < now else "now" if i == now else "ahead"}
        for i, stage in enumerate(stages)
    ]
