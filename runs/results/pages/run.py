"""The page of one run: what came out, what was asked for, what happened, as plain values for the template."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from math import inf
from typing import Any, cast

import numpy as np
from django.db.models import F, QuerySet, Value
from django.utils import timezone

from runs.checks.spec_facts import describe_groups
from runs.models import (
    Artifact,
    ClientRun,
    Finding,
    LatencyKind,
    Measurement,
    MeasurementSet,
    Phase,
    Run,
    RunEvent,
    Stage,
    Status,
)
from runs.queue.reasons import Reason
from runs.queue.remedies import remedy
from runs.queue.spec import RunSpec
from runs.results.artifacts import open_artifact
from runs.results.measures.exporters import KIND as EXPORTER_KIND
from runs.results.measures.host import COUNTERS_KIND, OWN, HostSamples
from runs.results.measures.server_use import busiest_sentence, rank_uses
from runs.results.pages.durability import durability_sentence
from runs.results.pages.recovery import applied_faults, get_overload
from runs.results.pages.window import window_panel
from runs.results.recording.arrivals import read_client_arrivals
from runs.results.recording.intervals import INTERVALS
from runs.results.recording.server_samples import read_host_samples
from runs.ycsb.arrivals import Count, sum_by_second
from runs.ycsb.redact import HIDDEN, allow_names, is_secret, redact
from runs.ycsb.summary_counts import SUCCESSES

LAST_LINES = 24
MAX_SPARK_POINTS = 90  # of the line beside a machine's CPU
HOST_COLUMNS = (*OWN, "other_cores", "steal_cores", "io_wait_cores")
STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")
SERVER_REASONS = frozenset({Reason.SERVER_DID_NOT_START, Reason.SERVER_LOST, Reason.MODE_NOT_IN_FORCE})
NOT_SHOWN = "(not shown)"
BAD_FIRST = ("reject", "warn", "info", "not_assessed", "pass")


def run_page(run: Run) -> dict[str, object]:
    """Everything the page of an ended run shows, in a constant number of queries."""
    sets = list(run.measurement_sets.select_related("created_by"))
    cut = next((entry for entry in sets if entry.is_current), None)
    measurements: list[Measurement] = []
    findings: list[Finding] = []
    overload = None
    counted = None
    if cut is None:
        counted = _count_arrivals(run)
    else:
        # Of each operation the service times before the response times.
        measurements = list(cut.measurements.order_by("operation", "-latency_kind"))
        findings = sorted(cut.findings.all(), key=lambda f: (BAD_FIRST.index(f.severity), f.check_id))
        overload = get_overload(run, cut)

    by_severity: dict[str, list[Finding]] = {severity: [] for severity in BAD_FIRST}
    for finding in findings:
        by_severity[finding.severity].append(finding)

    artifacts = tuple(
        run.artifacts.select_related("client_run__load_generator__machine").order_by("client_run__number", "kind")
    )
    has_intervals = any(artifact.kind == INTERVALS for artifact in artifacts)
    tails: list[dict[str, object]] = []
    if run.status == Status.FAILED:
        tails = _read_tails(run, artifacts)
    events = list(get_run_events(run))
    hosts = _read_hosts(run, cut, artifacts)
    clients = get_clients(run, cut)

    return {
        "cut": cut,
        "window": window_panel(run, sets, has_intervals=has_intervals),
        "measurements": measurements,
        "tiles": _list_tiles(run, measurements),
        "arrivals": _list_arrivals(cut, measurements),
        "arrival_seconds": _count_arrival_seconds(cut),
        "counted": counted,
        "groups": _list_groups(run, cut),
        "overload": overload,
        "statistics": STATISTICS,
        "has_bounds": any(line.bounds for line in measurements),
        "has_upper_bounds": any(line.upper_bounds for line in measurements),
        # Its clients left no histograms that Benchsite could merge.
        "from_summaries": run.source == Run.Source.UPLOADED and not has_intervals,
        "returns": _list_returns(measurements, clients),
        "faults": applied_faults(run),
        "findings": findings,
        "assessed": len(findings) - len(by_severity["not_assessed"]),
        **by_severity,
        # What a person should read, the worst first.
        "telling": [*by_severity["reject"], *by_severity["warn"], *by_severity["info"]],
        "overrides": [event for event in events if event.kind == "override"],
        "remedy": remedy(run.reason),
        "clients": clients,
        "hidden_values": sum(map(_count_hidden_values, clients)),
        "hosts": [_describe_host_use(host) for host in hosts],
        "servers": _describe_servers(run, hosts, artifacts),
        "readback": _list_readback(run.evidence),
        "stated_settings": _list_stated(run.evidence),
        "durability": durability_sentence(run.spec["mode"].get("record", {})),
        "events": events,
        "artifacts": artifacts,
        "tails": tails,
    }


def _list_tiles(run: Run, measurements: Iterable[Measurement]) -> list[Measurement]:
    """One measurement of each operation: with a target the response time, in which overload shows."""
    tiles: dict[str, Measurement] = {}
    for line in measurements:
        if run.target_ops_s or line.operation not in tiles:
            tiles[line.operation] = line
    return list(tiles.values())


def _count_arrival_seconds(cut: MeasurementSet | None) -> int | None:
    """In how many whole seconds of the window arrivals were counted; None of closed loads."""
    if cut is None or not cut.arrivals or not cut.arrivals["offered_ops_s"]:
        return None
    seconds: float = cut.arrivals["offered"] / cut.arrivals["offered_ops_s"]
    return round(seconds)


def _count_hidden_values(client: ClientRun) -> int:
    """A command line repeats what stands among the properties."""
    hidden_properties = sum(value == NOT_SHOWN or HIDDEN in value for _, value in client.shown_properties)
    return max(client.command_line.count(HIDDEN), hidden_properties)


def get_clients(run: Run, cut: MeasurementSet | None = None) -> list[ClientRun]:
    """The client runs, each with its share of the cut, and how many seconds after the first one it began."""
    clients = list(run.client_runs.select_related("load_generator__machine"))
    parts = []
    if cut:
        parts = cut.clients
    merged = {part.get("number"): part for part in parts}
    starts = [part["started_s"] for part in parts if part.get("started_s") is not None]
    for client in clients:
        client.merged = merged.get(client.number, {})
        started_s = client.merged.get("started_s")
        client.start_offset_s = None
        if started_s is not None:
            client.start_offset_s = started_s - min(starts)
        with allow_names(run.team.harmless_properties):
            properties = sorted(client.order.get("properties", {}).items())
            client.shown_properties = [(name, _hide(name, value)) for name, value in properties]

    return clients


def _hide(name: str, value: object) -> str:
    return NOT_SHOWN if is_secret(name) else redact(str(value))


def _read_hosts(run: Run, cut: MeasurementSet | None, artifacts: Iterable[Artifact]) -> list[HostSamples]:
    """The samples of the run's machines within its window."""
    if cut is None or cut.window_from is None or cut.window_to is None:
        return []
    try:
        hosts = read_host_samples(run, artifacts)
    except OSError:
        return []  # The list of artifacts names the files.
    begin_s, end_s = cut.window_from.timestamp(), cut.window_to.timestamp()
    windows = [host.within(begin_s, end_s) for host in hosts]
    return [window for window in windows if len(window)]


def _describe_servers(run: Run, hosts: Sequence[HostSamples], artifacts: Iterable[Artifact]) -> dict[str, object]:
    """The servers' machines: the busiest resource, and what was not sampled."""
    sampled = {host.machine for host in hosts}
    nodes = dict.fromkeys(machine["name"] for machine in run.spec["cluster"]["machines"])
    return {
        "busiest": busiest_sentence(rank_uses(hosts)),
        "missing": [name for name in nodes if name not in sampled],
        "has_counters": any(artifact.kind == COUNTERS_KIND for artifact in artifacts),
        "exporters": run.evidence.get("exporters", ()),
        "has_exporter_samples": any(artifact.kind == EXPORTER_KIND for artifact in artifacts),
    }


def _describe_host_use(host: HostSamples) -> dict[str, object]:
    """The mean use of one machine within the window; CPU in cores; None: not sampled."""
    columns = host.columns
    means = {name: host.mean(name) for name in (*HOST_COLUMNS, "cpu_pressure", "disk_busy") if name in columns}
    for owner in host.owners:
        if means.get(owner) == 0:
            del means[owner]  # They ran there: their processes are not known, and count as others.
    memory_bytes = None
    if "memory_available_bytes" in columns:
        memory_bytes = float(columns["memory_available_bytes"].min())
    busy_columns = [f"core{core}_busy" for core in range(host.cores)]
    other_cores = []
    if host.is_attributed:
        busy_columns = [*OWN, "other_cores"]
        parts = np.array_split(columns["other_cores"], min(len(host), MAX_SPARK_POINTS))
        other_cores = [float(part.max()) for part in parts]

    return {
        "host": host,
        "cpu": host.mean(*busy_columns) if busy_columns else None,
        "cpu_by_column": [means.get(name) for name in HOST_COLUMNS],
        "other_cores": other_cores,
        # The share of the time that some process waited for a core.
        "cpu_pressure": means.get("cpu_pressure"),
        "disk_busy": means.get("disk_busy"),
        "memory_available_bytes": memory_bytes,
    }


def get_run_events(run: Run) -> QuerySet[RunEvent]:
    """The events of the run, each with the time `after` its submission."""
    return run.events.annotate(after=F("at") - Value(run.created_at))


def _list_arrivals(cut: MeasurementSet | None, measurements: Iterable[Measurement]) -> list[dict[str, object]]:
    """The offered load of each operation of an open load; empty for others."""
    if cut is None or not cut.arrivals:
        return []

    p99_us = {line.operation: line.p99_us for line in measurements if line.latency_kind == LatencyKind.RESPONSE}
    rows = []
    for operation, count in cut.arrivals["operations"].items():
        row = {"operation": operation, **count}
        row["started_p99_us"] = p99_us.get(operation)
        row["offered_p99_us"] = count["offered_percentiles_us"]["99"]
        rows.append(row)
    return rows


def _count_arrivals(run: Run) -> Count | None:
    """What the clients of an open load counted until the run ended without a result; None of other loads."""
    if "open" not in run.spec["load"]:
        return None
    try:
        clients = read_client_arrivals(run.client_runs.filter(group="").prefetch_related("artifacts"))
    except OSError:  # A file that is missing or damaged is no reason to show no page.
        return None
    if not clients:
        return None
    return sum(sum_by_second(clients).values(), Count())


def _list_groups(run: Run, cut: MeasurementSet | None) -> list[dict[str, object]]:
    """The client groups beside the ladder, each with its load, its window in seconds of the run, and its findings."""
    if cut is None:
        return []

    loads = describe_groups(cast(RunSpec, run.spec))
    groups = []
    for group in cut.groups:
        window = None
        if group["from_s"] is not None and cut.window_from:
            begin_s = cut.window_from.timestamp()
            window = (round(group["from_s"] - begin_s), round(group["to_s"] - begin_s))

        complaints = [finding for finding in group["findings"] if finding["severity"] in ("reject", "warn")]
        load = loads.get(group["name"], "")
        groups.append({**group, "load": load, "window": window, "telling": complaints})

    return groups


def _list_returns(measurements: Iterable[Measurement], clients: Iterable[ClientRun]) -> list[dict[str, object]]:
    """Each return code with its share of the calls of its operation in the whole run, and the server's codes of it."""
    server_codes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    ladder = (client.facts.get("server_codes", ()) for client in clients if not client.group)
    for operation, status, server_code, count in chain.from_iterable(ladder):
        server_codes[operation, status][server_code] += count

    returns = []
    for row in measurements:
        total = sum(row.returns.values()) or 1
        # Success first, then the commonest.
        for code, count in sorted(row.returns.items(), key=lambda item: (item[0] != "OK", -item[1])):
            returns.append(
                {
                    "operation": row.operation,
                    "code": code,
                    "is_success": code in SUCCESSES,
                    "count": count,
                    "share": count / total,
                    "server_codes": server_codes[row.operation, code].most_common(),
                }
            )

    return returns


def _list_readback(evidence: Mapping[str, Any]) -> list[dict[str, object]]:
    """Settings as read back before and after; either is missing when the run ended in between.

    None: nobody asked; empty is an answer.
    """
    before, after = evidence.get("before") or {}, evidence.get("after") or {}
    expected = {**after.get("expected", {}), **before.get("expected", {})}
    first, last = before.get("found", {}), after.get("found", {})
    # The reading itself knows that 1GB and 1073741824 are the same.
    differing = {*before.get("wrong", []), *after.get("wrong", [])}

    return [
        {
            "setting": setting,
            "expected": expected.get(setting, ""),
            "before": first.get(setting),
            "after": last.get(setting),
            "ok": setting not in differing,
        }
        for setting in {**expected, **first, **last}
    ]


def _list_stated(evidence: Mapping[str, Any]) -> list[dict[str, object]]:
    """The settings that the database states, as its server said them before the run."""
    before = evidence.get("before") or {}
    return [{"name": name, **setting} for name, setting in before.get("stated", {}).items()]


def _read_tails(run: Run, artifacts: Sequence[Artifact]) -> list[dict[str, object]]:
    """The last lines of what is likeliest to say why: the server's log, or the log of the client that failed."""
    kinds = ["stderr", "stdout", "server_log"]
    if run.reason in SERVER_REASONS:
        kinds = ["server_log"]

    def rank(artifact: Artifact) -> tuple[bool, int]:
        client = artifact.client_run
        is_of_other_client = client is not None and client.state != ClientRun.State.FAILED
        return is_of_other_client, kinds.index(artifact.kind)

    logs = sorted((artifact for artifact in artifacts if artifact.kind in kinds and artifact.size), key=rank)
    tails: list[dict[str, object]] = []
    for artifact in logs[:2]:
        try:
            lines = open_artifact(artifact).decode("utf-8", errors="replace").splitlines()
        except OSError:
            continue  # The page still has the reason and the detail; the list of artifacts names the file.
        text = "\n".join(lines[-LAST_LINES:])
        tails.append({"artifact": artifact, "text": text, "cut": len(lines) > LAST_LINES})

    return tails


def estimate_run_progress(run: Run) -> dict[str, object]:
    """How far an unfinished run has come, and when it should end. `share` is of the expected time."""
    steps = _list_steps(run)
    if run.started_at is None:
        return {"steps": steps, "share": 0.0}

    elapsed_s = max((timezone.now() - run.started_at).total_seconds(), 0.0)
    left_s = run.expected_s - elapsed_s
    return {
        "steps": steps,
        "elapsed_s": elapsed_s,
        "left_s": max(left_s, 0.0) or None,
        "late": left_s <= 0,
        "ends_at": run.started_at + timedelta(seconds=run.expected_s),
        "share": min(elapsed_s / (run.expected_s or inf), 0.99),
    }


def _list_steps(run: Run) -> list[tuple[str, str]]:
    """The stages of a run's way, each done, now or ahead."""
    stages = [Stage.PROVISIONING, Stage.PREPARING, Stage.MEASURING, Stage.COLLECTING, Stage.JUDGING]
    if run.phase == Phase.LOAD:
        stages[1:3] = [Stage.LOADING]
    labels = [str(stage.label) for stage in stages]
    states = ["ahead"] * len(stages)
    if run.stage in stages:
        current = stages.index(Stage(run.stage))
        states[: current + 1] = ["done"] * current + ["now"]
    return list(zip(labels, states, strict=True))
