"""The Celery tasks: ids in, nothing out. Each begins by claiming its row, so a second delivery does nothing."""

from uuid import UUID

from celery import shared_task

from workers.generator import signals  # noqa: F401 - connects what a worker does when it comes up
from workers.generator.client import run_client
from workers.generator.client_check import answer_check
from workers.generator.pool_probe import answer_probe


@shared_task(name="load.probe")
def probe(generator: str, sent_at: float, number: int) -> None:
    """Show that this pool process of a load generator works; sent by the load generator itself."""
    answer_probe(generator, sent_at, number)


@shared_task(name="load.client")
def client(client_run_id: str) -> None:
    """Run one YCSB client; sent to the queue of its load generator."""
    run_client(UUID(client_run_id))


@shared_task(name="load.check")
def check(check_id: str) -> None:
    """Run the clients that check a server; sent to the queue of a load generator that would drive it."""
    answer_check(UUID(check_id))
