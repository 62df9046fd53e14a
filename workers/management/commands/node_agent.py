"""`manage.py node_agent`: the child process of a load generator that starts nodes of servers on its machine."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from benchsite.core.generator_access import get_name
from workers.generator.node_agent import NodeAgent
from workers.generator.site_client import site_client
from workers.provision.provisioner_factory import this_site


class Command(BaseCommand):
    requires_system_checks = []
    help = "Starts nodes of servers as the site wants. Started by a load generator that has BENCHSITE_NODE_ADDRESS."

    def handle(self, *args: Any, **options: Any) -> None:
        site = this_site()
        # A conductor of this machine has the folder above for itself.
        targets = site.targets.resolve() / f"nodes-{get_name(settings.GENERATOR_TOKEN)}"
        NodeAgent(site_client(), replace(site, targets=targets)).run_forever()
