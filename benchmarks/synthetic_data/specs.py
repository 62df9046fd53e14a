"""What a generated sweep says it submitted."""

from benchmarks.synthetic_data.plans import PlannedMatrix, PlannedSweep
from runs.models import Matrix
from runs.models.run import Phase
from runs.spec import SPEC_VERSION, RunSpec
from runs.ycsb.properties import dataset

WARMUP_S = 60
MEASURE_S = 180


def spec_of(matrix: PlannedMatrix, sweep: PlannedSweep) -> RunSpec:
    """The spec of every run of a sweep, but for the load, which is its rung's."""
    owner, database, mode = matrix.equipment, sweep.database, sweep.mode
    system = owner.systems[database.system]
    data = dataset(sweep.workload.properties)
    cluster = owner.clusters[str(database.cluster_id)]
    spec: RunSpec = {
        "version": SPEC_VERSION,
        "phase": Phase.MEASURE.value,
        "purpose": matrix.purpose,
        "system": system.slug,
        "system_name": system.name,
        "catalog_digest": "generated",
        "database": {
            "id": str(database.pk),
            "name": database.name,
            "version": database.version,
            "replication_factor": database.replication_factor,
            "settings": {},
            "binding_properties": {},
        },
        "mode": {
            "slug": mode.slug,
            "name": mode.name,
            "record": dict(mode.durability.as_dict()),
            "server_settings": dict(mode.server_settings),
            "client_properties": dict(mode.client_properties),
        },
        "workload": {
            "id": str(sweep.workload.pk),
            "name": sweep.workload.name,
            "short_name": sweep.workload.short_name,
            "properties": sweep.workload.properties,
        },
        "dataset": {"records": data.records, "record_bytes": data.record_bytes, "fingerprint": data.fingerprint},
        "load": {"threads": 0, "target_ops_s": None, "processes": 1},
        "window": {
            "warmup_s": WARMUP_S,
            "min_measure_s": MEASURE_S,
            "max_measure_s": MEASURE_S,
            "min_operations": 0,
        },
        "client": {
            "flavour": database.flavour,
            "binding": database.client or system.binding.name,
            "digest": "generated",
            "ycsb_version": "0.17.0",
        },
        "cluster": cluster,
        "generators": list(owner.generators),
        "load_policy": Matrix.LoadPolicy.LOAD.value,
        "resets": {},
        "priming": None,
    }
    if matrix.uploaded:
        stated_cluster = {**cluster, "id": "", "machines": []}
        spec |= {"cluster": stated_cluster, "generators": []}  # type: ignore[typeddict-item]
        spec["stated"] = {
            "by": owner.user.get_username(),
            "files": ["client-1.txt"],
            "hardware": "",
            "client_on_database_host": False,
        }
    return spec
