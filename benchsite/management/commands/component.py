"""`manage.py component NAME`: becomes one part of the site, for containers and service managers."""

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchsite.core.env import env_path, env_str
from benchsite.core.generator_access import (
    Access,
    get_name,
    own_file,
    read_access,
    take_file,
    without_user,
    write_access,
)
from benchsite.local import components
from benchsite.local.components import Component
from workers.generator.host_identity import MACHINE_VARIABLE, generator_name
from workers.generator.site_client import NO_CREDENTIAL

NAMES = ("web", "scheduler", "conductor", "generator")


class Command(BaseCommand):
    requires_system_checks = []
    help = (
        "Becomes one part of the site, as `make up` would start it. The web server listens where BENCHSITE_BIND says"
        " (127.0.0.1), on PORT (8000). A load generator has the credential of its enrolment (manage.py enrol), or takes"
        " the first free one of the folder BENCHSITE_CREDENTIALS (manage.py prepare --generators)."
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
            return components.web(settings.WEB_PORT, settings.BIND)
        case "scheduler":
            return components.scheduler()
        case "conductor":
            return components.conductor()
        case _:
            return load_generator()


def load_generator() -> Component:
    """The load generator of the credential that this process finds. Raises CommandError without one.

    Secrets of the environment are handed over in a file: other processes may read the environment of the new program.
    """
    path = settings.GENERATOR_ACCESS_FILE if settings.GENERATOR_TOKEN else _free_file()
    access = read_access(path)
    credential = settings.GENERATOR_TOKEN or access["credential"]
    name = generator_name() or get_name(credential)
    redis_url, environment = settings.STATED_REDIS_URL, {}
    has_user = urlsplit(redis_url).username
    if credential != access["credential"] or has_user:
        stated = Access(
            site_url=settings.GENERATOR_SITE_URL or access["site_url"],
            credential=credential,
            redis_url=redis_url or access["redis_url"],
        )
        path = own_file(Path(settings.VAR_DIR), name)
        write_access(path, stated)
    elif redis_url:
        environment = {"REDIS_URL": without_user(redis_url)}
    return components.load_generator(name, {**environment, "BENCHSITE_GENERATOR_FILE": str(path)})


def _free_file() -> Path:
    """The file of a load generator of this host that no other process has taken."""
    machine = env_str(MACHINE_VARIABLE, "")
    path = machine and take_file(env_path("BENCHSITE_CREDENTIALS", Path(settings.VAR_DIR) / "credentials"), machine)
    if not path:
        raise CommandError(NO_CREDENTIAL)
    return path
