"""The target of a run's data set, from its spec, its cluster and what the owner of an external server confirmed."""

from typing import cast

from django.db.models import QuerySet

from runs.catalog import data_target, load_catalog
from runs.catalog.data_confirmations import find_confirmation
from runs.models import DataConfirmation, Deployment, Phase, Provisioner, Run
from runs.queue.spec import RunSpec
from runs.ycsb.keys import loaded_keys
from runs.ycsb.properties import WORKLOAD_PROPERTIES
from workers.probe.check_orders import build_key
from workers.provision.ownership import DataTarget, StatedTarget
from workers.provision.provisioner_factory import check_records, site_marks
from workers.provision.servers import Server

# Counting looks for every key of the data set: a larger one is loaded again after a crash.
MAX_COUNTED_RECORDS = 10_000_000


def deployments_of_target(deployment: Deployment) -> QuerySet[Deployment]:
    """This deployment, and on an external server all that load their data sets into the same database there."""
    pks = [deployment.pk]
    if deployment.cluster.provisioner == Provisioner.EXTERNAL:
        others = Deployment.objects.filter(cluster=deployment.cluster).select_related("database")
        pks += [other.pk for other in others if _name_database(other) == _name_database(deployment)]
    return Deployment.objects.filter(pk__in=pks)


def _name_database(deployment: Deployment) -> str:
    database = deployment.database
    system = load_catalog().system(database.system, database.flavour)
    return data_target(system, "", database.binding_properties, "")


def get_target(run: Run, server: Server) -> DataTarget | StatedTarget:
    """Where the run's data set lies on this server. On servers that Benchsite starts itself everything is its own."""
    spec = cast(RunSpec, run.spec)
    assert run.cluster is not None  # Uploads have no server.
    properties = spec["workload"]["properties"]

    def get_property(name: str) -> str:
        return str(properties.get(name, WORKLOAD_PROPERTIES[name].default))

    table, prefix = get_property("table"), get_property("fieldnameprefix")
    system = server.spec.system
    address = f"{server.host}:{server.port}"
    is_external = run.cluster.provisioner == Provisioner.EXTERNAL
    if is_external and run.cluster.address:
        address = run.cluster.address
    target = data_target(system, address, spec["database"]["binding_properties"], table)
    confirmation = None
    check_keys: list[str] = []
    if is_external:
        confirmation = find_confirmation(run.cluster, target)
        check_keys = [build_key(number) for number in check_records(run.cluster.team_id)]
    if not system.administered:
        return _build_stated_target(run, f"{system.name} at {target}", confirmation)

    administration = server.administration
    choices = f"the database's property {system.binding.endpoint.database}"
    if administration.has_tables:
        choices += " or the workload's table"
    remedy = (
        f"Empty it, choose another by {choices}, or let an admin of the team confirm on the page of the cluster "
        f"{run.cluster.name} what Benchsite may write and delete there."
    )
    return DataTarget(
        administration=administration,
        name=f"{system.name} at {target}",
        remedy=remedy,
        sites=site_marks(),
        cluster=str(run.cluster.pk),
        table=table,
        fields=[f"{prefix}{number}" for number in range(int(get_property("fieldcount")))],
        fingerprint=spec["dataset"]["fingerprint"],
        keys=loaded_keys(properties),
        confirmed=not is_external or confirmation is not None,
        check_keys=check_keys,
    )


def _build_stated_target(run: Run, name: str, confirmation: DataConfirmation | None) -> StatedTarget:
    """Records are counted by what the clients of a load inserted."""

    def note_loaded(fingerprint: str) -> None:
        if confirmation is not None:
            DataConfirmation.objects.filter(pk=confirmation.pk).update(fingerprint=fingerprint)

    inserted = None
    if run.phase == Phase.LOAD:
        inserted = sum(client.facts.get("inserted") or 0 for client in run.client_runs.all())
    loaded = None
    if confirmation is not None:
        loaded = confirmation.fingerprint

    return StatedTarget(
        name=name,
        page=f"the page of the cluster {run.cluster}",
        fingerprint=run.spec["dataset"]["fingerprint"],
        loaded=loaded,
        inserted=inserted,
        note_loaded=note_loaded,
    )
