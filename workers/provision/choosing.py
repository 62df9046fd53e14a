"""The provisioner a cluster asks for, set up as this site's settings say."""

from django.conf import settings

from benchsite.addresses import servers_of
from workers.provision.external import ExternalProvisioner
from workers.provision.process import ProcessProvisioner, Site
from workers.provision.servers import Provisioner, ProvisionError, Wanted


def provisioner_for(kind: str, wanted: Wanted, site: Site | None = None) -> Provisioner:
    """The provisioner of a cluster of this kind. Raises ProvisionError for one that this site cannot do yet."""
    match kind:
        case "process":
            return ProcessProvisioner(wanted, site or this_site())
        case "external":
            return ExternalProvisioner(wanted, allowed_networks=settings.EXTERNAL_NETWORKS, own_servers=own_servers())
        case _:
            raise ProvisionError(f"Clusters of kind {kind} cannot be started by this site yet.")


def this_site() -> Site:
    """Where this machine keeps servers under test."""
    return Site(
        targets=settings.TARGETS_DIR,
        registry=settings.GUARDED_DIR,
        shelf=settings.PLACES.base / "programs",
        account=settings.PLACES.account,
    )


def own_servers() -> list[tuple[str, int]]:
    """Host and port of the site's own PostgreSQL and Redis, where they listen on TCP."""
    return servers_of((settings.DATABASE_URL, settings.REDIS_URL))
