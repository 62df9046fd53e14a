"""The Celery tasks: ids in, nothing out. Each begins by claiming its row, so a second delivery does nothing."""

from uuid import UUID

from celery import shared_task

from workers import signals  # noqa: F401 - connects what a worker does when it comes up and goes down
from workers.client import run_client
from workers.conductor import conduct_run
from workers.standing import tidy_deployment
from workers.uploads import read_upload


@shared_task(name="conductor.conduct", queue="conductor")
def conduct(run_id: str) -> None:
    """Carry out one run."""
    conduct_run(UUID(run_id))


@shared_task(name="conductor.tidy", queue="conductor")
def tidy(deployment_id: str) -> None:
    """Stop the server of a finished matrix and remove its data."""
    tidy_deployment(UUID(deployment_id))


@shared_task(name="conductor.read", queue="conductor")
def read(upload_id: str) -> None:
    """Read or save one upload that is too large for a request."""
    read_upload(UUID(upload_id))


@shared_task(name="load.client")
def client(client_run_id: str) -> None:
    """Run one YCSB client; sent to the queue of its load generator."""
    run_client(UUID(client_run_id))
