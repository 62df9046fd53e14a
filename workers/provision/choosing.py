"""The provisioner a cluster asks for, set up as this site's settings say."""

from django.conf import settings
from django.utils.crypto import salted_hmac

from benchsite.addresses import servers_of
from workers.provision.docker import DockerProvisioner
from workers.provision.engine import ContainerSite
from workers.provision.external import ExternalProvisioner
from workers.provision.process import ProcessProvisioner, Site
from workers.provision.servers import Provisioner, ProvisionError, Wanted


def provisioner_for(kind: str, wanted: Wanted, site: Site | None = None) -> Provisioner:
    """The provisioner of a cluster of this kind. Raises ProvisionError where there is no such kind."""
    match kind:
        case "process":
            return ProcessProvisioner(wanted, site or this_site())
        case "external":
            return ExternalProvisioner(wanted, allowed_networks=settings.EXTERNAL_NETWORKS, own_servers=own_servers())
        case "docker":
            return DockerProvisioner(wanted, container_site())
        case _:
            raise ProvisionError(f"There are no clusters of kind {kind}.")


def this_site() -> Site:
    """Where this machine keeps servers under test."""
    return Site(
        targets=settings.TARGETS_DIR,
        registry=settings.GUARDED_DIR,
        shelf=settings.PLACES.base / "programs",
        account=settings.PLACES.account,
    )


def container_site() -> ContainerSite:
    """What the operator has settled about containers. The mark tells nothing of the secret it is made with."""
    return ContainerSite(
        engine=settings.DOCKER_HOST,
        mark=salted_hmac("benchsite.containers", str(settings.VAR_DIR)).hexdigest()[:12],
        network=settings.DOCKER_NETWORK,
        pull=settings.DOCKER_PULL,
        memory_bytes=settings.DOCKER_MEMORY_MB * 1024**2,
        cpus=settings.DOCKER_CPUS,
    )


def own_servers() -> list[tuple[str, int]]:
    """Host and port of the site's own PostgreSQL and Redis, where they listen on TCP."""
    return servers_of((settings.DATABASE_URL, settings.REDIS_URL))
