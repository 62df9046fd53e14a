"""What a load generator's Celery worker does when it comes up."""

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from billiard.util import get_logger
from celery import Task
from celery.exceptions import WorkerLostError, WorkerShutdown
from celery.signals import (
    setup_logging,
    task_failure,
    worker_before_create_process,
    worker_process_init,
    worker_ready,
)
from celery.worker.consumer import Consumer
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.log import configure_logging

from benchsite.core.backoff import retry_with_backoff
from workers.generator import outbox, presence
from workers.generator.host_identity import generator_name
from workers.generator.site_client import SiteRefused, SiteUnreachable, site_client
from workers.processes.guarded_process import start_guarded
from workers.processes.orphans import exit_when_parent_is_gone
from workers.processes.process_registry import end_earlier_lives

log = logging.getLogger(__name__)
STDERR = 2
NODE_AGENT_PAUSE_S = 5.0
WORKER_PID = os.getpid()  # The worker imports this module before it forks its pool.


@setup_logging.connect
def log_as_the_site(**_: Any) -> None:
    """Celery's own set-up would ignore BENCHSITE_LOG_FORMAT and BENCHSITE_LOG_LEVEL."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    get_logger().propagate = True  # It reports lost pool processes.


@worker_ready.connect
def come_up(sender: Consumer, **_: Any) -> None:
    """End what an earlier life of this worker left behind, then register with the site, which may just be starting."""
    end_earlier_lives(settings.GUARDED_DIR)
    name = generator_name()
    if not name:
        return

    slots = sender.pool.num_processes
    try:
        fields = presence.description(slots)
        machine = retry_with_backoff(lambda: site_client().register(name, **fields), errors=(SiteUnreachable,))
    except (ImproperlyConfigured, SiteUnreachable, SiteRefused) as error:
        # Celery swallows what a signal's receiver raises, but for this.
        log.critical("%s", error)
        raise WorkerShutdown(1) from error

    tasks: list[tuple[Callable[..., None], list[Any]]] = [
        (presence.beat_forever, [name, slots]),
        (outbox.deliver_forever, [name]),
    ]
    if settings.NODE_ADDRESS:
        tasks.append((run_node_agent, []))
    for task, args in tasks:
        threading.Thread(target=task, args=args, name=f"{task.__name__} {name}", daemon=True).start()

    log.info("Load generator %s is ready on %s.", name, machine)


def run_node_agent() -> None:
    """Start it again whenever it ends. It writes to the log of this worker, with which it ends, too."""
    # The settings have taken the credential out of the environment.
    access = {"BENCHSITE_SITE_URL": settings.GENERATOR_SITE_URL, "BENCHSITE_GENERATOR_TOKEN": settings.GENERATOR_TOKEN}
    while True:
        agent = start_guarded(
            [sys.executable, settings.BASE_DIR / "manage.py", "node_agent"],
            registry=settings.GUARDED_DIR,
            label="node agent",
            env={**os.environ, **access},
            stdout=STDERR,
            stderr=STDERR,
        )
        agent.wait()
        log.warning("The node agent has ended (%s), and the nodes that it started.", agent.exit_code)
        time.sleep(NODE_AGENT_PAUSE_S)


@worker_before_create_process.connect
def share_memory(**_: Any) -> None:
    """The garbage collector need not look through what is loaded, which would copy it into each pool process."""
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def watch_parent(**_: Any) -> None:
    """A pool process whose worker was killed must not go on alone."""
    exit_when_parent_is_gone(WORKER_PID)


@task_failure.connect
def report_lost_process(sender: Task[Any, Any], args: Sequence[Any], exception: BaseException, **_: Any) -> None:
    """In the worker: the pool process that ran a client has ended without its client."""
    if sender.name == "load.client" and isinstance(exception, WorkerLostError):
        outbox.report_lost_process(str(args[0]), str(exception))
