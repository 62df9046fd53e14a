"""The method of a report in whole sentences, what the sides ran on, and the versions of what computed it. Pure.

The environment has known-safe fields only: no address, no path, no user, no name of a machine gets into a report.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from benchsite.core import formatting
from reports.compare.analysis.ceiling import MIN_GAIN_PER_DOUBLING
from reports.compare.analysis.differences import SOURCE_SAYS
from reports.compare.analysis.repeat_comparison import ALGORITHM, LATENCY_THRESHOLD, THRESHOLD
from reports.compare.curves import ACK_SAYS, Curve
from reports.compare.figures.captions import caption, machine_sentence
from reports.compare.figures.table import Cell, Table
from reports.compare.pages.baseline_ratios import Against
from reports.compare.pages.equal_load import EqualLoad
from reports.published.content import Source
from reports.published.queries.sources import SourceRun
from reports.published.redaction import safe_settings
from runs.checks.facts import fact
from runs.plans.spec import MachineSpec, RunSpec
from runs.results.measures.sustained_load import SUSTAINED
from runs.ycsb import ALGORITHM_VERSION, READER_VERSION
from runs.ycsb.properties import WORKLOAD_PROPERTIES

UNKNOWN: Final = "not known"
SEVERAL: Final = " / "
IMAGE: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}(?::[\w.-]{1,80})?")
DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})$")
LOADED: Final = {
    "load": "loaded once for each mode",
    "reuse": "reused where it was loaded already",
    "existing": "there already, and never written by Benchsite",
}
CEILING_RULE: Final = "ceiling by ladder 2"


class Side:
    """One side as it was submitted, and what its server answered."""

    def __init__(
        self, curve: Curve, spec: RunSpec, server_version: str, container: Mapping[str, object] | None = None
    ) -> None:
        self.curve, self.spec, self.server_version, self.container = curve, spec, server_version, container or {}

    @property
    def record(self) -> Mapping[str, Any]:
        return self.spec["mode"]["record"]

    def fact(self, name: str, get_text: Callable[[Any], str] = str) -> str:
        """A fact of the nodes; several values where they differ."""
        return _facts(self.spec["cluster"]["machines"], name, get_text)


def _facts(machines: Sequence[MachineSpec], name: str, get_text: Callable[[Any], str] = str) -> str:
    values = [fact(machine["facts"], name) for machine in machines]
    texts = (get_text(value) if isinstance(value, int | float) else str(value) for value in values if value is not None)
    known = dict.fromkeys(texts)
    return SEVERAL.join(known) or UNKNOWN


def _loss(side: Side) -> str:
    if "loss_window_s" not in side.record:
        return UNKNOWN
    window = side.record["loss_window_s"]
    worst = side.record.get("worst_loss_window_s")
    longer = f", at worst {formatting.exact(worst)} s" if worst else ""
    return "without bound" if window is None else f"{formatting.exact(window)} s{longer}"


def _window(side: Side) -> str:
    window = side.spec["window"]
    measured = window["min_measure_s"]
    return f"{'as long as it lasted' if measured is None else f'{measured} s'} after {window['warmup_s']} s of warm-up"


def _properties(side: Side) -> str:
    """The workload as YCSB reads it; properties that Benchsite does not know stay away."""
    stated = side.spec["workload"]["properties"]
    return ", ".join(f"{name}={stated[name]}" for name in sorted(stated) if name in WORKLOAD_PROPERTIES)


def _shared(side: Side) -> str:
    stated = side.spec.get("stated")
    if stated:
        known = {True: "yes", False: "no", None: UNKNOWN}
        return known[stated["client_on_database_host"]]
    hosts = {machine["id"] for machine in side.spec["cluster"]["machines"]}
    return "yes" if any(generator["machine"]["id"] in hosts for generator in side.spec["generators"]) else "no"


def _generators(name: str) -> Callable[[Side], str]:
    return lambda side: _facts([generator["machine"] for generator in side.spec["generators"]], name)


def _image(side: Side) -> str:
    """Its name and tag; not the registry, nor the place there, which may be nobody else's business."""
    name = str(side.container.get("reference") or "").partition("@")[0].rpartition("/")[2]
    return name if IMAGE.fullmatch(name) else UNKNOWN


def _sha256(key: str) -> Callable[[Side], str]:
    """The digits of a digest, which tell nothing but which image it was."""

    def digits(side: Side) -> str:
        match = DIGEST.search(str(side.container.get(key) or ""))
        return match[1] if match else UNKNOWN

    return digits


FIELDS: Final[tuple[tuple[str, Callable[[Side], Cell]], ...]] = (
    ("system", lambda side: side.spec["system_name"]),
    ("how it was run", lambda side: SOURCE_SAYS[side.curve.source]),
    ("version, as stated", lambda side: side.spec["database"]["version"] or UNKNOWN),
    ("version, as the server says", lambda side: side.server_version or UNKNOWN),
    ("image of the container", _image),
    ("digest of the image in its registry (SHA-256)", _sha256("digest")),
    ("id of the image (SHA-256)", _sha256("image_id")),
    ("durability mode", lambda side: side.spec["mode"]["name"]),
    ("a write is acknowledged after", lambda side: ACK_SAYS.get(str(side.record.get("ack")), UNKNOWN)),
    ("other copies that have answered", lambda side: str(side.record.get("replicas_acked", UNKNOWN))),
    ("those copies had done", lambda side: ACK_SAYS.get(str(side.record.get("replica_ack")), UNKNOWN)),
    ("a read may see", lambda side: str(side.record.get("reads", UNKNOWN)).replace("_", " ")),
    ("a power failure of one node may lose", _loss),
    ("settings of the mode", lambda side: safe_settings(side.spec["mode"]["server_settings"])),
    ("the mode's client properties", lambda side: safe_settings(side.spec["mode"]["client_properties"])),
    ("settings of the database", lambda side: safe_settings(side.spec["database"]["settings"])),
    ("client properties", lambda side: safe_settings(side.spec["database"]["binding_properties"])),
    ("replication factor", lambda side: side.spec["database"]["replication_factor"]),
    ("workload", lambda side: side.curve.workload),
    ("workload properties", _properties),
    ("records", lambda side: side.spec["dataset"]["records"]),
    ("bytes of a record", lambda side: side.spec["dataset"]["record_bytes"]),
    ("measured", _window),
    ("purpose", lambda side: side.spec["purpose"]),
    ("nodes", lambda side: len(side.spec["cluster"]["machines"]) or None),
    ("provisioned by", lambda side: side.spec["cluster"]["provisioner"] or UNKNOWN),
    ("processor", lambda side: side.fact("cpu_model")),
    ("cores", lambda side: side.fact("cores")),
    ("memory", lambda side: side.fact("memory_bytes", formatting.size)),
    ("disk", lambda side: side.fact("disk")),
    ("file system", lambda side: side.fact("disk_file_system")),
    ("network", lambda side: side.fact("nic_bits_per_s", lambda bits: f"{formatting.exact(bits / 1e9)} Gbit/s")),
    ("virtualised", lambda side: side.fact("virtualised")),
    ("instance type", lambda side: side.fact("instance_type")),
    ("kernel", lambda side: side.fact("kernel")),
    ("US$ per hour and node", lambda side: side.fact("price_per_hour")),
    ("YCSB client", lambda side: " ".join(side.spec["client"][name] for name in ("flavour", "ycsb_version")).strip()),
    ("binding", lambda side: side.spec["client"]["binding"] or UNKNOWN),
    ("digest of the binding", lambda side: side.spec["client"]["digest"][:12] or UNKNOWN),
    ("load generators", lambda side: len(side.spec["generators"]) or None),
    ("client processes on each", lambda side: side.spec["load"]["processes"]),
    ("processor of the load generators", _generators("cpu_model")),
    ("cores of the load generators", _generators("cores")),
    ("clients ran on the database's machines", _shared),
    ("the data set was", lambda side: LOADED.get(str(side.spec["load_policy"]), UNKNOWN)),
)  # fmt: skip


def environment_table(sides: Sequence[Side], labels: Mapping[UUID, str]) -> Table:
    """A row for each field that at least one side knows anything of."""
    rows = [
        (name, *(UNKNOWN if cell is None or cell == "" else cell for cell in map(value, sides)))
        for name, value in FIELDS
    ]
    known = [row for row in rows if any(cell not in (None, "", UNKNOWN) for cell in row[1:])]
    return Table(("", *(labels.get(side.curve.sweep_id, side.curve.label) for side in sides)), tuple(known))


def method_sentences(curves: Sequence[Curve], kind: str, against: Against | None, equal: EqualLoad | None) -> list[str]:
    """How the numbers were made and what they can bear."""
    sentences = [
        _measured(curves),
        "A point is the median of its runs; histograms of all clients of a run are merged, and percentiles are read "
        "off the merged histogram, never averaged.",
        (
            "Latency is response time, from the moment at which an operation was to start: waiting because of overload "
            "is part of it."
            if kind == "response"
            else "Latency is service time, from the call to the answer: an operation that had to wait for its turn is "
            "not charged for the wait."
        ),
        *_ceilings(curves),
    ]
    if equal:
        sentences.append(
            f"Latencies are compared at {formatting.throughput(equal.load_ops_s)}, the same work for every side, read "
            "off between the two rungs around that load."
        )
    if against:
        sentences += _ratios(against)
    sentences += [f"{caption(curves, kind=kind)}", f"{machine}." if (machine := machine_sentence(curves)) else ""]
    return [sentence for sentence in sentences if sentence]


def _measured(curves: Sequence[Curve]) -> str:
    uploaded = sum(curve.uploaded for curve in curves)
    if uploaded == len(curves):
        return (
            "The runs were made elsewhere and uploaded: what is said of their settings and machines is what their "
            "uploaders stated."
        )
    if uploaded:
        return f"Of {len(curves)} sides {uploaded} were uploaded, and are described as their uploaders stated."
    if stated := sum(curve.mode_stated for curve in curves):
        return (
            "Benchsite ran every measurement itself: it started all clients at one instant and kept their raw output. "
            f"The durability modes of {stated} of {len(curves)} sides are stated, not read back from servers."
        )
    return (
        "Benchsite ran every measurement itself: it set the durability mode, read it back from the server before and "
        "after the run, started all clients at one instant and kept their raw output."
    )


def _ceilings(curves: Sequence[Curve]) -> list[str]:
    ladders = {curve.ladder for curve in curves}
    sentences = []
    if ladders - {"target"}:
        least = formatting.percent(MIN_GAIN_PER_DOUBLING)
        sentences.append(
            "The ceiling of a ladder of threads is the mean of its repeats, each at the rungs that the other repeats "
            "put highest, with a 95 % interval that accounts for the selection; of single runs it is the highest "
            f"measured. A ladder is called saturated where its end gained less than {least} per doubling of the "
            "threads beyond the noise of the repeats, and too short where its last step grew beyond it."
        )
    if "target" in ladders:
        share = formatting.percent(SUSTAINED)
        sentences.append(
            f"The ceiling of a ladder of targets is the highest target of which {share} was achieved without a growing "
            "backlog, below the first that failed."
        )
    return sentences


def _ratios(against: Against) -> list[str]:
    noise = (
        f"The same test in another session differs on these machines by up to "
        f"{formatting.percent(against.noise_floor)}; the intervals of sides from different sessions include it."
        if against.noise_floor
        else "How much the same test differs on these machines from session to session is not known."
    )
    level = "at the level of the plan's newest look" if against.has_looks else "of 95 %"
    return [
        f"Ratios are of geometric means of the runs, in favour of a side above 1, against {against.baseline.label}; "
        f"intervals are {level} on logarithms ({against.analyses}), wider by what the rungs leave open of a ceiling or "
        "of a latency between them. What varies here: " + against.axes + ".",
        "A ratio of ceilings is exact where both ladders reach their ceiling, and a bound where only that of the "
        "slower side does; else both sides are compared at the highest number of threads that both measured.",
        f"Faster or slower is said only where the interval excludes 1, the difference is at least "
        f"{formatting.percent(THRESHOLD)} ({formatting.percent(LATENCY_THRESHOLD)} of tails), and "
        f"the sides may be compared. {against.tests} comparisons were judged together, after Holm. {noise}"
        if against.tests
        else f"No comparison here has an interval, so nothing is called faster. {noise}",
    ]


def algorithms(runs: Sequence[SourceRun]) -> dict[str, str]:
    """Name -> version of everything that made these numbers; several where runs were read by several releases."""

    def versions(values: Sequence[int | None], now: int) -> str:
        known = sorted({value for value in values if value is not None}) or [now]
        return ", ".join(str(value) for value in known)

    return {
        "ratios and intervals": ALGORITHM,
        "ceilings": CEILING_RULE,
        "reading": versions([run.cut.get("reader_version") for run in runs], READER_VERSION),
        "merging and checks": versions([run.cut.get("algorithm_version") for run in runs], ALGORITHM_VERSION),
    }


def validity_table(runs: Sequence[SourceRun]) -> Table:
    """What the checks say: those that passed in one row of a run, each other in a row of its own."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        if not run.sha256:
            continue
        quiet = {"pass": "passed", "not_assessed": "not assessed"}
        for severity, words in quiet.items():
            if same := [finding.check_id for finding in run.findings if finding.severity == severity]:
                rows.append((run.row.name, run.row.verdict, ", ".join(same), words, "", "", ""))
        rows += [
            (
                run.row.name,
                run.row.verdict,
                check.check_id,
                check.severity,
                check.measured,
                check.threshold,
                check.message,
            )
            for check in run.findings
            if check.severity not in quiet
        ]
        if not run.findings:
            rows.append((run.row.name, run.row.verdict or "not judged", "", "", "", "", "no check said anything of it"))
    return Table(("run", "verdict", "check", "outcome", "measured", "threshold", "what it says"), tuple(rows))


def excluded_table(runs: Sequence[SourceRun], counted: Mapping[object, object]) -> Table:
    """Runs that are in no number here, with the reason; and those that count although a check rejects them."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        if run.row.pk not in counted:
            rows.append((run.row.name, *_why(run)))
        elif run.row.verdict == "reject" and run.row.verdict_override:
            rows.append((run.row.name, "rejected, counts nevertheless", run.row.verdict_override))
    return Table(("run", "what became of it", "reason"), tuple(rows))


def _why(run: SourceRun) -> tuple[str, str]:
    if run.row.status != "succeeded":
        return run.row.status, str(run.row.get_reason_display())
    if run.row.excluded_reason:
        return "left out by a person", run.row.excluded_reason
    if run.row.verdict == "reject":
        worst = next((finding.message for finding in run.findings if finding.severity == "reject"), "")
        return "rejected by the checks", worst
    return "not counted", "nothing tells its throughput" if not run.sha256 else "its point does not count"


def sources(runs: Sequence[SourceRun], counted: Mapping[object, object]) -> list[Source]:
    """The runs that the numbers come from."""
    return [
        {"run": str(run.row.pk), "name": run.row.name, "sha256": run.sha256} for run in runs if run.row.pk in counted
    ]
