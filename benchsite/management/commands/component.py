"""`manage.py component NAME`: becomes one part of the site, for containers and service managers."""

import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from benchsite import components
from benchsite.components import Component
from benchsite.env import env_path, env_str
from benchsite.generator_access import name_of
from workers.generator_names import take_name
from workers.presence import generator_name, host_key

NAMES = ("web", "scheduler", "conductor", "generator")


class Command(BaseCommand):
    requires_system_checks = []
    help = (
        "Becomes one part of the site, as `make up` would start it. The web server listens where BENCHSITE_BIND says"
        " (127.0.0.1), on PORT (8000). A load generator is called BENCHSITE_GENERATOR, or else by the first free name"
        " of BENCHSITE_MACHINE-1, -2, ...; those of one host share the folder BENCHSITE_NAMES."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=NAMES)

    def handle(self, *args: Any, **options: Any) -> None:
        part = component(options["name"])
        sys.stdout.flush()
        # The same process goes on, so that whoever started it signals the part itself.
        os.execve(part.argv[0], part.argv, part.environment)


def component(name: str) -> Component:
    """The part of this name, as this process's environment wants it."""
    match name:
        case "web":
            return components.web(settings.WEB_PORT, env_str("BENCHSITE_BIND", components.HOST))
        case "scheduler":
            return components.scheduler()
        case "conductor":
            return components.conductor()
        case _:
            name = generator_name() or name_of(settings.GENERATOR_TOKEN) or _free_name()
            environment = {}
            if not settings.GENERATOR_TOKEN and settings.GENERATOR_SITE_URL:
                # On the site's own hosts, which reach its database.
                environment = components.generator_environment(name, settings.GENERATOR_SITE_URL)
            return components.load_generator(name, timezone.now(), environment)


def _free_name() -> str:
    stem = env_str("BENCHSITE_MACHINE", host_key()[:12])
    return take_name(stem, env_path("BENCHSITE_NAMES", Path(settings.VAR_DIR) / "names"))
