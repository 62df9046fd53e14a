"""Bringing up servers under test: provisioners, administration of what runs, reading modes back, probing disks."""

from benchsite.core.addresses import AddressRefused
from workers.provision.administration import (
    AdministrationError,
    administration_for,
)
from workers.provision.disk import probe_disk
from workers.provision.docker import DockerProvisioner
from workers.provision.engine import ContainerSite, EngineError
from workers.provision.external import ExternalProvisioner
from workers.provision.leftovers import sweep
from workers.provision.process import ProcessProvisioner, Site
from workers.provision.provisioner_factory import provisioner_for, this_site
from workers.provision.readback import read_back
from workers.provision.servers import (
    Provisioner,
    ProvisionError,
    Server,
    ServerDidNotStart,
    Wanted,
)
