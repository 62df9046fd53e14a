"""Specs of runs that are queued from now on: sign-in, names and machines of today. What was measured keeps its own."""

from collections.abc import Sequence
from typing import Any, Final, cast
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from runs.catalog import load_catalog, secret_properties
from runs.models import Cluster, Database, Phase, Run, Status, Sweep
from runs.plans.rows import build_machine_spec
from runs.queue.spec import MachineSpec, RunSpec
from runs.results.denormalised_columns import config_key, sweep_columns

REPLACED: Final = "replaced"  # kind of the event whose `new` is the matrix that measures a failed run's point anew
BATCH: Final = 500
MEASURING: Final = (Status.DISPATCHED, Status.RUNNING, Status.SUCCEEDED)


def has_result(run: Run) -> bool:
    """Whether a run of the same matrix has measured the same database in the same mode."""
    measured = Run.objects.filter(matrix=run.matrix_id, phase=Phase.MEASURE, status=Status.SUCCEEDED, mode=run.mode)
    return measured.filter(spec__database__id=run.spec["database"]["id"]).exists()


def correct_sign_in(run: Run) -> RunSpec:
    """The run's spec with the credentials of today; with TLS and database of today as well while nothing is measured,
    since later these would change what the sweep measures.
    """
    spec = cast(RunSpec, run.spec)
    stated = spec["database"]
    database = Database.objects.filter(pk=stated["id"]).first()
    system = load_catalog().get(run.system, spec["client"]["flavour"])
    if database is None or system is None:
        return spec

    endpoint = system.binding.endpoint
    names = endpoint.credentials
    if not has_result(run):
        names |= set(endpoint.sign_in.values())
    names -= set(secret_properties(system))
    properties = {name: text for name, text in stated["binding_properties"].items() if name not in names}
    properties |= {name: text for name, text in database.binding_properties.items() if name in names}
    return {**spec, "database": {**stated, "binding_properties": properties}}


def list_lasting_changes(run: Run) -> list[str]:
    """Settings and client properties of the database that were changed since the run was submitted, and that a run
    which is queued now does not take. Their names, without values.
    """
    spec = cast(RunSpec, run.spec)
    database = Database.objects.filter(pk=spec["database"]["id"]).first()
    system = load_catalog().get(run.system, spec["client"]["flavour"])
    if database is None or system is None:
        return []
    measured = correct_sign_in(run)["database"]
    changed = set[str]()
    for then, now in (
        (measured["settings"], database.settings),
        (measured["binding_properties"], database.binding_properties),
    ):
        changed |= {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}
    return sorted(changed - set(secret_properties(system)))


def correct_names(run: Run, spec: RunSpec) -> RunSpec:
    """The spec with the names and machines that its matrix measures its database under, else with those of today."""
    assert run.sweep and run.cluster
    database = run.sweep.database
    if database is None:
        return spec

    measured = _find_measured(run.matrix_id, database.pk).first()
    if measured:
        cluster = measured.spec["cluster"]
        return _rename_spec(spec, measured.spec["database"]["name"], cluster["name"], cluster["machines"])
    return _rename_spec(spec, database.name, run.cluster.name, _list_machines(run.cluster))


@transaction.atomic
def rename_queued_runs(cluster: Cluster) -> None:
    """Queued runs get the names and machines of today where their matrix has measured nothing of their database."""
    measured = _find_measured(OuterRef("matrix"), OuterRef("sweep__database"))
    queued = cluster.runs.filter(~Exists(measured), status=Status.QUEUED, sweep__database__isnull=False)
    runs = list(queued.select_related("sweep__database").select_for_update(of=("self",), no_key=True))
    machines = _list_machines(cluster)
    renamed: list[Run] = []
    sweeps = set[UUID]()
    for run in runs:
        assert run.sweep and run.sweep.database
        before = cast(RunSpec, run.spec)
        after = _rename_spec(before, run.sweep.database.name, cluster.name, machines)
        if after == before:
            continue
        if run.sweep.pk not in sweeps:
            rename_sweep(run.sweep, before, after)
            sweeps.add(run.sweep.pk)
        run.spec, run.name = after, rename(run.name, before, after)
        if run.config_key:
            run.config_key = config_key(after)
        renamed.append(run)

    Run.objects.bulk_update(renamed, ["spec", "name", "config_key"], BATCH)


def rename_sweep(sweep: Sweep, before: RunSpec, after: RunSpec) -> None:
    """Gives a sweep the names of its runs' new spec."""
    sweep.name = rename(sweep.name, before, after)
    Sweep.objects.filter(pk=sweep.pk).update(name=sweep.name, **sweep_columns(after))


def rename(name: str, before: RunSpec, after: RunSpec) -> str:
    """The name of a sweep or run, which begins with the database's where the plan has several of one system."""
    old, new = before["database"]["name"], after["database"]["name"]
    if not name.startswith(f"{old} "):
        return name
    return new + name.removeprefix(old)


def _find_measured(matrix: Any, database: Any) -> QuerySet[Run]:
    """The runs of a matrix that have measured a database, or do so now."""
    return Run.objects.filter(matrix=matrix, sweep__database=database, phase=Phase.MEASURE, status__in=MEASURING)


def _list_machines(cluster: Cluster) -> list[MachineSpec]:
    return [build_machine_spec(node.machine) for node in cluster.nodes.select_related("machine")]


def _rename_spec(spec: RunSpec, database: str, cluster: str, machines: Sequence[MachineSpec]) -> RunSpec:
    return {
        **spec,
        "database": {**spec["database"], "name": database},
        "cluster": {**spec["cluster"], "name": cluster, "machines": list(machines)},
    }
