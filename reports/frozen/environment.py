"""What stood and what drove it, a column for each side: known-safe fields of the specification, and nothing else. Pure.

Whatever is not named here does not get into a report: no address, no path, no user, no name of a machine.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from benchsite import formatting
from reports.analysis.differences import SOURCE_SAYS
from reports.curves import ACK_SAYS, Curve
from reports.figures.table import Cell, Table
from reports.frozen.redaction import safe_settings
from runs.spec import MachineSpec, RunSpec
from runs.validity.facts import fact
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


class Side:
    """One side as it was submitted, and what its server answered."""

    def __init__(
        self, curve: Curve, spec: RunSpec, server_version: str, container: Mapping[str, object] | None = None
    ) -> None:
        self.curve, self.spec, self.server_version, self.container = curve, spec, server_version, container or {}

    @property
    def record(self) -> Mapping[str, Any]:
        return self.spec["mode"]["record"]

    def fact(self, name: str, text_of: Callable[[Any], str] = str) -> str:
        """A fact of the nodes; several values where they differ."""
        return _facts(self.spec["cluster"]["machines"], name, text_of)


def _facts(machines: Sequence[MachineSpec], name: str, text_of: Callable[[Any], str] = str) -> str:
    values = [fact(machine["facts"], name) for machine in machines]
    known = dict.fromkeys(text_of(value) for value in values if value is not None)
    return SEVERAL.join(known) or UNKNOWN


def _bytes(value: Any) -> str:
    return formatting.size(value) if isinstance(value, int | float) else str(value)


def _bits(value: Any) -> str:
    return f"{formatting.exact(value / 1e9)} Gbit/s" if isinstance(value, int | float) else str(value)


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


def _generators(name: str, text_of: Callable[[Any], str] = str) -> Callable[[Side], str]:
    return lambda side: _facts([generator["machine"] for generator in side.spec["generators"]], name, text_of)


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
    ("memory", lambda side: side.fact("memory_bytes", _bytes)),
    ("disk", lambda side: side.fact("disk")),
    ("file system", lambda side: side.fact("disk_file_system")),
    ("network", lambda side: side.fact("nic_bits_per_s", _bits)),
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
