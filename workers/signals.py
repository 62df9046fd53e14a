"""What a Celery worker does when it comes up and goes down."""

import logging
import os
from typing import Any

from celery.exceptions import WorkerShutdown
from celery.signals import worker_process_init, worker_ready, worker_shutdown
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from runs.artifacts import check_storage
from workers import presence, pulse, standing
from workers.client import keep_leftovers
from workers.orphans import exit_when_parent_is_gone
from workers.registry import end_earlier_lives

log = logging.getLogger(__name__)
ROLE_VARIABLE = "BENCHSITE_ROLE"  # "conductor" for the worker on the conductor queue


@worker_ready.connect
def come_up(**_: Any) -> None:
    """End what an earlier life of this worker left behind, then say that it is here."""
    try:
        check_storage()
    except ImproperlyConfigured as error:
        # Celery swallows what a signal's receiver raises, but for this.
        log.critical("%s", error)
        raise WorkerShutdown(1) from error
    end_earlier_lives(settings.GUARDED_DIR)
    if os.environ.get(ROLE_VARIABLE) == "conductor":
        standing.forget_earlier_servers()
        pulse.beat_forever()
    name = presence.generator_name()
    if name:
        try:
            keep_leftovers(name)
            generator = presence.register_generator(name)
        except DatabaseError as error:
            log.critical("Load generator %s cannot say that it is here: %s", name, error)
            raise WorkerShutdown(1) from error
        presence.beat_forever(name)
        log.info("Load generator %s is ready on %s.", name, generator.machine)


@worker_process_init.connect
def watch_parent(**_: Any) -> None:
    """A pool process whose worker was killed must not go on alone."""
    exit_when_parent_is_gone()


@worker_shutdown.connect
def go_down(**_: Any) -> None:
    standing.stop_all()
