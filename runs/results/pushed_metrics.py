"""Metrics that machines push, because nothing reaches an exporter there: the latest text of each, in Redis."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.core.cache import cache

MAX_TEXT_LENGTH: Final = 200_000
TIMEOUT_S: Final = 15.0  # A machine that has pushed nothing for so long pushes no more.


def store(cluster: UUID, machine: UUID, text: str, at_s: float) -> None:
    """The text of a machine at a time by the site's clock. Raises RedisError."""
    cache.set(_key(cluster, machine), (at_s, text), TIMEOUT_S)


def read(cluster: UUID, machine: UUID) -> tuple[float, str] | None:
    """The latest, with its time. Raises RedisError."""
    latest: tuple[float, str] | None = cache.get(_key(cluster, machine))
    return latest


def find_pushing(cluster: UUID, machines: Iterable[UUID]) -> list[UUID]:
    """The machines that push now. Raises RedisError."""
    keys = {_key(cluster, machine): machine for machine in machines}
    return [keys[key] for key in cache.get_many(keys)]


def _key(cluster: UUID, machine: UUID) -> str:
    return f"pushed-metrics:{cluster}:{machine}"
