"""What rows copy of their spec, so that lists, facets and histories need not open a million specs."""

import hashlib
import json
from typing import Any, Final

from runs.catalog import Durability
from runs.checks.pairs import waits_for
from runs.checks.spec_facts import cluster_facts
from runs.queue.spec import RunSpec, list_groups

LONGEST: Final = 120  # characters; names are shorter, what an uploader states is cut


def sweep_columns(spec: RunSpec) -> dict[str, Any]:
    """The columns of `Sweep` that its first run's spec says; empty and None: nobody knows."""
    cluster = spec["cluster"]
    return {
        "database_name": spec["database"]["name"][:LONGEST],
        "version": spec["database"]["version"][:LONGEST],
        "workload_name": spec["workload"]["name"][:LONGEST],
        "cluster_name": cluster["name"][:LONGEST],
        "nodes": cluster_facts(spec).nodes,
        "durability_class": durability_class(spec["mode"]["record"]),
    }


def durability_class(record: dict[str, object]) -> str:
    """The condition that a write waits for, in words; equal for modes of the same class, empty where unknown."""
    try:
        return waits_for(Durability.from_dict(record))[:LONGEST]
    except ValueError:
        return ""


def config_key(spec: RunSpec) -> str:
    """The test that a run is one measurement of: equal for runs whose numbers make one history.

    The version, the commit, the client and the machines' facts are not in it: those are what a history is read for.
    """
    parts = [
        spec["phase"],
        spec["system"],
        spec["database"]["name"],
        spec["mode"]["slug"],
        spec["workload"]["name"],
        sorted(spec["workload"]["properties"].items()),
        spec["dataset"]["fingerprint"],
        [spec["load"][name] for name in ("threads", "target_ops_s", "processes")],
        spec["cluster"]["name"],
        len(spec["generators"]),
    ]
    open_load = spec["load"].get("open")
    if open_load:
        parts.append(open_load)
    for group in list_groups(spec):
        parts.append([
            group["name"],
            group["workload"]["properties"],
            group["load"],
            len(group["generators"]),
            group["start_s"],
            group["length_s"],
        ])  # fmt: skip

    canonical = json.dumps(parts, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]
