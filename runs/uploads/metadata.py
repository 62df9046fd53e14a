"""What the person who uploads says about some runs: everything that their files cannot know. JSON, and pure."""

from functools import lru_cache
from typing import NotRequired, TypedDict

from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, UPLOAD_NAMES, Catalog
from runs.queue.spec import (
    SPEC_VERSION,
    ClusterSpec,
    DatasetSpec,
    MachineSpec,
    ModeSpec,
    RunSpec,
    StatedSpec,
    WorkloadSpec,
)
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import check_stated_workload, dataset

GIB = 1024**3


class StatedRun(TypedDict):
    """One run that is to be saved."""

    index: int  # among those that were recognised
    phase: str
    threads: int  # the total over all clients
    target_ops_s: int | None  # the total over all clients
    repeat: int | None  # None: the next one that is free


class Stated(TypedDict):
    """`Upload.stated`. None and empty: not known."""

    system: str  # a slug of the catalog, or "other"
    system_name: str  # of another system
    mode: str  # a mode of that system, or "unknown"
    database: str  # as it is to be called in figures
    version: str
    replication_factor: int | None
    workload: WorkloadSpec
    purpose: str
    hardware: str
    nodes: int | None
    cores: int | None  # of each node
    memory_gib: float | None  # of each node
    client_on_database_host: bool | None
    warmup_s: int
    sweep: str  # the id of an uploaded sweep to join; empty: a new one
    tags: list[str]
    notes: str
    commit: NotRequired[str]  # of the code that was measured; it is no part of the spec
    branch: NotRequired[str]
    ci_url: NotRequired[str]  # where the job is shown that made it
    session: NotRequired[str]  # the job in which it was measured; it is no part of the spec
    runner: NotRequired[str]  # the label of the machines
    runs: list[StatedRun]


def build_spec(
    stated: Stated, run: StatedRun, *, catalog: Catalog, upload_id: str, by: str, files: list[str], clients: int,
    version: str, flavour: str,
) -> RunSpec:  # fmt: skip
    """The run as it would have been submitted, as far as anybody knows. `version` and `flavour` are the client's."""
    return {
        "version": SPEC_VERSION,
        "phase": run["phase"],
        "purpose": stated["purpose"],
        "system": stated["system"],
        "system_name": system_name(stated, catalog),
        "catalog_digest": catalog.digest,
        "database": {
            "id": "",
            "name": stated["database"],
            "version": stated["version"],
            "replication_factor": stated["replication_factor"],
            "settings": {},
            "binding_properties": {},
        },
        "mode": _mode(stated, catalog),
        "workload": stated["workload"],
        "dataset": _dataset(stated["workload"]),
        "load": {"threads": run["threads"], "target_ops_s": run["target_ops_s"], "processes": clients},
        "window": {
            "warmup_s": stated["warmup_s"] if run["phase"] == "measure" else 0,
            "min_measure_s": None,
            "max_measure_s": None,
            "min_operations": 0,
        },
        "client": {"flavour": flavour, "binding": "", "digest": "", "ycsb_version": version},
        "cluster": _cluster(stated, upload_id),
        "generators": [],
        "load_policy": "",
        "resets": {},
        "priming": None,
        "stated": _said(stated, by, files),
    }


def _said(stated: Stated, by: str, files: list[str]) -> StatedSpec:
    spec: StatedSpec = {
        "by": by,
        "files": files,
        "hardware": stated["hardware"],
        "client_on_database_host": stated["client_on_database_host"],
    }
    if ci_url := stated.get("ci_url"):
        spec["ci_url"] = ci_url
    return spec


def system_name(stated: Stated, catalog: Catalog) -> str:
    if stated["system"] == OTHER_SYSTEM:
        return stated["system_name"] or UPLOAD_NAMES[OTHER_SYSTEM]
    return catalog.system(stated["system"]).name


def checked(workload: WorkloadSpec) -> dict[str, str] | None:
    """The workload's properties where they say all that a workload must, else None: what depends on them is unknown."""
    properties = _checked(tuple(workload["properties"].items()))
    return None if properties is None else dict(properties)


@lru_cache(maxsize=64)
def _checked(properties: tuple[tuple[str, str], ...]) -> dict[str, str] | None:
    """Kept, since the uploads of a pipeline state the same workload, and each asks several times."""
    try:
        return check_stated_workload(dict(properties))
    except PropertyError:
        return None


def _mode(stated: Stated, catalog: Catalog) -> ModeSpec:
    """The mode as the catalog has it. Of an unknown one there is no record, so nobody can compare by it."""
    # Which settings the server really had was not read back from it: none are claimed.
    mode: ModeSpec = {
        "slug": stated["mode"],
        "name": UPLOAD_NAMES[UNKNOWN_MODE],
        "record": {},
        "server_settings": {},
        "client_properties": {},
    }
    if stated["system"] != OTHER_SYSTEM and stated["mode"] != UNKNOWN_MODE:
        known = catalog.system(stated["system"]).mode(stated["mode"])
        mode["name"], mode["record"] = known.name, dict(known.durability.as_dict())
    return mode


def _dataset(workload: WorkloadSpec) -> DatasetSpec:
    properties = checked(workload)
    if properties is None:
        records = workload["properties"].get("recordcount", "")
        return {"records": int(records) if records.isdecimal() else None, "record_bytes": None, "fingerprint": ""}
    size = dataset(properties)
    return {"records": size.records, "record_bytes": size.record_bytes, "fingerprint": size.fingerprint}


def machine_facts(cores: int | None, memory_gib: float | None) -> dict[str, object]:
    """What somebody states of a machine, as `Machine.facts` has it."""
    facts: dict[str, object] = {}
    if cores:
        facts["cores"] = {"value": cores, "how": "stated"}
    if memory_gib:
        facts["memory_bytes"] = {"value": round(memory_gib * GIB), "how": "stated"}
    return facts


def _cluster(stated: Stated, upload_id: str) -> ClusterSpec:
    facts = machine_facts(stated["cores"], stated["memory_gib"])
    nodes = stated["nodes"] or (1 if facts else 0)
    machines: list[MachineSpec] = [
        # No machine of this site: the id only tells the nodes of this upload apart.
        {"id": f"{upload_id}/{number}", "name": f"node {number}", "facts": facts}
        for number in range(1, nodes + 1)
    ]
    return {"id": "", "name": stated.get("runner", ""), "provisioner": "", "machines": machines}
