"""The provisioner a cluster asks for, set up as this site's settings say."""

import uuid
from typing import Final

from django.conf import settings
from django.utils.crypto import salted_hmac

from benchsite.core.own_servers import allowed_networks, own_servers
from runs.ycsb.properties import MAX_INT
from workers.provision.agent_provisioner import AgentProvisioner
from workers.provision.docker_engine import ContainerSite
from workers.provision.docker_provisioner import DockerProvisioner
from workers.provision.embedded_provisioner import EmbeddedProvisioner
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.own_builds import OwnBuilds
from workers.provision.process_provisioner import ProcessProvisioner, Site
from workers.provision.servers import Provisioner, ProvisionError, ServerSpec

MAX_CHECKS_OF_TEAM: Final = 2  # of servers that somebody else runs, at once


def provisioner_for(kind: str, spec: ServerSpec, site: Site | None = None) -> Provisioner:
    """The provisioner of a cluster of this kind. Raises ProvisionError where there is no such kind."""
    match kind:
        case "process" if spec.hosts:
            return AgentProvisioner(spec)
        case "process" if spec.system.is_embedded:
            return EmbeddedProvisioner(spec, site or this_site())
        case "process":
            return ProcessProvisioner(spec, site or this_site())
        case "external":
            return ExternalProvisioner(
                spec, allowed_networks=allowed_networks(spec.networks), own_servers=own_servers()
            )
        case "docker":
            return DockerProvisioner(spec, container_site())
        case _:
            raise ProvisionError(f"There are no clusters of kind {kind}.")


def this_site() -> Site:
    """Where this machine keeps servers under test."""
    return Site(
        targets=settings.TARGETS_DIR,
        registry=settings.GUARDED_DIR,
        shelf=settings.PLACES.base / "programs",
        servers=settings.SERVERS_DIR,
        account=settings.PLACES.account,
        own_builds=own_builds(),
        disks=settings.DISKS,
    )


def own_builds() -> OwnBuilds:
    """What the operator of this machine lets teams start."""
    return OwnBuilds(
        folders=tuple(settings.OWN_BUILD_FOLDERS),
        images=tuple(settings.OWN_BUILD_IMAGES),
        repository=settings.OWN_BUILD_REPOSITORY,
    )


def container_site() -> ContainerSite:
    """What the operator has settled about containers."""
    return ContainerSite(
        engine=settings.DOCKER_HOST,
        mark=site_marks()[0],
        network=settings.DOCKER_NETWORK,
        pull=settings.DOCKER_PULL,
        memory_bytes=settings.DOCKER_MEMORY_MB * 1024**2,
        cpus=settings.DOCKER_CPUS,
        own_builds=own_builds(),
    )


def check_records(team: uuid.UUID) -> list[int]:
    """The number of the record that each check of the team writes while it runs. Nobody else can tell them, and a load
    finds what a check left that was killed.
    """
    digests = (salted_hmac("benchsite.checks", f"{team}:{slot}").digest() for slot in range(MAX_CHECKS_OF_TEAM))
    return [int.from_bytes(digest[:4]) % MAX_INT for digest in digests]


def site_marks() -> list[str]:
    """What tells this site's containers and data sets from another site's: made with today's secret key, then with
    those of before. A mark tells nothing of its key.
    """
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return [salted_hmac("benchsite.containers", str(settings.VAR_DIR), secret=key).hexdigest()[:12] for key in keys]
