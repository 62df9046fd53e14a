"""What owners of external servers confirm: that Benchsite may write and delete beside data that it did not load."""

from dataclasses import dataclass

from django.db import transaction

from benchsite.accounts import audit
from benchsite.accounts.models import User
from runs.catalog import System, data_target, load_catalog
from runs.models import Cluster, DataConfirmation, Provisioner, Workload
from runs.ycsb.properties import WORKLOAD_PROPERTIES


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A target of the cluster's databases, or one that only its confirmation knows any more (no `system`)."""

    target: str
    system: System | None
    confirmation: DataConfirmation | None


def find_confirmation(cluster: Cluster, target: str) -> DataConfirmation | None:
    return cluster.data_confirmations.filter(target=target).first()


def target_rows(cluster: Cluster) -> list[TargetRow]:
    """Every target into which the team's matrices could load on this cluster; none unless it is external."""
    if cluster.provisioner != Provisioner.EXTERNAL:
        return []

    default = WORKLOAD_PROPERTIES["table"].default
    tables = {
        str(table or default)
        for table in Workload.objects.filter(team=cluster.team_id).values_list("properties__table", flat=True)
    } | {str(default)}
    systems: dict[str, System] = {}
    for slug, flavour, properties in cluster.databases.values_list("system", "flavour", "binding_properties"):
        system = load_catalog().get(slug, flavour)
        if system and system.has_client:
            systems |= {data_target(system, cluster.address, properties, table): system for table in tables}

    confirmations = {
        confirmation.target: confirmation
        for confirmation in cluster.data_confirmations.select_related("confirmed_by").order_by("target")
    }

    return [
        TargetRow(target, systems.get(target), confirmations.get(target))
        for target in sorted(systems.keys() | confirmations.keys())
    ]


@transaction.atomic
def confirm(cluster: Cluster, target: str, user: User) -> None:
    """Lets Benchsite write and delete in the target. Confirming twice changes nothing."""
    _, created = DataConfirmation.objects.get_or_create(cluster=cluster, target=target, defaults={"confirmed_by": user})
    if created:
        audit.note("data_confirmed", team=cluster.team, actor=user, subject=cluster.name, text=target)


@transaction.atomic
def withdraw(confirmation: DataConfirmation, user: User) -> None:
    """Loads that have not begun need an empty target again."""
    cluster = confirmation.cluster
    confirmation.delete()
    audit.note("data_withdrawn", team=cluster.team, actor=user, subject=cluster.name, text=confirmation.target)
