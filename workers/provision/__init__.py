"""Bringing up servers under test: provisioners, administration of what runs, reading modes back, probing disks."""

from benchsite.core.addresses import AddressRefused, refuse_address
from workers.provision.administration import (
    Address,
    Administration,
    AdministrationError,
    administration_for,
)
from workers.provision.disk import DiskProbe, probe_disk
from workers.provision.docker import DockerProvisioner
from workers.provision.engine import ContainerSite, EngineError
from workers.provision.external import ExternalProvisioner
from workers.provision.leftovers import sweep
from workers.provision.ports import free_port
from workers.provision.process import ProcessProvisioner, Site
from workers.provision.provisioner_factory import container_site, provisioner_for, this_site
from workers.provision.readback import ReadBack, read_back
from workers.provision.servers import (
    Provisioner,
    ProvisionError,
    Server,
    ServerDidNotStart,
    ServerDidNotStop,
    Wanted,
)
