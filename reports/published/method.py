"""The method of a report in whole sentences, what the sides ran on, and the versions of what computed it.

The environment has known-safe fields only: no address, no path, no user, no name of a machine gets into a report.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from benchsite.core import formatting
from benchsite.core.table import Cell, Table
from reports.compare.analysis.ceiling import MIN_GAIN_PER_DOUBLING
from reports.compare.analysis.differences import SOURCE_SAYS
from reports.compare.analysis.repeat_comparison import ALGORITHM, LATENCY_THRESHOLD, THRESHOLD
from reports.compare.analysis.run_sides import YES_OR_NO, spec_value
from reports.compare.curves import ACK_SAYS, Curve
from reports.compare.figures.captions import caption, machine_sentence
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.baseline_ratios import Against
from reports.compare.pages.equal_load import EqualLoad
from reports.compare.queries.sweep_facts import Submitted
from reports.published.content import Source
from reports.published.messages import (
    APPLIED_LIMITS,
    COUNTED_BY_A_PERSON,
    EXCLUDED,
    POINT_DOES_NOT_COUNT,
    REJECTED,
    THROUGHPUT_UNKNOWN,
)
from reports.published.queries.sources import SourceRun
from reports.published.redaction import safe_settings
from runs.checks.default_thresholds import PROFILES
from runs.checks.facts import fact
from runs.checks.spec_facts import cluster_facts, describe_groups, describe_key_share, shared_machine
from runs.models import Finding
from runs.queue.spec import MachineSpec, describe_window
from runs.results.measures.sustained_load import MAX_DROPPED, SUSTAINED
from runs.ycsb import ALGORITHM_VERSION, READER_VERSION
from runs.ycsb.properties import WORKLOAD_PROPERTIES

UNKNOWN: Final = "not known"
NONE: Final = "none"
SEVERAL: Final = " / "
IMAGE: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}(?::[\w.-]{1,80})?")
DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})$")
LOADED: Final = {
    "load": "loaded once for each mode",
    "reuse": "reused where it was loaded already",
    "existing": "there already, and never written by Benchsite",
}
ARRIVALS_SAY: Final = {"poisson": "as a Poisson process", "constant": "in equal gaps"}
CEILING_RULE: Final = "ceiling by ladder 2"


Field = str | Callable[[Submitted], Cell]  # a path in the spec, or what reads the value


def _join_facts(machines: Sequence[MachineSpec], name: str, format_number: Callable[[Any], str]) -> str:
    """A fact of these machines; several values where they differ."""
    texts = []
    for machine in machines:
        value = fact(machine["facts"], name)
        if isinstance(value, int | float):
            texts.append(format_number(value))
        elif value is not None:
            texts.append(str(value))
    return SEVERAL.join(dict.fromkeys(texts))


def _node(name: str, format_number: Callable[[Any], str] = str) -> Field:
    return lambda run: _join_facts(run.spec["cluster"]["machines"], name, format_number)


def _generator(name: str) -> Field:
    return lambda run: _join_facts([generator["machine"] for generator in run.spec["generators"]], name, str)


def _settings(path: str) -> Field:
    def list_settings(run: Submitted) -> str:
        stored = spec_value(run.spec, path)
        if not stored and "stated" not in run.spec:
            return NONE
        return safe_settings(stored)

    return list_settings


def _acknowledged(path: str) -> Field:
    return lambda run: ACK_SAYS.get(str(spec_value(run.spec, path)))


def _describe_loss(run: Submitted) -> str:
    record: Mapping[str, Any] = run.spec["mode"]["record"]
    if "loss_window_s" not in record:
        return UNKNOWN
    if record["loss_window_s"] is None:
        return "without bound"
    text = f"{formatting.exact(record['loss_window_s'])} s"
    worst = record.get("worst_loss_window_s")
    if worst:
        text += f", at worst {formatting.exact(worst)} s"
    return text


def _describe_window(run: Submitted) -> str:
    window = run.spec["window"]
    return describe_window(window["min_measure_s"], window["warmup_s"], window.get("settle_s", 0))


def _describe_arrivals(run: Submitted) -> str:
    open_load = run.spec["load"].get("open")
    if not open_load:
        return ""
    return ARRIVALS_SAY[open_load["arrivals"]]


def _describe_patience(run: Submitted) -> str:
    """When an arrival is dropped that no thread took."""
    open_load = run.spec["load"].get("open")
    if not open_load:
        return ""
    if open_load["patience_ms"] is None:
        return "none is dropped"
    return f"dropped after {formatting.exact(open_load['patience_ms'])} ms"


def _list_properties(run: Submitted) -> str:
    """The workload as YCSB reads it; properties that Benchsite does not know stay away."""
    stated = run.spec["workload"]["properties"]
    return ", ".join(f"{name}={stated[name]}" for name in sorted(stated) if name in WORKLOAD_PROPERTIES)


def _read_image(run: Submitted) -> str:
    """Its name and tag; not the registry, nor the place there, which may be nobody else's business."""
    reference, _, _ = str(run.container.get("reference") or "").partition("@")
    _, _, name = reference.rpartition("/")
    if IMAGE.fullmatch(name):
        return name
    return UNKNOWN


def _sha256(key: str) -> Field:
    """The digits of a digest, which tell nothing but which image it was."""

    def digits(run: Submitted) -> str:
        match = DIGEST.search(str(run.container.get(key) or ""))
        if match:
            return match[1]
        return UNKNOWN

    return digits


FIELDS: Final[Mapping[str, Field]] = {
    "system": "system_name",
    "how it was run": lambda run: SOURCE_SAYS["uploaded" if "stated" in run.spec else "scheduled"],
    "version, as stated": "database.version",
    "version, as the server says": attrgetter("server_version"),
    "image of the container": _read_image,
    "digest of the image in its registry (SHA-256)": _sha256("digest"),
    "id of the image (SHA-256)": _sha256("image_id"),
    "durability mode": "mode.name",
    "a write is acknowledged after": _acknowledged("mode.record.ack"),
    "other copies that have answered": lambda run: str(run.spec["mode"]["record"].get("replicas_acked", UNKNOWN)),
    "those copies had done": _acknowledged("mode.record.replica_ack"),
    "a read may see": lambda run: str(run.spec["mode"]["record"].get("reads", UNKNOWN)).replace("_", " "),
    "a power failure of one node may lose": _describe_loss,
    "settings of the mode": _settings("mode.server_settings"),
    "the mode's client properties": _settings("mode.client_properties"),
    "settings of the database": _settings("database.settings"),
    "client properties": _settings("database.binding_properties"),
    "replication factor": "database.replication_factor",
    "workload": "workload.name",
    "workload properties": _list_properties,
    "records": "dataset.records",
    "bytes of a record": "dataset.record_bytes",
    "requests to the hottest 1 % of the keys": lambda run: describe_key_share(run.spec, "hottest_percent"),
    "requests to the 10 hottest keys": lambda run: describe_key_share(run.spec, "hottest_ten"),
    "operations of an open load arrive": _describe_arrivals,
    "patience": _describe_patience,
    "measured": _describe_window,
    "purpose": "purpose",
    "nodes": lambda run: cluster_facts(run.spec).nodes,
    "provisioned by": "cluster.provisioner",
    "processor": _node("cpu_model"),
    "cores": _node("cores"),
    "memory": _node("memory_bytes", formatting.size),
    "disk": _node("disk"),
    "file system": _node("disk_file_system"),
    "network": _node("nic_bits_per_s", lambda bits: f"{formatting.exact(bits / 1e9)} Gbit/s"),
    "virtualised": _node("virtualised"),
    "instance type": _node("instance_type"),
    "kernel": _node("kernel"),
    "US$ per hour and node": _node("price_per_hour"),
    "YCSB client": lambda run: f"{run.spec['client']['flavour']} {run.spec['client']['ycsb_version']}".strip(),
    "binding": "client.binding",
    "digest of the binding": lambda run: run.spec["client"]["digest"][:12],
    "load generators": lambda run: len(run.spec["generators"]) or None,
    "client processes on each": "load.processes",
    "client groups beside the ladder": lambda run: "; ".join(map(": ".join, describe_groups(run.spec).items())),
    "processor of the load generators": _generator("cpu_model"),
    "cores of the load generators": _generator("cores"),
    "clients ran on the database's machines": lambda run: YES_OR_NO[shared_machine(run.spec)],
    "the data set was": lambda run: LOADED.get(run.spec["load_policy"]),
}


def environment_table(submitted: Mapping[UUID, Submitted], labels: Mapping[UUID, str]) -> Table:
    """A row for each field that at least one side knows anything of."""
    rows = []
    for name, field in FIELDS.items():
        values = [_read_field(run, field) for run in submitted.values()]
        if any(value not in (UNKNOWN, NONE) for value in values):
            rows.append((name, *values))
    return Table(("", *(labels[sweep_id] for sweep_id in submitted)), tuple(rows))


def _read_field(run: Submitted, field: Field) -> Cell:
    value: Cell = spec_value(run.spec, field) if isinstance(field, str) else field(run)
    if value is None or value == "":
        return UNKNOWN
    return value


def method_sentences(curves: Sequence[Curve], kind: str, against: Against | None, equal: EqualLoad | None) -> list[str]:
    """How the numbers were made and what they can bear."""
    ladders = {curve.ladder for curve in curves}
    context = {
        "sides": len(curves),
        "uploaded": sum(curve.uploaded for curve in curves),
        "stated": sum(curve.mode_stated for curve in curves),
        "kind": kind,
        "has_threads": bool(ladders - {"target"}),
        "has_targets": any(curve.ladder == "target" and not curve.setup.arrivals for curve in curves),
        "open_loads": sorted({curve.setup.arrivals for curve in curves} - {""}),
        "min_gain": MIN_GAIN_PER_DOUBLING,
        "sustained": SUSTAINED,
        "max_dropped": MAX_DROPPED,
        "equal": equal,
        "against": against,
        "threshold": THRESHOLD,
        "latency_threshold": LATENCY_THRESHOLD,
        "caption": caption(curves, kind=kind),
        "machines": machine_sentence(curves),
    }
    paragraphs = plain_text("frozen/method.txt", **context).split("¶")
    return [paragraph.strip() for paragraph in paragraphs if paragraph.strip()]


def algorithms(runs: Sequence[SourceRun]) -> dict[str, str]:
    """Name -> version of everything that made these numbers; several where runs were read by several releases."""

    def list_versions(key: str, current: int) -> str:
        values = {run.cut[key] for run in runs if run.cut.get(key) is not None}
        return ", ".join(str(value) for value in sorted(values or {current}))

    return {
        "ratios and intervals": ALGORITHM,
        "ceilings": CEILING_RULE,
        "reading": list_versions("reader_version", READER_VERSION),
        "merging and checks": list_versions("algorithm_version", ALGORITHM_VERSION),
    }


def validity_table(runs: Sequence[SourceRun]) -> Table:
    """The checks: those that passed in one row for each run, each other one in a row of its own."""
    summarised = {"pass": "passed", "not_assessed": "not assessed"}
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        if not run.sha256:
            continue

        name, verdict = run.row.name, run.row.verdict
        for severity, outcome in summarised.items():
            check_ids = [finding.check_id for finding in run.findings if finding.severity == severity]
            if check_ids:
                rows.append((name, verdict, ", ".join(check_ids), outcome, "", "", ""))

        for check in run.findings:
            if check.severity not in summarised:
                limits = _applied_limits(check, run.row.purpose)
                rows.append((name, verdict, check.check_id, check.severity, check.measured, limits, check.message))
        if not run.findings:
            rows.append((name, verdict or "not judged", "", "", "", "", "no check said anything of it"))

    return Table(("run", "verdict", "check", "outcome", "measured", "threshold", "what it says"), tuple(rows))


def _applied_limits(check: Finding, purpose: str) -> str:
    """The finding's limits, with what its check says at most under the purpose."""
    severity = PROFILES[purpose].at_most.get(check.check_id)
    if severity is None:
        return check.threshold
    return APPLIED_LIMITS.format(limits=check.threshold, severity=severity, purpose=purpose)


def excluded_table(runs: Sequence[SourceRun], counted: Mapping[object, object]) -> Table:
    """Runs that are in no number here, with the reason; and those that count although a check rejects them."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        if run.row.pk not in counted:
            rows.append((run.row.name, *_explain_exclusion(run)))
        elif run.row.verdict == "reject" and run.row.verdict_override:
            rows.append((run.row.name, COUNTED_BY_A_PERSON, run.row.verdict_override))
    return Table(("run", "what became of it", "reason"), tuple(rows))


def _explain_exclusion(run: SourceRun) -> tuple[str, str]:
    """What became of the run, and the reason."""
    if run.row.status != "succeeded":
        return run.row.status, str(run.row.get_reason_display())
    if run.row.excluded_reason:
        return EXCLUDED, run.row.excluded_reason
    if run.row.verdict == "reject":
        first_rejection = next((finding.message for finding in run.findings if finding.severity == "reject"), "")
        return REJECTED, first_rejection
    if run.sha256:
        return "not counted", POINT_DOES_NOT_COUNT
    return "not counted", THROUGHPUT_UNKNOWN


def sources(runs: Sequence[SourceRun], counted: Mapping[object, object]) -> list[Source]:
    """The runs that the numbers come from."""
    return [
        {"run": str(run.row.pk), "name": run.row.name, "sha256": run.sha256} for run in runs if run.row.pk in counted
    ]
