"""How clients sign in, as a database has it now, in the specs of runs that are queued from now on."""

from typing import Final, cast

from runs.catalog import load_catalog, secret_properties
from runs.models import Database, Phase, Run, Status
from runs.queue.spec import RunSpec

REPLACED: Final = "replaced"  # kind of the event whose `new` is the matrix that measures a failed run's point anew


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
